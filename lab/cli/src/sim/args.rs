//! The arguments of `sinew-lab sim`. Each option is declared only here. Its heading in the help
//! names the kinds of simulation to which it applies (`kind`), and the check for useless options
//! reads the same heading.
//!
//! To add an option: a field here; its value in `setup` (for trees and graphs) or in the file of
//! its kind. Its effect on a run is a field of `Setup` in `lab/sim/src/setup.rs`, with its check
//! there.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use sinew::worklist::Tuning;
use sinew::{Schedule, Victims};
use sinew_sim::programs::{Dispatch, Policy, Power};
use sinew_sim::{Duration, Idle, Stack, Waiting};

use super::kind::{
    COSTS, DOMAINS, Kind, LEAVES, LOOPS, MOST, PLACED, PROGRAMS, RANKS, SAMPLED, SAMPLING, SEEDED,
    SHARED, STEALING, Scope, WORKLIST, WORKLISTS, is,
};
use super::prices::{Price, price};
use crate::values::{count, runs, schedule, seed, watts};

/// Arguments of `sim`.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// The program to simulate. Trees of tasks: tree:12, stress:10,16, series:8,10,5000, fib:20,
    /// random:1000, geometric:3,8, binomial:2000,4,0.24, chains:2,100. Loops: loop:10000,heavy (or
    /// biased, or decreasing). Recordings of `sinew-lab run --record`: graph:FILE. Worklists:
    /// worklist:units=10000,reads=10,writes=2. Tasks with locality domains: domains:3600. Programs
    /// that share machines: programs. A bag over processes without common memory:
    /// ranks:each=200000,shape=critical. Sampled victims on 2 to 1024 workers, in the model of
    /// "Manycore Work Stealing": sampling
    pub(crate) program: Option<String>,
    /// Numbers of workers, or of ranks, comma-separated [default: the number of PUs of the machine,
    /// or 2]
    #[arg(
        long,
        help_heading = MOST.heading,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) workers: Vec<usize>,
    #[arg(
        long,
        help_heading = PLACED.heading,
        value_name = "DESCRIPTION",
        help = format!(
            "The machine, from the outside in: \"package:4 l3:1 core:16\"; or {} [default: all \
             workers equally far apart]",
            sinew_topology::machine_names()
        )
    )]
    pub(crate) machine: Option<String>,
    /// The victim policy, as in `run`; may be repeated [default: random]
    #[arg(long, help_heading = STEALING.heading, value_name = "POLICY")]
    pub(crate) victims: Vec<Victims>,
    /// Task stack of each worker: split or two-field, as in `run --stack`, or open (thieves see
    /// all tasks)
    #[arg(long, help_heading = STEALING.heading, value_name = "STACK", default_value = "split")]
    pub(crate) stack: Stack,
    /// Wait policy of a join whose task was stolen: as in `run --wait`, thief (helps only the
    /// thief of that task), or leave (an ideal: the worker that finishes last continues the join)
    #[arg(long, help_heading = STEALING.heading, value_name = "POLICY", default_value = "leapfrog")]
    pub(crate) wait: Waiting,
    /// Workers without work never park; the same as --idle spin
    #[arg(long, help_heading = STEALING.heading)]
    pub(crate) spin: bool,
    /// Behaviour of a worker that finds no task: park:4 (parks after 4 failed rounds), spin, or
    /// adaptive (spins for an adaptive window, as in the runtime) [default: park:4]
    #[arg(long, help_heading = STEALING.heading, value_name = "RULE", conflicts_with = "spin")]
    pub(crate) idle: Option<Idle>,
    /// Duration of a leaf, task or iteration in nanoseconds: 1000, uniform:10,20, exp:100 or
    /// pareto:10,1.5
    #[arg(
        long,
        help_heading = LEAVES.heading,
        value_name = "DURATION",
        default_value = "exp:1000",
        allow_negative_numbers = true
    )]
    pub(crate) leaf: Duration,
    /// A cost in nanoseconds, such as steal=exp:400; may be repeated. Tasks: spawn, join, attempt,
    /// miss, steal, sample, publish, exposure, wake. Lists, or none: contention=1.2,1.5 (slow-down
    /// of work while 2, 3 and more workers on one memory work), factors (of attempt, steal and
    /// sample, by distance). More lists by distance: refill (extra time of a stolen task), far
    /// (slow-down of work on data of other packages). Loops: attempt (a claim), steal. Worklists:
    /// access, look, transaction, abort, wake, exchange (a cache line to a helper and back).
    /// Programs: move_cost, delay, period. Domains: spawn, take, far=1.5,3 (slow-down by distance),
    /// readers (tasks that a memory serves at full speed, or none), bound (most pending tasks, or
    /// none)
    #[arg(long = "cost", value_name = "NAME=VALUE", value_parser = price)]
    pub(crate) costs: Vec<(String, Price)>,
    /// A file with all costs, as written by --calibrate
    #[arg(long = "costs", help_heading = COSTS.heading, value_name = "FILE")]
    pub(crate) cost_file: Option<PathBuf>,
    /// All costs are zero unless set by --cost
    #[arg(long, help_heading = PLACED.heading, conflicts_with = "cost_file")]
    pub(crate) free: bool,
    /// Measure the costs of scheduling on this machine, and write them to FILE, or print them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "csv"])]
    pub(crate) calibrate: Option<Option<PathBuf>>,
    /// Compare simulated and real runs of eight applications on one and two workers; takes minutes
    /// on an otherwise idle machine
    #[arg(long, conflicts_with_all = ["program", "calibrate"])]
    pub(crate) validate: bool,
    /// Schedule of a simulated loop, as in `run`; may be repeated [default: tasks that halve the
    /// loop, by the adaptive rule]
    #[arg(long, help_heading = LOOPS.heading, value_name = "SCHEDULE", value_parser = schedule)]
    pub(crate) schedule: Vec<Schedule>,
    /// Number of successive runs of a loop; affinity, weighted and auto use the measurements of
    /// earlier runs
    #[arg(
        long,
        help_heading = LOOPS.heading,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) sweeps: usize,
    /// Slow-down factor of each worker, comma-separated; 1 for those not listed
    #[arg(
        long,
        help_heading = LOOPS.heading,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) slow: Vec<f64>,
    /// Tuning of a worklist, as in `run` [default: auto]
    #[arg(long, help_heading = WORKLISTS.heading, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) tune: Option<Tuning>,
    /// Also print the steps of a worklist's tuner, epoch by epoch
    #[arg(long, help_heading = WORKLISTS.heading)]
    pub(crate) path: bool,
    /// A file with programs and their arrivals; or the output of `sinew top --once --json`, whose
    /// programs are the kinds of random programs [default: random programs of four kinds]
    #[arg(long, help_heading = SHARED.heading, value_name = "FILE")]
    pub(crate) mix: Option<PathBuf>,
    /// Number of random programs
    #[arg(
        long,
        help_heading = SHARED.heading,
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) programs: usize,
    /// Number of machines
    #[arg(
        long,
        help_heading = SHARED.heading,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) machines: usize,
    /// Share policy of a machine: equal, proportional, priority, efficiency, contention, script,
    /// energy, energy-delay or energy:PERCENT; may be repeated [default: each; energy with --watts]
    #[arg(long, help_heading = SHARED.heading, value_name = "POLICY")]
    pub(crate) policy: Vec<Policy>,
    /// Watts of a machine without busy cores, and of each busy core [default: energy is not
    /// counted]
    #[arg(
        long,
        help_heading = SHARED.heading,
        value_name = "IDLE,CORE",
        allow_negative_numbers = true,
        value_parser = watts
    )]
    pub(crate) watts: Option<Power>,
    /// Dispatch of arriving programs to machines: round-robin, fewest, two-choices or packed
    #[arg(long, help_heading = SHARED.heading, value_name = "RULE", default_value = "fewest")]
    pub(crate) dispatch: Dispatch,
    /// The script of the policy `script` [default: without --mix, a script for random programs]
    #[arg(long, help_heading = SHARED.heading, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Random seed; the same seed gives the same run
    #[arg(
        long,
        help_heading = SEEDED.heading,
        value_name = "N",
        default_value = "0",
        allow_negative_numbers = true,
        value_parser = seed
    )]
    pub(crate) seed: u64,
    /// Number of runs: for sampling those of each mean, for --validate the undisturbed ones of each
    /// kind, at least 5
    #[arg(
        long,
        help_heading = SAMPLED.heading,
        value_name = "N",
        default_value = "20",
        allow_negative_numbers = true,
        value_parser = runs
    )]
    pub(crate) runs: u64,
    /// Also write the table to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

