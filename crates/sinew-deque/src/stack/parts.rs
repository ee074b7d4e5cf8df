//! A loom model of I6: a worker that waits for a task takes parts of that task from its thief, and
//! no later task of the thief.
//!
//! The stack is the thief's. Its owner runs the stolen task, which pushes a part and joins it,
//! reports, and then pushes and joins a task of another kind in the same slot. The waiting worker
//! claims only while the task is unreported.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::plant::{Bug, plant, planted};

use super::tally::Tally;
use super::{Options, Popped, Steal, TaskStack};

const PART: usize = 1;
const OTHER: usize = 2;

struct World {
    stack: TaskStack,
    reported: AtomicBool,
}

impl World {
    /// Pushes and publishes a task, and joins it.
    fn join(&self, kind: usize) {
        // SAFETY: this is the owner; the slot is the newest.
        unsafe {
            let (at, _) = self.stack.push(Tally::task(kind));
            self.stack.publish();
            if !self.stack.pop(at) && self.stack.pop_cold(at) == Popped::Stolen {
                self.stack.pin(at);
                while !at.slot().is_done() {
                    loom::thread::yield_now();
                }
                self.stack.unpin(at);
            }
        }
    }

    fn run_stolen_task_and_another(&self) {
        self.join(PART);
        if !planted(Bug::StaleEpoch) {
            // SAFETY: this is the owner, and the part is joined.
            unsafe { self.stack.end_epoch() };
        }
        // Release: models the report (M6).
        self.reported.store(true, Ordering::Release);
        self.join(OTHER);
    }

    fn wait(&self) {
        for _ in 0..2 {
            let unreported = || planted(Bug::LateCheck) || !self.reported.load(Ordering::Acquire);
            if let Steal::Task(claim) = self.stack.steal_while(0, None, unreported) {
                let kind = claim.task.data as usize;
                claim.finish();
                assert_eq!(kind, PART, "a task that is no part was stolen");
            }
        }
    }
}

fn check() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = Arc::new(World {
            stack: TaskStack::new(Options::default()),
            reported: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&world);
        let waiting = loom::thread::spawn(move || theirs.wait());
        world.run_stolen_task_and_another();
        waiting.join().unwrap();
    });
}

/// Catches: a claim that succeeds on bounds that have returned to an earlier value.
#[test]
fn loom_only_parts_are_taken_while_waiting() {
    check();
}

#[test]
#[should_panic(expected = "a task that is no part was stolen")]
fn loom_finds_an_epoch_that_does_not_end() {
    plant(&[Bug::StaleEpoch]);
    check();
}

#[test]
#[should_panic(expected = "a task that is no part was stolen")]
fn loom_finds_a_claim_without_a_check() {
    plant(&[Bug::LateCheck]);
    check();
}
