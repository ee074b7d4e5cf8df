//! How many iterations a controlled loop runs before it checks its control again.
//!
//! A loop that can be changed while it runs checks its settings between two slices of work. The
//! cost of an iteration is known only from those that ran, so slices begin with one iteration and
//! grow while they take less than half of the allowed time.
//!
//! # Invariants
//!
//! - P1: a slice is never empty.
//! - P2: if all iterations cost the same, no slice takes longer than allowed, unless it is one
//!   iteration long.
//!
//! # Cost
//!
//! Each participant once runs as many short slices as the length of a full one has binary digits.

/// The length of a participant's next slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    slice: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { slice: 1 }
    }
}

impl Pace {
    /// How many iterations to run next, at least 1 (P1).
    #[inline]
    pub fn slice(&self) -> usize {
        self.slice
    }

    /// Records that a slice of `items` took `elapsed`, of `most` allowed, in any unit of time.
    #[inline]
    pub fn record(&mut self, items: usize, elapsed: u64, most: u64) {
        if elapsed > most {
            let fitting = items as u128 * u128::from(most) / u128::from(elapsed);
            self.slice = (fitting as usize).max(1);
        } else if elapsed <= most / 2 && items >= self.slice {
            self.slice = self.slice.saturating_mul(2);
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
