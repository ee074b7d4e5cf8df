//! How long an idle worker spins before it parks.
//!
//! Spinning catches work within a fraction of a microsecond; waking a parked thread takes several. But a worker that
//! spins burns a core, and if another program wants that core, everybody loses. So the window is 50 µs to begin with,
//! follows what the last idle times showed, and is 0 while the core is shared.
//!
//! The worker reports each idle time once it is over. It notices that it lost its core by a gap between two looks at
//! its clock that no search explains.
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | free | `new`; a penalty that has run out | a gap → shared |
//! | shared (window 0) | a gap | enough idle time without another → free, with the shortest window |
//!
//! # Invariants
//!
//! - I1: the window is 0 exactly while shared, and within [`SHORTEST_US`] to [`LONGEST_US`] otherwise.
//! - I2: each gap soon after a recovery doubles the penalty, up to [`PENALTY_MAX_US`], so a core that stays shared is
//!   tried ever more rarely.

/// The window of a new worker.
pub const DEFAULT_US: u32 = 50;
/// The shortest window of a worker that has its core to itself.
pub const SHORTEST_US: u32 = 10;
/// The longest window.
pub const LONGEST_US: u32 = 200;
/// Idle time without a gap after which a shared core is tried again, at first.
pub const PENALTY_US: u32 = 10_000;
/// The longest such time.
pub const PENALTY_MAX_US: u32 = 1_000_000;

/// One idle time of a worker, from its first fruitless look to its next task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// How long it searched and spun, in microseconds.
    pub searched_us: u32,
    /// How long it was parked after that, if it parked.
    pub parked_us: Option<u32>,
    /// Whether a gap showed that another program had the core meanwhile.
    pub lost_core: bool,
}

/// The adaptive window; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinWindow {
    window_us: u32,
    /// The length of the next penalty.
    penalty_us: u32,
    /// What is left of the current one.
    shared_us: u32,
}

impl Default for SpinWindow {
    fn default() -> Self {
        Self::new()
    }
}

impl SpinWindow {
    /// A window of [`DEFAULT_US`].
    pub const fn new() -> Self {
        Self { window_us: DEFAULT_US, penalty_us: PENALTY_US, shared_us: 0 }
    }

    /// How long to spin now, in microseconds; 0 means to park after one look around.
    #[inline]
    pub fn get_us(&self) -> u32 {
        if self.shared_us > 0 { 0 } else { self.window_us }
    }

    /// Learns from an idle time that has ended.
    pub fn ended(&mut self, idle: Idle) {
        if idle.lost_core {
            self.share();
        } else if self.shared_us > 0 {
            self.serve_penalty(idle);
        } else {
            self.adapt(idle);
        }
    }

    fn share(&mut self) {
        self.shared_us = self.penalty_us;
        self.penalty_us = (self.penalty_us * 2).min(PENALTY_MAX_US);
        self.window_us = SHORTEST_US;
    }

    fn serve_penalty(&mut self, idle: Idle) {
        let served = idle.searched_us.saturating_add(idle.parked_us.unwrap_or(0));
        self.shared_us = self.shared_us.saturating_sub(served);
    }

    fn adapt(&mut self, idle: Idle) {
        match idle.parked_us {
            // The spin paid off. It also shows that the core is free, so the next gap is judged more mildly.
            None => self.penalty_us = (self.penalty_us - self.penalty_us / 8).max(PENALTY_US),
            // A little more patience would have saved the wake-up.
            Some(parked_us) if parked_us <= self.window_us => {
                self.window_us = (self.window_us * 2).min(LONGEST_US);
            }
            // Nothing came for a long while: spinning was a waste.
            Some(parked_us) if parked_us >= 16 * self.window_us => {
                self.window_us = (self.window_us - self.window_us / 4).max(SHORTEST_US);
            }
            Some(_) => {}
        }
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

    proptest! {
        /// Would miss: a window that escapes its bounds (I1), and one that spins right after a gap.
        #[test]
        fn the_window_stays_within_bounds(history in proptest::collection::vec(any_idle(), 0..200)) {
            let mut window = SpinWindow::new();
            for idle in history {
                window.ended(idle);
                let now = window.get_us();
                prop_assert!(now == 0 || (SHORTEST_US..=LONGEST_US).contains(&now));
                if idle.lost_core {
                    prop_assert_eq!(now, 0);
                }
            }
        }

        /// Would miss: a worker that never spins again, whatever it went through.
        #[test]
        fn a_core_that_is_free_again_is_spun_on_again(history in proptest::collection::vec(any_idle(), 0..200)) {
            let mut window = SpinWindow::new();
            history.into_iter().for_each(|idle| window.ended(idle));
            window.ended(idle(0, Some(PENALTY_MAX_US), false));
            prop_assert!(window.get_us() >= SHORTEST_US);
        }
    }

    /// Would miss: adaptation in the wrong direction.
    #[test]
    fn work_just_after_parking_grows_the_window_and_long_silence_shrinks_it() {
        let mut window = SpinWindow::new();
        window.ended(idle(50, Some(20), false));
        assert_eq!(window.get_us(), 2 * DEFAULT_US);
        window.ended(idle(100, Some(100_000), false));
        assert_eq!(window.get_us(), 75);
        window.ended(idle(75, Some(500), false));
        window.ended(idle(30, None, false));
        assert_eq!(window.get_us(), 75);
    }

    /// Would miss: a penalty that stays short on a core that stays shared (I2), or stays long on one that is free.
    #[test]
    fn penalties_double_with_every_gap_and_fade_with_success() {
        let penalty = |window: &mut SpinWindow| {
            window.ended(idle(5, None, true));
            let mut served_us = 0;
            while window.get_us() == 0 {
                window.ended(idle(0, Some(1_000), false));
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
        (0..100).for_each(|_| window.ended(idle(3, None, false)));
        assert_eq!(penalty(&mut window), PENALTY_US);
    }
}
