//! The parameters of victim rules as text: numbers and words after a colon.

#[cfg(feature = "experiments")]
use std::fmt;

#[cfg(feature = "experiments")]
use super::{AfterSuccess, LoadScope, Samples, Sampling};

/// The largest number in a text.
const MOST: u32 = 1_000_000;

/// The fault of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    Name,
    /// The rule exists, but not in this program.
    NotCompiled,
    /// A parameter, and the valid values in its place.
    Parameter(String, &'static str),
    /// A superfluous parameter.
    Extra(String),
}

/// The parameters after the colon, read from the left.
pub(super) struct Parameters<'t> {
    pub(super) rest: Vec<&'t str>,
}

impl<'t> Parameters<'t> {
    pub(super) fn of(list: Option<&'t str>) -> Self {
        let mut rest: Vec<&str> =
            list.map_or(Vec::new(), |list| list.split(',').map(str::trim).collect());
        rest.reverse();
        Self { rest }
    }

    pub(super) fn number(&mut self, default: u32) -> Result<u32, Wrong> {
        let Some(given) = self.rest.pop() else { return Ok(default) };
        match given.parse() {
            Ok(number) if (1..=MOST).contains(&number) => Ok(number),
            _ => Err(Wrong::Parameter(given.to_owned(), "a number from 1 to 1000000")),
        }
    }
}

/// Parameters that only the rules of experiments have.
#[cfg(feature = "experiments")]
impl Parameters<'_> {
    pub(super) fn word<T: Copy>(
        &mut self,
        words: &[(&str, T)],
        choices: &'static str,
    ) -> Result<T, Wrong> {
        let Some(given) = self.rest.pop() else { return Ok(words[0].1) };
        let known = words.iter().find(|(word, _)| *word == given);
        known.map(|(_, value)| *value).ok_or_else(|| Wrong::Parameter(given.to_owned(), choices))
    }

    pub(super) fn samples(&mut self) -> Result<Samples, Wrong> {
        match self.rest.last() {
            None => Ok(Samples::Root),
            Some(&"sqrt") => {
                self.rest.pop();
                Ok(Samples::Root)
            }
            Some(_) => {
                let wrong = |wrong| match wrong {
                    Wrong::Parameter(given, _) => {
                        Wrong::Parameter(given, "`sqrt` or a number from 1 to 1000000")
                    }
                    other => other,
                };
                self.number(1).map(Samples::UpTo).map_err(wrong)
            }
        }
    }

    /// Takes the word if it is among the remaining ones.
    pub(super) fn has(&mut self, word: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|given| *given != word);
        self.rest.len() < before
    }

    pub(super) fn sampling(&mut self) -> Result<Sampling, Wrong> {
        let (past_empty, after_failure) = (self.has(PAST_EMPTY), self.has(AFTER_FAILURE));
        Ok(Sampling { samples: self.samples()?, stop_at_empty: !past_empty, after_failure })
    }
}

#[cfg(feature = "experiments")]
const PAST_EMPTY: &str = "past-empty";
#[cfg(feature = "experiments")]
const AFTER_FAILURE: &str = "after-failure";
#[cfg(feature = "experiments")]
pub(super) const SCOPES: [(&str, LoadScope); 3] = [
    ("machine", LoadScope::Machine),
    ("package", LoadScope::Package),
    ("strict", LoadScope::StrictlyPackage),
];
#[cfg(feature = "experiments")]
pub(super) const AFTER: [(&str, AfterSuccess); 2] =
    [("stay", AfterSuccess::Stay), ("restart", AfterSuccess::Restart)];

#[cfg(feature = "experiments")]
impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("sqrt"),
            Self::UpTo(most) => write!(f, "{most}"),
        }
    }
}

#[cfg(feature = "experiments")]
/// Writes the words after a sample's numbers.
pub(super) fn flags(sampling: &Sampling, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (word, set) in
        [(PAST_EMPTY, !sampling.stop_at_empty), (AFTER_FAILURE, sampling.after_failure)]
    {
        if set {
            write!(f, ",{word}")?;
        }
    }
    Ok(())
}

#[cfg(feature = "experiments")]
/// The word for a value.
pub(super) fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}
