//! loom models of the task stack: an owner and one or two thieves run short scripts in every
//! interleaving.
//!
//! A script is data. After every execution each task must have run exactly once, its result must
//! have been visible to the owner, and loom itself must have found no race on a slot. The planted
//! bugs prove that these checks work.
//!
//! Blind to: a poll reason that is lost, since the owner then runs the task itself. Two tests of
//! `sinew-core` see it: the loom models of `idle/sleep.rs`, in which a lost steal request is a
//! deadlock (M5), and the shuttle tests of calls, which rely on the poll word itself.

use std::sync::Arc;

use sinew_sync::plant::{Bug, plant};

use super::tally::Tally;
use super::{Options, Popped, SlotPtr, Steal, TaskStack, reason};

/// A step of the owner.
#[derive(Clone, Copy, Debug)]
enum OwnerStep {
    /// Push the next task.
    Push,
    /// Push a task to the last slot, and withdraw it.
    PushLast,
    /// Join the newest task: run it, or wait for its thief.
    Pop,
    /// As `Pop`; if the task was stolen, push and join one more above the pinned slot while waiting
    /// (leapfrogging).
    PopLeapfrog,
    /// Poll: publish half if a thief has requested it.
    Poll,
    /// Publish half without a request.
    Publish,
}

/// A step of a thief.
#[derive(Clone, Copy, Debug)]
enum ThiefStep {
    Steal,
    Request,
    Expose,
}

use OwnerStep::{Poll, Pop, PopLeapfrog, Publish, Push, PushLast};
use ThiefStep::{Expose, Request, Steal as Take};

struct World {
    stack: TaskStack,
    tally: Tally,
}

impl World {
    fn new(fenced: bool) -> Self {
        let stack = TaskStack::new(Options { fenced, ..Options::default() });
        Self { stack, tally: Tally::new() }
    }

    fn run_thief(&self, thief: usize, script: &[ThiefStep]) {
        for step in script {
            match step {
                Take => {
                    if let Steal::Task(claim) = self.stack.steal(thief, None) {
                        self.tally.run(claim.task.data as usize);
                        claim.finish();
                    }
                }
                Request => self.stack.request_steal(),
                Expose => {
                    self.stack.expose(false);
                }
            }
        }
    }

    fn run_owner(&self, script: &[OwnerStep]) {
        let mut pushed: Vec<(SlotPtr, usize)> = Vec::new();
        let mut next = 0;
        for step in script {
            match step {
                Push => pushed.push(self.push(&mut next)),
                PushLast => {
                    let (at, id) = self.push(&mut next);
                    assert!(self.stack.is_full(at));
                    // SAFETY: this is the owner, and `at` the newest slot, and the last.
                    unsafe { self.stack.withdraw(at) };
                    pushed.push((at, id));
                }
                Pop | PopLeapfrog => {
                    let (at, id) = pushed.pop().expect("scripts pop what they pushed");
                    self.join(at, id, matches!(step, PopLeapfrog).then_some(&mut next));
                }
                Poll => {
                    if self.stack.take_poll_reasons() & reason::STEAL_REQUEST != 0 {
                        // SAFETY: this is the owner.
                        unsafe { self.stack.publish() };
                    }
                }
                Publish => {
                    // SAFETY: this is the owner.
                    unsafe { self.stack.publish() };
                }
            }
        }
        assert!(pushed.is_empty() && self.stack.is_empty());
        self.tally.check(next);
    }

    fn push(&self, next: &mut usize) -> (SlotPtr, usize) {
        let id = *next;
        *next += 1;
        // SAFETY: this is the owner; scripts are shorter than the stack.
        let (at, _) = unsafe { self.stack.push(Tally::task(id)) };
        (at, id)
    }

    fn join(&self, at: SlotPtr, id: usize, leapfrog: Option<&mut usize>) {
        // SAFETY: this is the owner, and `at` the newest slot.
        unsafe {
            if self.stack.pop(at) || self.stack.pop_cold(at) == Popped::Mine {
                self.tally.run(id);
                return;
            }
            self.stack.pin(at);
            if let Some(next) = leapfrog {
                let (above, id) = self.push(next);
                self.join(above, id, None);
            }
            while !at.slot().is_done() {
                loom::thread::yield_now();
            }
            self.stack.unpin(at);
            self.tally.see(id);
        }
    }
}

/// Every interleaving of `own` with `thieves`, with at most `preemptions` involuntary switches.
fn check(
    fenced: bool,
    preemptions: usize,
    own: &'static [OwnerStep],
    thieves: &'static [&'static [ThiefStep]],
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let world = Arc::new(World::new(fenced));
        let robbers: Vec<_> = thieves
            .iter()
            .enumerate()
            .map(|(number, script)| {
                let world = Arc::clone(&world);
                loom::thread::spawn(move || world.run_thief(number, script))
            })
            .collect();
        world.run_owner(own);
        for robber in robbers {
            robber.join().unwrap();
        }
    });
}

/// Three preemptions in a normal run of the checkers; more with `SINEW_DEEP`.
fn preemptions(quick: usize) -> usize {
    quick + usize::from(std::env::var_os("SINEW_DEEP").is_some())
}

