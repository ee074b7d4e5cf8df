//! The arguments of `sinew sim`. An option is declared here and nowhere else: its heading in the
//! help names the kinds of simulation that it counts for, which also finds options given in vain.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use sinew::worklist::Tuning;
use sinew::{Schedule, Victims};
use sinew_sim::programs::{Dispatch, Policy};
use sinew_sim::{Duration, Idle, Stack, Waiting};

use super::kind::{
    COSTS, DOMAINS, Kind, LEAVES, LOOPS, MOST, PLACED, PROGRAMS, SAMPLED, SAMPLING, SEEDED, SHARED,
    STEALING, Scope, WORKLIST, WORKLISTS, is,
};
use super::prices::{Price, price};
use crate::values::{count, runs, schedule, seed};

/// Arguments of `sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// tree:12, stress:10,16, series:8,10,5000, fib:20, random:1000, geometric:3,8,
    /// binomial:2000,4,0.24, chains:2,100, loop:10000,heavy (or biased, or decreasing); graph:FILE,
    /// what `sinew run --record` wrote; worklist:units=10000,reads=10,writes=2; domains:3600, tasks
    /// with homes; programs, which share machines; or sampling: what sampling victims does from 2
    /// to 1024 workers, in the model of "Manycore Work Stealing"
    pub(crate) program: Option<String>,
    /// Numbers of workers, with commas [default: as many as the machine has PUs, or 2]
    #[arg(
        long,
        help_heading = MOST.heading,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) workers: Vec<usize>,
    /// The machine, from the outside in: "package:4 l3:1 core:16"; or dunnington, termi or sandman
    /// [default: all workers equally far apart]
    #[arg(long, help_heading = PLACED.heading, value_name = "DESCRIPTION")]
    pub(crate) machine: Option<String>,
    /// The victims that thieves try, as in `run`; may be repeated [default: random]
    #[arg(long, help_heading = STEALING.heading, value_name = "POLICY")]
    pub(crate) victims: Vec<Victims>,
    /// The tasks of a worker that thieves see: as in `run --stack`, or open for all
    #[arg(long, help_heading = STEALING.heading, value_name = "STACK", default_value = "split")]
    pub(crate) stack: Stack,
    /// How a worker waits in a join whose task was stolen: as in `run --wait`, thief (it helps only
    /// the thief of that task), or leave (the ideal: the worker that finishes last goes on)
    #[arg(long, help_heading = STEALING.heading, value_name = "POLICY", default_value = "leapfrog")]
    pub(crate) wait: Waiting,
    /// Workers without work go on searching instead of parking; the same as --idle spin
    #[arg(long, help_heading = STEALING.heading)]
    pub(crate) spin: bool,
    /// What a worker does that finds nothing: park:4 (after so many rounds), spin, or adaptive
    /// (spins for a window that it learns, as the runtime does) [default: park:4]
    #[arg(long, help_heading = STEALING.heading, value_name = "RULE", conflicts_with = "spin")]
    pub(crate) idle: Option<Idle>,
    /// How long a leaf, task or iteration takes, in nanoseconds: 1000, uniform:10,20, exp:100 or
    /// pareto:10,1.5
    #[arg(
        long,
        help_heading = LEAVES.heading,
        value_name = "DURATION",
        default_value = "exp:1000",
        allow_negative_numbers = true
    )]
    pub(crate) leaf: Duration,
    /// A cost, as in steal=exp:400, in nanoseconds; of spawn, join, attempt, steal, sample,
    /// publish, exposure and wake; lists such as contention=1.2,1.5 (by what work takes longer
    /// while 2, 3 and so on workers of a package work), factors (by what attempt, steal and sample
    /// take longer at distance 1, 2 and so on) and refill (what a stolen task takes longer there),
    /// or none; of loops attempt (a claim) and steal; of worklists access, look, transaction, abort
    /// and wake; of programs move_cost, delay and period; of domains spawn, take, far (factors by
    /// distance: far=1.5,3) and bound (most pending tasks, or none); may be repeated
    #[arg(long = "cost", value_name = "NAME=VALUE", value_parser = price)]
    pub(crate) costs: Vec<(String, Price)>,
    /// A file with all costs, as --calibrate writes it
    #[arg(long = "costs", help_heading = COSTS.heading, value_name = "FILE")]
    pub(crate) cost_file: Option<PathBuf>,
    /// Nothing costs anything but what --cost says
    #[arg(long, help_heading = PLACED.heading, conflicts_with = "cost_file")]
    pub(crate) free: bool,
    /// Measure what the scheduler costs on this machine, and write it to FILE, or print it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "csv"])]
    pub(crate) calibrate: Option<Option<PathBuf>>,
    /// Hold simulated runs of eight applications against real ones on one and two workers, which
    /// takes minutes on a machine that has nothing else to do
    #[arg(long, conflicts_with_all = ["program", "calibrate"])]
    pub(crate) validate: bool,
    /// How a simulated loop is shared out, as in `run`; may be repeated [default: cut in halves by
    /// the adaptive rule]
    #[arg(long, help_heading = LOOPS.heading, value_name = "SCHEDULE", value_parser = schedule)]
    pub(crate) schedule: Vec<Schedule>,
    /// How often a loop is run with what it has learned in the runs before: parts (affinity),
    /// speeds (weighted), schedules (auto)
    #[arg(
        long,
        help_heading = LOOPS.heading,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) sweeps: usize,
    /// How many times as long the first worker of a loop takes, the second one and so on, with
    /// commas; all others once
    #[arg(
        long,
        help_heading = LOOPS.heading,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) slow: Vec<f64>,
    /// How a worklist is tuned, as in `run` [default: auto]
    #[arg(long, help_heading = WORKLISTS.heading, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) tune: Option<Tuning>,
    /// Also print what the tuner of a worklist did, epoch by epoch
    #[arg(long, help_heading = WORKLISTS.heading)]
    pub(crate) path: bool,
    /// A file that says which programs come when, or what `sinew top --once --json` printed:
    /// programs with those speeds then, by chance [default: --programs of four kinds by chance]
    #[arg(long, help_heading = SHARED.heading, value_name = "FILE")]
    pub(crate) mix: Option<PathBuf>,
    /// How many programs come by chance
    #[arg(
        long,
        help_heading = SHARED.heading,
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) programs: usize,
    /// How many machines there are
    #[arg(
        long,
        help_heading = SHARED.heading,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) machines: usize,
    /// How programs share a machine: equal, proportional, priority, efficiency, contention or
    /// script; may be repeated [default: each]
    #[arg(long, help_heading = SHARED.heading, value_name = "POLICY")]
    pub(crate) policy: Vec<Policy>,
    /// Where arriving programs go: round-robin, fewest, two-choices or packed
    #[arg(long, help_heading = SHARED.heading, value_name = "RULE", default_value = "fewest")]
    pub(crate) dispatch: Dispatch,
    /// What the policy `script` follows [default: without --mix, one for programs by chance]
    #[arg(long, help_heading = SHARED.heading, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// From which all chance comes
    #[arg(
        long,
        help_heading = SEEDED.heading,
        value_name = "N",
        default_value = "0",
        allow_negative_numbers = true,
        value_parser = seed
    )]
    pub(crate) seed: u64,
    /// Runs of which `sampling` shows the means; and how many of each kind --validate wants that
    /// nothing disturbed, at least 5
    #[arg(
        long,
        help_heading = SAMPLED.heading,
        value_name = "N",
        default_value = "20",
        allow_negative_numbers = true,
        value_parser = runs
    )]
    pub(crate) runs: u64,
    /// A file for the same table as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

