//! The schedule of loops that leave theirs open: one that the program has set for the whole pool, or one that others have asked for on its behalf.
//!
//! Loops see one word, which is another one when the schedule is; they read it when they begin, those under a control also between two slices. What the program says goes before what others
//! ask for.
//!
//! # Orderings
//!
//! `Relaxed`: the word says it all, and nothing is published by it.

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

/// The schedule that one pool has for its loops.
#[derive(Debug, Default)]
pub(crate) struct Preset {
    /// The one in force, packed; 0 for none.
    word: AtomicU64,
    /// The lock makes both and `word` one.
    parts: Mutex<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    /// By the program.
    set: Option<Schedule>,
    /// With its share of the machine.
    granted: Option<Schedule>,
}

impl Preset {
    /// The schedule in force, if any, as a word: another one means another schedule.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// By which schedule loops that leave it open are to be run, if somebody has said so.
    #[inline]
    pub(crate) fn get(&self) -> Option<Schedule> {
        match self.word() {
            0 => None,
            word => Schedule::from_code(word as u8, (word >> u8::BITS) as usize),
        }
    }

    pub(crate) fn set(&self, schedule: Option<Schedule>) {
        self.change(|parts| parts.set = schedule);
    }

    /// The program's own.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn chosen(&self) -> Option<Schedule> {
        self.parts.lock().set
    }

    #[cfg_attr(any(loom, shuttle), expect(dead_code, reason = "models know of no other programs"))]
    pub(crate) fn grant(&self, schedule: Option<Schedule>) {
        self.change(|parts| parts.granted = schedule);
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        let mut parts = self.parts.lock();
        change(&mut parts);
        self.word.store(parts.set.or(parts.granted).map_or(0, pack), Ordering::Relaxed);
    }
}

/// A number that is too large for the word is as good as the largest that is not.
fn pack(schedule: Schedule) -> u64 {
    let (code, number) = schedule.code();
    u64::from(code) | (number as u64).min(u64::MAX >> u8::BITS) << u8::BITS
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Would miss: a schedule that is granted and beats the program's own, one that is forgotten when the other goes, and a number that spills over.
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
        assert!(matches!(preset.get(), Some(Schedule::Tapered { min }) if min >= 1 << 55));
        preset.grant(Some(Schedule::Static));
        assert_eq!(preset.chosen(), Some(Schedule::Tapered { min: usize::MAX }));
        preset.set(None);
        assert_eq!(preset.chosen(), None);
    }
}
