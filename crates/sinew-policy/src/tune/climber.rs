//! An autotuner of the transactional worklist that maximises commits per second.
//!
//! It is a hill climber. It keeps the best settings so far, the *incumbent*, runs a paired
//! [`Comparison`] with a neighbouring setting, the *challenger*, and keeps the winner.
//!
//! The published tuner ([`Tuner`](super::Tuner)) turns an optimisation on when a counter suggests
//! it, and measures time for helpers only. Two workers whose transactions rarely abort, but which
//! write to the same cache lines in turn, are slower than one, and none of its counters shows that.
//! This one must try settings before it knows their effect. So each step costs a few more epochs,
//! and lists that are too short for that are not tuned.
//!
//! # States
//!
//! | state | challenger | left |
//! |---|---|---|
//! | start | none: all cores, one list per worker | after [`WARM_UP`] epochs |
//! | threads | half of them; a tie goes to the challenger, as other programs can use the cores | when it loses, or at one |
//! | helpers | ten times their lifespan, 10 at first, if a core is idle and they are allowed | when it loses, or at the longest |
//! | coalescing | two units per transaction | after one comparison |
//! | swap-retry | none: retries follow aborts and commits of each epoch | never |
//!
//! Stealing is not compared: a private list without thieves costs no more than a shared one, but
//! dealing units out and collecting them again does.
//!
//! # Epochs
//!
//! Before the first comparison, epochs are made [long enough](super::length). A list that is filled
//! again continues with the results so far. The first epoch of a run is not compared, as its
//! workers are still starting.
//!
//! # Invariants
//!
//! - K1: states follow each other in this order; none is visited twice.
//! - K2: threads are between 1 and the cores; the lifespan is at most the longest.
//! - K3: settings change in one respect at a time, and only for a comparison, its end, or a change
//!   of the cores.
//!
//! # Cost
//!
//! Some 20 ns per epoch, no allocation. Four or five epochs for a comparison that is lost at once,
//! seven if two pairs decide, and at most three for each of eight pairs and one more.
//!
//! # Not handled
//!
//! Programs whose best settings change while they run: results are kept, except for retries.
//!
//! # Tests
//!
//! Each step on synthetic throughputs; property tests for K1 to K3 and for termination; convergence
//! on models of contention in `model.rs`.

use super::comparison::{Comparison, GAIN_MARGIN, Side, TIE_MARGIN};
use super::length::Length;
use super::{Counts, Knobs, State, Step};
use crate::worklist::{Settings, helpers, swap};

/// Epochs before the first comparison.
const WARM_UP: u32 = 2;
/// The state machine; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Climber {
    longest_lifespan: u32,
    state: State,
    warm: u32,
    length: Length,
    cores: usize,
    /// The number of threads, as long as there are enough cores.
    threads: usize,
    /// The best settings so far, and the challenger's.
    incumbent: Settings,
    challenger: Settings,
    comparison: Option<Comparison>,
}

impl Climber {
    /// For a run on `cores` cores, at least 1, with checked knobs.
    pub(super) fn new(cores: usize, knobs: Knobs) -> Self {
        let settings = Settings::baseline(cores).stealing(true);
        Self {
            longest_lifespan: knobs.longest_lifespan,
            state: State::Start,
            warm: 0,
            length: Length::NONE,
            cores,
            threads: usize::MAX,
            incumbent: settings,
            challenger: settings,
            comparison: None,
        }
    }

