//! The pool's queue for tasks from outside: a worker takes the oldest task of the highest priority.
//!
//! It is a list under a lock. Each entry costs its caller a wait and usually a wake-up; compared
//! with those an uncontended lock is cheap. An atomic outside of the lock holds the length, so that
//! idle workers can check it without the lock.
//!
//! A caller can withdraw its own task by the ticket that [`push`](Injector::push) returned. Tasks
//! are removed under the lock, so either the caller or a worker gets a task, never both.
//!
//! Some tasks are *calls*: a thread waits for each, and each has a priority. `by_priority` decides
//! which one is next.

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};

use crate::by_priority::{ByPriority, Priority, Ticket};
use crate::task::Queued;

/// The queue.
#[derive(Debug)]
pub struct Injector {
    queue: Mutex<Queue>,
    len: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: ByPriority,
    /// Whether the workers were notified of the calls; see `service` in `sinew-core`. False if
    /// there are none.
    announced: bool,
}

impl Queue {
    fn has_calls(&mut self) -> bool {
        let has_calls = self.tasks.has_calls();
        self.announced &= has_calls;
        has_calls
    }
}

impl Default for Injector {
    fn default() -> Self {
        Self::new()
    }
}

impl Injector {
    /// An empty queue.
    pub fn new() -> Self {
        Self { queue: Mutex::new(Queue::default()), len: AtomicUsize::new(0) }
    }

    /// Adds a task of normal priority. The ticket identifies it while it is queued.
    pub fn push(&self, task: Queued) -> Ticket {
        self.change(|queue| queue.tasks.push(task))
    }

    /// As [`push`](Self::push), for a call.
    pub fn push_call(&self, call: Queued, priority: Priority) -> Ticket {
        self.change(|queue| {
            queue.has_calls();
            queue.tasks.push_call(call, priority)
        })
    }

    /// Takes the oldest call of the highest priority, which is at least `least`.
    pub fn pop_call(&self, least: Priority) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        self.change(|queue| queue.tasks.pop_call(least))
    }

    /// Whether a call is queued. If not, the workers must be notified of the next one.
    pub fn has_calls(&self) -> bool {
        self.queue.lock().has_calls()
    }

    /// Records that the workers are notified of the queued calls. Returns whether the caller must
    /// notify them: a call is queued, and they were not notified before.
    pub fn mark_announced(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.has_calls() && !std::mem::replace(&mut queue.announced, true)
    }

    /// Takes the oldest task of the highest priority, deeper than `above` (`None`: any task).
    #[inline]
    pub fn pop(&self, above: Option<u32>) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        self.change(|queue| queue.tasks.pop(above))
    }

    /// Takes the newest task of normal priority.
    #[inline]
    pub fn pop_newest(&self) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        self.change(|queue| queue.tasks.pop_newest())
    }

    /// Takes the task with that ticket back, for the caller that queued it here. `None`: a worker
    /// has taken it, and will run it or has run it.
    pub fn withdraw(&self, ticket: Ticket) -> Option<Queued> {
        if planted(Bug::TornWithdrawal) {
            let found = self.queue.lock().tasks.find(ticket);
            self.change(|queue| queue.tasks.withdraw(ticket));
            return found;
        }
        self.change(|queue| queue.tasks.withdraw(ticket))
    }

    /// Whether a task is deeper than `above` (`None`: whether there is any task). Exact for tasks
    /// pushed before the caller's fence.
    #[inline]
    pub fn has(&self, above: Option<u32>) -> bool {
        !self.is_empty() && self.queue.lock().tasks.has(above)
    }

    /// Whether the queue seems empty. Exact for tasks pushed before the caller's fence.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    fn change<R>(&self, change: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue.lock();
        let result = change(&mut queue);
        // Relaxed: written under the lock. For readers without the lock it is a hint, which the
        // fences of the sleepers' handshake make exact.
        self.len.store(queue.tasks.len(), Ordering::Relaxed);
        result
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::ptr::NonNull;
    use std::thread;

    use super::*;
    use crate::task::TaskRef;

    /// Catches: a withdrawn task that a worker runs nevertheless, or a task that neither side
    /// takes.
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
                        let task = TaskRef::new(NonNull::<u8>::dangling());
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
