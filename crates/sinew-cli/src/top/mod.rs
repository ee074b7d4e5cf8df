//! `sinew top`: the programs that share this machine, their cores and their speeds, updated
//! continuously.
//!
//! | file | contents |
//! |---|---|
//! | `columns` | tables that fit into the terminal |
//! | `view` | the values to show |
//! | `screen` | the terminal: drawing, and keys that change weights |

mod columns;
mod screen;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use crossterm::terminal;
use sinew_console::{Failure, output};
use sinew_coord::Table;

use crate::values::milliseconds;
use view::View;

/// Arguments of `top`.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Print the current state, and exit
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one JSON object instead of a table; needs --once
    #[arg(long, requires = "once")]
    pub(crate) json: bool,
    /// Milliseconds between two updates
    #[arg(
        long,
        value_name = "MS",
        default_value = "500",
        allow_negative_numbers = true,
        value_parser = milliseconds
    )]
    pub(crate) interval_ms: u64,
}

pub(crate) fn perform(args: &TopArgs) -> Result<(), Failure> {
    let interval = Duration::from_millis(args.interval_ms);
    if !args.once {
        return screen::run(interval);
    }
    let mut table = Table::find_default().map_err(|error| failed(&error))?;
    let mut view = View::new(table.as_ref());
    // A speed needs two readings.
    std::thread::sleep(interval);
    find_again(&mut table);
    view.look(table.as_ref());
    let text = if args.json { format!("{:#}\n", view.to_json()) } else { view.to_text(width()) };
    Ok(output::print(&text)?)
}

/// The columns of the terminal; all that are needed for a file or a pipe.
fn width() -> usize {
    let size = io::stdout().is_terminal().then(terminal::size).and_then(Result::ok);
    size.map_or(usize::MAX, |(columns, _)| columns.into())
}

/// Opens another table if the programs have moved to one. No table is created.
fn find_again(table: &mut Option<Table>) {
    if !table.as_ref().is_some_and(Table::is_in_force) {
        // A table that cannot be opened now may be available at the next update.
        *table = Table::find_default().unwrap_or_default();
    }
}

fn failed(error: &sinew_coord::Error) -> Failure {
    Failure::Wrong(error.to_string())
}
