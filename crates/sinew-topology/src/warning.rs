//! What was found amiss while looking at the machine, in one line each.

use std::fmt;
use std::path::Path;

/// One line about something that could not be read or believed, and what was done instead.
///
/// Nothing in this crate prints: whoever asks for a [`Machine`](crate::Machine) or
/// [`Limits`](crate::Limits) decides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize), serde(transparent))]
pub struct Warning(String);

impl Warning {
    /// `path: what is wrong; what is done about it`.
    pub(crate) fn at(path: &Path, what: impl fmt::Display) -> Self {
        Self(format!("{}: {what}", path.display()))
    }

    /// Adds what is done about it.
    pub(crate) fn then(self, instead: &str) -> Self {
        Self(format!("{}; {instead}", self.0))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
