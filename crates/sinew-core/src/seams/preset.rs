//! The schedule that a pool has for its loops, and the one that its last loop ran by.
//!
//! Loops that leave their schedule open run by the one that the program set for the whole pool, or
//! else by one that was granted with its share of the machine. Loops see one word, which changes
//! with the schedule. They read it when they begin, those under a control also between two slices.
//!
//! A pool that shares the machine is *observed*: each loop notes its schedule, for the pool's row
//! (`sharing`). The observation is a bit of the same word, so other pools do not pay for it.
//!
//! # Orderings
//!
//! `Relaxed`: each word says all there is, and nothing is published by it. Of two loops that begin
//! at the same time, either may be the last.
//!
//! # Cost
//!
//! A load and a comparison a loop where nothing was set or granted and nobody observes. Otherwise a
//! call, and a store if the loop before had another schedule.

use sinew_policy::chunk::Schedule;
use sinew_policy::share::LastLoop;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

/// In the word: loops note their schedules.
const OBSERVED: u64 = Schedule::FREE_BIT;

/// The schedule that one pool has for its loops.
#[derive(Debug, Default)]
pub struct Preset {
    /// The schedule in force, if any, and whether the pool is observed.
    word: AtomicU64,
    /// The lock makes them and `word` one.
    parts: Mutex<Parts>,
    /// The last loop of an observed pool; 0 for none. Apart, as loops write it.
    last: CachePadded<AtomicU64>,
}

#[derive(Debug, Default)]
struct Parts {
    /// By the program.
    set: Option<Schedule>,
    /// With its share of the machine.
    granted: Option<Schedule>,
    observed: bool,
}

impl Preset {
    /// A word that changes with the schedule in force; 0 if loops have nothing to look up here.
    #[inline]
    pub fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// The schedule of loops that leave theirs open, if one was set or granted.
    pub fn get(&self) -> Option<Schedule> {
        Schedule::from_word(self.word())
    }

    /// The schedule by which a loop is to run that has `own`, and is or is not `open` to the
    /// pool's.
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
            // A line that is only read stays in the caches of all workers.
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

/// For what other programs leave to the pool.
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
impl Preset {
    /// The program's own schedule.
    pub(crate) fn chosen(&self) -> Option<Schedule> {
        self.parts.lock().set
    }

    pub(crate) fn grant(&self, schedule: Option<Schedule>) {
        self.change(|parts| parts.granted = schedule);
    }

    /// From now on loops note their schedules, or no longer.
    pub(crate) fn observe(&self, observed: bool) {
        self.change(|parts| parts.observed = observed);
    }

    /// The last loop that was observed.
    pub(crate) fn last_loop(&self) -> Option<LastLoop> {
        LastLoop::from_word(self.last.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, feature = "coordinate", not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a schedule that is granted and beats the program's own, one that is forgotten
    /// when the other goes, and a number that spills over.
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
        preset.set(Some(Schedule::Tapered { min: usize::MAX }));
        assert!(matches!(preset.get(), Some(Schedule::Tapered { min }) if min >= 1 << 54));
        preset.grant(Some(Schedule::Static));
        assert_eq!(preset.chosen(), Some(Schedule::Tapered { min: usize::MAX }));
        preset.set(None);
        assert_eq!(preset.chosen(), None);
    }
    /// Catches: a loop that is not noted or noted for one that left its schedule open, an
    /// observation that changes schedules or ends with one, and loops that nobody asked about.
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
