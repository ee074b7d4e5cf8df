//! Pools with two-field stacks under random schedules, and the ways of waiting that such
//! experiments use. Thieves that back out are too rare here; the loom models of the stack reach
//! them.

use super::*;
use crate::StackKind;

fn two_field(threads: usize, wait: Wait) -> Pool {
    Pool::builder().threads(threads).stack(StackKind::TwoField).wait(wait).build().unwrap()
}

fn joins_on_two_field_stacks() {
    for wait in [Wait::Leapfrog, Wait::Transitive, Wait::Block] {
        assert_eq!(two_field(3, wait).run(|w| fib(w, 4)), 3);
    }
}

/// Catches: a task that owner and thief both take or both leave, a joiner that is not woken.
#[test]
fn shuttle_joins_compute_on_two_field_stacks() {
    explore(joins_on_two_field_stacks);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_two_field_joiner_that_is_not_woken() {
    hunt(Bug::ForgottenJoiner, joins_on_two_field_stacks);
}

/// Catches: a task pushed beside a worker that falls asleep.
#[test]
fn shuttle_a_two_field_task_is_taken_while_its_owner_is_blocked() {
    explore(|| {
        let (pool, barrier) = (two_field(2, Wait::Leapfrog), Barrier::new(2));
        pool.run(|w| w.join(|_| meet(&barrier), |_| meet(&barrier)));
    });
}

/// Catches: arms lost where the stack (here of four descriptors) is full, and where a panic
/// unwinds through it.
#[test]
fn shuttle_a_two_field_stack_overflows_and_unwinds() {
    fn deep(w: &Worker, depth: usize, arms: &AtomicUsize, panics: bool) {
        if depth > 0 {
            w.join(|w| deep(w, depth - 1, arms, panics), |_| add(arms));
        } else if panics {
            resume_unwind(Box::new("bottom"));
        }
    }
    explore(|| {
        let (pool, arms) = (two_field(3, Wait::Leapfrog), AtomicUsize::new(0));
        pool.run(|w| deep(w, 6, &arms, false));
        assert_eq!(caught(|| pool.run(|w| deep(w, 6, &arms, true))), "bottom");
        assert_eq!(arms.into_inner(), 12);
    });
}

/// Catches: tasks of scopes and of joins that hide each other.
#[test]
fn shuttle_scopes_nest_with_joins_on_two_field_stacks() {
    explore(|| {
        let (pool, ran) = (two_field(3, Wait::Leapfrog), AtomicUsize::new(0));
        pool.run(|_| {
            scope(|s| {
                s.spawn(|_| assert_eq!(crate::run(|w| fib(w, 3)), 2));
                s.spawn(|_| add(&ran));
                assert_eq!(crate::join(|| crate::run(|w| fib(w, 2)), || 2), (1, 2));
            });
        });
        assert_eq!(ran.into_inner(), 1);
    });
}

/// Catches: a worker that helps the thief of its thief and takes a task that it may not.
#[test]
fn shuttle_transitive_leapfrogging_computes() {
    explore(|| {
        let pool = Pool::builder().threads(3).wait(Wait::Transitive).build().unwrap();
        assert_eq!(pool.run(|w| fib(w, 5)), 5);
    });
}
