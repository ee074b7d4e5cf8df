//! The tuner against its source: every transition by itself, and the printed figures on any
//! sequence.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory",
//! figures 6.1 to 6.4. A test names the lines it follows.

use proptest::prelude::*;

use super::*;

const ALPHA: f64 = 0.1;
const BETA: f64 = 0.1;

/// An epoch with these aborts and stalls for 1,000 commits in a microsecond.
fn seen(aborts: u64, stalls: u64) -> Counts {
    Counts { commits: 1_000, aborts, stalls, elapsed_ns: 1_000 }
}

/// An epoch without aborts and stalls, with these commits in a microsecond.
fn fast(commits: u64) -> Counts {
    Counts { commits, elapsed_ns: 1_000, ..Counts::default() }
}

/// Below β and at it.
const FEW: u64 = 99;
const MANY: u64 = 100;

fn tuner(cores: usize) -> Tuner {
    Tuner::new(cores, Knobs::default()).unwrap()
}

/// A tuner in the state for threads, with 4 cores.
fn at_threads() -> Tuner {
    let mut tuner = tuner(4);
    feed(&mut tuner, [seen(0, 0), seen(0, 0)]);
    assert_eq!(tuner.state(), State::Threads);
    tuner
}

/// A tuner at the start of the state for helpers, with 2 of 4 cores, after an epoch of 100 commits
/// in a microsecond.
fn at_helpers(knobs: Knobs) -> Tuner {
    let mut tuner = Tuner { knobs, ..at_threads() };
    feed(&mut tuner, [seen(MANY, 0), seen(MANY, 0), fast(100), fast(100)]);
    assert_eq!(tuner.state(), State::Helpers);
    tuner
}

/// A tuner at coalescing, with a worker on each of 4 cores.
fn at_coalescing() -> Tuner {
    let mut tuner = at_threads();
    feed(&mut tuner, [seen(FEW, 0), seen(FEW, 0)]);
    assert_eq!(tuner.state(), State::Coalescing);
    tuner
}

fn feed<const N: usize>(tuner: &mut Tuner, epochs: [Counts; N]) {
    epochs.iter().for_each(|counts| {
        tuner.epoch(counts);
    });
}

/// The threads after each of these abort counts, and the state after the last.
fn threads_after<const N: usize>(aborts: [u64; N]) -> ([usize; N], State) {
    let mut tuner = at_threads();
    let threads = aborts.map(|aborts| {
        tuner.epoch(&seen(aborts, 0));
        tuner.settings().threads
    });
    (threads, tuner.state())
}

/// The lifespans after each of these throughputs, the first compared with 100, and the state after
/// the last.
fn lifespans_after<const N: usize>(knobs: Knobs, commits: [u64; N]) -> ([u32; N], State) {
    let mut tuner = at_helpers(knobs);
    let lifespans = commits.map(|commits| {
        tuner.epoch(&fast(commits));
        tuner.settings().lifespan
    });
    (lifespans, tuner.state())
}

/// Catches: fewer threads at first, private lists from the start, or helpers that run (figure 6.2,
/// lines 3 to 6).
#[test]
fn the_start_is_all_cores_and_one_list() {
    let mut tuner = tuner(16);
    assert_eq!(tuner.settings(), Settings::baseline(16));
    tuner.epoch(&seen(5_000, 5_000));
    assert_eq!((tuner.state(), tuner.settings()), (State::Stealing, Settings::baseline(16)));
}

/// Catches: stealing at the threshold, none above it, and a state that is not left with few stalls
/// (figure 6.2, lines 7 to 10).
#[test]
fn stealing_is_turned_on_above_alpha_and_left_in_any_case() {
    for (stalls, stealing) in [(0, false), (100, false), (101, true), (9_999, true)] {
        let mut tuner = tuner(4);
        feed(&mut tuner, [seen(0, 0), seen(0, stalls)]);
        assert_eq!(
            (tuner.state(), tuner.settings().stealing),
            (State::Threads, stealing),
            "{stalls}"
        );
    }
}

/// Catches: one epoch that suffices, or β itself that counts as below (figure 6.3, lines 2 to 10;
/// line 9 for one thread per core).
#[test]
fn few_aborts_twice_end_the_counting_of_threads() {
    assert_eq!(threads_after([FEW]), ([4], State::Threads));
    assert_eq!(threads_after([FEW, FEW]), ([4, 4], State::Coalescing));
    assert_eq!(threads_after([FEW, MANY]), ([4, 4], State::Threads));
}

