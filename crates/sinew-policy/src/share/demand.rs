//! How many workers of a program would find work, from looks at how many are at work.
//!
//! A program all of whose granted workers are at work may have work for more; how much more nobody
//! can see, so it is taken to have work for as many as it has. One that leaves some idle has work
//! for those that are not, and one more, so that it is seen when it needs more. More is demanded at
//! once, less only after a while: short pauses move no cores.

/// Looks that count. At 10 ms each, a program must be idle for so many times 10 ms to lose its
/// cores.
const LOOKS: usize = 8;

/// The recent looks at one program.
#[derive(Debug, Clone, Default)]
pub struct DemandMeter {
    recent: [u32; LOOKS],
    saturated: [bool; LOOKS],
    next: usize,
}

impl DemandMeter {
    /// `busy` of the `granted` workers are at work now, of `most` that there are. Answers how many
    /// would find work.
    pub fn look(&mut self, busy: u32, granted: u32, most: u32) -> u32 {
        self.recent[self.next] = busy;
        self.saturated[self.next] = busy > 0 && busy >= granted;
        self.next = (self.next + 1) % LOOKS;
        let busiest = self.recent.iter().copied().max().unwrap_or(0);
        match busiest {
            0 => 0,
            _ if self.saturated.contains(&true) => most,
            busiest => (busiest + 1).min(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a demand that follows every pause, and one that never falls.
    #[test]
    fn demand_rises_at_once_and_falls_after_a_while() {
        let mut meter = DemandMeter::default();
        assert_eq!(meter.look(0, 4, 8), 0);
        assert_eq!(meter.look(4, 4, 8), 8);
        for _ in 0..LOOKS - 1 {
            assert_eq!(meter.look(2, 4, 8), 8);
        }
        assert_eq!(meter.look(2, 4, 8), 3);
        for _ in 0..LOOKS - 1 {
            assert_eq!(meter.look(0, 3, 8), 3);
        }
        assert_eq!(meter.look(0, 3, 8), 0);
        assert_eq!(meter.look(1, 1, 8), 8);
        assert_eq!(meter.look(1, 1, 1), 1);
    }
}
