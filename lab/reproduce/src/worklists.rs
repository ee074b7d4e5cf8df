//! The conditions of the experiments with worklists: those of their publication, unless something
//! else is asked for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use sinew::stm::ContentionManager;
use sinew::worklist::{KnobError, Knobs};

/// How transactions meet conflicts, in which order units begin, and the tuner's thresholds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worklists {
    /// The contention manager, also of transactions that are written by hand.
    pub contention: ContentionManager,
    /// Whether units are shuffled before a run.
    pub shuffled: bool,
    /// The thresholds of tuners; each experiment sets the tuners' method itself.
    pub knobs: Knobs,
}

impl Default for Worklists {
    /// As in the publication: suicide, shuffled units, and both thresholds at 0.1.
    fn default() -> Self {
        Self { contention: ContentionManager::Suicide, shuffled: true, knobs: Knobs::default() }
    }
}

impl fmt::Display for Worklists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contention, shuffled, knobs } = self;
        let units = if *shuffled { "shuffled" } else { "in the order in which they are made" };
        let Knobs { alpha, beta, longest_lifespan, .. } = knobs;
        write!(
            f,
            "contention manager {contention}, units {units}, alpha {alpha}, beta {beta}, lifespans \
             of helpers up to {longest_lifespan} words"
        )
    }
}

/// The conditions that are asked for; the others stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorklistOptions {
    /// See [`Worklists::contention`].
    #[serde(default, deserialize_with = "named")]
    pub contention: Option<ContentionManager>,
    /// See [`Worklists::shuffled`].
    pub shuffle: Option<bool>,
    /// See [`Knobs::alpha`].
    pub alpha: Option<f64>,
    /// See [`Knobs::beta`].
    pub beta: Option<f64>,
    /// See [`Knobs::longest_lifespan`].
    pub longest_lifespan: Option<u32>,
}

impl WorklistOptions {
    /// These conditions, and those of `other` that are missing here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            contention: self.contention.or(other.contention),
            shuffle: self.shuffle.or(other.shuffle),
            alpha: self.alpha.or(other.alpha),
            beta: self.beta.or(other.beta),
            longest_lifespan: self.longest_lifespan.or(other.longest_lifespan),
        }
    }

    /// The thresholds that are asked for, and the others of `usual`.
    ///
    /// # Errors
    ///
    /// As [`Knobs::check`].
    pub fn knobs(&self, usual: Knobs) -> Result<Knobs, KnobError> {
        let knobs = Knobs {
            alpha: self.alpha.unwrap_or(usual.alpha),
            beta: self.beta.unwrap_or(usual.beta),
            longest_lifespan: self.longest_lifespan.unwrap_or(usual.longest_lifespan),
            ..usual
        };
        knobs.check()
    }

    /// The conditions of experiments.
    ///
    /// # Errors
    ///
    /// As [`Knobs::check`].
    pub fn worklists(&self) -> Result<Worklists, KnobError> {
        let usual = Worklists::default();
        Ok(Worklists {
            contention: self.contention.unwrap_or(usual.contention),
            shuffled: self.shuffle.unwrap_or(usual.shuffled),
            knobs: self.knobs(usual.knobs)?,
        })
    }
}

/// Reads a value that is written as text.
fn named<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an option that changes another condition, or none, and other defaults than the
    /// publication's.
    #[test]
    fn options_change_what_they_name_and_leave_the_publications_conditions() {
        let published = WorklistOptions::default().worklists().unwrap();
        assert_eq!(published, Worklists::default());
        assert_eq!(
            published.to_string(),
            "contention manager suicide, units shuffled, alpha 0.1, beta 0.1, lifespans of helpers \
             up to 10000 words"
        );
        let text = "contention = 'age'\nshuffle = false\nalpha = 0.2\nlongest-lifespan = 10";
        let options: WorklistOptions = toml::from_str(text).unwrap();
        let more = WorklistOptions { alpha: Some(0.9), beta: Some(0.3), ..Default::default() };
        assert_eq!(
            options.or(more).worklists().unwrap().to_string(),
            "contention manager age, units in the order in which they are made, alpha 0.2, beta \
             0.3, lifespans of helpers up to 10 words"
        );
    }

    /// Catches: a wrong value that is taken, or whose message does not name it.
    #[test]
    fn impossible_conditions_are_named() {
        let error = toml::from_str::<WorklistOptions>("contention = 'murder'").unwrap_err();
        assert!(error.message().contains("`murder`"), "{error}");
        let options = WorklistOptions { beta: Some(0.0), ..Default::default() };
        assert!(options.worklists().unwrap_err().to_string().starts_with("beta is 0:"));
    }
}
