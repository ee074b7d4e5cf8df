//! The demand of a command, estimated from the processor time that it uses. Pure.
//!
//! An unmodified command does not report its demand. But its share is known, and how much of it the
//! command uses. A command that uses all of it may have work for more. The other programs can have
//! the cores of a command that uses next to nothing, such as a waiting shell or `sleep`. Any other
//! command demands what it uses and one more, so that a growing need shows. Threads that spin for
//! one another count as working, because the system cannot tell.
//!
//! The estimate rises at once and falls only after a while, so that short pauses move no cores: it
//! is the maximum of several samples.

/// Samples that count: at four a second, two seconds.
const SAMPLES: usize = 8;

/// Usage below this part of a core's fair part counts as none.
const NOTHING: f64 = 0.25;

/// The recent samples of one command.
#[derive(Debug)]
pub(crate) struct Usage {
    recent: [usize; SAMPLES],
    next: usize,
}

/// A command's share during a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// Threads that it has been granted.
    pub(crate) granted: usize,
    /// Threads that it can use at most.
    pub(crate) most: usize,
    /// The part of a core that a thread of it could use: less than one if there are more programs
    /// than cores.
    pub(crate) part: f64,
}

impl Usage {
    /// For a command that may have work for `most` threads.
    pub(crate) fn new(most: usize) -> Self {
        Self { recent: [most; SAMPLES], next: 0 }
    }

    /// Adds a sample: the command has used `cores` cores since the last one. Returns the number of
    /// threads for which it has work.
    pub(crate) fn add_sample(&mut self, cores: f64, allowance: Allowance) -> usize {
        let busy = (cores / allowance.part - NOTHING).ceil().max(0.0) as usize;
        self.recent[self.next] = match busy {
            0 => 0,
            _ if busy >= allowance.granted => allowance.most,
            _ => (busy + 1).min(allowance.most),
        };
        self.next = (self.next + 1) % SAMPLES;
        self.recent.into_iter().max().unwrap_or(allowance.most)
    }

    /// Whether the last sample showed less work than there may be.
    pub(crate) fn is_in_doubt(&self, most: usize) -> bool {
        self.recent[(self.next + SAMPLES - 1) % SAMPLES] < most
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: processor time that is read wrongly.
    use super::*;

    fn allowance(granted: usize) -> Allowance {
        Allowance { granted, most: 8, part: 1.0 }
    }

    fn settled(usage: &mut Usage, cores: f64, allowance: Allowance) -> usize {
        (0..SAMPLES).map(|_| usage.add_sample(cores, allowance)).last().unwrap()
    }

    /// Catches: a sleeping command that keeps cores, one that loses them at its first pause, and
    /// one that does not get them back at once.
    #[test]
    fn demand_falls_after_a_while_and_rises_at_once() {
        let mut usage = Usage::new(8);
        for _ in 1..SAMPLES {
            assert_eq!(usage.add_sample(0.01, allowance(4)), 8);
        }
        assert!(usage.is_in_doubt(8));
        assert_eq!(usage.add_sample(0.01, allowance(4)), 0);
        assert_eq!(usage.add_sample(0.9, allowance(1)), 8);
        assert!(!usage.is_in_doubt(8));
    }

    /// Catches: a serial command that keeps a parallel one's share, and cores that move back and
    /// forth because its demand alternates.
    #[test]
    fn who_uses_a_part_of_its_share_demands_one_more_than_that() {
        let mut usage = Usage::new(8);
        assert_eq!(settled(&mut usage, 1.1, allowance(4)), 2);
        assert_eq!(settled(&mut usage, 1.1, allowance(2)), 2);
        assert_eq!(settled(&mut usage, 2.6, allowance(4)), 4);
        assert_eq!(settled(&mut usage, 3.6, allowance(4)), 8);
    }

    /// Catches: many busy programs on few cores, each with so little time that it counts as idle.
    #[test]
    fn a_crowd_is_not_asleep() {
        let crowded = Allowance { granted: 1, most: 2, part: 0.2 };
        assert_eq!(settled(&mut Usage::new(2), 0.2, crowded), 2);
        assert_eq!(settled(&mut Usage::new(2), 0.01, crowded), 0);
    }
}