/// Catches: helpers without an idle core, and coalescing that begins with one (figure 6.3, lines 6
/// to 10).
#[test]
fn helpers_follow_where_a_core_is_idle() {
    assert_eq!(threads_after([MANY, MANY, FEW, FEW]), ([4, 2, 2, 2], State::Helpers));
    assert_eq!(threads_after([FEW, FEW]).1, State::Coalescing);
}

/// Catches: one epoch that halves, a count that continues after halving, and no thread at all
/// (figure 6.3, lines 15 to 19).
#[test]
fn many_aborts_twice_halve_the_threads() {
    assert_eq!(threads_after([MANY; 9]), ([4, 2, 2, 1, 1, 1, 1, 1, 1], State::Threads));
    let mut odd = tuner(7);
    feed(&mut odd, [seen(MANY, 0); 4]);
    assert_eq!(odd.settings().threads, 3, "halves are rounded down");
}

/// Catches: a contrary epoch that is ignored, or that counts as the first of its own kind (figure
/// 6.3, lines 11 and 20).
#[test]
fn a_contrary_epoch_resets_the_counting_of_threads() {
    assert_eq!(threads_after([MANY, FEW, MANY, FEW]), ([4; 4], State::Threads));
    assert_eq!(threads_after([MANY, FEW, FEW]), ([4; 3], State::Threads));
    assert_eq!(threads_after([MANY, FEW, FEW, FEW]), ([4; 4], State::Coalescing));
    assert_eq!(threads_after([FEW, MANY, MANY, MANY]), ([4, 4, 4, 2], State::Threads));
}

/// Catches: helpers that do not run in the first epoch of their state (figure 6.2, lines 6 and
/// 15).
#[test]
fn helpers_begin_with_one_word() {
    assert_eq!(at_helpers(Knobs::default()).settings(), Settings::baseline(2).lifespan(1));
}

/// Catches: a tie that counts as lower, one epoch that suffices, and a count left from the threads
/// (figure 6.4, lines 13 to 18).
#[test]
fn throughput_that_is_not_lower_twice_lengthens_the_lifespan() {
    let knobs = Knobs::default();
    assert_eq!(lifespans_after(knobs, [100, 100, 101, 101]).0, [1, 10, 10, 100]);
    assert_eq!(lifespans_after(knobs, [100]).0, [1]);
}

/// Catches: a lifespan beyond the longest, and a state that is not left there (figure 6.4, line
/// 17).
#[test]
fn the_longest_lifespan_ends_the_state() {
    let (lifespans, state) = lifespans_after(Knobs::default(), [100; 8]);
    assert_eq!(
        (lifespans, state),
        ([1, 10, 10, 100, 100, 1_000, 1_000, 10_000], State::Coalescing)
    );
    let knobs = Knobs { longest_lifespan: 25, ..Knobs::default() };
    assert_eq!(lifespans_after(knobs, [100; 4]), ([1, 10, 10, 25], State::Coalescing));
}

/// Catches: helpers that stay on though they harm from the first word on, or that are turned off
/// later (figure 6.4, lines 2 to 9).
#[test]
fn lower_throughput_twice_turns_off_one_word_and_keeps_more() {
    let knobs = Knobs::default();
    assert_eq!(lifespans_after(knobs, [99, 98]), ([1, 0], State::Coalescing));
    assert_eq!(lifespans_after(knobs, [100, 100, 99, 98]), ([1, 10, 10, 10], State::Coalescing));
}

/// Catches: a contrary epoch that is ignored, or that counts as the first of its own kind (figure
/// 6.4, lines 10 and 19).
#[test]
fn a_contrary_epoch_resets_the_timing_of_helpers() {
    let knobs = Knobs::default();
    assert_eq!(lifespans_after(knobs, [99, 99, 98, 98]), ([1; 4], State::Helpers));
    assert_eq!(lifespans_after(knobs, [101, 99, 98]), ([1; 3], State::Helpers));
    assert_eq!(lifespans_after(knobs, [101, 99, 98, 97]), ([1, 1, 1, 0], State::Coalescing));
    assert_eq!(lifespans_after(knobs, [99, 99, 99, 99]), ([1, 1, 1, 10], State::Helpers));
}

