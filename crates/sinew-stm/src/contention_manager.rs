//! The choice of a contention manager.

use std::fmt;
use std::str::FromStr;

/// The reaction to a record that another transaction has locked.
///
/// As text, for command lines: `suicide`, `backoff` and `age`.
///
/// ```
/// use sinew_stm::ContentionManager;
///
/// assert_eq!("suicide".parse(), Ok(ContentionManager::Suicide));
/// assert_eq!(ContentionManager::Backoff.to_string(), "backoff");
/// let error = "murder".parse::<ContentionManager>().unwrap_err();
/// assert!(error.to_string().contains("`murder`"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ContentionManager {
    /// Abort at once, and restart at once. Best if conflicts are rare and attempts short.
    Suicide,
    /// Wait briefly for the lock, then abort, and pause before the next attempt. The pauses are
    /// random and double on average.
    #[default]
    Backoff,
    /// The older transaction waits; the younger one aborts and keeps its age. So the oldest one
    /// gets its locks. Transactions under another manager count as the youngest.
    Age,
}

impl ContentionManager {
    /// All of them, by name.
    const ALL: [(&'static str, Self); 3] =
        [("suicide", Self::Suicide), ("backoff", Self::Backoff), ("age", Self::Age)];

    /// Whether a transaction pauses between two attempts. A scheduler that repeats
    /// [attempts](crate::Transaction::attempt) itself pauses under the same managers.
    pub fn pauses(self) -> bool {
        self == Self::Backoff
    }
}

impl fmt::Display for ContentionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().find(|(_, manager)| manager == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

/// A text that names no [`ContentionManager`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentionManagerError(String);

impl fmt::Display for ContentionManagerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no contention manager: use suicide, backoff or age", self.0)
    }
}

impl std::error::Error for ContentionManagerError {}

impl FromStr for ContentionManager {
    type Err = ContentionManagerError;

    fn from_str(text: &str) -> Result<Self, ContentionManagerError> {
        let named = Self::ALL.into_iter().find(|(name, _)| *name == text.trim());
        named.map(|(_, manager)| manager).ok_or_else(|| ContentionManagerError(text.to_owned()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a manager without a name, and two with the same one.
    #[test]
    fn a_manager_is_read_from_the_name_that_it_prints() {
        for manager in
            [ContentionManager::Suicide, ContentionManager::Backoff, ContentionManager::Age]
        {
            assert_eq!(manager.to_string().parse(), Ok(manager));
        }
    }
}
