//! What may be written on the command line.
//!
//! Whatever can be judged by itself is judged here; the parser's messages, which take several
//! lines, are shortened to one.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use sinew::worklist::{Pages, Tuning};
use sinew::{Mapping, Schedule, ScheduleError, StackKind, Victims, Wait};
use sinew_apps::Size;
use sinew_reproduce::Scale;

use crate::failure::Failure;
use crate::output;
use crate::report::ReportArgs;
use crate::sim::{self, Price};
use crate::suggest::unknown;

/// Malleable, locality-aware parallelism: applications and the machine.
#[derive(Debug, Parser)]
#[command(name = "sinew", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run all applications, serially and in parallel, and check every answer
    Demo(DemoArgs),
    /// Run one application, serially and in parallel, and check its answer
    Run(RunArgs),
    /// Say which applications there are, and which sizes they take
    List,
    /// Show the machine, and what this process may use of it
    Topo(TopoArgs),
    /// Try all fixed settings of a worklist, and hold the tuner against the best
    Oracle(OracleArgs),
    /// Repeat published experiments, and show the published values beside what is measured here
    Reproduce(ReproduceArgs),
    /// Be one of the programs that `reproduce` runs beside each other
    #[command(name = sinew_reproduce::PROGRAM, hide = true)]
    Program,
    /// Gather results of any kind into one page of HTML
    Report(ReportArgs),
    /// Run a program on a machine that is not there, in virtual time
    Sim(SimArgs),
    /// Stand by while programs share this machine: measure them, follow a script, say why they get
    /// what they get
    Coordinator(CoordinatorArgs),
    /// Show the programs that share this machine, as it happens
    Top(TopArgs),
    /// Run any program within its share of the machine, which it has in common with other programs
    Exec(ExecArgs),
}

/// How a pool is built.
#[derive(Debug, Args)]
pub(crate) struct PoolArgs {
    /// Number of workers [default: as many as the process may use]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// Where workers are pinned: none, compact, scatter, or a list of processors such as 0,2,4-7
    /// [default: none; for worklists compact on several NUMA nodes, else scatter]
    #[arg(long, value_name = "MAPPING")]
    pub(crate) mapping: Option<Mapping>,
    /// What a worker does while a task it joins is elsewhere: leapfrog, any, descendants,
    /// transitive or block
    #[arg(long, value_name = "POLICY")]
    pub(crate) wait: Option<Wait>,
    /// Whom thieves try: random, set:12,4, sample:sqrt, sample-set:sqrt,12,4, nearest,
    /// nearest-random:4, most-loaded:5, sorted:5,machine,stay, distance, cats:200 or dealt
    #[arg(long, value_name = "POLICY")]
    pub(crate) victims: Option<Victims>,
    /// Which task stacks workers have: split or two-field, which is for experiments [default:
    /// split]
    #[arg(long, value_name = "STACK")]
    pub(crate) stack: Option<StackKind>,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// How large [default: what takes some seconds each]
    #[arg(long, value_enum)]
    pub(crate) size: Option<NamedSize>,
    /// The folder with the text to count words in [default: the sources that cargo has downloaded]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
}

/// The sizes that every application has.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NamedSize {
    /// Some milliseconds
    Tiny,
    /// Well below a second
    Small,
    /// The published parameters
    Full,
}

