//! `sinew topo`: the machine as a tree.

use sinew_topology::{Limits, Machine, render, to_json};

use crate::args::TopoArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn perform(args: &TopoArgs) -> Result<(), Failure> {
    match &args.synthetic {
        None => show(Machine::host(), &Limits::read(), args.json),
        Some(description) => {
            let machine: Machine = description.parse().map_err(Failure::usage)?;
            show(&machine, &Limits::unlimited(&machine), args.json)
        }
    }
}

fn show(machine: &Machine, limits: &Limits, json: bool) -> Result<(), Failure> {
    let text =
        if json { format!("{:#}\n", to_json(machine, limits)) } else { render(machine, limits) };
    Ok(output::print(&text)?)
}
