//! `sinew coordinator`: evaluates the policies that need a clock, follows a script, and logs
//! decisions with their reasons.
//!
//! Ctrl-C or SIGTERM ends it; the programs continue with the default policy.
//!
//! Standard output may be a pipe that is not read. A separate thread prints (`printer`), so neither
//! the coordination nor its end waits for a reader.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use sinew_console::{Failure, read};
use sinew_coord::{Coordinator, Decision, EnergyCounter, Policy, Request, Row, Script, Table};
use sinew_sync::atomic::{AtomicBool, Ordering};

use crate::machines::{self, Machines};
use crate::printer::Printer;
use crate::values::milliseconds;

/// Arguments of `coordinator`.
#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// The policy that divides the cores: equal, proportional, priority, efficiency, contention,
    /// script, energy (the least), energy-delay (the least energy times time) or energy:PERCENT (a
    /// mix; 0 is the least time) [default: script if a script is given, else equal]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<sinew_coord::Policy>,
    /// A script that assigns threads and cores to programs over time, with lines such as "when
    /// second joins first threads 2 cores 0-1" or "at 60 first free"
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// The folder of the machine's energy counters, for the policies by energy
    #[arg(long, value_name = "DIR", default_value = EnergyCounter::FOLDER)]
    pub(crate) powercap: PathBuf,
    /// Decide together with the coordinators of other machines, so that a rank that would wait for
    /// another machine leaves cores to its neighbours; start one on each machine: "mpirun -n
    /// MACHINES --map-by node sinew coordinator --machines"
    #[arg(long)]
    pub(crate) machines: bool,
    /// Milliseconds between two measurements, and between two decisions with other machines
    #[arg(
        long,
        value_name = "MS",
        default_value = "500",
        allow_negative_numbers = true,
        value_parser = milliseconds
    )]
    pub(crate) interval_ms: u64,
}

pub(crate) fn perform(args: &CoordinatorArgs) -> Result<(), Failure> {
    let script = args.script.as_deref().map(read_script).transpose()?;
    let policy = match (args.policy, &script) {
        (Some(policy), _) => policy,
        (None, Some(_)) => Policy::Script,
        (None, None) => Policy::default(),
    };
    match (args.policy, &script) {
        (Some(policy), Some(script)) => check(policy, script)?,
        (Some(Policy::Script), None) => {
            return Err(Failure::usage(
                "`--policy script` has no script to follow: name one with --script FILE",
            ));
        }
        _ => {}
    }
    // Opened first: without it there is nothing to coordinate.
    let counter = policy.uses_power().then(|| EnergyCounter::open(&args.powercap)).transpose();
    let counter = counter.map_err(|error| failed(&error))?;
    let world = args.machines.then(machines::reach).transpose()?;
    let stop = stop_at_signals()?;
    // Relaxed: nothing is published by it.
    let is_over = || stop.load(Ordering::Relaxed);
    let table = Table::open_default().map_err(|error| failed(&error))?;
    let mut coordinator = Coordinator::start(&table, policy, script.unwrap_or_default())
        .map_err(|error| failed(&error))?;
    if let Some(counter) = counter {
        coordinator.measure_energy(counter);
    }
    let mut printer = Printer::start()?;
    printer.print(format!("policy {policy}, table {}\n", table.path().display()))?;
    let (began_ns, interval) = (table.now_ns(), Duration::from_millis(args.interval_ms));
    let mut machines = world.as_ref().map(|world| Machines::over(world, interval));
    while !(machines.is_none() && is_over()) {
        let version = table.version();
        let decisions = coordinator.step().map_err(|error| failed(&error))?;
        let rows = table.read();
        for decision in &decisions {
            printer.print(line(decision, began_ns))?;
        }
        if decisions.iter().any(|decision| decision.changed > 0) {
            printer.print(shares(&rows, coordinator.watts()))?;
        }
        let mut time = interval;
        if let Some(machines) = &mut machines {
            if !machines.step(&coordinator, is_over()).map_err(|error| failed(&error))? {
                break;
            }
            time = machines.due_in();
        }
        coordinator.wait_unless(version, time, is_over);
    }
    Ok(printer.end()?)
}

fn failed(error: &sinew_coord::Error) -> Failure {
    Failure::Wrong(error.to_string())
}

fn read_script(path: &std::path::Path) -> Result<Script, Failure> {
    read(path)?.parse().map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Only one policy uses the numbers and places of a script; schedules are followed under all
/// policies.
fn check(policy: Policy, script: &Script) -> Result<(), Failure> {
    let is_lost = |request: &Request| Policy::Script.follows(request) && !policy.follows(request);
    if !script.steps().iter().filter_map(|step| step.request.as_ref()).any(is_lost) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "`--policy {policy}` does not go by a script's threads and cores: leave --policy out, or \
         them"
    )))
}

/// A flag that SIGINT and SIGTERM set.
fn stop_at_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::Wrong(format!("cannot listen for signals: {error}")))?;
    }
    Ok(stop)
}

/// A decision, with its reason.
fn line(decision: &Decision, began_ns: u64) -> String {
    let seconds = decision.at_ns.saturating_sub(began_ns) as f64 / 1e9;
    let subject = match decision.subject {
        0 => String::new(),
        pid => format!(" {} ({pid})", decision.name),
    };
    format!(
        "{seconds:10.3} s  {}{subject}, seen by {}: {} programs, {} shares changed\n",
        decision.reason, decision.by, decision.programs, decision.changed
    )
}

fn shares(rows: &[Row], watts: Option<f64>) -> String {
    let share = |row: &Row| {
        let Row { name, program, grant, .. } = row;
        format!("{name} ({}) {} on {}", program.pid, grant.threads, grant.cores)
    };
    let shares = rows.iter().map(share).collect::<Vec<_>>().join("; ");
    let watts = watts.map_or_else(String::new, |watts| format!(" ({watts:.1} W)"));
    format!("{:14}{shares}{watts}\n", "")
}
