//! Options that do not apply to what is simulated: they are said to change nothing, and are judged
//! all the same.

use std::fmt;

use sinew_sim::{Duration, NS, Stack, Wait};

use super::{DOMAINS, PROGRAMS, SAMPLING, WORKLIST, is, prices, programs, setup};
use crate::args::SimArgs;
use crate::failure::Failure;

/// What is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tasks,
    Graph,
    Loop,
    Worklist,
    Domains,
    Programs,
    Sampling,
    Validate,
    Calibrate,
}

impl Kind {
    pub(super) const ALL: [Self; 9] = [
        Self::Tasks,
        Self::Graph,
        Self::Loop,
        Self::Worklist,
        Self::Domains,
        Self::Programs,
        Self::Sampling,
        Self::Validate,
        Self::Calibrate,
    ];

    /// What the arguments ask for, if they do.
    pub(super) fn of(args: &SimArgs) -> Option<Self> {
        match args.program.as_deref() {
            _ if args.calibrate.is_some() => Some(Self::Calibrate),
            _ if args.validate => Some(Self::Validate),
            Some(SAMPLING) => Some(Self::Sampling),
            Some(PROGRAMS) => Some(Self::Programs),
            Some(name) if is(DOMAINS, name) => Some(Self::Domains),
            Some(name) if is(WORKLIST, name) => Some(Self::Worklist),
            Some(_) if !args.schedule.is_empty() => Some(Self::Loop),
            Some(name) if name.starts_with("graph:") => Some(Self::Graph),
            Some(_) => Some(Self::Tasks),
            None => None,
        }
    }
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
            Self::Sampling => "sampling",
            Self::Validate => "--validate",
            Self::Calibrate => "--calibrate",
        })
    }
}

/// # Errors
///
/// A value that is wrong by itself, whether or not it would be used, or a cost of something else.
pub(super) fn check(args: &SimArgs, kind: Kind) -> Result<(), Failure> {
    setup::machine(args)?;
    setup::costs(args)?;
    programs::script(args)?;
    if args.mix.is_some() && kind != Kind::Programs {
        programs::mix_of_file(args, 1)?;
    }
    prices::check(args, kind)
}

/// What was given in vain, a line each.
pub(super) fn useless(args: &SimArgs, kind: Kind) -> Vec<String> {
    let given = options(args).into_iter().filter(|(_, is_given, _)| *is_given);
    let useless = given.filter(|(_, _, kinds)| !kinds.contains(&kind));
    let mut lines: Vec<String> =
        useless.map(|(option, ..)| format!("{option} changes nothing in {kind}")).collect();
    let counts_workers = matches!(kind, Kind::Loop | Kind::Worklist);
    if counts_workers && args.machine.is_some() && !args.workers.is_empty() {
        lines.push(format!(
            "--machine says only how many workers there are in {kind}, and --workers says it already"
        ));
    }
    if matches!(kind, Kind::Tasks | Kind::Graph)
        && let Some(list) = prices::by_distance(args)
    {
        lines.push(format!(
            "--cost {list} changes nothing without --machine: all workers are equally far apart then"
        ));
    }
    lines
}

/// Each with whether it is given otherwise than it is by default, and what it counts for.
fn options(args: &SimArgs) -> Vec<(&'static str, bool, &'static [Kind])> {
    use Kind::{Domains, Graph, Loop, Programs, Sampling, Tasks, Validate, Worklist};
    const STEALING: &[Kind] = &[Tasks, Graph];
    const SHARED: &[Kind] = &[Programs];
    const COSTS: &[Kind] = &[Tasks, Graph, Loop, Validate];
    const SEEDED: &[Kind] = &[Tasks, Graph, Loop, Worklist, Domains, Programs, Sampling];
    vec![
        ("--workers", !args.workers.is_empty(), &[Tasks, Graph, Loop, Worklist, Domains, Sampling]),
        ("--machine", args.machine.is_some(), &[Tasks, Graph, Loop, Worklist, Domains, Programs]),
        ("--victims", !args.victims.is_empty(), STEALING),
        ("--stack", args.stack != Stack::USUAL, STEALING),
        ("--wait", args.wait != Wait::default(), STEALING),
        ("--spin", args.spin, STEALING),
        ("--idle", args.idle.is_some(), STEALING),
        (
            "--leaf",
            args.leaf != Duration::Exponential(1_000 * NS),
            &[Tasks, Loop, Worklist, Domains],
        ),
        ("--costs", args.cost_file.is_some(), COSTS),
        ("--free", args.free, &[Tasks, Graph, Loop, Worklist, Domains, Programs]),
        ("--schedule", !args.schedule.is_empty(), &[Loop]),
        ("--sweeps", args.sweeps != 1, &[Loop]),
        ("--slow", !args.slow.is_empty(), &[Loop]),
        ("--tune", args.tune.is_some(), &[Worklist]),
        ("--path", args.path, &[Worklist]),
        ("--mix", args.mix.is_some(), SHARED),
        ("--programs", args.programs != 100, SHARED),
        ("--machines", args.machines != 1, SHARED),
        ("--policy", !args.policy.is_empty(), SHARED),
        ("--dispatch", args.dispatch != Default::default(), SHARED),
        ("--script", args.script.is_some(), SHARED),
        ("--seed", args.seed != 0, SEEDED),
        ("--runs", args.runs != 20, &[Sampling, Validate]),
    ]
}