impl From<NamedSize> for Size {
    fn from(size: NamedSize) -> Self {
        match size {
            NamedSize::Tiny => Self::Tiny,
            NamedSize::Small => Self::Small,
            NamedSize::Full => Self::Full,
        }
    }
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The application; see `sinew list`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// How loops are shared out: static, dynamic:CHUNK, tapered:MIN, factoring:MIN, stealing,
    /// affinity, weighted, simple:GRAIN, adaptive:GRAIN or auto
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule)]
    pub(crate) schedule: Option<Schedule>,
    /// tiny, small, full or the application's own notation; see `sinew list`
    #[arg(long, value_name = "SIZE", default_value = "full", allow_negative_numbers = true)]
    pub(crate) size: String,
    /// The folder whose files are read, or the file, where the application reads any
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Run the version with transactions by hand instead of the worklist, where there is one
    #[arg(long, conflicts_with_all = ["tune", "tuner_path"])]
    pub(crate) by_hand: bool,
    /// How worklists are tuned: auto (by throughput), published (the published autotuner), or
    /// settings such as "2 threads, stealing, helpers 100, coalescing, swap 2" [default: all
    /// threads, stealing]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) tune: Option<Tuning>,
    /// On which nodes the pages lie that a worklist's workers touch first: first-touch, cyclic or
    /// bind-local [default: cyclic, and bind-local once units add units]
    #[arg(long, value_name = "PAGES", conflicts_with = "by_hand")]
    pub(crate) pages: Option<Pages>,
    /// Write what the tuner did, epoch by epoch, to this file, as CSV; needs --tune auto or
    /// published
    #[arg(long, value_name = "FILE")]
    pub(crate) tuner_path: Option<PathBuf>,
    /// Number of runs; times are medians
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = count)]
    pub(crate) repeat: usize,
    /// Also say where the workers' time went, by both breakdowns, and how parallel the application
    /// is; tasks cost some 100 ns more
    #[arg(long)]
    pub(crate) profile: bool,
    /// Write what was spawned and worked as a task graph to this file, for `sinew sim graph:FILE`;
    /// implies a profile and one run
    #[arg(long, value_name = "FILE", conflicts_with = "repeat")]
    pub(crate) record: Option<PathBuf>,
    /// Write a timeline of what each worker did to this file, for ui.perfetto.dev; profiles as
    /// --profile does
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// At least one of something.
fn count(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a whole number from 1"),
        Ok(count) => Ok(count),
    }
}

