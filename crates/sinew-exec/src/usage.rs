//! How many threads of a command would find something to do, from the processor time that it uses.
//! Pure.
//!
//! A command that nobody rewrote says nothing of what it has to do. But what it has is known, and
//! how much of that it uses. All of it: it may have work for more. Next to nothing, as a shell that
//! waits or `sleep`: the others can have its cores. In between, what it uses and one more, so that
//! it is seen when it needs more. Threads that spin for one another count as at work: nobody can
//! tell.
//!
//! More is demanded at once, less only after a while, so that short pauses move no cores: of
//! several looks the one counts that found most.

/// Looks that count: at four a second, two seconds.
const SAMPLES: usize = 8;

/// So much of a core's fair part counts as nothing.
const NOTHING: f64 = 0.25;

/// The recent looks at one command.
#[derive(Debug)]
pub(crate) struct Usage {
    recent: [usize; SAMPLES],
    next: usize,
}

/// What a command has, when it is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// Threads that it has been granted.
    pub(crate) granted: usize,
    /// Threads that it can use at most.
    pub(crate) most: usize,
    /// What a thread of it could use: less than a core where there are more programs than cores.
    pub(crate) part: f64,
}

impl Usage {
    /// For a command that has work for `most` threads, as far as is known.
    pub(crate) fn new(most: usize) -> Self {
        Self { recent: [most; SAMPLES], next: 0 }
    }

    /// It has used so many cores since the last look. Answers for how many threads it has work.
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

    /// Whether the last look found less than there might be.
    pub(crate) fn is_in_doubt(&self, most: usize) -> bool {
        self.recent[(self.next + SAMPLES - 1) % SAMPLES] < most
    }
}

#[cfg(test)]
mod tests {
    //! What they would miss: processor time that is read wrongly.
    use super::*;

    fn allowance(granted: usize) -> Allowance {
        Allowance { granted, most: 8, part: 1.0 }
    }

    fn settled(usage: &mut Usage, cores: f64, allowance: Allowance) -> usize {
        (0..SAMPLES).map(|_| usage.add_sample(cores, allowance)).last().unwrap()
    }

    /// Catches: a sleeper that keeps cores, one that loses them at its first pause, and one that
    /// does not get them back at once.
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

    /// Catches: a serial command that keeps a parallel one's share, and cores that go to and fro
    /// since it has now one more, now one less than it uses.
    #[test]
    fn who_uses_a_part_of_its_share_demands_one_more_than_that() {
        let mut usage = Usage::new(8);
        assert_eq!(settled(&mut usage, 1.1, allowance(4)), 2);
        assert_eq!(settled(&mut usage, 1.1, allowance(2)), 2);
        assert_eq!(settled(&mut usage, 2.6, allowance(4)), 4);
        assert_eq!(settled(&mut usage, 3.6, allowance(4)), 8);
    }

    /// Catches: many busy programs on few cores, each of which gets so little that it would be
    /// taken for idle.
    #[test]
    fn a_crowd_is_not_asleep() {
        let crowded = Allowance { granted: 1, most: 2, part: 0.2 };
        assert_eq!(settled(&mut Usage::new(2), 0.2, crowded), 2);
        assert_eq!(settled(&mut Usage::new(2), 0.01, crowded), 0);
    }
}
