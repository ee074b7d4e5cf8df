//! Repeatable random numbers: hashes for properties of a task, a stream for everything else in a
//! run.
//!
//! A task's duration must not depend on the worker or the time at which it runs; otherwise runs
//! with different policies would do different work. It is drawn from a hash of the task. Costs of
//! steals are drawn from the run's single stream, in the order of events.
//!
//! Logarithms and powers come from the `libm` crate: implementations of operating systems differ in
//! the last bit, and traces would diverge from there.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::queue::Time;

/// Picoseconds per nanosecond, the unit of texts and reports.
pub const NS: Time = 1_000;

/// Upper limit of every drawn duration: an hour.
const LONGEST: f64 = 3.6e15;

/// Mixes the bits of `seed`: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
#[inline]
pub(crate) fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number in (0, 1] from random bits.
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// A duration or its distribution.
///
/// As text, in nanoseconds: `12.5`, `uniform:10,20`, `exp:100` (the mean), `pareto:10,1.5` (the
/// minimum, and the exponent of the tail).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Duration {
    /// Constant.
    Fixed(Time),
    /// Uniform between the two.
    Uniform(Time, Time),
    /// Exponential with this mean: the time to the next event of a Poisson process.
    Exponential(Time),
    /// Pareto: at least the first value; longer than `t` with probability (least/t)^exponent.
    /// Heavy-tailed; the variance is infinite for exponents below 2.
    Pareto(Time, f64),
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self::Fixed(0);

    /// `ns` nanoseconds.
    pub const fn ns(ns: u64) -> Self {
        Self::Fixed(ns * NS)
    }

    /// Parses the same text in units of `unit`.
    pub(crate) fn in_units(text: &str, unit: Time) -> Option<Self> {
        parse(text.trim(), unit)
    }

    /// Draws a duration from 64 random bits.
    #[inline]
    pub fn draw(self, bits: u64) -> Time {
        match self {
            Self::Fixed(time) => time,
            Self::Uniform(least, most) => {
                least + ((u128::from(bits) * u128::from(most - least + 1)) >> 64) as u64
            }
            Self::Exponential(mean) => (-libm::log(unit(bits)) * mean as f64) as Time,
            Self::Pareto(least, exponent) => {
                (least as f64 * libm::pow(unit(bits), -1.0 / exponent)).min(LONGEST) as Time
            }
        }
    }

    /// Whether every draw is zero.
    pub fn is_zero(self) -> bool {
        match self {
            Self::Fixed(most)
            | Self::Uniform(_, most)
            | Self::Exponential(most)
            | Self::Pareto(most, _) => most == 0,
        }
    }

    /// The mean, in picoseconds; infinite for the heaviest tails.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(time) | Self::Exponential(time) => time as f64,
            Self::Uniform(least, most) => (least as f64 + most as f64) / 2.0,
            Self::Pareto(_, exponent) if exponent <= 1.0 => f64::INFINITY,
            Self::Pareto(least, exponent) => least as f64 * exponent / (exponent - 1.0),
        }
    }
}

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationError(String);

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a duration: write nanoseconds from 0 to an hour as 12.5, uniform:10,20, \
             exp:100 or pareto:10,1.5",
            self.0
        )
    }
}

impl std::error::Error for DurationError {}

/// Whether a number lies in a range of non-negative numbers. Negative zero does not.
pub(crate) fn is_within(range: &RangeInclusive<f64>, number: f64) -> bool {
    range.contains(&number) && number.is_sign_positive()
}

/// Parses a number of units into picoseconds.
fn time(text: &str, unit: Time) -> Option<Time> {
    let units: f64 = text.trim().parse().ok()?;
    let ps = units * unit as f64;
    is_within(&(0.0..=LONGEST), ps).then(|| libm::round(ps) as Time)
}

fn parse(text: &str, unit: Time) -> Option<Duration> {
    let time = |text: &str| time(text, unit);
    let Some((name, numbers)) = text.split_once(':') else {
        return time(text).map(Duration::Fixed);
    };
    let pair = || numbers.split_once(',');
    match name.trim().to_ascii_lowercase().as_str() {
        "exp" => time(numbers).map(Duration::Exponential),
        "uniform" => {
            let (least, most) = (time(pair()?.0)?, time(pair()?.1)?);
            (least <= most).then_some(Duration::Uniform(least, most))
        }
        "pareto" => {
            let (least, exponent) = (time(pair()?.0)?, pair()?.1.trim().parse::<f64>().ok()?);
            (exponent > 0.0 && exponent.is_finite()).then_some(Duration::Pareto(least, exponent))
        }
        _ => None,
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    /// Reads the texts shown at [`Duration`].
    ///
    /// # Errors
    ///
    /// Names the text: an unknown form, a negative number, more than an hour, or a range that ends
    /// before it begins.
    fn from_str(text: &str) -> Result<Self, DurationError> {
        parse(text.trim(), NS).ok_or_else(|| DurationError(text.to_owned()))
    }
}

impl fmt::Display for Duration {
    /// In the form that [`str::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = |time: Time| time as f64 / NS as f64;
        match *self {
            Self::Fixed(time) => write!(f, "{}", ns(time)),
            Self::Uniform(least, most) => write!(f, "uniform:{},{}", ns(least), ns(most)),
            Self::Exponential(mean) => write!(f, "exp:{}", ns(mean)),
            Self::Pareto(least, exponent) => write!(f, "pareto:{},{exponent}", ns(least)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: [u64; 3] = [0x2f9b_13a3_499c_7dc0, 0x7566_6dbb_da9e_33ee, 0xb492_f6b1_b5b7_b8e7];

    /// Catches: a distribution with a wrong mean.
    #[test]
    fn drawn_durations_have_the_mean_that_is_said() {
        for text in ["12.5", "uniform:10,20", "exp:100", "pareto:10,3"] {
            let duration: Duration = text.parse().expect("a duration");
            let draws = 200_000;
            let sum: f64 = (0..draws).map(|seed| duration.draw(mix(seed)) as f64).sum();
            let ratio = sum / draws as f64 / duration.mean();
            assert!((0.99..1.01).contains(&ratio), "{text}: {ratio}");
            assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }

    /// Catches: draws that differ between machines.
    #[test]
    fn draws_are_the_same_bits_everywhere() {
        let draw =
            |duration: Duration| [0, 1, u64::MAX / 3, u64::MAX].map(|bits| duration.draw(bits));
        assert_eq!(draw(Duration::Exponential(1_000_000)), [36_736_800, 36_736_800, 1_098_612, 0]);
        assert_eq!(draw(Duration::Uniform(5, 8)), [5, 5, 6, 8]);
    }

    /// Catches: a new version of the generator's crate that draws other numbers from the same seed,
    /// which would change all traces.
    #[test]
    fn the_stream_of_a_seed_is_the_one_that_it_was() {
        let mut chance = fastrand::Rng::with_seed(mix(7));
        assert_eq!([0; 3].map(|_: u64| chance.u64(..)), STREAM);
    }

    /// Catches: a cost that would make time run backwards.
    #[test]
    fn what_is_no_duration_is_refused_by_name() {
        for text in [
            "-1",
            "",
            "exp:-3",
            "-0",
            "exp:-0.0",
            "uniform:-0,4",
            "pareto:-0,2",
            "uniform:5,4",
            "pareto:1,0",
            "pareto:1",
            "normal:1,2",
            "nan",
            "1e30",
            "exp:",
        ] {
            let error = text.parse::<Duration>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