/// OpenMP's notation, with a comma, is understood as well.
fn schedule(text: &str) -> Result<Schedule, ScheduleError> {
    match text.split_once(',') {
        Some((name, number)) => format!("{}:{}", name.trim(), number.trim()).parse(),
        None => text.parse(),
    }
}

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
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_negative_numbers = true, value_parser = count)]
    pub(crate) workers: Vec<usize>,
    /// The machine, from the outside in: "package:4 l3:1 core:16"; or dunnington, termi or sandman
    /// [default: all workers equally far apart]
    #[arg(long, value_name = "DESCRIPTION")]
    pub(crate) machine: Option<String>,
    /// Whom thieves try, as in `run`; may be repeated [default: random]
    #[arg(long, value_name = "POLICY")]
    pub(crate) victims: Vec<Victims>,
    /// What thieves see of a worker's tasks: split, two-field or open
    #[arg(long, value_name = "STACK", default_value = "split")]
    pub(crate) stack: sinew_sim::Stack,
    /// What a worker does in a join whose task is elsewhere: leapfrog, any, descendants, transitive
    /// or block as in the runtime (`sinew run --wait`), thief (only the thief of that task is
    /// helped), or leave (the ideal: whoever finishes last goes on)
    #[arg(long, value_name = "POLICY", default_value = "leapfrog")]
    pub(crate) wait: sinew_sim::Wait,
    /// Workers without work go on searching instead of parking; the same as --idle spin
    #[arg(long)]
    pub(crate) spin: bool,
    /// What a worker does that finds nothing: park:4 (after so many rounds), spin, or adaptive
    /// (spins for a window that it learns, as the runtime does) [default: park:4]
    #[arg(long, value_name = "RULE", conflicts_with = "spin")]
    pub(crate) idle: Option<sinew_sim::Idle>,
    /// How long a leaf, task or iteration takes, in nanoseconds: 1000, uniform:10,20, exp:100 or
    /// pareto:10,1.5
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "exp:1000",
        allow_negative_numbers = true
    )]
    pub(crate) leaf: sinew_sim::Duration,
    /// A cost, as in steal=exp:400, in nanoseconds; of spawn, join, attempt, steal, sample,
    /// publish, exposure and wake; lists such as contention=1.2,1.5 (by what work takes longer
    /// while 2, 3 and so on workers of a package work), factors (by what attempt, steal and sample
    /// take longer at distance 1, 2 and so on) and refill (what a stolen task takes longer there),
    /// or none; of loops attempt (a claim) and steal; of worklists access, look, transaction, abort
    /// and wake; of programs move_cost, delay and period; of domains spawn, take, far (factors by
    /// distance: far=1.5,3) and bound (most pending tasks, or none); may be repeated
    #[arg(long = "cost", value_name = "NAME=VALUE", value_parser = sim::price)]
    pub(crate) costs: Vec<(String, Price)>,
    /// A file with all costs, as --calibrate writes it
    #[arg(long = "costs", value_name = "FILE")]
    pub(crate) cost_file: Option<PathBuf>,
    /// Nothing costs anything but what --cost says
    #[arg(long, conflicts_with = "cost_file")]
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
    #[arg(long, value_name = "SCHEDULE", value_parser = schedule)]
    pub(crate) schedule: Vec<Schedule>,
    /// How often a loop is run with what it has learned in the runs before: parts (affinity),
    /// speeds (weighted), schedules (auto)
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = count)]
    pub(crate) sweeps: usize,
    /// How many times as long the first worker of a loop takes, the second one and so on, with
    /// commas; all others once
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) slow: Vec<f64>,
    /// How a worklist is tuned, as in `run` [default: auto]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) tune: Option<Tuning>,
    /// Also print what the tuner of a worklist did, epoch by epoch
    #[arg(long)]
    pub(crate) path: bool,
    /// A file that says which programs come when, or what `sinew top --once --json` printed:
    /// programs with those speeds then, by chance [default: --programs of four kinds by chance]
    #[arg(long, value_name = "FILE")]
    pub(crate) mix: Option<PathBuf>,
    /// How many programs come by chance
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true, value_parser = count)]
    pub(crate) programs: usize,
    /// How many machines there are
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = count)]
    pub(crate) machines: usize,
    /// How programs share a machine: equal, proportional, priority, efficiency, contention or
    /// script; may be repeated [default: each]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Vec<sinew_sim::programs::Policy>,
    /// Where arriving programs go: round-robin, fewest, two-choices or packed
    #[arg(long, value_name = "RULE", default_value = "fewest")]
    pub(crate) dispatch: sinew_sim::programs::Dispatch,
    /// What the policy `script` follows [default: without --mix, one for programs by chance]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// From which all chance comes
    #[arg(long, value_name = "N", default_value = "0", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: u64,
    /// Runs of which `sampling` shows the means; and how many of each kind --validate wants that
    /// nothing disturbed, at least 5
    #[arg(long, value_name = "N", default_value = "20", allow_negative_numbers = true, value_parser = runs)]
    pub(crate) runs: u64,
    /// A file for the same table as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u64::MAX))
}

/// At least one run.
fn runs(text: &str) -> Result<u64, &'static str> {
    count(text).map(|count| count as u64)
}

/// Arguments of `topo`.
#[derive(Debug, Args)]
pub(crate) struct TopoArgs {
    /// Print one JSON object instead of a tree
    #[arg(long)]
    pub(crate) json: bool,
    /// A machine to show instead of this one, from the outside in: "package:4 l3:1 core:2 pu:2"
    #[arg(long, value_name = "DESCRIPTION")]
    pub(crate) synthetic: Option<String>,
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Also lower the teams of OpenMP's parallel regions to the share, where nothing shows that the
    /// program relies on their size: for programs that ask for it in each region, or leave the
    /// division of work to OpenMP
    #[arg(long)]
    pub(crate) malleable: bool,
    /// The command's part of the machine in proportion to others', from 0.01 to 100
    #[arg(long, value_name = "WEIGHT", default_value = "1", allow_negative_numbers = true, value_parser = weight)]
    pub(crate) weight: f64,
    /// Cores that the command should have at least, as long as there are enough for all
    #[arg(long, value_name = "CORES", default_value = "1", allow_negative_numbers = true, value_parser = cores)]
    pub(crate) min: usize,
    /// Cores that the command may have at most [default: all]
    #[arg(long, value_name = "CORES", allow_negative_numbers = true, value_parser = cores)]
    pub(crate) max: Option<usize>,
    /// Say on standard error what is set, what is left alone, and why
    #[arg(long)]
    pub(crate) verbose: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A part in proportion to others'.
fn weight(text: &str) -> Result<f64, &'static str> {
    let weight = text.parse().ok().filter(|weight| (0.01..=100.0).contains(weight));
    weight.ok_or("give a number from 0.01 to 100")
}

