//! `sinew coordinator`: stands by, evaluates the policies that need a clock, follows a script, and says why programs get what they get.
//!
//! Ctrl-C ends it; the programs go on with the default policy.

use std::sync::Arc;
use std::time::Duration;

use sinew_coord::{Coordinator, Decision, Row, Script, Table};
use sinew_sync::atomic::{AtomicBool, Ordering};

use crate::args::CoordinatorArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn perform(args: &CoordinatorArgs) -> Result<(), Failure> {
    let script = args.script.as_deref().map(read_script).transpose()?;
    let policy = match (args.policy, &script) {
        (Some(policy), _) => policy,
        (None, Some(_)) => sinew_coord::Policy::Script,
        (None, None) => sinew_coord::Policy::default(),
    };
    let stop = stop_at_ctrl_c()?;
    let table = Table::open_default().map_err(failed)?;
    let mut coordinator = Coordinator::start(&table, policy, script.unwrap_or_default()).map_err(failed)?;
    output::print(&format!("policy {policy}, table {}\n", table.path().display()))?;
    let began_ns = table.now_ns();
    // Relaxed: nothing is published by it.
    while !stop.load(Ordering::Relaxed) {
        let version = table.version();
        let decisions = coordinator.step().map_err(failed)?;
        let rows = table.read();
        for decision in &decisions {
            output::print(&line(decision, began_ns))?;
        }
        if decisions.iter().any(|decision| decision.changed > 0) {
            output::print(&shares(&rows))?;
        }
        coordinator.wait(version, Duration::from_millis(args.interval_ms));
    }
    Ok(())
}

fn failed(error: sinew_coord::Error) -> Failure {
    Failure::Wrong(error.to_string())
}

fn read_script(path: &std::path::Path) -> Result<Script, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    text.parse().map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// A word that becomes true when the user has had enough. The interval bounds how long that takes to be seen.
fn stop_at_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let word = Arc::clone(&stop);
    ctrlc::set_handler(move || word.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Wrong(format!("cannot listen for Ctrl-C: {error}")))?;
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

fn shares(rows: &[Row]) -> String {
    let share = |row: &Row| {
        let Row { name, program, grant, .. } = row;
        format!("{name} ({}) {} on {}", program.pid, grant.threads, grant.cores)
    };
    format!("{:14}{}\n", "", rows.iter().map(share).collect::<Vec<_>>().join("; "))
}
