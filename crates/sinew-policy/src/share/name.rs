//! The share policies by name.

use std::fmt;
use std::str::FromStr;

use super::script::Ask;

/// By what rule cores are shared out. Every rule keeps to masks, minima and maxima, gives nobody
/// more than it has work for, and leaves no core idle that somebody has work for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Policy {
    /// As many for everybody, in proportion to weights.
    #[default]
    Equal,
    /// In proportion to demand times weight.
    Proportional,
    /// The heaviest first, as much as it has work for; the same weight shares equally.
    Priority,
    /// Each core where it adds most to the sum of speeds, by how fast programs have been on how
    /// many cores. One that was never measured has an equal part.
    Efficiency,
    /// As `Equal`, and programs that slow each other down are kept out of each other's caches,
    /// while those that gain are put together.
    Contention,
    /// What somebody asks for, by hand or from a file; `Equal` for the others.
    Script,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::Proportional,
        Self::Priority,
        Self::Efficiency,
        Self::Contention,
        Self::Script,
    ];

    /// The name, as it is read and printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Proportional => "proportional",
            Self::Priority => "priority",
            Self::Efficiency => "efficiency",
            Self::Contention => "contention",
            Self::Script => "script",
        }
    }

    /// Whether `ask` decides about a program's threads and cores. A schedule that is asked for is
    /// granted under every policy.
    pub fn goes_by(self, ask: &Ask) -> bool {
        self == Self::Script && (ask.threads.is_some() || ask.cores.is_some())
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let name = text.trim().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| PolicyError(text.trim().to_owned()))
    }
}

/// A text that names no share policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a share policy: write ", self.0)?;
        for (i, policy) in Policy::ALL.iter().enumerate() {
            let before = if i == 0 {
                ""
            } else if i + 1 == Policy::ALL.len() {
                " or "
            } else {
                ", "
            };
            write!(f, "{before}{policy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a policy that cannot be named.
    #[test]
    fn a_policy_is_read_back_from_what_it_prints() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let error = "fair".parse::<Policy>().unwrap_err().to_string();
        assert!(
            error.starts_with("`fair` is not a share policy: write equal, ")
                && error.ends_with("or script")
        );
    }
}
