//! The machine's power by the number of busy cores, from readings of its energy counter.
//!
//! The counter belongs to the whole machine, so the power of one program is not measured. A line is
//! fitted instead: so many watts with no busy core, and so many more for each. Watts at one number
//! of cores do not show what the machine needs without any; then all of them count as the cores'.
//! So a decision tries fewer cores, after which the line has two points.
//!
//! Source: running-average power limits (RAPL) as counters; the line is the usual model of a server
//! by its utilisation. Difference: it is fitted while programs run, at the numbers of cores that
//! they have.
//!
//! # Not handled
//!
//! Programs outside of the table: their watts count as those of the busy cores, or as those without
//! any. Cores of which one needs more power than another.

use super::curve::Curve;

/// Watts of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// With no busy core, at least 0.
    pub idle_w: f64,
    /// Of each busy core, at least 0.
    pub core_w: f64,
}

impl Power {
    /// The line through the measured points of a [`PowerMeter`]; `None` without any.
    pub fn through(watts: &Curve) -> Option<Self> {
        // A point lies one core higher than it was measured, since curves begin with one core.
        let points: Vec<(f64, f64)> = watts
            .points()
            .iter()
            .map(|point| (f64::from(point.cores) - 1.0, f64::from(point.rate)))
            .collect();
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let mean = |of| sum(of) / points.len() as f64;
        let (x, y) = (mean(&|(x, _)| *x), mean(&|(_, y)| *y));
        let spread = sum(&|(at, _)| (at - x).powi(2));
        match points.len() {
            0 => return None,
            _ if spread > 0.0 => {}
            _ if x > 0.0 => return Some(Self { idle_w: 0.0, core_w: y / x }),
            _ => return Some(Self { idle_w: y, core_w: 0.0 }),
        }
        let slope = sum(&|(at, watts)| (at - x) * (watts - y)) / spread;
        let power = Self { idle_w: y - slope * x, core_w: slope };
        Some(match power {
            Self { core_w, .. } if core_w < 0.0 => Self { idle_w: y, core_w: 0.0 },
            // The best line through the origin.
            Self { idle_w, .. } if idle_w < 0.0 => {
                let core_w = sum(&|(at, watts)| at * watts) / sum(&|(at, _)| at * at);
                Self { idle_w: 0.0, core_w }
            }
            power => power,
        })
    }

    /// Watts with so many busy cores.
    pub fn watts(&self, cores: u32) -> f64 {
        self.idle_w + self.core_w * f64::from(cores)
    }
}

/// A sample of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerReading {
    /// The time, in nanoseconds.
    pub at_ns: u64,
    /// The energy so far, in microjoules.
    pub energy_uj: u64,
    /// The busy cores since the last reading.
    pub cores: u32,
}

/// The power between two readings.
#[derive(Debug, Clone, Default)]
pub struct PowerMeter {
    last: Option<PowerReading>,
}

impl PowerMeter {
    /// Adds a reading. Returns the watts since the last one, and adds them to `watts` unless the
    /// number of busy cores has just changed.
    pub fn read(&mut self, reading: PowerReading, watts: &mut Curve) -> Option<f64> {
        let before = self.last.replace(reading)?;
        let time_ns = reading.at_ns.checked_sub(before.at_ns).filter(|&ns| ns > 0)?;
        let energy_uj = reading.energy_uj.checked_sub(before.energy_uj).filter(|&uj| uj > 0)?;
        let power = energy_uj as f64 * 1e3 / time_ns as f64;
        if before.cores == reading.cores {
            watts.learn(reading.cores.saturating_add(1), power);
        }
        Some(power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A curve through these watts by number of busy cores.
    fn measured(points: &[(u32, f64)]) -> Curve {
        let mut curve = Curve::default();
        points.iter().for_each(|&(cores, watts)| curve.learn(cores + 1, watts));
        curve
    }

    /// Catches: watts without busy cores that count as a core's, and the reverse; a line below 0.
    #[test]
    fn the_line_goes_through_what_was_measured() {
        let power = |points: &[(u32, f64)]| Power::through(&measured(points));
        let line = |idle_w, core_w| Some(Power { idle_w, core_w });
        assert_eq!(power(&[]), None);
        assert_eq!(power(&[(4, 20.0)]), line(0.0, 5.0));
        assert_eq!(power(&[(0, 12.0)]), line(12.0, 0.0));
        assert_eq!(power(&[(0, 10.0), (4, 30.0)]), line(10.0, 5.0));
        assert_eq!(power(&[(1, 15.0), (3, 25.0), (5, 35.0)]), line(10.0, 5.0));
        assert_eq!(power(&[(1, 30.0), (3, 10.0)]), line(20.0, 0.0));
        assert_eq!(power(&[(1, 1.0), (3, 9.0)]), line(0.0, 2.8));
        assert_eq!(line(10.0, 5.0).unwrap().watts(4), 30.0);
    }

    /// Catches: watts of the interval in which a program came, microjoules that are taken for
    /// joules, and a counter that went back.
    #[test]
    fn watts_are_learned_while_the_busy_cores_stay_the_same() {
        let (mut meter, mut curve) = (PowerMeter::default(), Curve::default());
        let mut read = |ms: u64, energy_uj, cores| {
            let reading = PowerReading { at_ns: ms * 1_000_000, energy_uj, cores };
            (meter.read(reading, &mut curve), curve.points().len())
        };
        assert_eq!(read(0, 1_000, 2), (None, 0));
        assert_eq!(read(500, 5_001_000, 2), (Some(10.0), 1));
        assert_eq!(read(1_000, 15_001_000, 3), (Some(20.0), 1));
        assert_eq!(read(1_500, 25_001_000, 3), (Some(20.0), 2));
        assert_eq!(read(2_000, 1_000, 3), (None, 2));
        assert_eq!(read(2_000, 2_000, 3), (None, 2));
    }

    proptest! {
        /// Catches: a line that is not finite or is below 0, whatever is measured.
        #[test]
        fn any_watts_give_a_line_that_makes_sense(
            points in proptest::collection::vec((0..200_u32, 1e-3..1e5_f64), 1..12),
        ) {
            let power = Power::through(&measured(&points)).unwrap();
            prop_assert!(power.idle_w.is_finite() && power.idle_w >= 0.0, "{power:?}");
            prop_assert!(power.core_w.is_finite() && power.core_w >= 0.0, "{power:?}");
        }
    }
}
