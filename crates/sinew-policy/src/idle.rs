//! How long an idle worker spins before it parks.
//!
//! A spinning worker finds work within a fraction of a microsecond; parking costs the waker and the
//! woken worker some [`PARK_US`] together. A worker that spins as long as parking costs spends at
//! most twice the optimum, however long it is idle (the ski-rental rule: Karlin, Manasse, McGeoch
//! and Owicki, "Competitive randomized algorithms for nonuniform problems", 1994). But idle times
//! repeat: a program that computes serially for 100 µs between two loops makes every idle time 100
//! µs long, and spinning is wasted each time. So the worker keeps a decaying histogram of its idle
//! times, and takes the window with the least cost over them.
//!
//! A worker that parks at once cannot measure its idle time: a wake-up takes longer than many idle
//! times, so two workers that wake each other in turn would never spin again. Such idle times are
//! not recorded; instead the worker spins through one in [`EXPLORE`].
//!
//! On a core that another program also uses, spinning harms both: the window is 0 there. The worker
//! detects such a core by a *gap* between two readings of its clock that no search explains.
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | free | `new`; an expired penalty | a gap → shared |
//! | shared (window 0) | a gap | enough idle time without another → free, with a short window |
//!
//! # Invariants
//!
//! - I1: the window is 0 while shared, and one of [`WINDOWS_US`] otherwise.
//! - I2: each gap soon after a recovery doubles the penalty, up to [`PENALTY_MAX_US`], so the
//!   worker spins ever more rarely on a core that stays shared.
//! - I3: over equal idle times the window's cost converges to that of the best of [`WINDOWS_US`],
//!   apart from exploration.

/// The cost of parking and being woken, for both workers together, in microseconds of processor
/// time and delay.
pub const PARK_US: u32 = 40;
/// The possible windows.
pub const WINDOWS_US: [u32; 6] = [0, 3, 6, 12, 25, 40];
/// If the best window is 0, the worker spins through one idle time in this many. A prime, so that
/// no pattern of the program synchronises with it.
pub const EXPLORE: u32 = 13;
/// The window of a new worker, as an index.
const START: usize = 5;
/// Idle time in microseconds without a gap, after which a shared core counts as free, at first.
pub const PENALTY_US: u32 = 10_000;
/// The longest such time, in microseconds.
pub const PENALTY_MAX_US: u32 = 1_000_000;

/// The weight that an idle time adds to its class.
const WEIGHT: u32 = 1 << 12;
/// How fast old idle times decay: by one part in this, each time.
const FADE: u32 = 8;

/// One idle time of a worker, from its first failed search to its next task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// How long it searched and spun, in microseconds.
    pub searched_us: u32,
    /// How long it was parked after that, if it parked.
    pub parked_us: Option<u32>,
    /// Whether a gap showed that another program used the core meanwhile.
    pub lost_core: bool,
}

impl Idle {
    fn length_us(self) -> u32 {
        self.searched_us.saturating_add(self.parked_us.unwrap_or(0))
    }
}

/// The adaptive window; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinWindow {
    /// The weight of the idle times that each window, but not the one before it, would have
    /// covered; the last entry counts those that no window covers.
    classes: [u32; WINDOWS_US.len() + 1],
    best: usize,
    /// Idle times since the last exploration, while the best window is 0.
    unspun: u32,
    /// The length of the next penalty.
    penalty_us: u32,
    /// The rest of the current penalty.
    shared_us: u32,
}

impl Default for SpinWindow {
    fn default() -> Self {
        Self::new()
    }
}

impl SpinWindow {
    /// A window of about [`PARK_US`], and no history.
    pub const fn new() -> Self {
        Self {
            classes: [0; WINDOWS_US.len() + 1],
            best: START,
            unspun: 0,
            penalty_us: PENALTY_US,
            shared_us: 0,
        }
    }

    /// How long to spin in the next idle time, in microseconds; 0 means to park after one search.
    #[inline]
    pub fn next_us(&mut self) -> u32 {
        if self.shared_us > 0 {
            return 0;
        }
        if self.best == 0 {
            self.unspun += 1;
            if self.unspun == EXPLORE {
                self.unspun = 0;
                return WINDOWS_US[WINDOWS_US.len() - 1];
            }
        }
        WINDOWS_US[self.best]
    }

    /// How long to spin if parking would also delay other workers: as long as parking costs,
    /// whatever the history, unless the core is shared. In microseconds.
    #[inline]
    pub fn break_even_us(&self) -> u32 {
        if self.shared_us > 0 { 0 } else { PARK_US }
    }

