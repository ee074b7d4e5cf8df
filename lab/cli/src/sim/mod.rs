//! `sinew-lab sim`: simulates programs on any machine.
//!
//! | file | contents |
//! |---|---|
//! | `runs` | a row for each number of workers and victim policy; the figure on sampling |
//! | `worklist` | transactional worklists |
//! | `programs` | programs that share machines |
//! | `measured` | programs from the output of `sinew top` |
//! | `domains` | locality domains |
//! | `ranks` | a bag over processes that share no memory |
//! | `calibrate` | measured costs of scheduling on this machine |
//! | `crowding` | the slow-down of work while another core works too |
//! | `loops` | loops under each schedule |
//! | `validate` | simulated and real runs side by side |
//! | `quiet` | undisturbed real runs |
//! | `setup` | machine and costs from the arguments |
//! | `args`, `kind` | the options; the kinds of simulation to which each applies |
//! | `options` | wrong and useless options |
//! | `rows` | results as rows of a table |
//! | `prices` | costs on the command line |
//! | `watch` | progress, remaining time, and Ctrl-C |
//!
//! Ctrl-C ends the current run; the results so far are printed and written. An interrupted
//! calibration has no result.

mod args;
mod calibrate;
mod crowding;
mod domains;
mod kind;
mod loops;
mod measured;
mod options;
mod prices;
mod programs;
mod quiet;
mod ranks;
mod rows;
mod runs;
mod setup;
mod validate;
mod watch;
mod worklist;

use sinew_console::{Failure, output};

use crate::files::ResultFile;
pub(crate) use args::Given as SimArgs;
use kind::Kind;
use watch::Watch;

pub(crate) fn perform(given: &SimArgs) -> Result<(), Failure> {
    let args = &given.args;
    let kind = args.kind().ok_or_else(|| {
        Failure::Usage(
            "a program is needed, or --calibrate or --validate (see sinew-lab sim --help)".into(),
        )
    })?;
    options::check(args, kind)?;
    let note = || {
        let lines = options::useless(given, kind);
        lines.iter().for_each(|line| output::note(&format!("sinew-lab: note: {line}")));
    };
    if kind == Kind::Calibrate {
        note();
        return calibrate::perform(args);
    }
    let csv = args.csv.as_deref().map(ResultFile::create).transpose()?;
    let watch = Watch::new()?;
    let name = args.program.as_deref().unwrap_or_default();
    let rows = match kind {
        Kind::Validate | Kind::Calibrate => validate::rows(args, &watch)?,
        Kind::Sampling => runs::figure(args, &watch)?,
        Kind::Programs => programs::rows(args, &watch)?,
        Kind::Domains => domains::rows(name, args, &watch)?,
        Kind::Ranks => ranks::rows(name, args, &watch)?,
        Kind::Worklist => worklist::rows(name, args, &watch)?,
        Kind::Loop => loops::rows(name, args, &watch)?,
        Kind::Tasks | Kind::Graph => runs::rows(name, args, &watch)?,
    };
    // Printed only now, so that an impossible request produces one line.
    note();
    // The file is written even if standard output is closed.
    let printed = output::print(&rows.render());
    csv.map_or(Ok(()), |file| file.write(&rows.to_csv()?))?;
    printed?;
    match watch.has_enough() {
        true => Err(Failure::Wrong(
            "stopped before the end: what is shown is what was known by then".into(),
        )),
        false => Ok(()),
    }
}
