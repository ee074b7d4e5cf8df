//! How many units all ranks have run so far, for rank 0.
//!
//! A rank sends the number of units that it and the ranks below it have run to the rank above, at
//! most once an interval, and only if the number is a new one. Such a message is read before the
//! wave that ends the bag, since it comes from the same rank earlier.
//!
//! # Invariants
//!
//! - R1: at most one message a rank and interval.
//! - R2: the numbers that rank 0 sees only grow, and none exceeds the units that were run.

use std::fmt;
use std::time::{Duration, Instant};

use sinew_policy::lifelines::Rank;

/// Sees a number of units.
pub(super) type See<'w> = Box<dyn FnMut(u64) + 'w>;

pub(super) struct Progress<'w> {
    every: Duration,
    last: Instant,
    /// The latest numbers of the ranks below.
    below: Vec<(Rank, u64)>,
    told: u64,
    see: See<'w>,
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("every", &self.every).finish_non_exhaustive()
    }
}

impl<'w> Progress<'w> {
    pub(super) fn new(every: Duration, see: See<'w>) -> Self {
        Self { every, last: Instant::now(), below: Vec::new(), told: 0, see }
    }

    /// A rank below has run so many units, with those below it.
    pub(super) fn heard(&mut self, from: Rank, units: u64) {
        self.below.retain(|(rank, _)| *rank != from);
        self.below.push((from, units));
    }

    /// The number to tell now, if it is time and the number is new. This rank itself has run `own`.
    pub(super) fn due(&mut self, own: u64) -> Option<u64> {
        if self.last.elapsed() < self.every {
            return None;
        }
        self.last = Instant::now();
        let units = own + self.below.iter().map(|(_, units)| units).sum::<u64>();
        let is_new = std::mem::replace(&mut self.told, units) < units;
        is_new.then_some(units)
    }

    /// On rank 0.
    pub(super) fn show(&mut self, units: u64) {
        (self.see)(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: messages without news or too early, and ranks that are counted twice (R1, R2).
    #[test]
    fn a_number_is_told_once_an_interval_and_only_if_it_is_new() {
        let mut eager = Progress::new(Duration::ZERO, Box::new(|_| ()));
        assert_eq!([eager.due(0), eager.due(5), eager.due(5)], [None, Some(5), None]);
        eager.heard(1, 3);
        eager.heard(2, 10);
        assert_eq!(eager.due(5), Some(18));
        eager.heard(1, 4);
        assert_eq!([eager.due(6), eager.due(6)], [Some(20), None]);
        let mut patient = Progress::new(Duration::from_secs(3_600), Box::new(|_| ()));
        assert_eq!(patient.due(5), None);
    }
}
