//! The builder of a call: its priority, its deadline, and its control.

use std::fmt;
use std::time::{Duration, Instant};

use sinew_deque::Priority;
use sinew_sync::clock::{ns_after, ns_at};

use crate::pool::Pool;
use crate::pool::inject::{CallError, Terms, erased};
use crate::seams::cancel::Cancellable;
use crate::state::worker::Worker;

/// A call into a [pool](Pool::call) that may end without a result.
///
/// A call *waits* while no worker has begun it. It ends without a result if one of these events
/// comes first:
///
/// | event | result of [`run`](Self::run) |
/// |---|---|
/// | its [control](Self::control) or its [pool](crate::PoolControl::cancel) is cancelled | [`CallError::Cancelled`] |
/// | its [deadline](Self::deadline) passes | [`CallError::Expired`] |
///
/// A call that has begun runs to its end, and `run` returns its result.
///
/// ```
/// use std::time::Duration;
/// use sinew_core::{CallError, Pool, Priority};
/// use sinew_loops::Control;
///
/// let pool = Pool::builder().threads(2).build()?;
/// let control = Control::new();
/// let call = || pool.call().priority(Priority::High).control(&control);
/// assert_eq!(call().timeout(Duration::from_secs(60)).run(|_| 7), Ok(7));
/// assert_eq!(call().timeout(Duration::ZERO).run(|_| 7), Err(CallError::Expired));
/// control.cancel();
/// assert_eq!(call().run(|_| 7), Err(CallError::Cancelled));
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "nothing runs before `run`"]
pub struct CallBuilder<'c> {
    pool: &'c Pool,
    terms: Terms<'c>,
}

impl Pool {
    /// A call into this pool with a priority, a deadline or a control. [`run`](Self::run) makes a
    /// call of normal priority without them.
    pub fn call(&self) -> CallBuilder<'_> {
        CallBuilder { pool: self, terms: Terms::default() }
    }
}

impl<'c> CallBuilder<'c> {
    /// Which waiting calls workers take before this one, and which work it
    /// [interrupts](Pool::install); [`Priority::Normal`] by default. Long work that is not urgent
    /// should have a low one.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.terms.priority = priority;
        self
    }

    /// Sets the [deadline](Self::deadline) to `timeout` from now.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.deadline_at(ns_after(timeout))
    }

    /// The call must have begun before `deadline`: it does not begin later, and its caller returns
    /// [`CallError::Expired`] at that time. The earliest of several deadlines and timeouts counts.
    ///
    /// A call that has begun runs to its end. If it has a [control](Self::control), its caller
    /// cancels that control at the deadline.
    pub fn deadline(self, deadline: Instant) -> Self {
        self.deadline_at(ns_at(deadline))
    }

    fn deadline_at(mut self, deadline_ns: u64) -> Self {
        let earliest = self.terms.deadline_ns.map_or(deadline_ns, |ns| ns.min(deadline_ns));
        self.terms.deadline_ns = Some(earliest);
        self
    }

    /// The call waits until `control` is cancelled at the latest. It has the deadline of `control`,
    /// if there is one.
    ///
    /// If the call has a [deadline](Self::deadline), and runs at that time, its caller cancels
    /// `control`, for good. So all loops under `control` end, in this call and in others.
    /// [`run`](Self::run) then returns `Ok` with the result of the closure, which contains what
    /// its loops returned. A call that expires before it has begun leaves the control as it is.
    ///
    /// A caller must wait to do this. So one of the pool's threads runs such a call, as with
    /// [`install`](Pool::install). A call that runs on the calling thread nevertheless ends no loop
    /// at its deadline. The calling thread is then a worker of the same pool, or a thread without a
    /// pool that calls into a pool of one worker.
    pub fn control<C: Cancellable>(mut self, control: &'c C) -> Self {
        self.terms.control = Some(control);
        match control.deadline_ns() {
            Some(deadline_ns) => self.deadline_at(deadline_ns),
            None => self,
        }
    }

    /// Calls `f` with a worker of the pool, as [`Pool::run`] does: at once, if the calling thread
    /// is a worker of the pool.
    ///
    /// A caller whose call ends without a result drops `f`.
    ///
    /// # Errors
    ///
    /// [`CallError`] if `f` was not called. If both apply at once, the error is
    /// [`Cancelled`](CallError::Cancelled).
    ///
    /// # Panics
    ///
    /// If `f` panics, with its payload, also after its deadline.
    ///
    /// # Blocking
    ///
    /// Until `f` has ended, or one of the errors applies. A worker of another pool that waits runs
    /// tasks of its own pool, and returns after the one that it runs at that moment.
    ///
    /// # Cost
    ///
    /// As [`Pool::run`]. A caller that waits enters a list under a lock, one more for a control,
    /// and parks with a time limit for a deadline.
    pub fn run<F, R>(self, f: F) -> Result<R, CallError>
    where
        F: for<'w> FnOnce(&'w Worker) -> R + Send,
        R: Send,
    {
        if let Some(error) = self.terms.refusal() {
            return Err(error);
        }
        let mut called = Ok(());
        let result = erased(f, |body| called = self.pool.run_body(body, Some(&self.terms)));
        called.map(|()| result.unwrap_or_else(|| unreachable!("the call has run")))
    }
}

impl fmt::Debug for CallBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder")
            .field("pool", &self.pool)
            .field("priority", &self.terms.priority)
            .field("has_deadline", &self.terms.deadline_ns.is_some())
            .field("has_control", &self.terms.control.is_some())
            .finish()
    }
}
