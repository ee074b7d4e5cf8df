//! Faults found while the machine is read, one line each.

use std::fmt;
use std::path::Path;

/// One line about a file that could not be read or made no sense, and the fallback.
///
/// This crate prints nothing. Callers get the warnings from [`Machine`](crate::Machine) and
/// [`Limits`](crate::Limits).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize), serde(transparent))]
pub struct Warning(String);

impl Warning {
    /// `path: the fault; the fallback`.
    pub(crate) fn at(path: &Path, what: impl fmt::Display) -> Self {
        Self::of(path, &what)
    }

    fn of(path: &Path, what: &dyn fmt::Display) -> Self {
        Self(format!("{}: {what}", path.display()))
    }

    /// Adds the fallback.
    pub(crate) fn then(self, instead: &str) -> Self {
        Self(format!("{}; {instead}", self.0))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