/// Catches: a comparison of commits instead of commits per second: epochs are not equally long.
#[test]
fn helpers_are_judged_by_commits_a_second() {
    let mut tuner = at_helpers(Knobs::default());
    feed(
        &mut tuner,
        [Counts { elapsed_ns: 2_001, ..fast(200) }, Counts { elapsed_ns: 4_003, ..fast(400) }],
    );
    assert_eq!(tuner.settings().lifespan, 0);
}

/// Catches: harm that is the same in every epoch, and a lifespan that is too long and kept (the
/// text of section 6.2.3).
#[test]
fn an_accepted_baseline_takes_back_what_harms() {
    let knobs = Knobs { baseline: Baseline::Accepted, ..Knobs::default() };
    assert_eq!(lifespans_after(knobs, [99, 99]), ([1, 0], State::Coalescing));
    assert_eq!(lifespans_after(knobs, [110, 110, 109, 109]), ([1, 10, 10, 1], State::Coalescing));
    let (lifespans, state) = lifespans_after(knobs, [100; 10]);
    assert_eq!((lifespans[7..].to_vec(), state), (vec![10_000; 3], State::Coalescing));
    let (lifespans, state) =
        lifespans_after(knobs, [100, 100, 100, 100, 100, 100, 100, 100, 99, 99]);
    assert_eq!((lifespans[7..].to_vec(), state), (vec![10_000, 10_000, 1_000], State::Coalescing));
}

/// Catches: helpers that are timed on cores that were taken away.
#[test]
fn helpers_without_an_idle_core_are_not_timed() {
    let mut tuner = at_helpers(Knobs::default());
    tuner.set_cores(2);
    tuner.epoch(&fast(50));
    assert_eq!((tuner.state(), tuner.settings().lifespan), (State::Coalescing, 1));
}

/// Catches: coalescing under one of the two conditions, and a state that is not left without it
/// (figure 6.2, lines 17 to 20).
#[test]
fn coalescing_needs_both_conditions_and_takes_one_epoch() {
    for (aborts, stalls, coalescing) in
        [(9, 101, true), (10, 101, false), (9, 100, false), (0, 0, false)]
    {
        let mut tuner = at_coalescing();
        tuner.epoch(&seen(aborts, stalls));
        let settings = tuner.settings();
        assert_eq!(
            (tuner.state(), settings.coalescing),
            (State::SwapRetry, coalescing),
            "{aborts} {stalls}"
        );
        assert_eq!(
            settings.swap_after, None,
            "swapping begins with what its own state has counted"
        );
    }
}

/// Catches: retries that are tuned only once, and another setting that is still tuned (figure 6.2,
/// lines 21 to 23).
#[test]
fn swap_retry_is_tuned_for_good_and_alone() {
    let mut tuner = at_coalescing();
    tuner.epoch(&seen(0, 101));
    for round in 0..100_u64 {
        let (aborts, retries) =
            [(0, 1), (1_000, 32), (9_000, 512), (111, 1), (112, 2)][round as usize % 5];
        tuner.epoch(&seen(aborts, 9_999));
        let settings = Settings::baseline(4).coalescing(true).swap_after(Some(retries));
        assert_eq!((tuner.state(), tuner.settings()), (State::SwapRetry, settings));
    }
}

/// Catches: an epoch without transactions that changes a state, for few aborts or for no
/// throughput.
#[test]
fn an_epoch_without_transactions_changes_nothing() {
    let mut tuner = tuner(4);
    for counts in [
        seen(MANY, 0),
        seen(MANY, 101),
        seen(MANY, 0),
        seen(MANY, 0),
        fast(10),
        fast(10),
        fast(9),
        fast(8),
    ] {
        let before = tuner.clone();
        tuner.epoch(&Counts { stalls: 7, elapsed_ns: 1_000_000, ..Counts::default() });
        assert_eq!(tuner, before);
        tuner.epoch(&counts);
    }
    assert_eq!(tuner.state(), State::Coalescing);
}

/// Catches: more threads than cores, fewer than the best number once the cores return, and a
/// halving that is forgotten.
#[test]
fn threads_follow_the_cores_up_to_the_best_number() {
    let mut tuner = tuner(8);
    let mut threads = |cores| {
        tuner.set_cores(cores);
        tuner.settings().threads
    };
    assert_eq!([threads(3), threads(0), threads(16), threads(8)], [3, 1, 16, 8]);
    feed(&mut tuner, [seen(MANY, 0); 4]);
    let mut threads = |cores| {
        tuner.set_cores(cores);
        tuner.settings().threads
    };
    assert_eq!([threads(3), threads(64), threads(1), threads(8)], [3, 4, 1, 4]);
}