    /// Records an idle time that has ended.
    pub fn record(&mut self, idle: Idle) {
        if idle.lost_core {
            self.share();
        } else if self.shared_us > 0 {
            self.shared_us = self.shared_us.saturating_sub(idle.length_us());
        } else {
            if idle.parked_us.is_none() {
                // The spin succeeded. So the core is free, and the next gap counts less.
                self.penalty_us = (self.penalty_us - self.penalty_us / 8).max(PENALTY_US);
            }
            if idle.parked_us.is_none() || idle.searched_us >= WINDOWS_US[1] {
                self.remember(idle.length_us());
            }
        }
    }

    fn share(&mut self) {
        *self = Self {
            best: 1,
            shared_us: self.penalty_us,
            penalty_us: (self.penalty_us * 2).min(PENALTY_MAX_US),
            ..Self::new()
        };
    }

    fn remember(&mut self, length_us: u32) {
        for class in &mut self.classes {
            *class -= *class / FADE;
        }
        self.classes[WINDOWS_US.iter().filter(|&&window| window < length_us).count()] += WEIGHT;
        let window = (0..WINDOWS_US.len()).min_by_key(|&window| self.cost(window));
        self.best = window.unwrap_or(START);
    }

    /// The window's cost over the recorded idle times, each as long as the window that covers it.
    fn cost(&self, window: usize) -> u64 {
        let price = |class: usize| {
            if class <= window { WINDOWS_US[class] } else { WINDOWS_US[window] + PARK_US }
        };
        self.classes
            .iter()
            .enumerate()
            .map(|(class, &weight)| u64::from(weight) * u64::from(price(class)))
            .sum()
    }
}

/// Exponential backoff of something that a waiting thread tries before it parks, and that pays only
/// sometimes.
///
/// Watching the result pays if it usually arrives within [`WATCH_US`]; without a second core it
/// delays the other thread. Yielding pays if the system returns the core soon. So each failed try
/// makes the next waits skip it: one, three, seven, up to a bound; the first success ends that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    most_skipped: u32,
    skip: u32,
    skip_next: u32,
}

/// How long to watch, in microseconds.
pub const WATCH_US: u32 = 12;
impl Trial {
    /// For a thread that has not waited yet. It skips at most `most_skipped` waits between two
    /// tries.
    pub const fn new(most_skipped: u32) -> Self {
        Self { most_skipped, skip: 0, skip_next: 0 }
    }

    /// Whether to try it this time.
    pub fn should_try(&mut self) -> bool {
        let now = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        now
    }

    /// Records the result of a try.
    pub fn record(&mut self, successfully: bool) {
        self.skip_next =
            if successfully { 0 } else { (2 * self.skip_next + 1).min(self.most_skipped) };
        self.skip = self.skip_next;
    }

