//! A meeting of all workers of a pool, so that their counters are up to date.
//!
//! A worker enters the time it has spent searching or parked when it finds work again. Before a run
//! and after it, therefore, every worker is given a task that lasts until all have one: what is
//! entered in between belongs to the run.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use sinew::{Pool, Worker};

/// A meeting does not wait longer for workers without a core, or for workers that serve another
/// call.
const LONGEST_WAIT: Duration = Duration::from_millis(5);

struct Meeting {
    expected: usize,
    arrived: Mutex<usize>,
    complete: Condvar,
}

/// Returns when every worker of the pool has run a task, or after a few milliseconds. Returns how
/// many tasks were run.
pub(crate) fn gather(pool: &Pool) -> usize {
    let expected = pool.max_threads();
    let meeting = Meeting { expected, arrived: Mutex::new(0), complete: Condvar::new() };
    pool.run(|worker| meeting.invite(worker, expected));
    meeting.arrived.into_inner().unwrap_or(0)
}

impl Meeting {
    fn invite(&self, worker: &Worker, participants: usize) {
        if participants <= 1 {
            return self.attend();
        }
        let half = participants / 2;
        worker.join(|w| self.invite(w, half), |w| self.invite(w, participants - half));
    }

    fn attend(&self) {
        let Ok(mut arrived) = self.arrived.lock() else { return };
        *arrived += 1;
        self.complete.notify_all();
        let some_missing = |arrived: &mut usize| *arrived < self.expected;
        // No code panics while it holds the lock, and after the wait nothing is left to do.
        let _ = self.complete.wait_timeout_while(arrived, LONGEST_WAIT, some_missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_invited_once() {
        for threads in [1, 2, 3] {
            let pool = Pool::builder().threads(threads).build().unwrap();
            assert_eq!(gather(&pool), threads);
        }
    }
}
