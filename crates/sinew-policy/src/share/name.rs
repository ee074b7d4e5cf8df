//! The share policies by name.
//!
//! To add one:
//!
//! - here a variant, a line at the end of [`Policy::ALL`], and its name;
//! - its rule in `real` of `count`, which has a wildcard; or in `decide_once` if it places cores
//!   by a rule of its own. A fact that it needs is a field of [`Program`](super::Program), which
//!   `table_state.rs` of `sinew-coord` fills from the row, and `lab/sim/src/programs` for the
//!   simulator;
//! - [`decide`](super::decide) repeats the rule over its own grants until nothing moves (H5). So a
//!   rule that reads `held` runs to its end in one decision. A lower or upper bound belongs in
//!   `bounds` of `count`;
//! - the help of `sinew coordinator` and `sinew-lab sim`, which list the names.
//!
//! The table holds a policy as its place in [`Policy::ALL`]. Programs built before refuse a place
//! that they do not know, so a new policy also needs a new `LAYOUT` in `table.rs` of `sinew-coord`.

use std::fmt;
use std::str::FromStr;

use super::script::Request;

/// The rule that divides the cores. Every rule obeys masks, minima and maxima, gives no program
/// more than it has work for, and leaves no core idle that a program could use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Policy {
    /// The same number for every program, in proportion to weights.
    #[default]
    Equal,
    /// In proportion to demand times weight.
    Proportional,
    /// The heaviest program first, as much as it has work for; programs of equal weight share
    /// equally.
    Priority,
    /// Each core to the program that adds most to the sum of speeds, by the measured curves. A
    /// program without measurements has an equal part.
    Efficiency,
    /// As `Equal`, but programs that slow each other down get different caches, and programs that
    /// profit from each other share one.
    Contention,
    /// The requests from a command or a file; `Equal` for the other programs.
    Script,
}

impl Policy {
    /// All policies. Programs exchange the places in this list.
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::Proportional,
        Self::Priority,
        Self::Efficiency,
        Self::Contention,
        Self::Script,
    ];

    /// The name, as it is parsed and printed.
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

    /// Whether `request` sets a program's threads and cores. A requested schedule is granted under
    /// every policy.
    pub fn follows(self, request: &Request) -> bool {
        self == Self::Script && (request.threads.is_some() || request.cores.is_some())
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

    /// Catches: a policy without a name.
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
