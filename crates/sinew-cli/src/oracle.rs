//! `sinew oracle`: all fixed settings of a worklist, and the tuner beside the best of them.

use sinew::Pool;
use sinew_reproduce::{Experiment, Oracle, Origin, Scale, Setting};

use crate::args::OracleArgs;
use crate::failure::Failure;
use crate::output;
use crate::reproduce::{command_line, one};
use crate::run::find;

pub(crate) fn perform(args: &OracleArgs) -> Result<(), Failure> {
    let app = find(&args.name)?;
    let origin = Origin::here(command_line());
    let cores = args.threads.unwrap_or(origin.processors);
    let oracle = Oracle::new(app, &args.size, args.path.clone(), cores, args.runs, args.coarse)?;
    // Said before anything is run, rather than of each choice.
    Pool::builder().threads(cores).build().map_err(Failure::usage)?;
    oracle.check()?;
    let setting = Setting { threads: vec![cores], repeat: args.runs, ..Setting::new(Scale::Full, cores) };
    let outcome = one(&oracle, &setting, &origin, &args.out)?;
    let text = if args.json {
        let json = serde_json::to_string_pretty(&oracle.summary(&outcome.results));
        json.map_err(|error| Failure::Output(error.into()))? + "\n"
    } else {
        outcome.text
    };
    let printed = output::print(&text);
    // A wrong answer matters more than a reader who has gone.
    match &outcome.results.wrong[..] {
        [] => Ok(printed?),
        wrong => Err(Failure::Wrong(format!("{}: wrong answers: {}", oracle.about().name, wrong.join("; ")))),
    }
}
