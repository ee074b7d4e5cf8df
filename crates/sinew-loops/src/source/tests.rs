//! Scripts of claims, leaves and closings under every schedule, against a list of the claimed
//! ranges.

use super::{LoopMemory, Source};
use proptest::prelude::*;
use sinew_policy::chunk::Schedule;
use sinew_policy::weighted::Speeds;
use std::ops::Range;

/// One step of a script, by a slot number.
#[derive(Debug, Clone, Copy)]
enum Step {
    Claim(usize),
    Leave(usize),
}

/// Every schedule of the table but `Auto`, which chooses one of the others.
pub(crate) fn any_schedule() -> impl Strategy<Value = Schedule> {
    (0..Schedule::every(1).len(), 1..70_usize)
        .prop_map(|(place, number)| Schedule::every(number).nth(place).unwrap())
        .prop_filter("`Auto` has no source", |schedule| *schedule != Schedule::Auto)
}

/// Numbers beyond the participants are allowed: they wrap around.
fn any_script() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..20_usize).prop_map(Step::Claim),
        1 => (0..20_usize).prop_map(Step::Leave),
    ];
    proptest::collection::vec(step, 0..300)
}

fn next(source: &Source, slot: usize) -> Option<Range<usize>> {
    source.claim(slot).or_else(|| source.steal(slot))
}

fn run(source: &Source, script: &[Step], claimed: &mut Vec<Range<usize>>) {
    for step in script {
        match *step {
            Step::Claim(slot) => claimed.extend(next(source, slot)),
            Step::Leave(slot) => source.leave(slot),
        }
    }
}

/// All leave but `last`, which claims until nothing is left.
fn finish(source: &Source, participants: usize, last: usize, claimed: &mut Vec<Range<usize>>) {
    (0..participants).for_each(|slot| source.leave(slot));
    claimed.extend(std::iter::from_fn(|| next(source, last)));
}

fn assert_exactly_once(n: usize, mut ranges: Vec<Range<usize>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut next = 0;
    for range in ranges {
        assert!(range.start == next && range.end > next, "{range:?} where {next} comes next");
        next = range.end;
    }
    assert_eq!(next, n);
}

proptest! {
    /// Catches: an index claimed twice, forgotten, or beyond the end, under any order of
    /// claims and leaves.
    #[test]
    fn each_index_is_claimed_exactly_once(
        schedule in any_schedule(),
        n in 0..5_000_usize,
        participants in 1..20_usize,
        script in any_script(),
        last in 0..20_usize,
    ) {
        let source = Source::new(schedule, n, participants, last);
        let mut claimed = Vec::new();
        run(&source, &script, &mut claimed);
        finish(&source, participants, last, &mut claimed);
        prop_assert!(source.is_exhausted());
        assert_exactly_once(n, claimed);
    }

    /// Catches: a remainder that overlaps with what was claimed or leaves a hole, and claims
    /// after the end.
    #[test]
    fn what_was_claimed_and_what_close_returns_is_everything(
        schedule in any_schedule(),
        n in 0..5_000_usize,
        participants in 1..20_usize,
        script in any_script(),
        after in any_script(),
    ) {
        let source = Source::new(schedule, n, participants, 0);
        let mut ranges = Vec::new();
        run(&source, &script, &mut ranges);
        ranges.extend(source.close());
        assert_exactly_once(n, ranges);
        let mut late = source.close();
        run(&source, &after, &mut late);
        prop_assert!(late.is_empty() && source.is_exhausted());
    }

    /// Catches: overflow in loops that only end early, and a first claim that takes far too much
    /// of them.
    #[test]
    fn the_longest_loops_can_be_claimed_from(
        schedule in any_schedule(),
        cut in 0..3_usize,
        participants in 1..20_usize,
        script in any_script(),
    ) {
        let n = usize::MAX - cut;
        let stays: Vec<_> = (0..participants).map(|slot| (slot * slot, 1_000)).collect();
        for source in [
            Source::new(schedule, n, participants, 0),
            Source::by_speed(n, Speeds::measured(&stays)),
        ] {
            let mut ranges = Vec::new();
            run(&source, &script, &mut ranges);
            ranges.extend(source.close());
            assert_exactly_once(n, ranges);
        }
    }

    /// Catches: an index lost or doubled in an order of iterations that earlier runs have left,
    /// also when the source is closed.
    #[test]
    fn each_run_with_a_memory_is_exact(
        scripts in proptest::collection::vec((any_script(), 0..20_usize, any::<bool>()), 1..8),
        n in 0..3_000_usize,
        participants in 1..20_usize,
        weighted in any::<bool>(),
    ) {
        let schedule = if weighted { Schedule::Weighted } else { Schedule::Affinity };
        let memory = LoopMemory::new();
        for (script, last, close) in scripts {
            let source = Source::with_memory(schedule, n, participants, 0, Some(&memory));
            let mut claimed = Vec::new();
            run(&source, &script, &mut claimed);
            if close {
                claimed.extend(source.close());
            }
            finish(&source, participants, last, &mut claimed);
            assert_exactly_once(n, claimed);
            source.measured(last, n, 1 + script.len() as u64);
            source.save_to(&memory, !close);
        }
    }

    /// Catches: a slot that does not begin with what it ran before, in one piece or several.
    #[test]
    fn the_next_run_gives_each_slot_what_it_ran(
        n in 0..3_000_usize,
        participants in 1..9_usize,
        script in any_script(),
    ) {
        let memory = LoopMemory::new();
        let source = Source::with_memory(Schedule::Affinity, n, participants, 0, Some(&memory));
        let mut ran = vec![usize::MAX; n];
        let mut note =
            |slot: usize| next(&source, slot).map(|range| ran[range].fill(slot % participants));
        for step in script {
            if let Step::Claim(slot) = step {
                note(slot);
            }
        }
        while note(0).is_some() {}
        source.save_to(&memory, true);
        let source = Source::with_memory(Schedule::Affinity, n, participants, 0, Some(&memory));
        let claimed =
            |slot| std::iter::from_fn(move || Some(slot)).map_while(|slot| source.claim(slot));
        // Scraps keep their owner, and small parts are merged with their neighbours'.
        let misplaced: usize = (0..participants)
            .flat_map(|slot| {
                claimed(slot).flatten().filter(|&index| ran[index] != slot).collect::<Vec<_>>()
            })
            .count();
        prop_assert!(misplaced <= n / 4 + participants, "{} of {}", misplaced, n);
    }

    /// Catches: an active owner's share that others take from, and a share without an owner that is
    /// left untouched.
    #[test]
    fn a_static_share_is_its_owners_until_the_owner_leaves(
        n in 64..5_000_usize,
        participants in 2..20_usize,
    ) {
        let source = Source::new(Schedule::Static, n, participants, 0);
        let mut claimed: Vec<_> = (0..participants).filter_map(|slot| source.claim(slot)).collect();
        prop_assert_eq!(claimed.len(), participants);
        claimed.extend(std::iter::from_fn(|| source.claim(0)));
        prop_assert_eq!(
            claimed[participants..].iter().map(|range| range.end).max(),
            Some(n.div_ceil(participants))
        );
        source.leave(participants - 1);
        if n / participants > 1 {
            claimed.extend(source.claim(0));
            prop_assert!(claimed.last().unwrap().start >= n - n.div_ceil(participants));
        }
        finish(&source, participants, 0, &mut claimed);
        assert_exactly_once(n, claimed);
    }
}

