//! Shares proportional to workers' speeds, for cores that are not equal.
//!
//! Cores differ by their kind, their clock, and the other programs on them. A worker's speed is
//! measured in iterations per second whenever it takes part in a loop, and the next run's shares
//! are proportional to the speeds. Stealing corrects errors. A loop that is switched to such shares
//! while it runs uses the iterations that its workers have done so far.
//!
//! Source: weighted factoring (Flynn Hummel, Schmidt, Uma and Wein, "Load-Sharing in Heterogeneous
//! Systems via Weighted Factoring") for the idea of weights. Differences: one share per worker
//! instead of batches, since thieves correct it; the weights are learned; shares stay the same
//! while they are nearly right, so that data stay in their caches.
//!
//! # Invariants
//!
//! - W1: shares are adjacent, in the order of the workers, and cover `0..n`.
//!
//! # Tests
//!
//! Property tests for W1, for proportions within one iteration, for shares that stay, and for
//! shares while a loop runs.

/// Iterations in 2⁴⁰ ns (18 minutes), so that slow loops have speeds above 0.
type Speed = u64;

/// The unit of [`Speed`] as a shift.
const PERIOD: u32 = 40;

/// Fast enough for any loop, and few enough bits for exact arithmetic with any number of
/// iterations.
const FASTEST: Speed = 1 << 48;

/// The weight of a new measurement is a quarter.
const INERTIA: u64 = 4;

/// Fewer iterations than an even share divided by this are no valid sample of a worker.
const SAMPLE: usize = 8;

/// Shares move only if one is wrong by more than an even share divided by this.
const TOLERANCE: usize = 32;

/// The known speeds of workers, and the resulting shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speeds {
    /// 0 if unknown.
    speeds: Vec<Speed>,
    begins: Vec<usize>,
}

impl Speeds {
    /// No known speeds for `workers` workers (0 counts as 1).
    pub fn new(workers: usize) -> Self {
        Self { speeds: vec![0; workers.max(1)], begins: Vec::new() }
    }

    /// The speeds in one loop so far: for each worker the iterations done and the nanoseconds since
    /// it joined, or 0 if it has not joined.
    ///
    /// A worker that joined less than an eighth as long ago as the first one counts as unknown. One
    /// that has finished no iteration in a longer time is at its first one, which counts as done.
    ///
    /// ```
    /// use sinew_policy::weighted::Speeds;
    ///
    /// let mut speeds = Speeds::measured(&[(300, 1_000), (100, 1_000), (9, 1)]);
    /// assert_eq!(speeds.begins(600), [0, 300, 400, 600]);
    /// ```
    pub fn measured(times: &[(usize, u64)]) -> Self {
        let longest = times.iter().map(|&(_, elapsed_ns)| elapsed_ns).max().unwrap_or(0);
        let mut speeds = Self::new(times.len());
        for (worker, &(items, elapsed_ns)) in times.iter().enumerate() {
            if elapsed_ns > 0 && elapsed_ns >= longest / SAMPLE as u64 {
                speeds.learn(worker, items.max(1), elapsed_ns, 0);
            }
        }
        speeds
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.speeds.len()
    }

    /// Records that `worker` took `elapsed_ns` for `items` of a loop of `n` iterations.
    /// Ignores a worker that does not exist.
    pub fn learn(&mut self, worker: usize, items: usize, elapsed_ns: u64, n: usize) {
        let enough = items > 0 && items >= n / self.workers() / SAMPLE;
        let Some(speed) = self.speeds.get_mut(worker).filter(|_| enough) else { return };
        let measured = ((items as u128) << PERIOD) / u128::from(elapsed_ns.max(1));
        let measured = measured.clamp(1, u128::from(FASTEST)) as Speed;
        *speed = if *speed == 0 { measured } else { (*speed * (INERTIA - 1) + measured) / INERTIA }
            .max(1);
    }

    /// The start of each worker's share in a loop of `n` iterations, and `n` at the end.
    pub fn begins(&mut self, n: usize) -> &[usize] {
        let begins = self.proportional(n);
        if self.begins.last() != Some(&n) || !self.is_near(&begins) {
            self.begins = begins;
        }
        &self.begins
    }

    fn is_near(&self, begins: &[usize]) -> bool {
        let tolerance = begins.last().unwrap_or(&0) / self.workers() / TOLERANCE;
        let lengths =
            |begins: &[usize]| begins.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        let (old, new) = (lengths(&self.begins), lengths(begins));
        old.iter().zip(&new).all(|(old, new)| old.abs_diff(*new) <= tolerance)
    }

    /// W1: prefix sums of the speeds, so that rounding neither loses an iteration nor gives it out
    /// twice.
    fn proportional(&self, n: usize) -> Vec<usize> {
        let speeds = self.filled();
        let total: u128 = speeds.iter().map(|&speed| u128::from(speed)).sum();
        let prefixes = speeds.iter().scan(0_u128, |sum, &speed| {
            *sum += u128::from(speed);
            Some(*sum)
        });
        std::iter::once(0)
            .chain(prefixes.map(|prefix| (n as u128 * prefix / total) as usize))
            .collect()
    }

