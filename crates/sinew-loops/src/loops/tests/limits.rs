//! Loops of up to `usize::MAX` iterations, which no test can run one by one: the ranges that bodies
//! get are recorded instead.
//!
//! `cargo xtask ci overflow` runs these in release with overflow checks; without the checks a sum
//! that wraps shows as a range that comes twice.
//!
//! Blind to: a body that is given the right range and visits something else, which the tests of
//! `data` see.

use super::super::driver::drive;
use super::*;
use crate::Control;
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;

/// The number of ranges after which a loop is stopped.
const MOST: usize = 2_000;

/// Lengths near the limits of the word and of half a word, and any others.
fn any_length() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => (0..200_usize).prop_map(|less| usize::MAX - less),
        1 => (0..200_usize).prop_map(|more| (usize::MAX >> 1) - 100 + more),
        1 => (0..200_usize).prop_map(|more| (1 << 32) - 100 + more),
        1 => any::<usize>(),
    ]
}

/// Chunk sizes of either end of the word.
fn any_chunk() -> impl Strategy<Value = usize> {
    prop_oneof![1..70_usize, any_length()]
}

fn any_huge_options() -> impl Strategy<Value = Options<'static>> {
    (any_options(), any_chunk()).prop_map(|(options, size)| Options {
        schedule: options.schedule.with_number(size),
        ..options
    })
}

/// The iterations that one participant was given.
struct Given<'a> {
    ranges: Vec<Range<usize>>,
    all: &'a Mutex<Vec<Range<usize>>>,
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap().append(&mut self.ranges);
    }
}

/// The ranges that bodies get, in their order, and whether the loop was stopped before its end.
/// `at` is called with the number of each range.
fn ranges_of(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    at: impl Fn(usize) + Sync,
) -> (Vec<Range<usize>>, bool) {
    let (all, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let enter = || Given { ranges: Vec::with_capacity(64), all: &all };
    let piece = |given: &mut Given<'_>, range| {
        given.ranges.push(range);
        let number = count.fetch_add(1, Ordering::Relaxed);
        at(number);
        if number < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let cancelled = drive(w, n, options, enter, piece).is_err();
    let mut ranges = all.into_inner().unwrap();
    ranges.sort_unstable_by_key(|range| range.start);
    (ranges, cancelled || count.into_inner() > MOST)
}

/// Each range lies behind the one before and below `n`; unless the loop was stopped, none is
/// missing.
fn assert_at_most_once(n: usize, (ranges, stopped): &(Vec<Range<usize>>, bool)) {
    let mut next = 0;
    for range in ranges {
        assert!(
            range.start >= next && range.end > range.start,
            "{range:?} where {next} comes next of {n}"
        );
        assert!(*stopped || range.start == next, "{next}..{} of {n} is missing", range.start);
        next = range.end;
    }
    assert!(next <= n && (*stopped || next == n), "{next} of {n}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Catches: a sum of iterations that wraps, after which indices are visited twice.
    #[test]
    fn no_index_of_a_huge_loop_is_visited_twice(
        n in any_length(),
        options in any_huge_options(),
        threads in 1..4_usize,
    ) {
        let memory = LoopMemory::new();
        let pool = Pool::builder().threads(threads).build().unwrap();
        pool.run(|w| {
            // The second run begins with what the first has taught.
            for _ in 0..2 {
                let options = Options { memory: Some(&memory), ..options };
                assert_at_most_once(n, &ranges_of(w, n, &options, |_| ()));
            }
        });
    }

    /// Catches: the same where a control changes the loop under way, or ends it.
    #[test]
    fn no_index_of_a_huge_loop_that_is_changed_is_visited_twice(
        n in any_length(),
        options in any_huge_options(),
        changes in proptest::collection::vec((0..300_usize, any_huge_options()), 0..4),
        cancelled in proptest::option::of(0..300_usize),
    ) {
        let control = Control::new();
        let change = |number| {
            for (_, Options { schedule, threads, .. }) in
                changes.iter().filter(|(at, _)| *at == number)
            {
                control.set_schedule(*schedule);
                control.set_threads((*threads).max(1));
            }
            if cancelled == Some(number) {
                control.cancel();
            }
        };
        let options = Options { control: Some(&control), ..options };
        let seen =
            Pool::builder().threads(2).build().unwrap().run(|w| ranges_of(w, n, &options, change));
        assert_at_most_once(n, &seen);
        let done: u128 = seen.0.iter().map(|range| range.len() as u128).sum();
        prop_assert_eq!(u128::from(control.snapshot().done), done);
    }

    /// Catches: a side that wraps in a space of more points than can be counted.
    #[test]
    fn no_block_of_a_huge_space_is_visited_twice(
        sides in [any_length(), any_length()],
        grain in [any_chunk(), any_chunk()],
        options in any_huge_options(),
    ) {
        let space = sides.map(|side| 0..side);
        let (blocks, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let note = |block: [Range<usize>; 2]| {
            blocks.lock().unwrap().push(block);
            if count.fetch_add(1, Ordering::Relaxed) >= 100 {
                std::panic::resume_unwind(Box::new("enough"));
            }
        };
        let run = || {
            sinew_core::run(|w| for_each_block(w, space.clone(), grain, &options, note).unwrap());
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            let told = payload
                .downcast_ref::<String>()
                .is_some_and(|message| message.contains("more than usize::MAX blocks"));
            prop_assert!(told || payload.downcast_ref() == Some(&"enough"));
        }
        let blocks = blocks.into_inner().unwrap();
        for (number, [rows, columns]) in blocks.iter().enumerate() {
            prop_assert!(
                rows.start < rows.end
                    && rows.end <= sides[0]
                    && columns.start < columns.end
                    && columns.end <= sides[1]
            );
            let apart = |[a, b]: &[Range<usize>; 2]| {
                a.end <= rows.start
                    || rows.end <= a.start
                    || b.end <= columns.start
                    || columns.end <= b.start
            };
            prop_assert!(blocks[..number].iter().all(apart), "{:?}", blocks);
        }
    }
}

/// Catches: a loop whose serial part runs again, because the pool's schedule or limit changed after
/// it.
#[test]
fn no_index_is_visited_twice_if_the_pool_changes_during_the_serial_part() {
    let presets =
        ["simple:7", "adaptive:7", "static", "dynamic:3"].map(|name| Some(name.parse().unwrap()));
    for preset in presets.into_iter().chain([None]) {
        for (n, threads) in [(40, 1), (1_000, 1), (1_000, 2), (1_000, 3)] {
            let pool = Pool::builder().threads(3).build().unwrap();
            let (control, options) = (pool.control(), Options { open: true, ..Options::default() });
            pool.run(|w| {
                let change = |number| {
                    if number == 0 {
                        control.set_threads(threads);
                        control.set_schedule(preset);
                        // So long that the loop is offered after it.
                        let began = Instant::now();
                        while began.elapsed() < Duration::from_micros(50) {}
                    }
                };
                assert_at_most_once(n, &ranges_of(w, n, &options, change));
            });
        }
    }
}
