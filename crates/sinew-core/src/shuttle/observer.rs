//! Pools with an observer under random schedules: joins off the fast path, and reports of the ends
//! of stolen arms.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use shuttle::sync::Barrier;
use sinew_sync::plant::Bug;

use super::{explore, fib, hunt, meet};
use crate::Pool;
use crate::seams::observer::{Event, Observer, ScopeNote, Source, TaskNote, WorkerObserver};

/// Checks that a thief reports the end of a stolen arm before the owner of the join continues (E3).
#[derive(Clone, Default)]
struct Checker(Arc<Mutex<HashSet<usize>>>);

impl Observer for Checker {
    fn watch(&self, workers: usize) -> Vec<Box<dyn WorkerObserver>> {
        (0..workers).map(|_| Box::new(self.clone()) as Box<dyn WorkerObserver>).collect()
    }

    fn scope_begins(&self) -> ScopeNote {
        Box::new(())
    }

    fn scope_ends(&self, _: &ScopeNote) {}
}

impl WorkerObserver for Checker {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::TaskEnd(Source::Join { frame, .. }) => _ = self.0.lock().unwrap().insert(frame),
            Event::JoinEnd { stolen: Some(frame) } => {
                // The lock is released before the check fails, because the thief takes it later.
                let is_told = self.0.lock().unwrap().remove(&frame);
                assert!(is_told, "the end of a stolen arm was not told yet");
            }
            _ => {}
        }
    }

    fn spawns(&self) -> TaskNote {
        [0; 4]
    }
}

fn stolen_arms() {
    let (checker, barrier) = (Checker::default(), Barrier::new(2));
    let pool = Pool::builder().threads(2).observer(checker.clone()).build().unwrap();
    pool.run(|w| {
        assert_eq!(fib(w, 4), 3);
        w.join(|_| meet(&barrier), |_| meet(&barrier));
    });
    assert!(checker.0.lock().unwrap().is_empty());
}

/// Catches: a thief that marks a stolen arm as finished before it reports the arm's end to the
/// observer.
#[test]
fn shuttle_the_end_of_a_stolen_arm_is_told_before_its_join_ends() {
    explore(stolen_arms);
}

#[test]
#[should_panic(expected = "was not told yet")]
fn shuttle_finds_an_end_that_is_told_too_late() {
    hunt(Bug::LateEvent, stolen_arms);
}
