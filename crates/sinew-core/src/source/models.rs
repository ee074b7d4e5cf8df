//! Every interleaving of two participants (loom), and a planted bug that the models catch.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sinew-core --release loom_`

use super::{Fixed, Source, Stealing};
use sinew_policy::chunk::Schedule;
use sinew_sync::plant::{Bug, plant};
use std::ops::Range;
use std::sync::Arc;

fn next(source: &Source, seat: usize) -> Option<Range<usize>> {
    source.claim(seat).or_else(|| source.steal(seat))
}

fn claim_all(source: &Source, seat: usize) -> Vec<Range<usize>> {
    let claimed = std::iter::from_fn(|| next(source, seat)).collect();
    source.leave(seat);
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
        // What a participant left after the other had looked: the loop's caller looks once more for that reason.
        ranges.extend(claim_all(&source, 0));
        assert_exactly_once(n, ranges);
    });
}

/// Would miss: an owner and a thief that both get an index, a deposit that overwrites, a half that is lost.
#[test]
fn loom_stealing_hands_out_each_index_once() {
    two_participants(|| Source::Stealing(Stealing::new(4, 2, 0)), 4);
}

/// Would miss: a slice that the owner and another seat both get when the owner arrives late or leaves early.
#[test]
fn loom_static_hands_out_each_index_once() {
    two_participants(|| Source::Fixed(Fixed::new(4, 2)), 4);
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

/// Would miss: a range stolen while the source closes that is lost, or handed out again.
#[test]
fn loom_stealing_can_be_closed_at_any_moment() {
    closed_meanwhile(Schedule::Stealing);
}

/// Would miss: a slice claimed while the source closes that is also part of the remainder.
#[test]
fn loom_static_can_be_closed_at_any_moment() {
    closed_meanwhile(Schedule::Static);
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

/// Would miss: a deposit into a word that a participant with the same number has filled meanwhile.
#[test]
fn loom_thieves_that_share_a_number_lose_nothing() {
    two_thieves_with_one_number();
}

/// Would miss: a model that passes whatever the code does; here the deposit is a plain store.
#[test]
#[should_panic(expected = "where")]
fn loom_a_stored_deposit_is_caught() {
    struct Removed;
    impl Drop for Removed {
        fn drop(&mut self) {
            plant(&[]);
        }
    }
    let _removed = Removed;
    plant(&[Bug::StoredDeposit]);
    two_thieves_with_one_number();
}
