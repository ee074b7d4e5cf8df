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
//! The table holds a policy as its [code](Policy::code). Programs built before refuse a code that
//! they do not know, so a new policy also needs a new `LAYOUT` in `table.rs` of `sinew-coord`.

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use super::script::Request;

/// The rule that divides the cores. Every rule obeys masks, minima and maxima, and gives no program
/// more than it has work for. All but [`Energy`](Self::Energy) leave no core idle that a program
/// could use.
///
/// As text: its name; `energy` may be followed by a colon and its percentage.
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
    /// The least energy, the least time, or a mix: the least product energy^p · time^(1 − p) of a
    /// piece of work, by the measured speeds and the machine's measured power. Cores that are not
    /// worth their power stay idle. As `Efficiency` while no power is known.
    Energy {
        /// The exponent p in percent, up to 100. 100 is the least energy, and 50 the least energy
        /// times time.
        percent: u8,
    },
}

impl Policy {
    /// The least energy: `energy`.
    pub const ENERGY: Self = Self::Energy { percent: 100 };
    /// The least energy times time: `energy-delay`.
    pub const ENERGY_DELAY: Self = Self::Energy { percent: 50 };

    /// All policies; of those with a percentage, the ones that have a name. Programs exchange the
    /// first place of a kind in this list.
    pub const ALL: [Self; 8] = [
        Self::Equal,
        Self::Proportional,
        Self::Priority,
        Self::Efficiency,
        Self::Contention,
        Self::Script,
        Self::ENERGY,
        Self::ENERGY_DELAY,
    ];

    /// The name, without a percentage that has none.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Proportional => "proportional",
            Self::Priority => "priority",
            Self::Efficiency => "efficiency",
            Self::Contention => "contention",
            Self::Script => "script",
            Self::ENERGY_DELAY => "energy-delay",
            Self::Energy { .. } => "energy",
        }
    }

    /// The form in which programs exchange it: its place in [`ALL`](Self::ALL), and its percentage
    /// above the lowest byte.
    pub fn code(self) -> u64 {
        let is_same = |other: &Self| discriminant(other) == discriminant(&self);
        let place = Self::ALL.iter().position(is_same).expect("every policy is in the list");
        let percent = if let Self::Energy { percent } = self { percent } else { 0 };
        place as u64 | u64::from(percent) << u8::BITS
    }

    /// The policy of a [`code`](Self::code); `None` if there is none.
    pub fn from_code(code: u64) -> Option<Self> {
        let mut policy = *Self::ALL.get(usize::from(code as u8))?;
        if let Self::Energy { percent } = &mut policy {
            *percent = u8::try_from(code >> u8::BITS).ok().filter(|&percent| percent <= 100)?;
        }
        (policy.code() == code).then_some(policy)
    }

    /// Whether it uses measured speeds.
    pub fn uses_speeds(self) -> bool {
        matches!(self, Self::Efficiency | Self::Contention | Self::Energy { .. })
    }

    /// Whether it uses the machine's power, and so may leave cores idle.
    pub fn uses_power(self) -> bool {
        matches!(self, Self::Energy { .. })
    }

    /// Whether `request` sets a program's threads and cores. A requested schedule is granted under
    /// every policy.
    pub fn follows(self, request: &Request) -> bool {
        self == Self::Script && (request.threads.is_some() || request.cores.is_some())
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Energy { percent } if Self::ALL.iter().all(|policy| policy != self) => {
                write!(f, "{}:{percent}", self.name())
            }
            _ => f.write_str(self.name()),
        }
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let name = text.trim().to_ascii_lowercase();
        let percent = name.strip_prefix("energy:").and_then(|number| number.parse().ok());
        let mixed =
            percent.filter(|&percent| percent <= 100).map(|percent| Self::Energy { percent });
        let named = Self::ALL.into_iter().find(|policy| policy.name() == name);
        mixed.or(named).ok_or_else(|| PolicyError(text.trim().to_owned()))
    }
}

/// A text that names no share policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError(String);

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<String> = Policy::ALL.iter().map(Policy::to_string).collect();
        names.push("energy:PERCENT".to_owned());
        write!(f, "`{}` is not a share policy: write {}", self.0, crate::named::in_words(&names))
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a policy without a name, and one that other programs take for another.
    #[test]
    fn a_policy_is_read_back_from_what_it_prints_and_exchanges() {
        let mixed = (0..=100).map(|percent| Policy::Energy { percent });
        for policy in Policy::ALL.into_iter().chain(mixed) {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            assert_eq!(Policy::from_code(policy.code()), Some(policy));
        }
        assert_eq!(Policy::Energy { percent: 30 }.to_string(), "energy:30");
        assert_eq!("energy:50".parse(), Ok(Policy::ENERGY_DELAY));
        assert_eq!(Policy::Script.code(), 5);
        for code in [7, 8, 255, 1 << 8, 6 | 101 << 8, 6 | 1 << 40, u64::MAX] {
            assert_eq!(Policy::from_code(code), None, "{code}");
        }
        for wrong in ["energy:101", "energy:", "energy:-1", "equal:5", "energy-delay:5"] {
            assert!(wrong.parse::<Policy>().is_err(), "{wrong}");
        }
        let error = "fair".parse::<Policy>().unwrap_err().to_string();
        assert!(
            error.starts_with("`fair` is not a share policy: write equal, ")
                && error.ends_with(" or energy:PERCENT")
        );
    }
}
