//! Programs that share machines: a row for each share policy.

use sinew_console::{Failure, read};
use sinew_sim::programs::{Cluster, Mix, Policy, ProgramsReport, SECOND, Script};
use sinew_topology::Machine;

use super::args::SimArgs;
use super::rows::{Rows, failed, in_file};
use super::watch::Watch;
use super::{measured, prices, setup};

const TITLES: [&str; 14] = [
    "policy",
    "ended",
    "died",
    "makespan s",
    "response s",
    "slow-down",
    "worst",
    "fairness",
    "moved",
    "decisions",
    "moving",
    "used %",
    "energy J",
    "trace",
];

/// The default machine of a cluster.
const USUAL: &str = "package:2 l3:2 core:8";

pub(super) fn rows(args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let machine = match setup::machine(args)? {
        Some(machine) => machine,
        None => USUAL.parse().map_err(Failure::usage)?,
    };
    let mix = mix(args, &machine)?;
    let cluster = cluster(args, machine)?;
    // Checked before anything runs.
    cluster.check(&mix).map_err(Failure::usage)?;
    let policies = policies(args)?;
    let mut rows = Rows::new(&TITLES);
    for (at, &policy) in policies.iter().enumerate() {
        let goes_on = watch.run(at, policies.len(), &policy.to_string());
        let report =
            Cluster { policy, ..cluster.clone() }.run_while(&mix, goes_on).map_err(failed)?;
        rows.push(row(policy, &report));
        if !report.is_whole || watch.has_enough() {
            break;
        }
    }
    Ok(rows)
}

/// The policies to compare. Those by energy need a power.
fn policies(args: &SimArgs) -> Result<Vec<Policy>, Failure> {
    let lacks_power = |policy: &Policy| policy.uses_power() && args.watts.is_none();
    match args.policy.iter().find(|policy| lacks_power(policy)) {
        Some(policy) => Err(Failure::usage(format!(
            "`--policy {policy}` needs the machine's power: give it, for example with --watts 20,5"
        ))),
        None if args.policy.is_empty() => {
            Ok(Policy::ALL.into_iter().filter(|policy| !lacks_power(policy)).collect())
        }
        None => Ok(args.policy.clone()),
    }
}

/// The programs of a file, or random ones.
fn mix(args: &SimArgs, machine: &Machine) -> Result<Mix, Failure> {
    let cores = args.machines * machine.pus().len();
    match &args.mix {
        Some(_) => mix_of_file(args, cores),
        None => Ok(Mix::random(args.programs, cores, args.seed)),
    }
}

/// The programs of the file named by --mix, which may be an output of `sinew top`.
pub(super) fn mix_of_file(args: &SimArgs, cores: usize) -> Result<Mix, Failure> {
    let Some(path) = &args.mix else { return Ok(Mix::default()) };
    let text = read(path)?;
    if !text.trim_start().starts_with('{') {
        return text.parse().map_err(|error| in_file(path, error));
    }
    let kinds = measured::kinds(&text).map_err(|error| in_file(path, error))?;
    Ok(Mix::of_kinds(kinds, args.programs, cores, args.seed))
}

/// The script of the policy `script`.
pub(super) fn script(args: &SimArgs) -> Result<Script, Failure> {
    match (&args.script, &args.mix) {
        (Some(path), _) => read(path)?.parse().map_err(|error| in_file(path, error)),
        (None, None) => Ok(Mix::script()),
        (None, Some(_)) if args.policy.contains(&Policy::Script) => Err(Failure::usage(
            "`--policy script` has no script to follow for these programs: name one with --script \
             FILE",
        )),
        (None, Some(_)) => Ok(Script::default()),
    }
}

fn cluster(args: &SimArgs, machine: Machine) -> Result<Cluster, Failure> {
    let (dispatch, script) = (args.dispatch, script(args)?);
    let (power, seed) = (args.watts, args.seed);
    let cluster = Cluster { dispatch, script, power, seed, ..Cluster::new(machine, args.machines) };
    let mut cluster = if args.free { cluster.free() } else { cluster };
    prices::set_cluster(&args.costs, &mut cluster)?;
    Ok(cluster)
}

fn row(policy: Policy, report: &ProgramsReport) -> Vec<String> {
    let seconds = |time: f64| format!("{:.3}", time / SECOND as f64);
    vec![
        policy.to_string(),
        report.ended.to_string(),
        report.died.to_string(),
        seconds(report.makespan as f64),
        seconds(report.mean_response),
        format!("{:.2}", report.mean_slowdown),
        format!("{:.2}", report.worst_slowdown),
        format!("{:.3}", report.fairness),
        report.moved.to_string(),
        report.decisions.to_string(),
        report.moving_decisions.to_string(),
        format!("{:.1}", 100.0 * report.used),
        report.energy_j.map_or_else(|| "-".to_owned(), |energy_j| format!("{energy_j:.1}")),
        format!("{:016x}", report.trace),
    ]
}
