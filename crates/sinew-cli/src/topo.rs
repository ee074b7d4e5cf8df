//! `sinew topo`: the machine as a tree.

use clap::Args;
use sinew_topology::{Limits, Machine, machine_names, render, to_json};

use sinew_console::{Failure, output};

/// Arguments of `topo`.
#[derive(Debug, Args)]
pub(crate) struct TopoArgs {
    /// Print one JSON object instead of a tree
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(long, value_name = "DESCRIPTION", help = synthetic_help())]
    pub(crate) synthetic: Option<String>,
}

fn synthetic_help() -> String {
    format!(
        "A machine to show instead of this one, from the outside in: \"package:4 l3:1 core:2 \
         pu:2\"; or one of publications: {}",
        machine_names()
    )
}

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