fn one_thief(own: &'static [OwnerStep], thief: &'static [ThiefStep]) {
    check(false, preemptions(3), own, Vec::leak(vec![thief]));
}

/// Runs a model with a planted bug, on a stack that relies on the light fence.
fn planted(bug: Bug, own: &'static [OwnerStep], thief: &'static [ThiefStep]) {
    plant(&[bug]);
    check(false, 3, own, Vec::leak(vec![thief]));
}

/// As `planted`, on a fenced stack and with a light fence that does nothing. In other models the
/// light fence is a real one and compensates for a store that is too weak; the machine's light
/// fence does not.
fn planted_fenced(bug: Bug, own: &'static [OwnerStep], thief: &'static [ThiefStep]) {
    plant(&[bug, Bug::NoLightFence]);
    check(true, 5, own, Vec::leak(vec![thief]));
}

/// Catches: an exposure that races with the pop of the only task.
#[test]
fn loom_an_exposed_task_is_popped_or_stolen() {
    one_thief(&[Push, Pop], &[Expose, Take]);
}

/// Catches: a slot refilled while an exposure of its former task is in flight.
#[test]
fn loom_a_slot_is_reused_under_exposure() {
    one_thief(&[Push, Pop, Push, Pop], &[Expose, Take, Expose, Take]);
}

/// Catches: taking back the newer of two public tasks while the older is stolen.
#[test]
fn loom_two_tasks_are_published_and_taken_back() {
    one_thief(&[Push, Push, Publish, Publish, Pop, Pop], &[Take, Take]);
}

/// Catches: a publication on request that races with the pop.
#[test]
fn loom_a_request_is_answered() {
    one_thief(&[Push, Poll, Push, Poll, Pop, Pop], &[Request, Take, Take]);
}

/// Catches: tasks above a pinned slot that are mistaken for it.
#[test]
fn loom_a_joiner_leapfrogs_above_its_pinned_slot() {
    one_thief(&[Push, Publish, PopLeapfrog, Push, Pop], &[Take, Expose, Take]);
}

/// Catches: an owner and an exposer that both move `split`.
#[test]
fn loom_publishing_meets_an_exposure() {
    one_thief(&[Push, Push, Publish, Pop, Publish, Pop], &[Expose, Take]);
}

/// Catches: two thieves that claim one task, or an exposure by one that the other does not expect.
#[test]
fn loom_two_thieves_share_a_stack() {
    check(false, preemptions(2), &[Push, Push, Publish, Pop, Pop], &[&[Expose, Take], &[Take]]);
}

/// Catches: an exposure of the last slot, which the first arm of its join fills again.
#[test]
fn loom_the_last_slot_is_not_public() {
    const OWNER: &[OwnerStep] = &[Push, Push, Push, PushLast, PushLast, Pop, Pop, Pop, Pop, Pop];
    const THIEF: &[ThiefStep] = &[Expose, Expose, Expose, Take, Take, Take, Take];
    check(false, preemptions(1), OWNER, &[THIEF]);
}

/// Catches: two exposers at once.
#[test]
fn loom_two_thieves_expose() {
    check(false, preemptions(2), &[Push, Pop, Push, Pop], &[&[Expose, Take], &[Expose, Take]]);
}

/// Catches: a fenced stack whose cold pop does not see the exposure.
#[test]
fn loom_a_fenced_stack_is_as_safe() {
    plant(&[Bug::NoLightFence]);
    check(true, preemptions(3), &[Push, Pop, Push, Pop], &[&[Expose, Take]]);
    check(true, preemptions(2), &[Push, Push, Poll, Pop, Pop], &[&[Request, Expose, Take]]);
}

/// Catches: a model that does not execute the fence.
#[test]
#[should_panic]
fn loom_finds_a_missing_light_fence() {
    planted(Bug::NoLightFence, &[Push, Pop, Push, Pop], &[Expose, Take]);
}

#[test]
#[should_panic]
fn loom_finds_a_missing_heavy_fence() {
    planted(Bug::NoHeavyFence, &[Push, Pop, Push, Pop], &[Expose, Take]);
}

#[test]
#[should_panic]
fn loom_finds_an_ignored_exposure() {
    planted(Bug::IgnorePending, &[Push, Pop, Push, Pop], &[Expose, Take]);
}

#[test]
#[should_panic]
fn loom_finds_a_slot_read_before_its_claim() {
    planted(Bug::EarlyRead, &[Push, Publish, Pop, Push, Publish, Pop], &[Take]);
}

#[test]
#[should_panic]
fn loom_finds_a_relaxed_push() {
    planted_fenced(Bug::RelaxedPush, &[Push, Pop], &[Expose, Take]);
}

#[test]
#[should_panic]
fn loom_finds_a_relaxed_pop() {
    planted_fenced(Bug::RelaxedPop, &[Push, Pop, Push, Push, Pop, Pop], &[Expose, Take]);
}

#[test]
#[should_panic]
fn loom_finds_a_relaxed_report() {
    planted(Bug::RelaxedDone, &[Push, Publish, Pop], &[Take]);
}

#[test]
#[should_panic]
fn loom_finds_publishing_without_the_token() {
    planted(Bug::PublishWithoutToken, &[Push, Push, Publish, Pop, Pop], &[Expose, Take, Take]);
}
