//! The counters of a running worklist.
//!
//! # Tests
//!
//! Ratios at thresholds and without commits; exact comparison of throughputs; a property test for
//! differences of any two totals.

use std::cmp::Ordering;

/// The sum of all workers' counters: totals since the start of the run, or the part of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Units whose transaction committed.
    pub commits: u64,
    /// Attempts that aborted.
    pub aborts: u64,
    /// Accesses to a list that had to wait.
    pub stalls: u64,
    /// Time in nanoseconds.
    pub elapsed_ns: u64,
}

impl Counts {
    /// The difference to `earlier`. A counter that seems to have decreased, since it was read while
    /// others ran, counts as unchanged.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.zip(earlier, u64::saturating_sub)
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    fn zip(&self, other: &Self, op: fn(u64, u64) -> u64) -> Self {
        Self {
            commits: op(self.commits, other.commits),
            aborts: op(self.aborts, other.aborts),
            stalls: op(self.stalls, other.stalls),
            elapsed_ns: op(self.elapsed_ns, other.elapsed_ns),
        }
    }

    /// Whether no transaction has ended.
    pub fn is_empty(&self) -> bool {
        self.commits == 0 && self.aborts == 0
    }

    /// Aborts per commit; infinite if everything aborted.
    pub fn abort_ratio(&self) -> f64 {
        ratio(self.aborts, self.commits)
    }

    /// Stalls per commit; infinite if there were only stalls.
    pub fn stall_ratio(&self) -> f64 {
        ratio(self.stalls, self.commits)
    }

    /// Commits per nanosecond. No time counts as one nanosecond, and no commit as a thousandth of
    /// one, so that quotients are numbers.
    pub fn throughput(&self) -> f64 {
        let commits = if self.commits == 0 { 1e-3 } else { self.commits as f64 };
        commits / self.elapsed_ns.max(1) as f64
    }

    /// Compares commits per second, exactly. No time counts as one nanosecond.
    pub fn cmp_throughput(&self, other: &Self) -> Ordering {
        let scaled = |counts: &Self, time: &Self| {
            u128::from(counts.commits) * u128::from(time.elapsed_ns.max(1))
        };
        scaled(self, other).cmp(&scaled(other, self))
    }
}

/// A quotient of whole numbers, as precise as the literal of a threshold; 0 of 0 is 0.
fn ratio(part: u64, whole: u64) -> f64 {
    if part == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: an overflow or a huge difference when a counter is read late.
        #[test]
        fn a_difference_is_at_most_the_total(
            late in any::<[u64; 4]>(),
            early in any::<[u64; 4]>(),
        ) {
            let [late, early] = [late, early].map(|[commits, aborts, stalls, elapsed_ns]| {
                Counts { commits, aborts, stalls, elapsed_ns }
            });
            let added = late.since(&early);
            prop_assert!(added.commits <= late.commits && added.elapsed_ns <= late.elapsed_ns);
            prop_assert_eq!(early.plus(&added).commits, early.commits.max(late.commits));
        }

        /// Catches: rounded throughputs, which lose a tie or invent one.
        #[test]
        fn throughputs_are_compared_exactly(commits in 1..u64::MAX, elapsed_ns in 1..u64::MAX) {
            let counts = Counts { commits, elapsed_ns, ..Counts::default() };
            let slower = Counts { elapsed_ns: elapsed_ns + 1, ..counts };
            prop_assert_eq!(counts.cmp_throughput(&counts), Ordering::Equal);
            prop_assert_eq!(slower.cmp_throughput(&counts), Ordering::Less);
            prop_assert_eq!(counts.cmp_throughput(&slower), Ordering::Greater);
        }
    }

    /// Catches: a ratio of 3 to 30 that is not the 0.1 of a threshold, and a 0/0 that cannot be
    /// compared.
    #[test]
    fn ratios_meet_their_thresholds() {
        for tens in 1..1_000 {
            let counts = Counts { commits: 10 * tens, aborts: tens, stalls: tens, elapsed_ns: 0 };
            assert!(counts.abort_ratio() == 0.1 && counts.stall_ratio() == 0.1);
        }
        assert_eq!(Counts::default().abort_ratio(), 0.0);
        assert_eq!(Counts { aborts: 1, ..Counts::default() }.abort_ratio(), f64::INFINITY);
    }
}
