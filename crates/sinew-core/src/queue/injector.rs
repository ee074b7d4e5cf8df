//! The pool's queue for work that comes from outside: first in, first out among the tasks that the
//! caller may take.
//!
//! A lock and a [queue](ByDepth): every entry costs its caller a wait and usually a wake-up, beside
//! which an uncontended lock is nothing. The length is kept beside the lock so that idle workers
//! can look without taking it.
//!
//! A caller can withdraw its own task by the ticket that [`push`](Injector::push) gave it. A task
//! is taken out under the lock, so either the caller or a worker gets it, never both.

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use super::Queued;
use super::by_depth::{ByDepth, Ticket};

#[derive(Debug)]
pub(crate) struct Injector {
    queue: Mutex<ByDepth>,
    len: AtomicUsize,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self { queue: Mutex::new(ByDepth::default()), len: AtomicUsize::new(0) }
    }

    /// Adds a task at the end. The ticket stands for it while it is queued.
    pub(crate) fn push(&self, task: Queued) -> Ticket {
        self.change(|queue| queue.push(task))
    }

    /// Takes the oldest task that lies deeper than `above` (`None`: any task).
    pub(crate) fn pop(&self, above: Option<u32>) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        self.change(|queue| queue.pop(above))
    }

    /// Takes the newest task.
    pub(crate) fn pop_newest(&self) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        self.change(ByDepth::pop_newest)
    }

    /// Takes the task of that ticket back, for the caller that has queued it here. `None`: a worker
    /// has taken it, and will run it or has done so.
    #[cfg_attr(
        any(not(test), loom, shuttle),
        expect(dead_code, reason = "for calls that are cancelled while they wait")
    )]
    pub(crate) fn withdraw(&self, ticket: Ticket) -> Option<Queued> {
        self.change(|queue| queue.withdraw(ticket))
    }

    /// Whether a task lies deeper than `above` (`None`: any task). Exact for tasks pushed before
    /// the caller's fence.
    pub(crate) fn has(&self, above: Option<u32>) -> bool {
        !self.is_empty() && self.queue.lock().has(above)
    }

    /// Whether there seems to be nothing to take. Exact for tasks pushed before the caller's fence.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    fn change<R>(&self, change: impl FnOnce(&mut ByDepth) -> R) -> R {
        let mut queue = self.queue.lock();
        let result = change(&mut queue);
        // Relaxed: written under the lock; readers without it take it as a hint, made exact by the
        // fences of the sleepers' handshake.
        self.len.store(queue.len(), Ordering::Relaxed);
        result
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::ptr::NonNull;
    use std::thread;

    use super::*;
    use crate::queue::{Header, TaskRef};

    unsafe fn never(_: NonNull<Header>, _: &crate::worker::Worker) {}
    static HEADER: Header = Header { run: never };

    /// Catches: a task that its caller has withdrawn and a worker runs nevertheless, or that both
    /// leave to the other one.
    #[test]
    fn a_task_is_withdrawn_or_taken() {
        const CALLS: usize = 20_000;
        let injector = Injector::new();
        let (taken, withdrawn, over) =
            ([const { AtomicUsize::new(0) }; 2], AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..CALLS {
                        let task = TaskRef(NonNull::from(&HEADER));
                        let ticket = injector.push(Queued { task, depth: 1 });
                        let mine = injector.withdraw(ticket).is_some();
                        withdrawn.fetch_add(usize::from(mine), Ordering::Relaxed);
                        assert!(!mine || injector.withdraw(ticket).is_none());
                    }
                    over.fetch_add(1, Ordering::Relaxed);
                });
            }
            for taken in &taken {
                let (injector, over) = (&injector, &over);
                threads.spawn(move || {
                    while over.load(Ordering::Relaxed) < 2 || !injector.is_empty() {
                        let is_taken = injector.pop(Some(0)).is_some();
                        taken.fetch_add(usize::from(is_taken), Ordering::Relaxed);
                        thread::yield_now();
                    }
                });
            }
        });
        let taken: usize = taken.iter().map(|taken| taken.load(Ordering::Relaxed)).sum();
        assert_eq!(taken + withdrawn.load(Ordering::Relaxed), 2 * CALLS);
    }
}
