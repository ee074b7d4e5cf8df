//! Pools: those that the caller creates, and the process's own, for which a null pointer stands.

use std::ffi::{c_char, c_uint};
use std::num::NonZero;
use std::sync::{Arc, Condvar, PoisonError};

use sinew_core::{BuildError, Counters, MAX_THREADS, Mapping, Pool, Worker, global_pool};
use sinew_sync::lock::Mutex;

use crate::handle::{Handle, Kind, Table, Use};
use crate::options::{self, PoolOptions};
use crate::status::{Outcome, Status, guarded, put};

static POOLS: Table<Created, 1024> = Table::new(Kind::Pool);

/// A pool that the caller created.
pub(crate) struct Created {
    pool: Pool,
    /// How many of its workers only replace blocked ones.
    spare: usize,
    limit: Mutex<Limit>,
    detached: Arc<DetachedTasks>,
}

/// How many workers may work: `threads`, and one for each blocked one.
struct Limit {
    threads: usize,
    blocked: usize,
}

impl Created {
    /// Changes the limit, and has it in force when the next change begins.
    fn change(&self, change: impl FnOnce(&mut Limit) -> Outcome) -> Outcome {
        let mut limit = self.limit.lock();
        change(&mut limit)?;
        let threads = limit.threads + limit.blocked.min(self.spare);
        self.pool.control().set_threads(threads.max(1));
        Ok(())
    }

    /// The most workers that work at a time while none is blocked.
    fn usual(&self) -> usize {
        self.pool.max_threads() - self.spare
    }
}

