//! How many workers of a program would find work, from samples of the number of busy workers.
//!
//! A program whose granted workers are all busy may have work for more. How much more is not
//! observable, so its demand is all of its workers. A program with idle workers demands one more
//! than are busy, so that a rise shows. Demand rises at once and falls after a while: short pauses
//! move no cores.

/// The number of samples. At one per 10 ms, a program must be idle for this many times 10 ms to
/// lose its cores.
const SAMPLES: usize = 8;

/// The last samples of one program.
#[derive(Debug, Clone, Default)]
pub struct DemandMeter {
    recent: [u32; SAMPLES],
    saturated: [bool; SAMPLES],
    next: usize,
}

impl DemandMeter {
    /// Adds a sample: `busy` of the `granted` workers are running now, out of `most` workers.
    /// Returns how many would find work.
    pub fn sample(&mut self, busy: u32, granted: u32, most: u32) -> u32 {
        self.recent[self.next] = busy;
        self.saturated[self.next] = busy > 0 && busy >= granted;
        self.next = (self.next + 1) % SAMPLES;
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
        assert_eq!(meter.sample(0, 4, 8), 0);
        assert_eq!(meter.sample(4, 4, 8), 8);
        for _ in 0..SAMPLES - 1 {
            assert_eq!(meter.sample(2, 4, 8), 8);
        }
        assert_eq!(meter.sample(2, 4, 8), 3);
        for _ in 0..SAMPLES - 1 {
            assert_eq!(meter.sample(0, 3, 8), 3);
        }
        assert_eq!(meter.sample(0, 3, 8), 0);
        assert_eq!(meter.sample(1, 1, 8), 8);
        assert_eq!(meter.sample(1, 1, 1), 1);
    }
}
