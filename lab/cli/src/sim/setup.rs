//! The machine and its costs, from the arguments.

use sinew_console::{Failure, read};
use sinew_sim::{Costs, Idle, MOST_WORKERS, Setup};
use sinew_topology::Machine;

use super::args::SimArgs;
use super::prices;
use super::rows::in_file;

/// The machine, if one is described.
pub(super) fn machine(args: &SimArgs) -> Result<Option<Machine>, Failure> {
    args.machine.as_deref().map(str::parse).transpose().map_err(Failure::usage)
}

/// The costs: from a file, zero, or the usual ones, with the changes of --cost.
pub(super) fn costs(args: &SimArgs) -> Result<Costs, Failure> {
    let mut costs = match &args.cost_file {
        Some(path) => read(path)?.parse().map_err(|error| in_file(path, error))?,
        None if args.free => Costs::ZERO,
        None => Costs::usual(),
    };
    prices::set_costs(&args.costs, &mut costs);
    Ok(costs)
}

/// The given numbers of workers; by default the number of PUs of the machine, or two.
pub(super) fn workers(args: &SimArgs) -> Result<Vec<usize>, Failure> {
    Ok(match args.workers.is_empty() {
        true => vec![machine(args)?.map_or(2, |machine| machine.pus().len()).min(MOST_WORKERS)],
        false => args.workers.clone(),
    })
}

/// The setup that all runs share.
pub(super) fn setup(args: &SimArgs) -> Result<Setup, Failure> {
    let machine = machine(args)?;
    let workers = machine.as_ref().map_or(2, |machine| machine.pus().len()).min(MOST_WORKERS);
    let mut costs = costs(args)?;
    if machine.is_none() {
        (costs.factors, costs.refill) = (Vec::new(), Vec::new());
    }
    let idle = if args.spin { Idle::Spin } else { args.idle.unwrap_or_default() };
    Ok(Setup {
        machine,
        costs,
        idle,
        stack: args.stack,
        wait: args.wait,
        seed: args.seed,
        ..Setup::new(workers)
    })
}