    /// Records a try that cost far more than a success saves: the most waits are skipped.
    pub fn skip_most(&mut self) {
        (self.skip_next, self.skip) = (self.most_skipped, self.most_skipped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn idle(searched_us: u32, parked_us: Option<u32>, lost_core: bool) -> Idle {
        Idle { searched_us, parked_us, lost_core }
    }

    fn any_idle() -> impl Strategy<Value = Idle> {
        (0..300_u32, proptest::option::of(0..20_000_u32), prop::bool::weighted(0.1))
            .prop_map(|(searched, parked, lost)| idle(searched, parked, lost))
    }

    /// How long a wake-up takes.
    const WAKE_US: u32 = 10;

    /// Runs a worker through an idle time of `length_us`, and returns its cost.
    fn pass(window: &mut SpinWindow, length_us: u32) -> u32 {
        let window_us = window.next_us();
        if length_us <= window_us {
            window.record(idle(length_us, None, false));
            length_us
        } else {
            window.record(idle(window_us, Some(length_us - window_us + WAKE_US), false));
            window_us + PARK_US
        }
    }

    proptest! {
        /// Catches: a window that is none of the choices (I1), and one that spins right after a
        /// gap.
        #[test]
        fn the_window_is_one_of_the_choices(
            history in proptest::collection::vec(any_idle(), 0..200),
        ) {
            let mut window = SpinWindow::new();
            for idle in history {
                window.record(idle);
                let now = window.next_us();
                prop_assert!(WINDOWS_US.contains(&now));
                if idle.lost_core {
                    prop_assert_eq!(now, 0);
                }
            }
        }

        /// Catches: a worker that never spins again after some history.
        #[test]
        fn a_core_that_is_free_again_is_spun_on_again(
            history in proptest::collection::vec(any_idle(), 0..200),
        ) {
            let mut window = SpinWindow::new();
            history.into_iter().for_each(|idle| window.record(idle));
            window.record(idle(0, Some(PENALTY_MAX_US), false));
            (0..20 * EXPLORE).for_each(|_| { pass(&mut window, 1); });
            prop_assert!(window.next_us() > 0);
        }

        /// Catches: a window that spins through every serial stretch; one that always parks just
        /// before work arrives, because parking makes idle times longer (I3). A length is known
        /// only by its class.
        #[test]
        fn over_equal_idle_times_the_window_costs_what_the_best_one_would(
            history in proptest::collection::vec(any_idle(), 0..50), length_us in 0..1_000_u32,
        ) {
            let mut window = SpinWindow::new();
            history.into_iter().filter(|idle| !idle.lost_core).for_each(|idle| window.record(idle));
            (0..60 * EXPLORE).for_each(|_| { pass(&mut window, length_us); });
            let paid: u32 = (0..10 * EXPLORE).map(|_| pass(&mut window, length_us)).sum();
            let class_us =
                WINDOWS_US.into_iter().find(|&window| window >= length_us).unwrap_or(u32::MAX);
            let price =
                |window_us: u32| if class_us <= window_us { class_us } else { window_us + PARK_US };
            let best = WINDOWS_US.into_iter().map(price).min().unwrap();
            let exploring = 10 * (WINDOWS_US[WINDOWS_US.len() - 1] + PARK_US);
            prop_assert!(paid <= 10 * EXPLORE * best + exploring, "{paid} for {length_us}");
        }
    }

    /// Catches: a rule that costs more than twice the best in hindsight before there is any
    /// history.
    #[test]
    fn a_new_worker_spins_for_about_as_long_as_parking_costs() {
        assert!(SpinWindow::new().next_us().abs_diff(PARK_US) <= PARK_US / 4);
    }

    /// Catches: a program with two patterns, most idle times short and some long, that is treated
    /// as one of them.
    #[test]
    fn mostly_short_idle_times_are_spun_through_although_some_are_long() {
        let mut window = SpinWindow::new();
        for round in 0..1_000 {
            pass(&mut window, if round % 4 == 0 { 10_000 } else { 2 });
        }
        assert_eq!(window.next_us(), 3);
    }

    /// Catches: a thread that tries in vain each time, or never again.
    #[test]
    fn failures_make_tries_rare_and_a_success_ends_that() {
        let tries = |trial: &mut Trial, waits: u32, succeeds: bool| {
            let mut tried = 0;
            for _ in 0..waits {
                if trial.should_try() {
                    tried += 1;
                    trial.record(succeeds);
                }
            }
            tried
        };
        let mut trial = Trial::new(255);
        assert_eq!(tries(&mut trial, 100, true), 100);
        // After 1, 3, 7, … waits without.
        assert_eq!(tries(&mut trial, 1 + 1 + 1 + 3 + 1 + 7 + 1, false), 4);
        assert!((30..50).contains(&tries(&mut trial, 10_000, false)));
        assert!(tries(&mut trial, 1_000, true) >= 1_000 - 255);
        trial.skip_most();
        assert_eq!(tries(&mut trial, 256, true), 1);
        assert_eq!(tries(&mut trial, 100, true), 100);
    }

    /// Catches: a penalty that stays short on a core that stays shared (I2), or long on a free one.
    #[test]
    fn penalties_double_with_every_gap_and_fade_with_success() {
        let penalty = |window: &mut SpinWindow| {
            window.record(idle(5, None, true));
            let mut served_us = 0;
            while window.next_us() == 0 {
                window.record(idle(0, Some(1_000), false));
                served_us += 1_000;
            }
            served_us
        };
        let mut window = SpinWindow::new();
        assert_eq!(penalty(&mut window), 10_000);
        assert_eq!(penalty(&mut window), 20_000);
        (0..20).for_each(|_| {
            penalty(&mut window);
        });
        assert_eq!(penalty(&mut window), PENALTY_MAX_US);
        (0..100).for_each(|_| window.record(idle(3, None, false)));
        assert_eq!(penalty(&mut window), PENALTY_US);
    }
}