    /// The speeds, with the mean of the known ones for the unknown.
    fn filled(&self) -> Vec<Speed> {
        let known: Vec<Speed> = self.speeds.iter().copied().filter(|&speed| speed > 0).collect();
        let mean =
            known.iter().sum::<Speed>().checked_div(known.len() as Speed).unwrap_or(1).max(1);
        self.speeds.iter().map(|&speed| if speed == 0 { mean } else { speed }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: an iteration lost to rounding, and a share that is off by more than one
        /// iteration (W1).
        #[test]
        fn shares_are_proportional_to_speeds(
            n in any::<usize>(),
            rates in proptest::collection::vec(1..1_000_u32, 1..9),
        ) {
            let mut speeds = Speeds::new(rates.len());
            for (worker, &rate) in rates.iter().enumerate() {
                speeds.learn(worker, rate as usize * 1_000, 1 << 20, 0);
            }
            let begins = speeds.begins(n).to_vec();
            prop_assert_eq!(
                (begins[0], begins[rates.len()], begins.len()),
                (0, n, rates.len() + 1)
            );
            let total: u64 = rates.iter().map(|&rate| u64::from(rate)).sum();
            for (worker, &rate) in rates.iter().enumerate() {
                prop_assert!(begins[worker] <= begins[worker + 1]);
                let even = (n as u128 * u128::from(rate) / u128::from(total)) as usize;
                prop_assert!((begins[worker + 1] - begins[worker]).abs_diff(even) <= 1);
            }
        }

        /// Catches: a share by iterations although workers joined at different times, a newcomer
        /// that counts as measured, and an unknown worker that gets nothing.
        #[test]
        fn shares_in_mid_run_are_proportional_to_what_was_done_in_the_time(
            n in 0..1_000_000_000_usize,
            workers in proptest::collection::vec((1..1_000_u64, 8..64_u64, 0..4_u8), 1..9),
        ) {
            // The first worker joined 64 units of time ago, newcomers one.
            let time_of = |&(rate, time, kind): &(u64, u64, u8)| match kind {
                0 => (0, 0),
                1 => (rate as usize, 1 << 10),
                _ => ((rate * time) as usize, time << 10),
            };
            let mut times: Vec<_> = workers.iter().map(time_of).collect();
            times.push((64 * 500, 64 << 10));
            let begins = Speeds::measured(&times).begins(n).to_vec();
            prop_assert_eq!(
                (begins[0], begins[times.len()], begins.len()),
                (0, n, times.len() + 1)
            );
            let known: Vec<u64> = workers
                .iter()
                .filter(|worker| worker.2 > 1)
                .map(|worker| worker.0)
                .chain([500])
                .collect();
            let mean = known.iter().sum::<u64>() as f64 / known.len() as f64;
            let rates = workers
                .iter()
                .map(|worker| if worker.2 > 1 { worker.0 as f64 } else { mean })
                .chain([500.0]);
            let total: f64 = rates.clone().sum();
            for (share, rate) in begins.windows(2).map(|pair| pair[1] - pair[0]).zip(rates) {
                let even = n as f64 * rate / total;
                prop_assert!(
                    (share as f64 - even).abs() <= 2.0 + even / 1e6,
                    "{} for {}",
                    share,
                    even
                );
            }
        }

        /// Catches: an overflow or a division by zero, for any measurement.
        #[test]
        fn any_measurement_leads_to_shares(
            measured in proptest::collection::vec(
                (0..9_usize, any::<usize>(), any::<u64>(), any::<usize>()),
                0..20,
            ),
            n in any::<usize>(),
        ) {
            let mut speeds = Speeds::new(7);
            for (worker, items, elapsed_ns, length) in measured {
                speeds.learn(worker, items, elapsed_ns, length);
            }
            let begins = speeds.begins(n);
            prop_assert!(begins.is_sorted() && begins[0] == 0 && begins[7] == n);
        }

        /// Catches: an overflow or a division by zero, for any measurement of a running loop.
        #[test]
        fn any_stay_leads_to_shares(
            times in proptest::collection::vec((any::<usize>(), any::<u64>()), 0..9),
            n in any::<usize>(),
        ) {
            let mut speeds = Speeds::measured(&times);
            let begins = speeds.begins(n);
            prop_assert!(begins.is_sorted() && begins[0] == 0 && begins[begins.len() - 1] == n);
        }
    }

    /// Catches: unequal shares without measurements, and an unknown worker that is left out.
    #[test]
    fn unknown_workers_are_like_the_others() {
        let mut speeds = Speeds::new(3);
        assert_eq!(speeds.begins(9), [0, 3, 6, 9]);
        speeds.learn(0, 300, 1_000, 900);
        speeds.learn(2, 100, 1_000, 900);
        assert_eq!(speeds.begins(900), [0, 450, 750, 900]);
    }

    /// Catches: shares that move because of noise, shares that stay wrong, and a tiny sample that
    /// counts.
    #[test]
    fn shares_move_only_when_they_are_wrong() {
        let mut speeds = Speeds::new(2);
        for (left, right) in [(500, 500), (505, 500), (495, 500)] {
            speeds.learn(0, left, 1_000, 1_000);
            speeds.learn(1, right, 1_000, 1_000);
            assert_eq!(speeds.begins(1_000), [0, 500, 1_000]);
        }
        speeds.learn(0, 50, 1, 1_000);
        assert_eq!(speeds.begins(1_000), [0, 500, 1_000]);
        for _ in 0..20 {
            speeds.learn(0, 750, 1_000, 1_000);
            speeds.learn(1, 250, 1_000, 1_000);
        }
        assert!(speeds.begins(1_000)[1].abs_diff(750) <= 16);
    }
}
