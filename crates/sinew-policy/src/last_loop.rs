//! The last loop of a program as one word, for its row of the table in `sinew-coord`.

use crate::schedule::Schedule;

/// The schedule of a loop, and whether the program named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLoop {
    /// The schedule. [`Schedule::Auto`] if the loop left the choice open and nothing replaced it.
    pub schedule: Schedule,
    /// Whether the loop or its control named the schedule. If so, no granted schedule replaces it.
    pub named: bool,
}

impl LastLoop {
    /// The word for this loop, never 0.
    pub fn to_word(self) -> u64 {
        self.schedule.to_word() | if self.named { Schedule::FREE_BIT } else { 0 }
    }

    /// The loop of a word; `None` if [`to_word`](Self::to_word) returns no such word.
    pub fn from_word(word: u64) -> Option<Self> {
        let named = word & Schedule::FREE_BIT != 0;
        let last = Self { schedule: Schedule::from_word(word)?, named };
        (last.to_word() == word).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every schedule, with small numbers and with the largest that fits.
    fn schedules() -> impl Iterator<Item = Schedule> {
        [1, 7, 64, 1 << 54, (1 << 55) - 1].into_iter().flat_map(Schedule::every)
    }

    /// Catches: two loops with the same word, and a number that overflows into the flag.
    #[test]
    fn every_loop_has_a_word_of_its_own() {
        let loops = schedules()
            .flat_map(|schedule| [false, true].map(|named| LastLoop { schedule, named }));
        for last in loops {
            assert_eq!(LastLoop::from_word(last.to_word()), Some(last));
        }
        let huge = LastLoop { schedule: Schedule::Dynamic { chunk: usize::MAX }, named: false };
        let read = LastLoop::from_word(huge.to_word());
        let largest = Schedule::Dynamic { chunk: (1 << 55) - 1 };
        assert_eq!(read, Some(LastLoop { schedule: largest, named: false }));
    }

    /// Catches: an invalid word that is read as a loop: no schedule, a chunk of 0, a number that
    /// the schedule does not have.
    #[test]
    fn words_that_no_loop_has_are_refused() {
        let named = Schedule::FREE_BIT;
        for word in [0, named, 11, 255, 2, named | 3, 1 | 1 << 8, 5 | 1 << 20, u64::MAX] {
            assert_eq!(LastLoop::from_word(word), None, "{word:#x}");
        }
    }

    proptest! {
        /// Catches: a word that is read as one loop and written as another.
        #[test]
        fn valid_words_survive_a_round_trip(word in prop_oneof![any::<u64>(), 0..1_000_u64]) {
            if let Some(last) = LastLoop::from_word(word) {
                prop_assert_eq!(last.to_word(), word);
            }
        }
    }
}
