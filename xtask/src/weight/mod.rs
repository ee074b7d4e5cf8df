//! The cost of depending on Sinew: processor time to build, and what it adds to a program.
//!
//! Small packages are built from nothing in a folder outside of the workspace, in cargo's default
//! release profile: without a library, on Sinew, with each of its features, on rayon, and on rayon
//! with the drop-in. All packages are built in each round, in turn, and a ratio is taken within a
//! round: a machine that becomes slower slows all.
//!
//! | file | contents |
//! |---|---|
//! | [`programs`] | the packages |
//! | [`commands`] | the commands of the repository, as a newcomer runs them |
//! | [`build`] | one build, and its figures |
//!
//! Processor time is what the kernel counts of the ended processes that this one has started.

mod build;
mod commands;
mod programs;

use crate::command;
use build::{Cost, Folder};
use commands::{WHATS, What};
use programs::{Base, Program};
use sinew_console::Table;
use std::path::Path;
use std::process::Command;

/// The packages and commands to measure, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Rounds, in each of which every package is built once.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Packages and commands whose names contain this, and packages of rayon and of no library.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Also run the demonstration and build the tests: many minutes. A command that `--only` names
    /// is run without it.
    #[arg(long)]
    long: bool,
}

impl Options {
    fn runs(&self, what: &What) -> bool {
        match &self.only {
            Some(only) => what.shown.contains(only.as_str()),
            None => self.long || !what.is_long,
        }
    }
}

/// Measures and prints.
///
/// # Errors
///
/// One line: no cargo, no network for packages that are not on this machine, a full disk, a package
/// that does not build, or a system that does not count processor time in `/proc`.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    build::spent()?;
    let temporary = tempfile::Builder::new().prefix("sinew-weight").tempdir();
    let temporary = temporary.map_err(|error| format!("no temporary folder: {error}"))?;
    let all = programs::all();
    let chosen: Vec<&Program> = all
        .iter()
        .filter(|program| program.is_base() || program.is_named(options.only.as_deref()))
        .collect();
    let folders = chosen
        .iter()
        .map(|program| program.lay_out(temporary.path()))
        .collect::<Result<Vec<Folder>, String>>()?;
    // All that needs the network comes before the first time is taken.
    folders.iter().try_for_each(Folder::fetch)?;
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        let costs = folders.iter().map(Folder::build).collect::<Result<Vec<Cost>, String>>()?;
        eprintln!("round {} of {}", round + 1, options.rounds);
        rounds.push(costs);
    }
    print!("{}\n{}", origin(), table(&chosen, &rounds));
    let commands: Vec<&What> = WHATS.iter().filter(|what| options.runs(what)).collect();
    if !commands.is_empty() {
        print!("\n{}", commands_table(temporary.path(), &commands)?);
    }
    Ok(())
}

fn table(programs: &[&Program], rounds: &[Vec<Cost>]) -> String {
    let mut table = Table::new(&[
        "package",
        "processor s",
        "÷ rayon",
        "clock s",
        "crates",
        "KB",
        "KB added",
        "÷ rayon",
    ]);
    for (at, program) in programs.iter().enumerate() {
        let bases = Base::of(programs, program.call);
        let added = |costs: &[Cost], at: usize| -> f64 {
            costs[at].bytes as f64 - costs[bases.plain].bytes as f64
        };
        let over = |figure: &dyn Fn(&[Cost]) -> f64| {
            median(rounds.iter().map(|costs| figure(costs)).collect())
        };
        let is_plain = at == bases.plain;
        let unless_plain = |text: String| if is_plain { "-".to_owned() } else { text };
        table.row(vec![
            program.name.clone(),
            format!("{:.1}", over(&|costs| costs[at].processor_s)),
            unless_plain(format!(
                "{:.2}",
                over(&|costs| costs[at].processor_s / costs[bases.rayon].processor_s)
            )),
            format!("{:.1}", over(&|costs| costs[at].clock_s)),
            format!("{:.0}", over(&|costs| costs[at].crates as f64)),
            format!("{:.0}", over(&|costs| costs[at].bytes as f64 / 1e3)),
            unless_plain(format!("{:.0}", over(&|costs| added(costs, at) / 1e3))),
            unless_plain(format!(
                "{:.2}",
                over(&|costs| added(costs, at) / added(costs, bases.rayon))
            )),
        ]);
    }
    table.render()
}

