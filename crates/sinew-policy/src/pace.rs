//! How many pieces of work a worker runs before it reads the clock and checks again.
//!
//! A loop that can be changed while it runs checks its settings between two slices of work; a busy
//! worker checks the limits of its process between two pieces. The cost of a piece is known only
//! from those that ran, so slices begin with one piece and grow while they take less than half of
//! the allowed time.
//!
//! # Invariants
//!
//! - P1: a slice is never empty.
//! - P2: if all pieces cost the same, no slice takes longer than allowed, unless it is one piece
//!   long.
//! - P3: no slice is longer than the longest allowed one.
//!
//! # Cost
//!
//! Each participant once runs as many short slices as the length of a full one has binary digits.

/// The length of a participant's next slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    slice: usize,
    longest: usize,
}

impl Default for Pace {
    /// Slices of any length.
    fn default() -> Self {
        Self::up_to(usize::MAX)
    }
}

impl Pace {
    /// Slices of at most `longest` pieces (0 counts as 1): few enough that pieces which become
    /// longer do not delay a check for long.
    pub fn up_to(longest: usize) -> Self {
        Self { slice: 1, longest: longest.max(1) }
    }

    /// How many pieces to run next, at least 1 (P1).
    #[inline]
    pub fn slice(&self) -> usize {
        self.slice
    }

    /// Records that a slice of `items` took `elapsed`, of `most` allowed, in any unit of time.
    #[inline]
    pub fn record(&mut self, items: usize, elapsed: u64, most: u64) {
        if elapsed > most {
            let fitting = items as u128 * u128::from(most) / u128::from(elapsed);
            self.slice = (fitting as usize).clamp(1, self.longest);
        } else if elapsed <= most / 2 && items >= self.slice {
            self.slice = self.slice.saturating_mul(2).min(self.longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use proptest::prelude::*;

    proptest! {
        /// Catches: slices of no iterations, slices that stay far too short, and slices that take
        /// too long (P1, P2).
        #[test]
        fn slices_come_to_take_between_half_and_all_of_the_time(
            item in 1..2_000_u64,
            most in 1..100_000_u64,
        ) {
            let mut pace = Pace::default();
            for _ in 0..40 {
                let slice = pace.slice();
                prop_assert!(slice > 0);
                prop_assert!(slice == 1 || slice as u64 * item <= most, "{} of {}", slice, item);
                pace.record(slice, slice as u64 * item, most);
            }
            prop_assert!(pace.slice() as u64 * item * 2 > most, "{} of {}", pace.slice(), item);
        }

        /// Catches: a slice that outgrows the longest one, or does not reach it (P3).
        #[test]
        fn cheap_slices_reach_the_longest_one(longest in 1..500_usize, pieces in 1..3_usize) {
            let mut pace = Pace::up_to(longest);
            for _ in 0..20 {
                pace.record(pieces * pace.slice(), 1, 50_000);
                prop_assert!(pace.slice() <= longest);
            }
            prop_assert_eq!(pace.slice(), longest);
            pace.record(3 * longest, 50_001, 50_000);
            prop_assert!(pace.slice() <= longest);
        }

        /// Catches: a slice that stays long when iterations have become expensive, and the end of a
        /// chunk mistaken for a cheap slice.
        #[test]
        fn a_slice_follows_the_cost(before in 1..20_u64, after in 1_000..50_000_u64) {
            let mut pace = Pace::default();
            (0..40).for_each(|_| pace.record(pace.slice(), pace.slice() as u64 * before, 50_000));
            let long = pace.slice();
            pace.record(1, before, 50_000);
            prop_assert_eq!(pace.slice(), long);
            pace.record(long, long as u64 * after, 50_000);
            prop_assert!(pace.slice() as u64 * after <= 50_000);
        }
    }
}
