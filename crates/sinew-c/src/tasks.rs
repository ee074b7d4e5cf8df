//! Joins, scopes and detached tasks.

use std::ffi::c_void;
use std::thread::ThreadId;

use sinew_core::BegunScope;

use crate::callback::{Callback, TaskFn};
use crate::handle::{Handle, Kind, Table};
use crate::pool::{self, Here};
use crate::status::{Outcome, Status, guarded, put};

static SCOPES: Table<Begun, 65536> = Table::new(Kind::Scope);

/// A scope that has begun.
struct Begun {
    scope: BegunScope,
    pool: Here,
    thread: ThreadId,
}

fn callback(context: *mut c_void, function: Option<TaskFn>) -> Outcome<Callback<TaskFn>> {
    Ok(Callback { context, function: function.ok_or(Status::Invalid)? })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_join(
    pool: Handle,
    first_context: *mut c_void,
    first: Option<TaskFn>,
    second_context: *mut c_void,
    second: Option<TaskFn>,
) -> Status {
    guarded(|| {
        let first = callback(first_context, first)?;
        let second = callback(second_context, second)?;
        pool::run(pool, |w| {
            // By value: a thief reads the second one where it reads the task.
            w.join(move |_| first.call(), move |_| second.call());
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_spawn(pool: Handle, context: *mut c_void, function: Option<TaskFn>) -> Status {
    guarded(|| {
        let task = callback(context, function)?;
        pool::spawn(pool, move || task.call())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_scope_begin(pool: Handle, out: *mut Handle) -> Status {
    guarded(|| {
        if out.is_null() {
            return Err(Status::Invalid);
        }
        let pool = Here::of(pool)?;
        let scope = pool.pool().begin_scope();
        let thread = std::thread::current().id();
        match SCOPES.insert(Begun { scope, pool, thread }) {
            Ok(handle) => put(out, handle),
            Err(status) => Err(status),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_scope_spawn(
    scope: Handle,
    context: *mut c_void,
    function: Option<TaskFn>,
) -> Status {
    guarded(|| {
        let task = callback(context, function)?;
        let begun = SCOPES.peek(scope)?;
        begun.check_process()?;
        begun.scope.spawn(move |_| task.call());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_scope_end(scope: Handle) -> Status {
    guarded(|| {
        let begun = SCOPES.peek(scope)?;
        begun.check_process()?;
        if begun.thread != std::thread::current().id() {
            return Err(Status::Thread);
        }
        begun.help();
        let ended = begun.scope.end();
        // Its tasks, which may have spawned others by the handle, are over.
        drop(SCOPES.remove(scope)?);
        if ended { Ok(()) } else { Err(Status::Handle) }
    })
}

impl Begun {
    /// # Errors
    ///
    /// [`Status::Fork`] in a child: the threads that run the tasks do not exist.
    fn check_process(&self) -> Outcome {
        match self.pool.pool().is_of_another_process() {
            true => Err(Status::Fork),
            false => Ok(()),
        }
    }

    /// A thread from outside enters the pool and runs tasks until there are none to begin: it would
    /// only wait otherwise.
    fn help(&self) {
        let pool = self.pool.pool();
        if pool.with_current(|worker| worker.is_none()) && self.scope.has_tasks() {
            pool.run(|w| while self.scope.has_tasks() && w.yield_now() {});
        }
    }
}