/// Figure 6.3 as printed: the state is left with `true` for helpers, `false` for coalescing.
fn figure_6_3(r: &mut i8, n: &mut usize, p: usize, ratio: f64) -> Option<bool> {
    if ratio < BETA {
        match *r {
            0 => *r += 1,
            1 => return Some(*n < p),
            _ => *r = 0,
        }
    } else {
        match *r {
            0 => *r -= 1,
            -1 => {
                *n = (*n / 2).max(1);
                *r = 0;
            }
            _ => *r = 0,
        }
    }
    None
}

/// Figure 6.4 as printed; returns whether the state is left.
fn figure_6_4(r: &mut i8, l: &mut u32, m: u32, now: f64, before: f64) -> bool {
    if now < before {
        match *r {
            0 => *r -= 1,
            -1 => {
                if *l == 1 {
                    *l = 0;
                }
                return true;
            }
            _ => *r = 0,
        }
    } else {
        match *r {
            0 => *r += 1,
            1 => {
                *l = (*l * 10).min(m);
                *r = 0;
            }
            _ => *r = 0,
        }
    }
    false
}

proptest! {
    /// Catches: any difference from figure 6.3, for any order of epochs.
    #[test]
    fn threads_are_counted_as_printed(
        cores in 1..40_usize,
        aborts in proptest::collection::vec(0..200_u64, 0..40),
    ) {
        let mut tuner = tuner(cores);
        feed(&mut tuner, [seen(0, 0), seen(0, 0)]);
        let (mut r, mut n) = (0, cores);
        for aborts in aborts {
            let left = figure_6_3(&mut r, &mut n, cores, aborts as f64 / 1_000.0);
            tuner.epoch(&seen(aborts, 0));
            prop_assert_eq!(tuner.settings().threads, n);
            let state = match left {
                None => State::Threads,
                Some(true) => State::Helpers,
                Some(false) => State::Coalescing,
            };
            prop_assert_eq!(tuner.state(), state);
            if left.is_some() {
                break;
            }
        }
    }

    /// Catches: any difference from figure 6.4 up to the longest lifespan, for any order of epochs.
    #[test]
    fn helpers_are_timed_as_printed(commits in proptest::collection::vec(95..105_u64, 0..40)) {
        let knobs = Knobs::default();
        let mut tuner = at_helpers(knobs);
        let (mut r, mut l, mut before) = (0, 1, 100);
        for commits in commits {
            let left =
                figure_6_4(&mut r, &mut l, knobs.longest_lifespan, commits as f64, before as f64);
            before = commits;
            tuner.epoch(&fast(commits));
            prop_assert_eq!(tuner.settings().lifespan, l);
            let left = left || l == knobs.longest_lifespan;
            prop_assert_eq!(tuner.state() == State::Coalescing, left);
            if left {
                break;
            }
        }
    }

    /// Catches: any difference from the first and last states of figure 6.2, for any counts.
    #[test]
    fn the_other_states_are_as_printed(
        epochs in proptest::collection::vec((1..2_000_u64, 0..300_u64, 0..300_u64), 7),
    ) {
        let mut tuner = tuner(1);
        let at = |epoch: usize| {
            let (commits, aborts, stalls) = epochs[epoch];
            Counts { commits, aborts, stalls, elapsed_ns: 1 }
        };
        feed(&mut tuner, [at(0), at(1), fast(1), fast(1), at(2), at(3)]);
        let ratio = |part: u64, whole: u64| part as f64 / whole as f64;
        let stealing = ratio(at(1).stalls, at(1).commits) > ALPHA;
        let (aborts, stalls) =
            (ratio(at(2).aborts, at(2).commits), ratio(at(2).stalls, at(2).commits));
        let coalescing = aborts < BETA / 10.0 && stalls > ALPHA;
        let tenths = at(3).aborts * 10 / (at(3).aborts + at(3).commits);
        let settings = Settings::baseline(1).stealing(stealing).coalescing(coalescing);
        prop_assert_eq!(tuner.settings(), settings.swap_after(Some(2_u32.pow(tenths as u32))));
    }
}
