//! The pool's schedule for its loops, and the schedule of its last loop.
//!
//! Loops that name no schedule use the one that the program set for the whole pool, or else one
//! that was granted with its share of the machine. Loops read one word, which changes with the
//! schedule: when they begin, and, under a control, between two slices.
//!
//! In a pool that shares the machine each loop stores its schedule, for the pool's row (`sharing`).
//! A bit of the same word requests that, so other pools do not pay for it.
//!
//! # Orderings
//!
//! `Relaxed`: each word is complete in itself and publishes nothing else. If two loops begin at the
//! same time, either may count as the last.
//!
//! # Cost
//!
//! A load and a comparison for each loop if no schedule was set, granted or requested to be stored.
//! Otherwise a call, and a store if the loop before had another schedule.

use sinew_policy::LastLoop;
use sinew_policy::chunk::Schedule;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

/// A bit of the word: loops store their schedules.
const OBSERVED: u64 = Schedule::FREE_BIT;

/// The schedule of one pool for its loops.
#[derive(Debug, Default)]
pub struct Preset {
    /// The schedule in force, if any, and whether loops store theirs.
    word: AtomicU64,
    /// The lock keeps them consistent with `word`.
    parts: Mutex<Parts>,
    /// The schedule of the last loop, if loops store it; 0 for none. On a line of its own, since
    /// loops write it.
    last: CachePadded<AtomicU64>,
}

#[derive(Debug, Default)]
struct Parts {
    /// Set by the program.
    set: Option<Schedule>,
    /// Granted with the share of the machine.
    granted: Option<Schedule>,
    observed: bool,
}

impl Preset {
    /// A word that changes with the schedule in force; 0 if loops need not read the schedule.
    #[inline]
    pub fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// The schedule of loops that name none, if one was set or granted.
    pub fn get(&self) -> Option<Schedule> {
        Schedule::from_word(self.word())
    }

    /// The schedule of a loop whose own is `own`; the pool's schedule replaces it if it is `open`.
    #[inline]
    pub fn of_loop(&self, own: Schedule, open: bool) -> Schedule {
        match self.word() {
            0 => own,
            word => self.look_up(word, own, open),
        }
    }

    #[inline(never)]
    fn look_up(&self, word: u64, own: Schedule, open: bool) -> Schedule {
        let schedule = Schedule::from_word(word).filter(|_| open).unwrap_or(own);
        if word & OBSERVED != 0 {
            let last = LastLoop { schedule, named: !open }.to_word();
            // A read-only line stays in the caches of all workers.
            if self.last.load(Ordering::Relaxed) != last {
                self.last.store(last, Ordering::Relaxed);
            }
        }
        schedule
    }

    pub(crate) fn set(&self, schedule: Option<Schedule>) {
        self.change(|parts| parts.set = schedule);
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        let mut parts = self.parts.lock();
        change(&mut parts);
        let schedule = parts.set.or(parts.granted).map_or(0, Schedule::to_word);
        let observed = if parts.observed { OBSERVED } else { 0 };
        self.word.store(schedule | observed, Ordering::Relaxed);
    }
}

/// Sets the granted schedule.
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
impl Preset {
    /// The program's own schedule.
    pub(crate) fn chosen(&self) -> Option<Schedule> {
        self.parts.lock().set
    }

    pub(crate) fn grant(&self, schedule: Option<Schedule>) {
        self.change(|parts| parts.granted = schedule);
    }

    /// Sets whether loops store their schedules.
    pub(crate) fn observe(&self, observed: bool) {
        self.change(|parts| parts.observed = observed);
    }

    /// The last loop that stored its schedule.
    pub(crate) fn last_loop(&self) -> Option<LastLoop> {
        LastLoop::from_word(self.last.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, feature = "coordinate", not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a granted schedule that overrides the program's own, one that is lost when the
    /// other is removed, and a number that overflows its bits.
    #[test]
    fn what_the_program_says_goes_before_what_others_ask_for() {
        let preset = Preset::default();
        assert_eq!((preset.get(), preset.word()), (None, 0));
        preset.grant(Some(Schedule::Static));
        assert_eq!(preset.get(), Some(Schedule::Static));
        preset.set(Some(Schedule::Dynamic { chunk: 7 }));
        assert_eq!(preset.get(), Some(Schedule::Dynamic { chunk: 7 }));
        preset.grant(Some(Schedule::Auto));
        assert_eq!(preset.get(), Some(Schedule::Dynamic { chunk: 7 }));
        preset.set(None);
        assert_eq!(preset.get(), Some(Schedule::Auto));
        preset.grant(None);
        assert_eq!(preset.get(), None);
        preset.set(Some(Schedule::Guided { min: usize::MAX }));
        assert!(matches!(preset.get(), Some(Schedule::Guided { min }) if min >= 1 << 54));
        preset.grant(Some(Schedule::Static));
        assert_eq!(preset.chosen(), Some(Schedule::Guided { min: usize::MAX }));
        preset.set(None);
        assert_eq!(preset.chosen(), None);
    }
    /// Catches: a loop that is not stored, or stored with another schedule; a request to store that
    /// changes schedules or ends with one; and loops that are stored without a request.
    #[test]
    fn an_observed_pool_tells_of_its_last_loop() {
        let (preset, own) = (Preset::default(), Schedule::Dynamic { chunk: 9 });
        assert_eq!((preset.of_loop(own, true), preset.last_loop()), (own, None));
        preset.observe(true);
        assert_eq!((preset.get(), preset.last_loop()), (None, None));
        for granted in [None, Some(Schedule::Static), Some(Schedule::Auto), None] {
            preset.grant(granted);
            assert_eq!(preset.get(), granted);
            for open in [true, false, true] {
                let schedule = granted.filter(|_| open).unwrap_or(own);
                assert_eq!(preset.of_loop(own, open), schedule);
                assert_eq!(preset.last_loop(), Some(LastLoop { schedule, named: !open }));
            }
        }
        preset.observe(false);
        assert_eq!(preset.word(), 0);
        preset.of_loop(Schedule::Weighted, false);
        assert_eq!(preset.last_loop(), Some(LastLoop { schedule: own, named: false }));
    }
}
