//! The tuner's own thresholds.
//!
//! # Tests
//!
//! The defaults; every refused value, with its message.

use std::fmt;

/// The thresholds of the tuner.
///
/// The defaults are those that Góes found best over a grid from 0.1 to 0.9 on a machine of 16
/// cores. The pair (0.9, 0.9) was the worst there, and most others differed little ("Automatic
/// Skeleton-Driven Performance Optimizations for Transactional Memory", figure 6.6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knobs {
    /// α: lists are contended above this many stalls per commit; 0.1 by default.
    pub alpha: f64,
    /// β: there are too many threads from this many aborts per commit on; 0.1 by default.
    pub beta: f64,
    /// M: the longest lifespan of helper threads, in words, at least 1; 10,000 by default (above
    /// 1,000 in the thesis).
    pub longest_lifespan: u32,
    /// The baseline for the throughput of an epoch with helpers.
    pub baseline: Baseline,
    /// The method that chooses settings.
    pub method: Method,
}

/// The method of a tuner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// By counters of aborts and stalls, as published, and by throughput for helpers. Uses all
    /// knobs.
    #[default]
    Published,
    /// By throughput alone: compares settings with the best so far. Of the knobs, it uses only the
    /// longest lifespan.
    Throughput,
}

/// The baseline for the throughput of an epoch with helpers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Baseline {
    /// The previous epoch, as in figure 6.4. Two epochs with the same lifespan are compared like
    /// any other two, so helpers that do the same harm in every epoch seem to do none.
    #[default]
    Previous,
    /// The last epoch with the previously accepted lifespan, without helpers at first, as the text
    /// of section 6.2.3 says; a lifespan that proves worse is undone.
    Accepted,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 0.1,
            longest_lifespan: 10_000,
            baseline: Baseline::Previous,
            method: Method::Published,
        }
    }
}

impl Knobs {
    /// The best knobs on the worklists that were measured: throughput decides.
    pub fn best() -> Self {
        Self { method: Method::Throughput, ..Self::default() }
    }

    /// Checks the values.
    ///
    /// # Errors
    ///
    /// [`KnobError`] if a ratio is not a number above 0, or the longest lifespan is 0; if in doubt,
    /// use the defaults.
    pub fn check(self) -> Result<Self, KnobError> {
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(KnobError::Ratio { name, value });
            }
        }
        if self.longest_lifespan == 0 {
            return Err(KnobError::Lifespan);
        }
        Ok(self)
    }
}

/// Why knobs are unusable.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum KnobError {
    /// A ratio that is not a number above 0.
    Ratio {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The longest lifespan is 0.
    Lifespan,
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio { name, value } => {
                write!(f, "{name} is {value}: use a number above 0, for example 0.1")
            }
            Self::Lifespan => {
                f.write_str("the longest lifespan is 0 words: use at least 1, for example 10000")
            }
        }
    }
}

impl std::error::Error for KnobError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a threshold that every comparison fails, and a message that does not name the wrong
    /// value.
    #[test]
    fn knobs_that_make_no_sense_are_named() {
        let knobs = Knobs::default();
        assert_eq!(knobs.check(), Ok(knobs));
        for bad in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = |knobs: Knobs| knobs.check().unwrap_err().to_string();
            assert!(error(Knobs { alpha: bad, ..knobs }).starts_with(&format!("alpha is {bad}:")));
            assert!(error(Knobs { beta: bad, ..knobs }).starts_with(&format!("beta is {bad}:")));
        }
        let error = Knobs { longest_lifespan: 0, ..knobs }.check().unwrap_err();
        assert!(error.to_string().contains("0 words"));
    }
}
