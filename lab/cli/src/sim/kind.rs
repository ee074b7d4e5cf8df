//! The kinds of simulation, and the options that apply to them.

use std::fmt;

use Kind::{Domains, Graph, Loop, Programs, Ranks, Sampling, Tasks, Validate, Worklist};

/// The name of the figure among the programs.
pub(super) const SAMPLING: &str = "sampling";
/// The name of the simulation of programs that share machines.
pub(super) const PROGRAMS: &str = "programs";
pub(super) const WORKLIST: &str = "worklist";
pub(super) const DOMAINS: &str = "domains";
pub(super) const RANKS: &str = "ranks";

/// Whether a program is of this kind, with or without numbers after its name.
pub(super) fn is(kind: &str, name: &str) -> bool {
    name.split(':').next() == Some(kind)
}

/// The kind of simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tasks,
    Graph,
    Loop,
    Worklist,
    Domains,
    Programs,
    Ranks,
    Sampling,
    Validate,
    Calibrate,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Tasks,
        Self::Graph,
        Self::Loop,
        Self::Worklist,
        Self::Domains,
        Self::Programs,
        Self::Ranks,
        Self::Sampling,
        Self::Validate,
        Self::Calibrate,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tasks => "trees of tasks",
            Self::Graph => "recorded graphs",
            Self::Loop => "loops with a schedule",
            Self::Worklist => "worklists",
            Self::Domains => "domains",
            Self::Programs => "programs",
            Self::Ranks => "ranks",
            Self::Sampling => "sampling",
            Self::Validate => "--validate",
            Self::Calibrate => "--calibrate",
        })
    }
}

/// The kinds to which an option applies, and their heading in the help.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) heading: &'static str,
    pub(super) kinds: &'static [Kind],
}

impl Scope {
    /// The scope with this heading.
    pub(super) fn headed(heading: &str) -> Option<&'static Self> {
        SCOPES.into_iter().find(|scope| scope.heading == heading)
    }
}

/// All scopes.
static SCOPES: [&Scope; 10] =
    [&MOST, &PLACED, &SEEDED, &LEAVES, &COSTS, &STEALING, &LOOPS, &WORKLISTS, &SHARED, &SAMPLED];

pub(super) static MOST: Scope = Scope {
    heading: "For all but programs, --validate and --calibrate",
    kinds: &[Tasks, Graph, Loop, Worklist, Domains, Ranks, Sampling],
};
pub(super) static PLACED: Scope = Scope {
    heading: "For all but ranks, sampling, --validate and --calibrate",
    kinds: &[Tasks, Graph, Loop, Worklist, Domains, Programs],
};
pub(super) static SEEDED: Scope = Scope {
    heading: "For all but --validate and --calibrate",
    kinds: &[Tasks, Graph, Loop, Worklist, Domains, Programs, Ranks, Sampling],
};
pub(super) static LEAVES: Scope = Scope {
    heading: "For trees of tasks, loops, worklists and domains",
    kinds: &[Tasks, Loop, Worklist, Domains],
};
pub(super) static COSTS: Scope = Scope {
    heading: "For trees of tasks, recorded graphs, loops and --validate",
    kinds: &[Tasks, Graph, Loop, Validate],
};
pub(super) static STEALING: Scope =
    Scope { heading: "For trees of tasks and recorded graphs", kinds: &[Tasks, Graph] };
pub(super) static LOOPS: Scope = Scope { heading: "For loops", kinds: &[Loop] };
pub(super) static WORKLISTS: Scope = Scope { heading: "For worklists", kinds: &[Worklist] };
pub(super) static SHARED: Scope = Scope { heading: "For programs", kinds: &[Programs] };
pub(super) static SAMPLED: Scope =
    Scope { heading: "For sampling and --validate", kinds: &[Sampling, Validate] };
