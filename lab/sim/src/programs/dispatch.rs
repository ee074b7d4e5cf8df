//! Dispatch of arriving programs to machines: the decision of a coordinator of coordinators.

use std::fmt;
use std::str::FromStr;

use crate::setup::SetupError;

/// Rules for choosing a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dispatch {
    /// Round robin.
    RoundRobin,
    /// The machine with the fewest programs.
    #[default]
    Fewest,
    /// The machine with fewer programs of two random ones. Nearly as good, and reads the state of
    /// only two machines.
    TwoChoices,
    /// The first machine with unrequested cores; if there is none, the machine with the fewest
    /// programs.
    Packed,
}

impl Dispatch {
    /// All rules.
    pub const ALL: [Self; 4] = [Self::RoundRobin, Self::Fewest, Self::TwoChoices, Self::Packed];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::Fewest => "fewest",
            Self::TwoChoices => "two-choices",
            Self::Packed => "packed",
        }
    }
}

/// The state of a machine that dispatch uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Load {
    pub(super) programs: u32,
    /// Cores that its programs could use.
    pub(super) demand: u32,
}

/// Chooses one of the machines, which have `cores` cores each.
pub(super) fn choose(
    dispatch: Dispatch,
    loads: &[Load],
    cores: u32,
    arrived: u64,
    random: &mut dyn FnMut() -> u64,
) -> usize {
    let fewest =
        || (0..loads.len()).min_by_key(|&machine| (loads[machine].programs, machine)).unwrap_or(0);
    let mut drawn = || ((u128::from(random()) * loads.len() as u128) >> 64) as usize;
    match dispatch {
        Dispatch::RoundRobin => (arrived % loads.len() as u64) as usize,
        Dispatch::Fewest => fewest(),
        Dispatch::TwoChoices => {
            let (a, b) = (drawn(), drawn());
            if loads[b].programs < loads[a].programs { b } else { a }
        }
        Dispatch::Packed => {
            loads.iter().position(|load| load.demand < cores).unwrap_or_else(fewest)
        }
    }
}

impl fmt::Display for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dispatch {
    type Err = SetupError;

    /// Reads the names.
    ///
    /// # Errors
    ///
    /// Names the text and the valid names.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        let name = text.trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|dispatch| dispatch.name() == name).ok_or_else(|| {
            SetupError::new(format!(
                "unknown dispatch `{text}`; expected one of: round-robin, fewest, two-choices, \
                 packed"
            ))
        })
    }
}
