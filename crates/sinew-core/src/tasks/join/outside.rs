//! Joins without a worker argument, possibly from outside of the pool.
//!
//! From outside, the whole join goes to a worker, which calls its arms through pointers. So that
//! part is compiled once, and not for every join of a program. Arms that are called in this way
//! store their results and panics in their frames.

use sinew_deque::stack::Task;

use super::{Frame, both};
use crate::builder::global;
use crate::state::tls;
use crate::state::worker::Worker;

/// An arm on its way to a worker.
#[derive(Clone, Copy)]
struct Arm(Task);

// SAFETY: the caller of the arm on another thread guarantees that the arm is `Send`.
unsafe impl Send for Arm {}

impl Arm {
    /// Runs it on `worker`, to which it has migrated.
    ///
    /// # Safety
    ///
    /// Its frame is valid, and no other thread runs it.
    unsafe fn call(self, worker: &Worker) {
        // SAFETY: as the caller says.
        unsafe { (self.0.run)(self.0.data, std::ptr::from_ref(worker).cast(), true) }
    }
}

/// Makes `enter` call the join of two arms on some worker.
///
/// # Panics
///
/// If `enter` panics, or does not call it.
///
/// # Safety
///
/// The arms' frames outlive the call; arms and results may go to other threads.
unsafe fn join_by(enter: impl FnOnce(Entering<'_>), first: Arm, second: Arm) {
    let mut arms = Some((first, second));
    enter(&mut |worker| {
        if let Some((first, second)) = arms.take() {
            // SAFETY: taken, so each is called once; the caller vouches for the rest.
            let call = |arm: Arm| move |here: &Worker| unsafe { arm.call(here) };
            worker.join(call(first), call(second));
        }
    });
    assert!(arms.is_none(), "a join was not called by what was to bring it to a worker");
}

/// Runs two closures, possibly in parallel, and returns both results: [`Worker::join`] on the
/// current worker, or on one of the global pool.
///
/// # Panics
///
/// If an arm panics, after both have ended; with the first arm's payload if both did.
///
/// # Cost
///
/// As [`Worker::join`], and one access to thread-local storage.
///
/// ```
/// let (a, b) = sinew_core::join(|| 1 + 1, || 2 + 2);
/// assert_eq!((a, b), (2, 4));
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|join| global::pool().run(|worker| join(worker)), |_, _| a(), |_, _| b())
}

/// [`Worker::join_context`] on the current worker, if there is one. Else `enter` runs the join on
/// another thread, and both arms have migrated.
///
/// `enter` gets the join as a closure and calls it on a worker, for instance by
/// [`Pool::install`](crate::Pool::install).
///
/// # Panics
///
/// If an arm panics, after both have ended; with the first arm's payload if both did. If `enter`
/// panics, or returns without a call of the closure; the arms are leaked then.
///
/// # Cost
///
/// As [`Worker::join`], and one access to thread-local storage.
///
/// ```
/// let enter = |join: sinew_core::Entering<'_>| sinew_core::global_pool().install(|w| join(w));
/// let arm = |_: &sinew_core::Worker, migrated| migrated;
/// let (first, second) = sinew_core::join_context(enter, arm, arm);
/// assert!(first && second); // no worker called it
/// ```
#[inline]
pub fn join_context<E, A, B, RA, RB>(enter: E, a: A, b: B) -> (RA, RB)
where
    E: FnOnce(Entering<'_>),
    A: for<'w> FnOnce(&'w Worker, bool) -> RA + Send,
    B: for<'w> FnOnce(&'w Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match tls::current() {
        Some(worker) => worker.join_arms(a, b),
        None => join_outside(enter, a, b),
    }
}

/// A join that is to be called on a worker; see [`join_context`].
pub type Entering<'a> = &'a mut (dyn FnMut(&Worker) + Send);

#[cold]
#[inline(never)]
fn join_outside<E, A, B, RA, RB>(enter: E, a: A, b: B) -> (RA, RB)
where
    E: FnOnce(Entering<'_>),
    A: for<'w> FnOnce(&'w Worker, bool) -> RA + Send,
    B: for<'w> FnOnce(&'w Worker, bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (first, second) = (Frame::new(a), Frame::new(b));
    // SAFETY: arms and results may go to other threads, and both frames outlive the call.
    unsafe { join_by(enter, Arm(first.task()), Arm(second.task())) };
    // SAFETY: both have run.
    unsafe { both(first.take_result(), second.take_result()) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    //! Blind to: results of arms that panic from outside; `tests/pool` has joins from outside of
    //! every kind.
    use super::*;
    use crate::pool::Pool;

    #[test]
    #[should_panic(expected = "was not called")]
    fn a_join_that_is_not_called_is_a_panic() {
        join_context(|_| (), |_, _| (), |_, _| ());
    }

    #[test]
    fn a_join_that_is_called_twice_is_run_once() {
        let pool = Pool::builder().threads(1).build().unwrap();
        let enter = |join: Entering<'_>| {
            pool.install(|worker| join(worker));
            pool.install(|worker| join(worker));
        };
        assert_eq!(join_context(enter, |_, migrated| (1, migrated), |_, _| 2), ((1, true), 2));
    }
}