impl SimArgs {
    /// The kind of simulation that the arguments select, if any.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.program.as_deref() {
            _ if self.calibrate.is_some() => Some(Kind::Calibrate),
            _ if self.validate => Some(Kind::Validate),
            Some(SAMPLING) => Some(Kind::Sampling),
            Some(PROGRAMS) => Some(Kind::Programs),
            Some(name) if is(DOMAINS, name) => Some(Kind::Domains),
            Some(name) if is(RANKS, name) => Some(Kind::Ranks),
            Some(name) if is(WORKLIST, name) => Some(Kind::Worklist),
            Some(_) if !self.schedule.is_empty() => Some(Kind::Loop),
            Some(name) if name.starts_with("graph:") => Some(Kind::Graph),
            Some(_) => Some(Kind::Tasks),
            None => None,
        }
    }
}

/// The arguments, and the options that the command line sets.
#[derive(Debug)]
pub(crate) struct Given {
    pub(super) args: SimArgs,
    pub(super) options: Vec<GivenOption>,
}

/// An option, and the kinds to which it applies if not to all.
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

/// Parses these words.
#[cfg(test)]
pub(super) fn given(words: &[&str]) -> Given {
    let command = Given::augment_args(Command::new("sim").no_binary_name(true));
    let matches = command.try_get_matches_from(words).expect("words of the command line");
    Given::from_arg_matches(&matches).expect("arguments")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a heading that is in no table, so that its options are never reported as useless.
    #[test]
    fn every_heading_says_what_its_options_count_for() {
        for argument in SimArgs::augment_args(Command::new("sim")).get_arguments() {
            let Some(heading) = argument.get_help_heading() else { continue };
            assert!(Scope::headed(heading).is_some(), "{heading}");
        }
    }
}
