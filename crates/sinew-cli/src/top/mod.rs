//! `sinew top`: the programs that share this machine, their cores and how fast they are, as it happens.
//!
//! | room | what lives there |
//! |---|---|
//! | `view` | what is shown, as values |
//! | `screen` | the terminal: drawing, and keys that change weights |

mod screen;
mod view;

use std::time::Duration;

use sinew_coord::Table;

use crate::args::TopArgs;
use crate::failure::Failure;
use crate::output;
use view::View;

pub(crate) fn perform(args: &TopArgs) -> Result<(), Failure> {
    let table = Table::open_default().map_err(failed)?;
    let interval = Duration::from_millis(args.interval_ms);
    if !args.once {
        return screen::run(&table, interval);
    }
    let mut view = View::new(&table);
    // Two looks make a speed.
    std::thread::sleep(interval);
    view.look(&table);
    let text = if args.json { format!("{:#}\n", view.to_json()) } else { view.to_text() };
    Ok(output::print(&text)?)
}

fn failed(error: sinew_coord::Error) -> Failure {
    Failure::Wrong(error.to_string())
}