/// Catches: a thief that gets less than half of the caller's range.
#[test]
fn the_first_thief_gets_half_of_what_is_left() {
    let source = Source::new(Schedule::Stealing, 1_600, 2, 0);
    assert_eq!(source.claim(0), Some(0..100));
    assert_eq!((source.claim(1), source.stealable(1)), (None, Some(1_500)));
    assert_eq!(source.steal(1).unwrap().start, 850);
}

/// Catches: a share that does not follow the speeds, and one that no other participant can have
/// while its owner is away.
#[test]
fn a_fast_worker_gets_more_and_a_missing_one_is_stolen_from() {
    let memory = LoopMemory::new();
    for _ in 0..9 {
        let source = Source::with_memory(Schedule::Weighted, 900, 2, 0, Some(&memory));
        assert!(source.is_timed());
        source.measured(0, 600, 1_000);
        source.measured(1, 300, 1_000);
        source.save_to(&memory, true);
    }
    let source = Source::with_memory(Schedule::Weighted, 900, 2, 0, Some(&memory));
    let own: usize = std::iter::from_fn(|| source.claim(0)).map(|range| range.len()).sum();
    assert_eq!((own, source.stealable(0)), (600, Some(300)));
    assert_eq!(claim_all(&source, 0).iter().map(Range::len).sum::<usize>(), 300);
}

/// Catches: a memory that is used for a loop it does not fit, or for schedules that do not
/// remember.
#[test]
fn a_memory_of_another_loop_is_not_used() {
    let memory = LoopMemory::new();
    let alone = |n, participants| {
        let source = Source::with_memory(Schedule::Affinity, n, participants, 0, Some(&memory));
        let own: usize = std::iter::from_fn(|| source.claim(0)).map(|range| range.len()).sum();
        claim_all(&source, 0);
        source.save_to(&memory, true);
        own
    };
    assert_eq!(
        [alone(100, 2), alone(100, 2), alone(102, 2), alone(102, 3), alone(102, 3)],
        [50, 100, 51, 34, 102]
    );
    memory.clear();
    assert_eq!(alone(102, 3), 34);
    assert!(!Source::with_memory(Schedule::Stealing, 9, 2, 0, Some(&memory)).is_timed());
}

/// Catches: chunks of the wrong size, and the wrong bound for the number of helpers.
#[test]
fn dynamic_chunks_have_the_size_that_was_asked_for() {
    let source = Source::new(Schedule::Dynamic { chunk: 4 }, 10, 2, 0);
    let claimed: Vec<_> = std::iter::from_fn(|| source.claim(0)).collect();
    assert_eq!(claimed, [0..4, 4..8, 8..10]);
    assert_eq!(Source::pieces(Schedule::Dynamic { chunk: 4 }, 10), 3);
    assert_eq!(Source::pieces(Schedule::Guided { min: 10 }, 10), 1);
    assert_eq!(Source::pieces(Schedule::Tapered { first: 10 }, 10), 1);
    // 10, 5, 3, 1, 1.
    assert!(Source::pieces(Schedule::Tapered { first: 10 }, 20) >= 5);
    assert_eq!(Source::pieces(Schedule::Stealing, 10), 10);
}

/// Catches: races that a script in one thread cannot show; numbers are shared by two threads on
/// purpose.
#[test]
fn threads_that_claim_at_once_get_each_index_once() {
    const N: usize = 20_000;
    for schedule in Schedule::every(3) {
        for first in 0..20 {
            let source = Source::new(schedule, N, 3, first);
            let source = &source;
            let ranges = std::thread::scope(|s| {
                let threads: Vec<_> =
                    (0..4).map(|slot| s.spawn(move || claim_all(source, slot))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert_exactly_once(N, ranges);
        }
    }
}

fn claim_all(source: &Source, slot: usize) -> Vec<Range<usize>> {
    let claimed = std::iter::from_fn(|| next(source, slot)).collect();
    source.leave(slot);
    claimed
}