fn commands_table(temporary: &Path, commands: &[&What]) -> Result<String, String> {
    let mut table = Table::new(&["command, from nothing", "processor s", "clock s", "file KB"]);
    for what in commands {
        let cost = what.measure(temporary)?;
        let size = cost.bytes.map_or("-".to_owned(), |bytes| format!("{:.0}", bytes as f64 / 1e3));
        table.row(vec![
            what.shown.to_owned(),
            format!("{:.1}", cost.processor_s),
            format!("{:.1}", cost.clock_s),
            size,
        ]);
    }
    Ok(table.render())
}

/// The middle one, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[half - 1], values[half]),
        _ => values[half],
    }
}

/// Two lines: the machine, and the versions. Each part that cannot be found out is called unknown.
fn origin() -> String {
    let line = |command: &mut Command| {
        let output = command::output(command).unwrap_or_default();
        if output.is_empty() { "unknown".to_owned() } else { output.trim().to_owned() }
    };
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or(std::env::consts::ARCH, |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let compiler = line(Command::new("rustc").arg("--version"));
    let mut git = Command::new("git");
    git.current_dir(command::root()).args(["describe", "--always", "--dirty", "--exclude", "*"]);
    format!("{processor}, {cores} cores\n{compiler}, commit {}\n", line(&mut git))
}

#[cfg(test)]
mod tests {
    //! Blind to: times that are wrong, which a machine alone could tell.
    use super::*;

    /// Catches: a ratio to the wrong package, or one of medians instead of a median of ratios.
    #[test]
    fn a_ratio_is_taken_within_a_round_to_rayon_with_the_same_call() {
        let all = programs::all();
        let names = ["none, for_each", "sinew, for_each", "rayon, for_each"];
        let chosen: Vec<&Program> = names
            .iter()
            .map(|name| all.iter().find(|program| program.name == *name).unwrap())
            .collect();
        let cost = |processor_s, bytes| Cost { processor_s, clock_s: 1.0, crates: 2, bytes };
        let rounds = [
            vec![cost(0.1, 1_000), cost(8.0, 7_000), cost(4.0, 3_000)],
            vec![cost(0.1, 1_000), cost(30.0, 7_000), cost(10.0, 3_000)],
            vec![cost(0.1, 1_000), cost(8.0, 7_000), cost(2.0, 3_000)],
        ];
        let text = table(&chosen, &rounds);
        let row = |name: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(row("sinew, for_each"), ["8.0", "3.00", "1.0", "2", "7", "6", "3.00"]);
        assert_eq!(row("none, for_each"), ["0.1", "-", "1.0", "2", "1", "-", "-"]);
    }

    /// Catches: a long command that runs unasked, and one that cannot be asked for alone.
    #[test]
    fn long_commands_run_if_they_are_asked_for() {
        let run = |only: Option<&str>, long| -> Vec<&str> {
            let options = Options { rounds: 1, only: only.map(str::to_owned), long };
            WHATS.iter().filter(|what| options.runs(what)).map(|what| what.shown).collect()
        };
        let [install, demo, test] = WHATS.map(|what| what.shown);
        assert_eq!(run(None, false), [install]);
        assert_eq!(run(None, true), [install, demo, test]);
        assert_eq!(run(Some("cargo test"), false), [test]);
        assert_eq!(run(Some("sinew, join"), false), [""; 0]);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]).to_bits(), 3.0_f64.to_bits());
    }
}