/// Arguments of `oracle`.
#[derive(Debug, Args)]
pub(crate) struct OracleArgs {
    /// The applications; see `sinew list` [default: all that have worklists, one after the other]
    pub(crate) names: Vec<String>,
    /// tiny, small, full or the application's own notation; see `sinew list` [default: what takes
    /// some tenths of a second; small with --quick]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) size: Option<String>,
    /// The file with the input, where the application reads one
    #[arg(long, value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Number of cores [default: as many as the process may use]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// How often each choice is run; what is compared is run at least ten times more, three times
    /// with --quick [default: 3, 1 with --quick]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) runs: Option<usize>,
    /// Try fewer choices
    #[arg(long)]
    pub(crate) coarse: bool,
    /// Fewer choices, fewer runs of each, small inputs: shows what comes out within a minute
    #[arg(long)]
    pub(crate) quick: bool,
    /// Where results go: a folder of the application's name, below this one
    #[arg(long, value_name = "DIR", default_value = "oracle")]
    pub(crate) out: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// The experiment; see --list [default: all of them, one after the other]
    pub(crate) experiment: Option<String>,
    /// Say which experiments there are
    #[arg(long)]
    pub(crate) list: bool,
    /// Run the experiments that this file lists, in TOML: [[experiment]] with name, size, threads,
    /// repeat, seed and out; [defaults] for all of them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["experiment", "list", "size", "out", "threads", "repeat", "seed"])]
    pub(crate) config: Option<PathBuf>,
    /// How large
    #[arg(long, value_enum, default_value = "default")]
    pub(crate) size: NamedScale,
    /// Where results go: a folder for each experiment, below this one
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    pub(crate) out: PathBuf,
    /// Numbers of workers, such as 1,2,4; 1 is always among them [default: powers of two, up to as
    /// many as the process may use]
    #[arg(long, value_name = "N,N", value_delimiter = ',', allow_negative_numbers = true, value_parser = count)]
    pub(crate) threads: Vec<usize>,
    /// How often everything is measured [default: 5, 10 for openskel, 50 for plastic at size full,
    /// and 1 at size quick]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) repeat: Option<usize>,
    /// Decides the order in which the cases of a round are run
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: u64,
}

/// How large an experiment is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NamedScale {
    /// Some seconds: shows that it works
    Quick,
    /// Some minutes on two cores
    Default,
    /// The published sizes, which may take hours
    Full,
}

impl From<NamedScale> for Scale {
    fn from(size: NamedScale) -> Self {
        match size {
            NamedScale::Quick => Self::Quick,
            NamedScale::Default => Self::Default,
            NamedScale::Full => Self::Full,
        }
    }
}

/// A number of cores.
fn cores(text: &str) -> Result<usize, String> {
    let most = sinew_coord::MAX_CORES;
    let cores = text.parse().ok().filter(|cores| (1..=most).contains(cores));
    cores.ok_or_else(|| format!("give a number of cores from 1 to {most}"))
}

/// Arguments of `coordinator`.
#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// By what rule cores are shared out: equal, proportional, priority, efficiency, contention or
    /// script [default: script if there is one, else equal]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<sinew_coord::Policy>,
    /// A file that says which program gets what, and when: lines such as "when second joins first
    /// threads 2 cores 0-1" or "at 60 first free"
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Milliseconds between two measurements
    #[arg(long, value_name = "MS", default_value = "500", allow_negative_numbers = true, value_parser = milliseconds)]
    pub(crate) interval_ms: u64,
}

/// Arguments of `top`.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Print what there is, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one JSON object instead of a table; needs --once
    #[arg(long, requires = "once")]
    pub(crate) json: bool,
    /// Milliseconds between two looks
    #[arg(long, value_name = "MS", default_value = "500", allow_negative_numbers = true, value_parser = milliseconds)]
    pub(crate) interval_ms: u64,
}

/// Up to a minute.
fn milliseconds(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(ms) if (1..=60_000).contains(&ms) => Ok(ms),
        _ => Err("give a whole number of milliseconds from 1 to 60000"),
    }
}

