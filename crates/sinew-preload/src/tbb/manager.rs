//! The permits of this process, shared by its threads, and the thread that follows the share.
//!
//! The process has one manager from its first connection on. A thread that changes grants of other
//! permits calls the clients' functions itself, after it has unlocked the permits, as TBB's own
//! manager does. The manager's thread sleeps until `sinew exec` writes another number onto the
//! page, and then does the same.
//!
//! # Invariants
//!
//! - G1: no lock is held while a client's function runs. The function may call this library.
//! - G2: when a number has been removed, no client's function runs for it on another thread, and
//!   none will.
//! - G3: a forked child has no manager: the pointer to it lies on the page that a fork wipes
//!   (`share`, S2). So no child waits for a lock that a thread of its parent held, or for a thread
//!   that it does not have.
//!
//! # Not handled
//!
//! Two client's functions, each of which removes the permit that the other one runs for: each waits
//! for the other.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use alloc::boxed::Box;
use core::ffi::c_void;
use core::ptr::null_mut;

use super::lock::Lock;
use super::permits::{Number, Permits};
use crate::{share, system};

/// The next number of a client or a permit. A forked child goes on from its parent's, so that it
/// can tell its own numbers from those.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Callback flag: another number of workers.
const NEW_CONCURRENCY: u32 = 1;

/// The manager of a process.
#[derive(Debug)]
pub(crate) struct Manager {
    permits: Lock<Permits>,
    /// Counts the calls that have ended. A thread that waits for one sleeps on it.
    ended: AtomicU32,
    /// Smaller numbers are those of a process that this one was forked from.
    first: Number,
}

/// A number that no other client or permit has.
pub(crate) fn new_number() -> Number {
    // Relaxed: only a number.
    NEXT.fetch_add(1, Relaxed)
}

/// Whether a client or permit of this number was made by a process that this one was forked from.
pub(crate) fn is_parents(number: Number) -> bool {
    let own = Manager::of_process().map_or_else(|| NEXT.load(Relaxed), |manager| manager.first);
    (1..own).contains(&number)
}

impl Manager {
    fn new() -> Self {
        Self { permits: Lock::new(Permits::new()), ended: AtomicU32::new(0), first: new_number() }
    }

    /// The manager, if this process has one.
    pub(crate) fn of_process() -> Option<&'static Self> {
        let manager = share::manager()?.load(Acquire);
        // SAFETY: only `start` stores a pointer there, to a manager that is never freed.
        unsafe { manager.cast::<Self>().as_ref() }
    }

    /// The manager, made if there is none. `None` if the system has no thread for it.
    pub(crate) fn start() -> Option<&'static Self> {
        if let Some(manager) = Self::of_process() {
            return Some(manager);
        }
        let new = Box::into_raw(Box::new(Self::new()));
        let place = share::manager()?;
        match place.compare_exchange(null_mut(), new.cast(), AcqRel, Acquire) {
            Ok(_) => {}
            Err(_) => {
                // SAFETY: no other thread has seen this pointer.
                drop(unsafe { Box::from_raw(new) });
                return Self::of_process();
            }
        }
        if system::start_quiet_thread(follow_share, new.cast()) {
            return Self::of_process();
        }
        // Another thread may use the manager already, so it is not freed.
        place.store(null_mut(), Release);
        None
    }

    /// Changes the permits by `change`, which gets the number of workers to divide, and calls the
    /// clients whose permits have changed by that.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Permits, u32) -> R) -> R {
        let this = system::this_thread();
        let (result, mut due) = self.permits.with(|permits| {
            let result = change(permits, share::workers());
            (result, permits.next_call(this))
        });
        while let Some(call) = due {
            // G1.
            (call.callback)(call.permit, call.argument as *mut c_void, NEW_CONCURRENCY);
            due = self.permits.with(|permits| {
                permits.call_ended(call.permit);
                permits.next_call(this)
            });
            // Release: what the client's function did comes before the end of `remove`.
            self.ended.fetch_add(1, Release);
            system::wake(&self.ended);
        }
        result
    }

    /// Reads the permits.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Permits) -> R) -> R {
        self.permits.with(|permits| read(permits))
    }

    /// Removes a client or permit. Returns whether it was known.
    ///
    /// # Blocking
    ///
    /// Until no client's function runs for it on another thread.
    pub(crate) fn remove(&self, number: Number) -> bool {
        let this = system::this_thread();
        loop {
            // Acquire: the partner is in `change`. Before the look, so that no end is missed.
            let seen = self.ended.load(Acquire);
            let removed = self.change(|permits, workers| {
                (!permits.runs_elsewhere(number, this)).then(|| permits.remove(number, workers))
            });
            match removed {
                Some(was_known) => return was_known,
                None => system::wait_while(&self.ended, seen),
            }
        }
    }
}

/// The body of the manager's thread.
extern "C" fn follow_share(manager: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes a manager that is never freed.
    let manager = unsafe { &*manager.cast::<Manager>() };
    loop {
        let Some(word) = share::own_word() else {
            // Another thread of this process is joining at this moment.
            system::give_way();
            continue;
        };
        // Relaxed: the number publishes nothing, and the kernel compares it again.
        let seen = word.load(Relaxed);
        manager.change(Permits::divide);
        system::wait_while_shared(word, seen);
    }
}
