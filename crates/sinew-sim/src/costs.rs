//! What scheduling costs.
//!
//! Each operation has a distribution; what crosses the machine is multiplied by a factor for the distance it goes, and a stolen task pays for the data that its
//! thief's caches do not have. Everything can be zero, so that a rule can be looked at without its costs.
//!
//! Not modelled: waiting for a line that several thieves claim at once; they are served in the order in which they arrive.

use crate::queue::Time;
use crate::random::Duration;

/// What the scheduler's operations take.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// To put a task on one's own stack, where thieves see it from the beginning.
    pub spawn: Duration,
    /// To take it back, or to find that it is done.
    pub join: Duration,
    /// To get to a victim, whatever comes of it.
    pub attempt: Duration,
    /// To move the task, where the attempt succeeds.
    pub steal: Duration,
    /// To look at what one worker has on offer, where the policy asks.
    pub sample: Duration,
    /// To show thieves a part of one's tasks, where stacks have a private part.
    pub publish: Duration,
    /// For a thief to take the private part of one who does not publish: a fence on every core that runs the program.
    pub exposure: Duration,
    /// From the call to a parked worker to the beginning of its search.
    pub wake: Duration,
    /// By what attempt, steal and sample are multiplied at distance 1, 2 and so on; the last one holds beyond. None: by one.
    pub factors: Vec<f64>,
    /// What a stolen task takes longer at distance 1, 2 and so on, until its data are there; the last one holds beyond.
    pub refill: Vec<Duration>,
}

impl Costs {
    /// Scheduling is free.
    pub const ZERO: Self = Self {
        spawn: Duration::ZERO,
        join: Duration::ZERO,
        attempt: Duration::ZERO,
        steal: Duration::ZERO,
        sample: Duration::ZERO,
        publish: Duration::ZERO,
        exposure: Duration::ZERO,
        wake: Duration::ZERO,
        factors: Vec::new(),
        refill: Vec::new(),
    };

    /// A present-day server, roughly: a spawn and its join as Sinew's fast path takes, a line from another core's cache per attempt and sample, a few for a steal,
    /// a call to the kernel to wake somebody.
    pub fn usual() -> Self {
        Self {
            spawn: Duration::ns(2),
            join: Duration::ns(2),
            attempt: Duration::ns(120),
            steal: Duration::ns(240),
            sample: Duration::ns(80),
            publish: Duration::ns(30),
            exposure: Duration::ns(7_000),
            wake: Duration::ns(5_000),
            factors: vec![0.5, 1.0, 1.5, 2.5],
            refill: vec![Duration::ns(0), Duration::ns(200), Duration::ns(1_000), Duration::ns(3_000)],
        }
    }

    /// Sets one cost by its name: `spawn`, `join`, `attempt`, `steal`, `sample`, `publish`, `exposure` or `wake`. Answers whether there is one.
    pub fn set(&mut self, name: &str, cost: Duration) -> bool {
        let place = match name {
            "spawn" => &mut self.spawn,
            "join" => &mut self.join,
            "attempt" => &mut self.attempt,
            "steal" => &mut self.steal,
            "sample" => &mut self.sample,
            "publish" => &mut self.publish,
            "exposure" => &mut self.exposure,
            "wake" => &mut self.wake,
            _ => return false,
        };
        *place = cost;
        true
    }

    /// Whether nothing ever takes any time.
    pub fn are_zero(&self) -> bool {
        self.single().iter().chain(&self.refill).all(|cost| cost.is_zero())
    }

    /// All that have a name, in the order of [`NAMES`](Self::NAMES).
    pub fn single(&self) -> [Duration; Self::NAMES.len()] {
        [self.spawn, self.join, self.attempt, self.steal, self.sample, self.publish, self.exposure, self.wake]
    }

    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 8] =
        ["spawn", "join", "attempt", "steal", "sample", "publish", "exposure", "wake"];

    /// By what a way of this length multiplies.
    #[inline]
    pub(crate) fn factor(&self, distance: u8) -> f64 {
        at(&self.factors, distance).copied().unwrap_or(1.0)
    }

    #[inline]
    pub(crate) fn refill(&self, distance: u8) -> Duration {
        at(&self.refill, distance).copied().unwrap_or(Duration::ZERO)
    }

    /// Whether the distance of two workers makes a difference.
    pub(crate) fn know_distance(&self) -> bool {
        !self.factors.is_empty() || !self.refill.is_empty()
    }
}

/// The entry for a distance from 1 on.
fn at<T>(list: &[T], distance: u8) -> Option<&T> {
    let place = usize::from(distance.max(1)) - 1;
    list.get(place.min(list.len().saturating_sub(1)))
}

/// `time`, so many times; exact where the factor is one.
#[inline]
pub(crate) fn times(time: Time, factor: f64) -> Time {
    if factor == 1.0 { time } else { (time as f64 * factor) as Time }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: a distance that takes its neighbour's factor.
    #[test]
    fn the_last_factor_holds_for_whatever_is_farther() {
        let costs = Costs { factors: vec![1.0, 2.0], ..Costs::ZERO };
        assert_eq!([1, 2, 3, 200].map(|distance| costs.factor(distance)), [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(Costs::ZERO.factor(3), 1.0);
        assert!(Costs::ZERO.are_zero() && !Costs::usual().are_zero());
    }
}
