//! Every interleaving of two participants (loom), and a planted bug that the models catch.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sinew-loops --release loom_`

use super::{Fixed, LoopMemory, Source, Stealing};
use crate::planted::Planted;
use sinew_policy::chunk::Schedule;
use sinew_sync::plant::Bug;
use std::ops::Range;
use std::sync::Arc;

fn next(source: &Source, slot: usize) -> Option<Range<usize>> {
    source.claim(slot).or_else(|| source.steal(slot))
}

fn claim_all(source: &Source, slot: usize) -> Vec<Range<usize>> {
    let claimed = std::iter::from_fn(|| next(source, slot)).collect();
    source.leave(slot);
    claimed
}

fn assert_exactly_once(n: usize, mut ranges: Vec<Range<usize>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut next = 0;
    for range in ranges {
        assert!(range.start == next, "{range:?} where {next} comes next");
        next = range.end;
    }
    assert_eq!(next, n, "the end where {next} comes next");
}

fn two_participants(source: impl Fn() -> Source + Sync + Send + 'static, n: usize) {
    loom::model(move || {
        let source = Arc::new(source());
        let shared = Arc::clone(&source);
        let other = loom::thread::spawn(move || claim_all(&shared, 1));
        let mut ranges = claim_all(&source, 0);
        ranges.extend(other.join().unwrap());
        // The loop's caller claims what the other participant left behind after the caller's last
        // claim.
        ranges.extend(claim_all(&source, 0));
        assert_exactly_once(n, ranges);
    });
}

/// Catches: an owner and a thief that both get an index, a deposit that overwrites, a half that
/// is lost.
#[test]
fn loom_stealing_claims_each_index_once() {
    two_participants(|| Source::Stealing(Stealing::new(4, 2, 0)), 4);
}

/// Catches: a slice that the owner and another slot both get when the owner arrives late or
/// leaves early.
#[test]
fn loom_static_claims_each_index_once() {
    two_participants(|| Source::Fixed(Fixed::new(4, 2)), 4);
}

/// Catches: an index of a range that spans several segments that two participants get, or
/// neither.
#[test]
fn loom_affinity_claims_each_index_once() {
    two_participants(|| learned(&LoopMemory::new()), 4);
}

/// A source of 4 in which the share of slot 0 is 0, 1 and 3.
fn learned(memory: &LoopMemory) -> Source {
    let source = Source::with_memory(Schedule::Affinity, 4, 2, 0, Some(memory));
    // Slot 0 begins with 0 and 1, slot 1 with 2 and 3, of which it loses the second.
    let taken =
        [source.claim(0), source.claim(0), source.claim(1), source.steal(0), source.claim(1)];
    assert_eq!(taken, [Some(0..1), Some(1..2), Some(2..3), Some(3..4), None]);
    source.save_to(memory, true);
    let source = Source::with_memory(Schedule::Affinity, 4, 2, 0, Some(memory));
    assert_eq!(source.stealable(1), Some(3));
    source
}

/// In the next run each slot begins with the iterations that it ran in this one, although both
/// stole from each other.
fn owners_are_the_slots_that_ran() {
    loom::model(|| {
        let memory = LoopMemory::new();
        let source = Arc::new(Source::with_memory(Schedule::Affinity, 6, 2, 0, Some(&memory)));
        let mut ran = [0_usize; 6];
        let own: Vec<_> = std::iter::from_fn(|| source.claim(0)).collect();
        assert_eq!(own, [0..1, 1..2, 2..3]);
        let shared = Arc::clone(&source);
        let other = loom::thread::spawn(move || claim_all(&shared, 0));
        for range in claim_all(&source, 1) {
            ran[range].fill(1);
        }
        other.join().unwrap();
        for range in claim_all(&source, 1) {
            ran[range].fill(1);
        }
        Arc::try_unwrap(source).unwrap().save_to(&memory, true);
        let owners = memory.take_parts(6, 2).owners.clone();
        let owners: Vec<_> =
            owners.parts().flat_map(|(range, owner)| range.map(move |_| owner)).collect();
        assert_eq!(owners, ran, "an owner who did not run its part");
    });
}

/// Catches: steals that are recorded in a wrong order.
#[test]
fn loom_affinity_remembers_the_slot_of_each_iteration() {
    owners_are_the_slots_that_ran();
}

/// Catches: a model in which no participant steals from a thief.
#[test]
#[should_panic(expected = "an owner who did not run its part")]
fn loom_a_steal_recorded_late_is_caught() {
    let _planted = Planted::new(Bug::LateRegistration);
    owners_are_the_slots_that_ran();
}

fn closed_meanwhile(schedule: Schedule) {
    loom::model(move || {
        let source = Arc::new(Source::new(schedule, 4, 2, 0));
        let shared = Arc::clone(&source);
        let other = loom::thread::spawn(move || claim_all(&shared, 1));
        let mut ranges: Vec<_> = next(&source, 0).into_iter().collect();
        ranges.extend(source.close());
        assert!(next(&source, 0).is_none());
        ranges.extend(other.join().unwrap());
        assert_exactly_once(4, ranges);
    });
}

/// Catches: a range stolen while the source closes that is lost, or claimed again.
#[test]
fn loom_stealing_can_be_closed_at_any_moment() {
    closed_meanwhile(Schedule::Stealing);
}

/// Catches: the same where the remainder is made of segments.
#[test]
fn loom_affinity_can_be_closed_at_any_moment() {
    loom::model(|| {
        let source = Arc::new(learned(&LoopMemory::new()));
        let shared = Arc::clone(&source);
        let other = loom::thread::spawn(move || claim_all(&shared, 1));
        let mut ranges = source.close();
        ranges.extend(other.join().unwrap());
        assert_exactly_once(4, ranges);
    });
}

/// Catches: a slice claimed while the source closes that is also part of the remainder.
#[test]
fn loom_static_can_be_closed_at_any_moment() {
    closed_meanwhile(Schedule::Static);
}

/// Catches: a chunk claimed while the count is taken to its end, of which the remainder begins
/// too early or too late.
#[test]
fn loom_dynamic_can_be_closed_at_any_moment() {
    closed_meanwhile(Schedule::Dynamic { chunk: 1 });
}

/// Catches: the same for chunks that are claimed by a compare-and-swap.
#[test]
fn loom_tapered_can_be_closed_at_any_moment() {
    closed_meanwhile(Schedule::Guided { min: 1 });
}

fn two_thieves_with_one_number() {
    loom::model(|| {
        let source = Arc::new(Source::new(Schedule::Stealing, 8, 2, 0));
        let shared = Arc::clone(&source);
        let other = loom::thread::spawn(move || next(&shared, 1));
        let mut ranges: Vec<_> = next(&source, 1).into_iter().collect();
        ranges.extend(other.join().unwrap());
        ranges.extend(source.close());
        assert_exactly_once(8, ranges);
    });
}

/// Catches: a deposit into a word that a participant with the same number has filled meanwhile.
#[test]
fn loom_thieves_that_share_a_number_lose_nothing() {
    two_thieves_with_one_number();
}

/// Catches: a model that passes whatever the code does; here the deposit is a plain store.
#[test]
#[should_panic(expected = "where")]
fn loom_a_stored_deposit_is_caught() {
    let _planted = Planted::new(Bug::StoredDeposit);
    two_thieves_with_one_number();
}
