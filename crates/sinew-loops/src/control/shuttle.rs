//! Skeletons of joins on a whole pool under random schedules (shuttle), changed, cancelled and
//! panicking meanwhile; planted bugs. Sorts are such skeletons; the crate `sinew` has divide and
//! conquer.

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use sinew_sync::plant::{Bug, plant};
use sinew_sync::statics::AtomicU64;

use super::{Control, Operation};
use crate::loops::shuttle::{Changers, assert_at_rest, explore_with};
use crate::sort::sort_by_under;
use sinew_core::{Cancelled, Worker};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn explore(test: impl Fn(&Worker) + Send + Sync + Copy + 'static) {
    explore_with(&[Schedule::Stealing], move |w, _| test(w));
}

fn hunt(bug: Bug, test: fn(&Worker)) {
    plant(&[bug]);
    for _ in 0..20 {
        explore(test);
    }
}

/// A tree of joins with a leaf for each number.
fn tree(
    w: &Worker,
    operation: &Operation<'_>,
    numbers: Range<usize>,
    leaf: &(dyn Fn(usize) + Sync),
) {
    if numbers.len() == 1 {
        leaf(numbers.start);
        return operation.done(w, 1);
    }
    let middle = numbers.start + numbers.len() / 2;
    let half = |numbers: Range<usize>| move |w: &Worker| tree(w, operation, numbers, leaf);
    operation.join(w, half(numbers.start..middle), half(middle..numbers.end));
}

const LEAVES: usize = 8;

fn visit_each_leaf(w: &Worker) {
    let (control, changers) = (Control::new(), Changers::default());
    let visits: [AtomicU32; LEAVES] = std::array::from_fn(|_| AtomicU32::new(0));
    let operation = Operation::begin(&control, LEAVES as u64).unwrap();
    let participant = operation.register(w);
    tree(w, &operation, 0..LEAVES, &|leaf| {
        if leaf % 2 == 0 {
            changers.start(&control, [1, 3, 4, 1][leaf / 2]);
        }
        visits[leaf].fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(operation.participants.count(), 1, "all but the caller have left");
    drop(participant);
    changers.join();
    operation.end();
    assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1), "not each leaf once");
    assert_eq!(control.snapshot().done, LEAVES as u64);
    assert_at_rest(&control);
}

/// Catches: an arm that is returned and lost, or run twice; and a wrong count of participants.
#[test]
fn shuttle_each_arm_runs_once_while_participants_come_and_go() {
    explore(visit_each_leaf);
}

#[test]
#[should_panic]
fn shuttle_finds_a_participant_that_is_not_counted_again() {
    hunt(Bug::ForgottenReturn, visit_each_leaf);
}

/// Numbers that no earlier execution had, so that stale values of a buffer are recognised.
fn fresh(n: usize) -> Vec<usize> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let first = NEXT.fetch_add(n as u64, Ordering::Relaxed) as usize;
    (first..first + n).collect()
}

const ELEMENTS: usize = 10;

/// Catches: an element lost or doubled between two threads that sort, and equal ones that change
/// their order, while participants come and go.
#[test]
fn shuttle_a_sort_is_stable_whatever_is_requested() {
    explore(|w| {
        let (control, changers, calls) = (Control::new(), Changers::default(), AtomicUsize::new(0));
        let mut list: Vec<(usize, usize)> =
            (0..ELEMENTS).map(|place| (place * 7 % 4, place)).collect();
        let mut right = list.clone();
        right.sort_unstable();
        let ended = sort_by_under(w, &mut list, 3, &control, |a, b| {
            if let number @ (1 | 3 | 4) = calls.fetch_add(1, Ordering::Relaxed) {
                changers.start(&control, number);
            }
            a.0.cmp(&b.0)
        });
        changers.join();
        assert_eq!((ended, list), (Ok(()), right));
        let now = control.snapshot();
        assert_eq!((now.done, now.loops), (now.total, 0));
        assert_at_rest(&control);
    });
}

/// Sorts with a comparison that panics, and another one that cancels.
fn sort_in_vain(w: &Worker) {
    let (control, changers, right) = (Control::new(), Changers::default(), fresh(ELEMENTS));
    let mut list: Vec<usize> = (0..ELEMENTS).map(|place| right[place * 7 % ELEMENTS]).collect();
    let is_whole = |list: &[usize]| {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        sorted == right
    };
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let calls = AtomicUsize::new(0);
        sort_by_under(w, &mut list, 3, &control, |a, b| {
            match calls.fetch_add(1, Ordering::Relaxed) {
                1 => changers.start(&control, 1),
                6 => std::panic::resume_unwind(Box::new("worn out")),
                _ => {}
            }
            a.cmp(b)
        })
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"worn out"));
    assert!(is_whole(&list), "{list:?} is not {right:?}");
    assert_eq!(control.snapshot().working, 0);
    let calls = AtomicUsize::new(0);
    let ended = sort_by_under(w, &mut list, 3, &control, |a, b| {
        if calls.fetch_add(1, Ordering::Relaxed) == 4 {
            let theirs = control.clone();
            changers.run(move || theirs.cancel());
        }
        a.cmp(b)
    });
    changers.join();
    assert!(is_whole(&list), "{list:?} is not {right:?}");
    assert!(ended == Err(Cancelled) || list == right);
    assert_at_rest(&control);
}

/// Catches: an element lost or doubled when a sort ends early, by a panic or a cancellation, with
/// its halves in the slice or the buffer.
#[test]
fn shuttle_a_sort_that_ends_early_keeps_all_elements() {
    explore(sort_in_vain);
}

#[test]
#[should_panic]
fn shuttle_finds_a_half_that_counts_as_sorted_too_early() {
    hunt(Bug::EarlyHalf, sort_in_vain);
}