    /// The same for a list without helpers.
    pub(super) fn without_helpers(self) -> Self {
        Self { longest_lifespan: 0, ..self }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn settings(&self) -> Settings {
        match self.comparison.as_ref().map(Comparison::side) {
            Some(Side::Challenger) => self.challenger,
            Some(Side::Incumbent) | None => self.incumbent,
        }
    }

    pub(super) fn epoch(&mut self, counts: &Counts) -> Step {
        let step = Step { state: self.state, settings: self.settings(), counts: *counts };
        if !counts.is_empty() {
            self.decide(counts);
        }
        step
    }

    /// Starts a run: the list was filled with `units` units, on `cores` cores, at least 1.
    pub(super) fn begin(&mut self, units: usize, cores: usize) {
        self.set_cores(cores);
        self.length = self.length.refilled(units, cores);
        self.comparison.iter_mut().for_each(Comparison::interrupt);
    }

    /// The commits of the current epoch.
    pub(super) fn epoch_length(&self) -> u64 {
        if self.state == State::SwapRetry { self.length.settled() } else { self.length.compared() }
    }

    /// Sets the number of cores, at least 1. A running comparison starts again.
    pub(super) fn set_cores(&mut self, cores: usize) {
        if cores != self.cores {
            self.cores = cores;
            self.incumbent.threads = self.threads.min(cores);
            self.challenge_next(true);
        }
    }

    fn decide(&mut self, counts: &Counts) {
        match (self.state, &mut self.comparison) {
            (State::SwapRetry, _) => {
                self.incumbent.swap_after = Some(swap::retries(counts.aborts, counts.commits));
            }
            (_, Some(comparison)) => {
                if let Some(winner) = comparison.record(counts) {
                    self.conclude(winner);
                }
            }
            (_, None) => self.warm_up(counts.elapsed_ns),
        }
    }

    fn warm_up(&mut self, elapsed_ns: u64) {
        if self.length.stretch_after(elapsed_ns) {
            return;
        }
        self.warm += 1;
        if self.warm == WARM_UP {
            self.state = State::Threads;
            self.challenge_next(false);
        }
    }

    fn conclude(&mut self, winner: Side) {
        let in_force = self.settings();
        match winner {
            Side::Challenger => self.take_over(),
            Side::Incumbent => self.state = following(self.state),
        }
        self.challenge_next(in_force != self.incumbent);
    }

    fn take_over(&mut self) {
        if self.challenger.threads < self.incumbent.threads {
            self.threads = self.challenger.threads;
        }
        self.incumbent = self.challenger;
    }

    /// Goes to the next state that has a challenger, if there is one. `has_changed`: whether the
    /// settings in force were not the incumbent's.
    fn challenge_next(&mut self, has_changed: bool) {
        self.comparison = None;
        while !matches!(self.state, State::Start | State::SwapRetry) {
            if let Some(challenger) = self.challenger_now() {
                self.challenger = challenger;
                let margin = if self.state == State::Threads { TIE_MARGIN } else { GAIN_MARGIN };
                self.comparison = Some(Comparison::new(margin, has_changed));
                return;
            }
            self.state = following(self.state);
        }
    }

    fn challenger_now(&self) -> Option<Settings> {
        let Settings { threads, lifespan, coalescing, .. } = self.incumbent;
        match self.state {
            State::Threads => {
                (threads > 1).then_some(Settings { threads: threads / 2, ..self.incumbent })
            }
            State::Helpers => {
                let longer =
                    helpers::longer(lifespan.max(helpers::FIRST_LIFESPAN), self.longest_lifespan);
                (threads < self.cores && longer > lifespan.max(helpers::FIRST_LIFESPAN))
                    .then(|| self.incumbent.lifespan(longer))
            }
            State::Coalescing => (!coalescing).then(|| self.incumbent.coalescing(true)),
            State::Start | State::Stealing | State::SwapRetry => None,
        }
    }
}

fn following(state: State) -> State {
    match state {
        State::Start | State::Stealing => State::Threads,
        State::Threads => State::Helpers,
        State::Helpers => State::Coalescing,
        State::Coalescing | State::SwapRetry => State::SwapRetry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Commits in an epoch under these settings.
    type Program = fn(&Settings) -> u64;

    fn counts(commits: u64) -> Counts {
        Counts { commits, elapsed_ns: 1_000, ..Counts::default() }
    }

    /// Tunes a program to the end; returns the settings, and the number of epochs.
    fn tuned(cores: usize, program: Program) -> (Settings, usize) {
        let mut climber = Climber::new(cores, Knobs::default());
        let mut epochs = 0;
        while climber.state() != State::SwapRetry {
            climber.epoch(&counts(program(&climber.settings())));
            epochs += 1;
        }
        (climber.settings(), epochs)
    }

    /// Catches: a change without a gain, and a warm-up that is compared.
    #[test]
    fn a_program_that_scales_keeps_its_threads() {
        let (settings, epochs) = tuned(8, |settings| 100 * settings.threads as u64);
        assert_eq!((settings, epochs), (Settings::baseline(8).stealing(true), 2 + 4 + 7));
    }

    /// Catches: two threads that are slower than one and never abort.
    #[test]
    fn threads_that_slow_each_other_are_halved() {
        let crowded: Program =
            |settings| 1_000 / settings.threads as u64 / settings.lifespan.max(1) as u64;
        assert_eq!(tuned(8, crowded).0, Settings::baseline(1).stealing(true));
        let knee: Program = |settings| 100 * (settings.threads.min(16 / settings.threads)) as u64;
        assert_eq!(tuned(16, knee).0.threads, 4);
    }

    /// Catches: helpers that stop at the first lifespan, or continue to the longest though a
    /// shorter one was best.
    #[test]
    fn helpers_get_the_best_lifespan() {
        let program: Program = |settings| {
            let helped = match settings.lifespan {
                0 => 100,
                1..=10 => 110,
                11..=100 => 120,
                _ => 105,
            };
            helped * if settings.threads == 2 { 2 } else { 1 }
        };
        let (settings, _) = tuned(4, program);
        assert_eq!((settings.threads, settings.lifespan), (2, 100));
    }

    /// Catches: two units per transaction without a gain, or one although two are better.
    #[test]
    fn units_are_coalesced_where_that_pays() {
        let worth: Program =
            |settings| settings.threads as u64 * if settings.coalescing { 150 } else { 100 };
        let harmful: Program =
            |settings| settings.threads as u64 * if settings.coalescing { 95 } else { 100 };
        assert!(tuned(2, worth).0.coalescing && !tuned(2, harmful).0.coalescing);
    }

    /// Catches: retries that are tuned only once.
    #[test]
    fn retries_follow_to_the_end() {
        let mut climber = Climber::new(1, Knobs { longest_lifespan: 1, ..Knobs::default() });
        for _ in 0..20 {
            climber.epoch(&counts(10));
        }
        assert_eq!(climber.state(), State::SwapRetry);
        for (aborts, retries) in [(0, 1), (1_000, 32)] {
            climber.epoch(&Counts { aborts, ..counts(1_000) });
            assert_eq!(climber.settings().swap_after, Some(retries));
        }
    }

    /// Catches: more threads than cores, and fewer than the best number once the cores return.
    #[test]
    fn threads_follow_the_cores() {
        let mut climber = Climber::new(8, Knobs::default());
        let threads = |climber: &mut Climber, cores| {
            climber.set_cores(cores);
            climber.settings().threads
        };
        assert_eq!([3, 16, 8].map(|cores| threads(&mut climber, cores)), [3, 16, 8]);
        while climber.state() < State::Coalescing {
            let counted = if climber.settings().threads > 4 {
                20
            } else {
                10 * climber.settings().threads as u64
            };
            climber.epoch(&counts(counted));
        }
        assert_eq!([3, 64, 1, 8].map(|cores| threads(&mut climber, cores)), [3, 4, 1, 4]);
    }

    /// Catches: epochs too short for a thread to wake up, and a settled tuner that still measures
    /// as often as before.
    #[test]
    fn epochs_of_short_units_are_stretched_and_settled_ones_are_long() {
        let mut climber = Climber::new(2, Knobs::default());
        climber.begin(1_000_000, 2);
        let mut lengths = Vec::new();
        while climber.state() != State::SwapRetry {
            let commits = climber.epoch_length();
            lengths.push(commits);
            climber.epoch(&Counts { commits, elapsed_ns: 60_000, ..Counts::default() });
        }
        assert_eq!(lengths[..6], [500, 1_000, 2_000, 2_000, 2_000, 2_000]);
        assert_eq!(climber.epoch_length(), 16_000);
    }

    /// Catches: a run's first epoch, in which workers are still starting, that is compared; and a
    /// tuner that starts anew.
    #[test]
    fn a_list_that_is_filled_again_continues_the_search() {
        let mut climber = Climber::new(2, Knobs::default());
        climber.begin(100_000, 2);
        let worse = |climber: &Climber| counts(100 * climber.settings().threads as u64);
        while climber.state() < State::Coalescing {
            climber.begin(100_000, 2);
            // Slower than anything that is compared.
            climber.epoch(&counts(1));
            climber.epoch(&worse(&climber));
        }
        assert_eq!(climber.settings().threads, 2);
    }

    proptest! {
        /// Catches: settings out of range, two changes at once, a state that returns, and tuning
        /// without an end (K1, K2, K3).
        #[test]
        fn any_epochs_lead_to_an_end(
            mut cores in 1..20_usize, longest in 1..20_000_u32,
            events in proptest::collection::vec(
                (0..2_000_u64, 0..50_u64, 1..2_000_u64, 0..400_usize),
                0..600,
            ),
        ) {
            let mut climber =
                Climber::new(cores, Knobs { longest_lifespan: longest, ..Knobs::default() });
            let mut epochs_in_a_row = 0;
            for (commits, aborts, elapsed_ns, change) in events {
                let (before, state) = (climber.settings(), climber.state());
                if (1..20).contains(&change) {
                    cores = change;
                    climber.set_cores(cores);
                    epochs_in_a_row = 0;
                } else {
                    let counts = Counts { commits, aborts, elapsed_ns, ..Counts::default() };
                    prop_assert_eq!(
                        climber.epoch(&counts),
                        Step { state, settings: before, counts }
                    );
                    epochs_in_a_row += usize::from(!counts.is_empty());
                    prop_assert!(
                        changes(&before, &climber.settings()) <= 2,
                        "a challenger leaves, and retries or the next one"
                    );
                }
                let after = climber.settings();
                prop_assert!(
                    (1..=cores).contains(&after.threads) && after.lifespan <= longest,
                    "{}",
                    after
                );
                prop_assert!(climber.state() >= state && climber.state() != State::Stealing);
                // Threads are halved at most four times, lifespans raised at most five times, and a
                // comparison is lost in each state.
                prop_assert!(epochs_in_a_row < 2 + 12 * 25 || climber.state() == State::SwapRetry);
            }
        }
    }

    /// The number of respects in which two settings differ.
    fn changes(a: &Settings, b: &Settings) -> usize {
        [
            a.threads != b.threads,
            a.lifespan != b.lifespan,
            a.coalescing != b.coalescing,
            a.swap_after != b.swap_after,
            a.stealing != b.stealing,
        ]
        .iter()
        .filter(|&&differs| differs)
        .count()
    }
}
