//! The pool's queue for work that comes from outside: first in, first out.
//!
//! A lock and a ring: every entry costs its caller a wait and usually a wake-up, beside which an uncontended lock is nothing. The
//! length is kept beside the lock so that idle workers can look without taking it.

use std::collections::VecDeque;

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use super::Queued;

#[derive(Debug)]
pub(crate) struct Injector {
    queue: Mutex<VecDeque<Queued>>,
    len: AtomicUsize,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self { queue: Mutex::new(VecDeque::new()), len: AtomicUsize::new(0) }
    }

    /// Adds a task at the end.
    pub(crate) fn push(&self, task: Queued) {
        let mut queue = self.queue.lock();
        queue.push_back(task);
        // Relaxed: written under the lock; readers without it take it as a hint, made exact by the fences of the sleepers' handshake.
        self.len.store(queue.len(), Ordering::Relaxed);
    }

    /// Takes the oldest task that lies deeper than `above` (`None`: any task).
    pub(crate) fn pop(&self, above: Option<u32>) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let task = match above {
            None => queue.pop_front(),
            Some(above) => {
                let at = queue.iter().position(|queued| queued.depth > above)?;
                queue.remove(at)
            }
        };
        self.len.store(queue.len(), Ordering::Relaxed);
        task
    }

    /// Takes the newest task.
    pub(crate) fn pop_newest(&self) -> Option<Queued> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let task = queue.pop_back();
        self.len.store(queue.len(), Ordering::Relaxed);
        task
    }

    /// Whether a task lies deeper than `above` (`None`: any task). Exact for tasks pushed before the caller's fence.
    pub(crate) fn has(&self, above: Option<u32>) -> bool {
        !self.is_empty()
            && self.queue.lock().iter().any(|queued| above.is_none_or(|above| queued.depth > above))
    }

    /// Whether there seems to be nothing to take. Exact for tasks pushed before the caller's fence.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }
}
