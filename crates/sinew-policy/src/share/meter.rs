//! Speeds of a program by number of cores, from readings of a counter.
//!
//! A reading contains the time, the items so far, the program's cores, and its neighbours. Two
//! readings give a speed, if nothing has changed between them. A program with a new share is still
//! adjusting to it, so the first interval after a change does not count.
//!
//! The same speeds give the effect of a neighbour in the same cache: the speed per core with it,
//! against that without.

use super::curve::Curve;

/// The weight of a new measurement of a neighbour's effect against earlier ones.
const NEW_WEIGHT: f64 = 0.25;
/// The most neighbours that are kept.
const NEIGHBOURS: usize = 8;

/// A sample of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The time, in nanoseconds.
    pub at_ns: u64,
    /// Items done so far.
    pub items: u64,
    /// Its cores.
    pub cores: u32,
    /// The number of shares that it was granted so far.
    pub epoch: u64,
    /// Numbers of the programs that share a cache with it, in ascending order.
    pub neighbours: Vec<u32>,
}

/// The measured speeds of one program.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    last: Option<Reading>,
    settled: bool,
    /// The speed per core without neighbours, and with each neighbour so far.
    alone: Option<f64>,
    with: Vec<(u32, f64)>,
}

impl Meter {
    /// Adds a reading. Returns the speed since the last one in items per second, if nothing has
    /// changed meanwhile, and adds it to `curve`.
    pub fn read(&mut self, reading: &Reading, curve: &mut Curve) -> Option<f64> {
        let before = self.last.replace(reading.clone())?;
        let same = (before.epoch, before.cores) == (reading.epoch, reading.cores)
            && before.neighbours == reading.neighbours;
        let was_settled = std::mem::replace(&mut self.settled, same);
        let time_ns = reading.at_ns.checked_sub(before.at_ns).filter(|&ns| ns > 0)?;
        let items = reading.items.checked_sub(before.items).filter(|&items| items > 0)?;
        if !(same && was_settled) {
            return None;
        }
        let rate = items as f64 * 1e9 / time_ns as f64;
        curve.learn(reading.cores, rate);
        self.learn_of_neighbours(&reading.neighbours, rate / f64::from(reading.cores.max(1)));
        Some(rate)
    }

    /// With one neighbour the cause of a change is clear; with several, nothing is recorded.
    fn learn_of_neighbours(&mut self, neighbours: &[u32], rate: f64) {
        let mix = |known: &mut f64| *known += NEW_WEIGHT * (rate - *known);
        match neighbours {
            [] => match &mut self.alone {
                Some(alone) => mix(alone),
                None => self.alone = Some(rate),
            },
            [neighbour] => match self.with.iter_mut().find(|(known, _)| known == neighbour) {
                Some((_, known)) => mix(known),
                None => {
                    self.with.truncate(NEIGHBOURS - 1);
                    // The newest first.
                    self.with.extend([(*neighbour, rate)]);
                    self.with.rotate_right(1);
                }
            },
            _ => {}
        }
    }

    /// For each known neighbour the relative change of the speed: against the speed without any, or
    /// with the least harmful one.
    pub fn effects(&self) -> Vec<(u32, f64)> {
        let best = self.with.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let Some(base) = self.alone.or((self.with.len() > 1).then_some(best)) else {
            return Vec::new();
        };
        self.with
            .iter()
            .map(|&(neighbour, rate)| (neighbour, (rate / base - 1.0).clamp(-1.0, 1.0)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(second: u64, items: u64, cores: u32, epoch: u64, neighbours: &[u32]) -> Reading {
        Reading {
            at_ns: second * 1_000_000_000,
            items,
            cores,
            epoch,
            neighbours: neighbours.to_vec(),
        }
    }

    /// Catches: an interval after a change that counts, and a speed that is recorded for the wrong
    /// number of cores.
    #[test]
    fn speeds_count_once_a_share_has_settled() {
        let (mut meter, mut curve) = (Meter::default(), Curve::default());
        assert_eq!(meter.read(&reading(0, 0, 2, 1, &[]), &mut curve), None);
        assert_eq!(meter.read(&reading(1, 10, 2, 1, &[]), &mut curve), None);
        assert_eq!(meter.read(&reading(2, 210, 2, 1, &[]), &mut curve), Some(200.0));
        assert_eq!(meter.read(&reading(3, 300, 1, 2, &[]), &mut curve), None);
        assert_eq!(meter.read(&reading(4, 420, 1, 2, &[]), &mut curve), None);
        assert_eq!(meter.read(&reading(5, 540, 1, 2, &[]), &mut curve), Some(120.0));
        assert_eq!((curve.rate(1), curve.rate(2)), (120.0, 200.0));
        assert_eq!(meter.read(&reading(6, 540, 1, 2, &[]), &mut curve), None);
    }

    /// Catches: harm with the sign of gain, and an effect that is recorded for another neighbour.
    #[test]
    fn a_neighbours_effect_is_the_speed_with_it_against_that_without() {
        let (mut meter, mut curve) = (Meter::default(), Curve::default());
        let (mut second, mut items) = (0, 0);
        for (neighbours, rate) in
            [(&[][..], 100), (&[7][..], 80), (&[9][..], 110), (&[7, 9][..], 10)]
        {
            for _ in 0..4 {
                (second, items) = (second + 1, items + rate);
                meter.read(&reading(second, items, 1, 1, neighbours), &mut curve);
            }
        }
        let mut effects = meter.effects();
        effects.sort_by_key(|(neighbour, _)| *neighbour);
        assert_eq!(
            effects.iter().map(|(n, change)| (*n, (change * 100.0).round())).collect::<Vec<_>>(),
            [(7, -20.0), (9, 10.0)]
        );
    }
}