/// Reads the command line. Prints help and version itself, and ends the process then.
pub(crate) fn parse() -> Result<Command, Failure> {
    match CommandLine::try_parse() {
        Ok(line) => Ok(line.command),
        Err(message)
            if matches!(message.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            output::print(&message.render().to_string())?;
            std::process::exit(0)
        }
        Err(missing) if missing.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage(
                "a command is needed: demo, run, list, topo, oracle, reproduce, report, sim, coordinator, top or exec (see sinew --help)",
            ))
        }
        Err(error) => Err(Failure::Usage(explain(&error))),
    }
}

/// Explains a wrong command line in one line.
fn explain(error: &clap::Error) -> String {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => {
            let line = CommandLine::command();
            let shown = line.get_subcommands().filter(|command| !command.is_hide_set());
            let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
            unknown("command", name, &names)
        }
        _ => shorten(&error.render().to_string()),
    }
}

/// The arguments of `sim` in these words.
#[cfg(test)]
pub(crate) fn sim_of(words: &[&str]) -> Option<SimArgs> {
    let line = CommandLine::try_parse_from(["sinew", "sim"].iter().chain(words)).ok()?;
    if let Command::Sim(args) = line.command { Some(args) } else { None }
}

/// What an error message of the parser says, without the usage that follows it.
fn shorten(message: &str) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let line = lines.join("; ").replace(":; ", ": ").replace("; [", " [");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    if line.contains("--help") { line.to_owned() } else { format!("{line} (see sinew --help)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_schedule_may_be_written_with_a_colon_or_a_comma() {
        for text in ["dynamic:64", "dynamic,64", "dynamic, 64"] {
            assert_eq!(schedule(text).unwrap(), Schedule::Dynamic { chunk: 64 });
        }
        for text in ["dynamic,0", "guided,3", "static,4", "dynamic,", "dynamic,1,2"] {
            assert!(schedule(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_message_of_the_parser_becomes_one_line() {
        for words in [
            &["sinew"][..],
            &["sinew", "rnu"],
            &["sinew", "run"],
            &["sinew", "run", "fib", "--threads", "0"],
            &["sinew", "run", "fib", "--threads", "-1"],
            &["sinew", "run", "fib", "--schedule", "guided,"],
            &["sinew", "run", "fib", "--wait", "sleep"],
            &["sinew", "run", "fib", "--victims", "weakest"],
            &["sinew", "run", "fib", "--tune", "2 threads, steeling"],
            &["sinew", "run", "fib", "--by-hand", "--tune", "auto"],
            &["sinew", "run", "kmeans", "--pages", "bind 1"],
            &["sinew", "demo", "--victims", "set:none"],
            &["sinew", "run", "fib", "--frobnicate"],
            &["sinew", "demo", "--size", "12"],
            &["sinew", "oracle", "kmeans", "--runs", "0"],
            &["sinew", "oracle", "kmeans", "--threads", "-2"],
            &["sinew", "reproduce", "--size", "tiny"],
            &["sinew", "reproduce", "--threads", "1,0"],
            &["sinew", "reproduce", "--seed", "-1"],
            &["sinew", "reproduce", "--config", "x.toml", "--repeat", "2"],
            &["sinew", "exec"],
            &["sinew", "exec", "--weight", "0", "true"],
            &["sinew", "exec", "--min", "0", "true"],
            &["sinew", "exec", "--max", "many", "true"],
            &["sinew", "exec", "--maleable", "true"],
            &["sinew", "coordinator", "--policy", "fair"],
            &["sinew", "top", "--interval-ms", "0"],
            &["sinew", "sim", "--seed", "-1"],
            &["sinew", "sim", "--calibrate", "--csv", "x"],
        ] {
            let line = explain(&CommandLine::try_parse_from(words).unwrap_err());
            assert!(
                !line.contains('\n') && !line.contains("Usage") && !line.starts_with("error"),
                "{line}"
            );
            let named = words.iter().skip(1).any(|word| line.contains(word)) || words.len() < 3;
            assert!(named, "{words:?}: {line}");
        }
    }
}