impl SimArgs {
    /// What the arguments ask for, if they do.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.program.as_deref() {
            _ if self.calibrate.is_some() => Some(Kind::Calibrate),
            _ if self.validate => Some(Kind::Validate),
            Some(SAMPLING) => Some(Kind::Sampling),
            Some(PROGRAMS) => Some(Kind::Programs),
            Some(name) if is(DOMAINS, name) => Some(Kind::Domains),
            Some(name) if is(WORKLIST, name) => Some(Kind::Worklist),
            Some(_) if !self.schedule.is_empty() => Some(Kind::Loop),
            Some(name) if name.starts_with("graph:") => Some(Kind::Graph),
            Some(_) => Some(Kind::Tasks),
            None => None,
        }
    }
}

/// The arguments, and the options that are given in the command line.
#[derive(Debug)]
pub(crate) struct Given {
    pub(super) args: SimArgs,
    pub(super) options: Vec<GivenOption>,
}

/// An option, and the kinds that it counts for, unless it counts for all.
#[derive(Debug)]
pub(super) struct GivenOption {
    pub(super) name: String,
    pub(super) scope: Option<&'static Scope>,
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        SimArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        SimArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let command = SimArgs::augment_args(Command::new("sim"));
        let is_given = |argument: &&clap::Arg| {
            matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        let option = |argument: &clap::Arg| GivenOption {
            name: format!("--{}", argument.get_long().unwrap_or_default()),
            scope: argument.get_help_heading().and_then(Scope::headed),
        };
        let options = command.get_arguments().filter(is_given).map(option).collect();
        Ok(Self { args: SimArgs::from_arg_matches(matches)?, options })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What these words give.
#[cfg(test)]
pub(super) fn given(words: &[&str]) -> Given {
    let command = Given::augment_args(Command::new("sim").no_binary_name(true));
    let matches = command.try_get_matches_from(words).expect("words of the command line");
    Given::from_arg_matches(&matches).expect("arguments")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a heading that is in no table, so that its options are never said to be useless.
    #[test]
    fn every_heading_says_what_its_options_count_for() {
        for argument in SimArgs::augment_args(Command::new("sim")).get_arguments() {
            let Some(heading) = argument.get_help_heading() else { continue };
            assert!(Scope::headed(heading).is_some(), "{heading}");
        }
    }
}
