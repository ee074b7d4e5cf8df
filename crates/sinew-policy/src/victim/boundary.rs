//! The depth down to which tasks are large, by the times of stolen tasks, for the rule `cats`.

/// The stolen tasks of one depth, and their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Their number.
    pub tasks: u64,
    /// Their total time, in microseconds.
    pub micros: u64,
}

/// The greatest depth whose tasks may leave their package, from one tally for each depth from 0 on,
/// for a machine of `packages`.
///
/// It is the deepest with tasks of `large_us` microseconds on average: a task that takes as long as
/// reading a whole cache of a package has more data than the cache holds, or is worth the transfer.
/// But it is at least so deep that each package gets a task if every task spawns two.
pub fn boundary(tallies: &[Tally], large_us: u32, packages: usize) -> u32 {
    let is_large =
        |tally: &Tally| tally.tasks > 0 && tally.micros >= tally.tasks * u64::from(large_us);
    let learned = tallies.iter().rposition(is_large).unwrap_or(0);
    let least = packages.max(1).next_power_of_two().ilog2();
    least.max(u32::try_from(learned).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(tasks: u64, micros: u64) -> Tally {
        Tally { tasks, micros }
    }

    /// Catches: sums instead of means, a boundary one too deep or too shallow, depths without
    /// tasks, or a package without work.
    #[test]
    fn the_boundary_is_the_deepest_depth_of_large_tasks() {
        let tallies =
            [tally(0, 0), tally(2, 8_000), tally(4, 4_000), tally(900, 9_000), tally(0, 0)];
        assert_eq!(boundary(&tallies, 1_000, 1), 2);
        assert_eq!(boundary(&tallies, 1_001, 1), 1);
        assert_eq!(boundary(&tallies, 10, 1), 3);
        for (packages, least) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3)] {
            assert_eq!(boundary(&tallies, 1_000_000, packages), least);
            assert_eq!(boundary(&[], 1, packages), least);
        }
    }
}
