//! loom models of the two-field stack: an owner and one or two thieves run short scripts in every
//! interleaving.
//!
//! After every execution each task must have run exactly once, its result must have been visible to
//! the owner, and `bottom` must have its initial value. loom itself must have found no race on a
//! descriptor. The planted bugs prove that these checks work.

use std::sync::Arc;

use sinew_sync::plant::{Bug, plant};

use super::{Ordering, Popped, TwoField};
use crate::node::PreferredNode;
use crate::stack::tally::Tally;

/// A step of the owner.
#[derive(Clone, Copy, Debug)]
enum Own {
    /// Push the next task.
    Push,
    /// Join the newest task: run it, or wait for its thief.
    Pop,
    /// As `Pop`; if the task was stolen, push and join one more above it while waiting
    /// (leapfrogging).
    PopLeapfrog,
}

/// A step of a thief.
#[derive(Clone, Copy, Debug)]
enum Rob {
    /// Steal a task, if there is one.
    Take,
    /// Claim a task, and back out in any case.
    Touch,
}

use Own::{Pop, PopLeapfrog, Push};
use Rob::{Take, Touch};

struct World {
    stack: TwoField,
    tally: Tally,
}

impl World {
    fn new() -> Self {
        Self { stack: TwoField::new(PreferredNode::OnlyNode), tally: Tally::new() }
    }

    fn rob(&self, thief: usize, script: &[Rob]) {
        for step in script {
            let keep = matches!(step, Take);
            if let Ok((descriptor, task)) = self.stack.steal(thief, None, || keep) {
                self.tally.run(task.data as usize);
                descriptor.finish();
            }
        }
    }

    fn own(&self, script: &[Own]) {
        let mut pushed: Vec<(usize, usize)> = Vec::new();
        let mut next = 0;
        for step in script {
            match step {
                Push => pushed.push(self.push(&mut next)),
                Pop | PopLeapfrog => {
                    let (at, id) = pushed.pop().expect("scripts pop what they pushed");
                    self.join(at, id, matches!(step, PopLeapfrog).then_some(&mut next));
                }
            }
        }
        assert!(pushed.is_empty() && self.stack.is_empty());
        self.tally.check(next);
    }

    fn push(&self, next: &mut usize) -> (usize, usize) {
        let id = *next;
        *next += 1;
        // SAFETY: this is the owner; scripts are shorter than the stack.
        let at = unsafe { self.stack.push(Tally::task(id), id as u32) };
        (at, id)
    }

    fn join(&self, at: usize, id: usize, leapfrog: Option<&mut usize>) {
        // SAFETY: this is the owner, and `at` the newest task's.
        unsafe {
            let mut popped = self.stack.pop(at);
            while popped.is_none() {
                loom::thread::yield_now();
                popped = self.stack.pop_again(at);
            }
            if popped == Some(Popped::Mine) {
                return self.tally.run(id);
            }
            if let Some(next) = leapfrog {
                let (above, id) = self.push(next);
                self.join(above, id, None);
            }
            while !self.stack.descriptor(at).is_done() {
                loom::thread::yield_now();
            }
            self.tally.see(id);
            self.stack.unpin(at);
        }
    }
}

/// Every interleaving of `own` with `thieves`, with at most `preemptions` involuntary switches.
fn check(preemptions: usize, own: &'static [Own], thieves: &'static [&'static [Rob]]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let world = Arc::new(World::new());
        let robbers: Vec<_> = thieves
            .iter()
            .enumerate()
            .map(|(number, script)| {
                let world = Arc::clone(&world);
                loom::thread::spawn(move || world.rob(number, script))
            })
            .collect();
        world.own(own);
        for robber in robbers {
            robber.join().unwrap();
        }
        // Relaxed: all threads were joined.
        assert_eq!(world.stack.bottom.load(Ordering::Relaxed), 0, "the bottom is lost");
    });
}

/// Old values of `bottom`: one thief steals the first task while the other learns of the second,
/// and then both are pushed again.
const TWICE: [Own; 8] = [Push, Push, Pop, Pop, Push, Push, Pop, Pop];

/// Catches: a task that both the owner and a thief take, or a result that is not visible.
#[test]
fn loom_a_task_is_popped_or_stolen() {
    check(3, &[Push, Pop, Push, Pop], &[&[Take, Take]]);
}

/// Catches: tasks above a stolen one that are mistaken for it, and a `bottom` that the owner
/// lowers too far.
#[test]
fn loom_a_joiner_leapfrogs_above_a_stolen_task() {
    check(3, &[Push, PopLeapfrog, Push, Pop], &[&[Take, Take]]);
}

/// Catches: a join that gives up on a task that its thief returns.
#[test]
fn loom_a_thief_that_backs_out_leaves_the_task() {
    check(3, &[Push, Pop, Push, Pop], &[&[Touch, Take]]);
    check(2, &[Push, Push, Pop, Pop], &[&[Touch], &[Take]]);
}

/// Catches: two thieves that claim one task.
#[test]
fn loom_two_thieves_share_a_stack() {
    check(2, &[Push, Push, Pop, Pop], &[&[Take, Take], &[Take]]);
}

/// Catches: a thief that acts on an old value of `bottom`.
#[test]
fn loom_a_thief_with_an_old_view_backs_out() {
    check(2, &TWICE, &[&[Take], &[Take]]);
}

#[test]
#[should_panic(expected = "bottom")]
fn loom_finds_a_thief_that_does_not_look_at_the_bottom_again() {
    plant(&[Bug::StaleBottom]);
    check(2, &TWICE, &[&[Take], &[Take]]);
}

#[test]
#[should_panic]
fn loom_finds_a_join_that_does_not_wait_for_the_commit() {
    plant(&[Bug::HastyJoin]);
    check(3, &[Push, Pop], &[&[Touch]]);
}

#[test]
#[should_panic]
fn loom_finds_a_relaxed_two_field_push() {
    plant(&[Bug::RelaxedPush]);
    check(3, &[Push, Pop], &[&[Take]]);
}

#[test]
#[should_panic]
fn loom_finds_a_relaxed_test_and_set() {
    plant(&[Bug::RelaxedTestAndSet]);
    check(3, &[Push, Pop], &[&[Take]]);
}

#[test]
#[should_panic]
fn loom_finds_a_relaxed_two_field_report() {
    plant(&[Bug::RelaxedDone]);
    check(3, &[Push, Pop], &[&[Take]]);
}
