//! Subjects of measurements, the contenders of each, and the teams with which they run.

use crate::problem::{Case, Sample};

/// Runs a contender of a prepared subject once.
pub(super) type Ready = Box<dyn FnMut(&Ask) -> Result<Sample, String>>;

/// One run that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) contender: String,
    pub(super) threads: usize,
    pub(super) case: Case,
}

/// Something that is measured in one block: every contender with every team, once a round.
pub(super) struct Subject {
    /// The heading below which it is shown.
    pub(super) group: Group,
    pub(super) name: String,
    /// The name of an operation, of which a run of the case has `case.operations`.
    pub(super) unit: &'static str,
    pub(super) case: Case,
    pub(super) contenders: Vec<Contender>,
    /// The answer, where it is known; else it is that of the first contender.
    pub(super) known: Option<u64>,
    /// One round for so many rounds of the others.
    pub(super) weight: u32,
    /// An estimate of a run, for the first round.
    pub(super) cell_ms: u64,
    /// Makes inputs ready, in the process that runs them.
    pub(super) prepare: Box<dyn Fn() -> Result<Ready, String>>,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Named,
    Tasks,
    Loops,
    Sorts,
    Searches,
    Memory,
    Transactions,
    Worklists,
    Programs,
    Distances,
    Changes,
    Sharing,
    Idle,
}

impl Group {
    pub(super) const ALL: [Self; 13] = [
        Self::Named,
        Self::Tasks,
        Self::Loops,
        Self::Sorts,
        Self::Searches,
        Self::Memory,
        Self::Transactions,
        Self::Worklists,
        Self::Programs,
        Self::Distances,
        Self::Changes,
        Self::Sharing,
        Self::Idle,
    ];

    /// The heading, and the name that `--only` knows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Named => "public problems at their sizes",
            Self::Tasks => "tasks",
            Self::Loops => "loops and regions",
            Self::Sorts => "sorts",
            Self::Searches => "unbalanced trees",
            Self::Memory => "memory-bound sweeps",
            Self::Transactions => "read-only transactions",
            Self::Worklists => "worklists",
            Self::Programs => "rayon programs",
            Self::Distances => "steals and wake-ups by distance",
            Self::Changes => "changes of a running loop",
            Self::Sharing => "several programs at once",
            Self::Idle => "idle pools",
        }
    }

    /// Whether a curve of speed-ups says something.
    pub(super) fn has_curves(self) -> bool {
        !matches!(self, Self::Distances | Self::Changes | Self::Sharing | Self::Idle)
    }
}

/// A way to do it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) teams: Teams,
    pub(super) place: Place,
}

/// The numbers of threads of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Teams {
    /// One thread.
    One,
    /// Two threads.
    Two,
    /// Every number of the run.
    Each,
    /// Every number from two on.
    Several,
    /// The largest number.
    Most,
}

impl Teams {
    /// Those among `levels`, which are in ascending order.
    pub(super) fn among(self, levels: &[usize]) -> Vec<usize> {
        match self {
            Self::One => vec![1],
            Self::Two => vec![2],
            Self::Each => levels.to_vec(),
            Self::Several => levels.iter().copied().filter(|&threads| threads > 1).collect(),
            Self::Most => levels.last().copied().into_iter().collect(),
        }
    }
}

/// The process that runs a contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// Another process of this binary.
    Here,
    /// The program with OpenMP; first a smaller case, which is this part of the work.
    OpenMp { problem: &'static str, probe: Option<(Case, f64)> },
    /// A program on a rayon-core: this part of the binary.
    Program { part: &'static str, name: &'static str },
}

/// The numbers of threads of a run: 1, 2, 4, … and all.
pub(super) fn levels(all: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1_usize), |threads| threads.checked_mul(2));
    let mut levels: Vec<usize> = powers.take_while(|&threads| threads < all).collect();
    levels.push(all.max(1));
    levels
}

/// A cell that would take longer than this is left out: where threads wait for cores, those that
/// spin at barriers need a hundred times as long as others.
const LONG_NS: f64 = 3e9;

/// A part of a cell took `ns`; the whole is `work` times as much.
///
/// # Errors
///
/// One line: it would take too long.
pub(super) fn not_too_long(ns: u64, work: f64) -> Result<(), String> {
    let expected_ns = ns as f64 * work;
    if expected_ns > LONG_NS {
        return Err(format!("left out: it would take {:.0} s", expected_ns / 1e9));
    }
    Ok(())
}

/// A case whose numbers mean nothing.
pub(super) fn no_case(operations: u64) -> Case {
    Case { label: "", size: 0, kind: 0, repeats: 1, operations }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_double_and_end_with_all() {
        assert_eq!(levels(1), [1]);
        assert_eq!(levels(2), [1, 2]);
        assert_eq!(levels(6), [1, 2, 4, 6]);
        assert_eq!(levels(256).len(), 9);
    }

    #[test]
    fn teams_are_those_of_the_run() {
        let levels = [1, 2, 4, 6];
        assert_eq!(Teams::Several.among(&levels), [2, 4, 6]);
        assert_eq!(Teams::Most.among(&levels), [6]);
        assert!(Teams::Several.among(&[1]).is_empty());
    }
}