/// The pool of a handle, which stays while this exists.
pub(crate) enum Here {
    Process(&'static Pool),
    /// Counted in the table.
    Counted(Use<Created>),
    /// For a worker of the pool: the call or the detached task that it runs is counted. A count of
    /// its own would be a line that all workers write.
    Inside(&'static Created),
}

impl Here {
    /// # Errors
    ///
    /// [`Status::Handle`] if the pool does not exist, [`Status::Fork`] if the parent made it.
    #[inline]
    pub(crate) fn of(handle: Handle) -> Outcome<Self> {
        if handle.is_null() {
            return Ok(Self::Process(global_pool()));
        }
        let created = POOLS.peek(handle)?;
        if created.pool.is_of_another_process() {
            return Err(Status::Fork);
        }
        match created.pool.with_current(|worker| worker.is_some()) {
            true => Ok(Self::Inside(created)),
            false => POOLS.get(handle).map(Self::Counted),
        }
    }

    #[inline]
    pub(crate) fn pool(&self) -> &Pool {
        match self {
            Self::Process(pool) => pool,
            Self::Counted(created) => &created.pool,
            Self::Inside(created) => &created.pool,
        }
    }

    fn created(&self) -> Option<&Created> {
        match self {
            Self::Process(_) => None,
            Self::Counted(created) => Some(created),
            Self::Inside(created) => Some(created),
        }
    }
}

/// Calls `f` with a worker of the pool of `handle`.
///
/// # Errors
///
/// As [`Here::of`], and those of `f`.
#[inline]
pub(crate) fn run<R: Send>(
    handle: Handle,
    f: impl FnOnce(&Worker) -> Outcome<R> + Send,
) -> Outcome<R> {
    // Not by `Here`, which would look for the current worker twice.
    let pool = if handle.is_null() {
        global_pool()
    } else {
        let created = POOLS.peek(handle)?;
        if created.pool.is_of_another_process() {
            return Err(Status::Fork);
        }
        &created.pool
    };
    pool.with_current(|worker| match worker {
        Some(worker) => f(worker),
        None if handle.is_null() => pool.run(f),
        None => {
            let _entry = POOLS.enter(handle)?;
            pool.run(f)
        }
    })
}

/// Runs `task` as a detached task of the pool of `handle`, which does not end before it.
///
/// # Errors
///
/// As [`Here::of`].
pub(crate) fn spawn(handle: Handle, task: impl FnOnce() + Send + 'static) -> Outcome {
    let here = Here::of(handle)?;
    let counted = here.created().map(|created| Detached::begin(&created.detached));
    here.pool().spawn(move |_| {
        task();
        drop(counted);
    });
    Ok(())
}

/// The detached tasks of a pool.
#[derive(Default)]
struct DetachedTasks {
    count: std::sync::Mutex<usize>,
    is_zero: Condvar,
}

impl DetachedTasks {
    fn count(&self) -> std::sync::MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all have ended, those included that they spawn.
    fn wait(&self) {
        let is_left = |count: &mut usize| *count > 0;
        drop(self.is_zero.wait_while(self.count(), is_left));
    }
}

/// A detached task, which is counted.
struct Detached {
    tasks: Arc<DetachedTasks>,
}

impl Detached {
    fn begin(tasks: &Arc<DetachedTasks>) -> Self {
        *tasks.count() += 1;
        Self { tasks: Arc::clone(tasks) }
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let mut count = self.tasks.count();
        *count -= 1;
        if *count == 0 {
            self.tasks.is_zero.notify_all();
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn sinew_pool_create(from: *const PoolOptions, out: *mut Handle) -> Status {
    guarded(|| {
        let PoolOptions { threads, spare, wait, reserved, .. } = options::read(from)?;
        let (threads, spare) = (options::threads(threads)?, spare as usize);
        let wait = options::wait(wait)?;
        if out.is_null() || reserved != 0 || spare > MAX_THREADS {
            return Err(Status::Invalid);
        }
        let mut builder = Pool::builder().wait(wait);
        if spare > 0 || threads.is_some() {
            let cpus = || std::thread::available_parallelism().map_or(1, NonZero::get);
            builder = builder.threads(threads.unwrap_or_else(cpus).saturating_add(spare));
        }
        let pool = builder.build().map_err(|error| match error {
            BuildError::Spawn(_) => Status::System,
            _ => Status::Invalid,
        })?;
        let usual = pool.max_threads() - spare;
        let limit = Mutex::new(Limit { threads: usual, blocked: 0 });
        let created = Created { pool, spare, limit, detached: Arc::default() };
        if spare > 0 {
            created.change(|_| Ok(()))?;
        }
        put(out, POOLS.insert(created)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_pool_destroy(pool: Handle) -> Status {
    guarded(|| {
        let created = POOLS.peek(pool)?;
        if created.pool.with_current(|worker| worker.is_some()) {
            return Err(Status::Busy);
        }
        // The tasks may use the handle. In a child their threads do not exist.
        if !created.pool.is_of_another_process() {
            let tasks = Arc::clone(&created.detached);
            tasks.wait();
        }
        POOLS.remove(pool).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_max_workers(pool: Handle, out: *mut c_uint) -> Status {
    guarded(|| put(out, Here::of(pool)?.pool().max_threads() as c_uint))
}

#[unsafe(no_mangle)]
extern "C" fn sinew_active_workers(pool: Handle, out: *mut c_uint) -> Status {
    guarded(|| put(out, Here::of(pool)?.pool().threads() as c_uint))
}

#[unsafe(no_mangle)]
extern "C" fn sinew_this_worker(pool: Handle, out: *mut c_uint) -> Status {
    guarded(|| {
        let here = Here::of(pool)?;
        let index = here.pool().with_current(|worker| worker.map(Worker::index));
        put(out, index.ok_or(Status::Thread)? as c_uint)
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_set_threads(pool: Handle, threads: c_uint) -> Status {
    guarded(|| {
        let threads = options::threads(threads)?;
        let here = Here::of(pool)?;
        match here.created() {
            None => here.pool().control().set_threads(threads),
            Some(created) => {
                let usual = created.usual();
                return created.change(|limit| {
                    limit.threads = threads.unwrap_or(usual).min(usual);
                    Ok(())
                });
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_set_schedule(pool: Handle, schedule: c_uint, chunk: usize) -> Status {
    guarded(|| {
        let schedule = options::schedule(schedule, chunk)?;
        Here::of(pool)?.pool().control().set_schedule(schedule);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_set_mapping(pool: Handle, mapping: *const c_char) -> Status {
    guarded(|| {
        let mapping = options::mapping(mapping)?.unwrap_or(Mapping::None);
        Here::of(pool)?.pool().set_mapping(&mapping).map_err(|_| Status::Invalid)
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_cancel(pool: Handle) -> Status {
    guarded(|| {
        Here::of(pool)?.pool().control().cancel();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_blocking_begin(pool: Handle) -> Status {
    blocking(pool, |limit| {
        limit.blocked += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_blocking_end(pool: Handle) -> Status {
    blocking(pool, |limit| {
        limit.blocked = limit.blocked.checked_sub(1).ok_or(Status::Invalid)?;
        Ok(())
    })
}

/// Changes the limit for a callback that is about to block, or has been. A pool without spare
/// workers has none that could replace it.
fn blocking(pool: Handle, change: impl FnOnce(&mut Limit) -> Outcome) -> Status {
    guarded(|| {
        let here = Here::of(pool)?;
        if !here.pool().with_current(|worker| worker.is_some()) {
            return Err(Status::Thread);
        }
        match here.created().filter(|created| created.spare > 0) {
            Some(created) => created.change(change),
            None => Ok(()),
        }
    })
}

/// `sinew_counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountersOut {
    pub(crate) struct_size: usize,
    pub(crate) values: [u64; 10],
}

#[unsafe(no_mangle)]
extern "C" fn sinew_get_counters(pool: Handle, out: *mut CountersOut) -> Status {
    guarded(|| {
        if out.is_null() {
            return Err(Status::Invalid);
        }
        // SAFETY: not null, so valid by the header's terms, at least for its first field.
        let size = unsafe { out.cast::<usize>().read() };
        if size <= size_of::<usize>() || !size.is_multiple_of(size_of::<u64>()) {
            return Err(Status::Invalid);
        }
        let read = Here::of(pool)?.pool().counters();
        let Counters { stolen, failed_steals, blocked_joins, queued_tasks, visits, .. } = read;
        let Counters { injected, chunks, parks, searching_ns, parked_ns, .. } = read;
        let values = [
            stolen,
            failed_steals,
            blocked_joins,
            queued_tasks,
            visits,
            injected,
            chunks,
            parks,
            searching_ns,
            parked_ns,
        ];
        let fits = (size - size_of::<usize>()) / size_of::<u64>();
        // SAFETY: valid for its size; no more fields than fit are written.
        unsafe {
            let to = (&raw mut (*out).values).cast::<u64>();
            to.copy_from_nonoverlapping(values.as_ptr(), fits.min(values.len()));
        }
        Ok(())
    })
}
