//! `sinew-lab oracle`: all fixed settings of a worklist, or a coarse search of them, and the tuner
//! compared with the best, for one or more applications.
//!
//! An interrupt ends the process and prints the report of the results so far.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, process};

use clap::Args;
use serde::Serialize;
use sinew::Pool;
use sinew_apps::App;
use sinew_console::{Failure, INTERRUPTED, output};
use sinew_reproduce::{
    Effort, Oracle, Origin, Outcome, Scale, Setting, Summary, Worklists, averages, search_size,
};
use sinew_sync::lock::Mutex;

use crate::conditions::ConditionArgs;
use crate::interrupt::at_interrupt;
use crate::reproduce::{command_line, failed, one};
use crate::run::find;
use crate::values::count;

/// Arguments of `oracle`.
#[derive(Debug, Args)]
pub(crate) struct OracleArgs {
    /// The applications; see `sinew-lab list` [default: all that have worklists]
    pub(crate) names: Vec<String>,
    /// tiny, small, full or the application's own notation; see `sinew-lab list` [default: a size
    /// that takes some tenths of a second; small with --quick]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) size: Option<String>,
    /// The input file, for applications that read one
    #[arg(long, value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
    /// Number of cores [default: as many as the process may use]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) threads: Option<usize>,
    /// Number of runs of each choice; the compared choices run at least ten times more, three times
    /// with --quick [default: 3, 1 with --quick]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) runs: Option<usize>,
    /// Try fewer choices: a search whose best need not be the static oracle
    #[arg(long)]
    pub(crate) coarse: bool,
    /// Use fewer choices, fewer runs of each, and small inputs: a preview within a minute
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    /// The folder for results; each application has a folder of its name in it
    #[arg(long, value_name = "DIR", default_value = "oracle")]
    pub(crate) out: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Machine-readable results of several applications.
#[derive(Serialize)]
struct Summaries<'a> {
    applications: &'a [Summary],
}

pub(crate) fn perform(args: &OracleArgs) -> Result<(), Failure> {
    let origin = Origin::here(command_line());
    let cores = args.threads.unwrap_or(origin.processors);
    let (apps, worklists) = (apps(&args.names)?, args.conditions.worklists()?);
    // Checked before anything runs, so that the error does not appear once per choice.
    Pool::builder().threads(cores).build().map_err(Failure::usage)?;
    let oracles: Vec<Oracle> = apps
        .into_iter()
        .map(|app| oracle(app, args, cores, worklists))
        .collect::<Result<_, _>>()?;
    oracles.iter().try_for_each(Oracle::check).map_err(failed)?;
    let now = Now::watch(!args.json)?;
    let runs = effort(args).runs;
    let usual = Setting::new(Scale::Full, cores);
    let setting = Setting { threads: vec![cores], repeat: runs, worklists, ..usual };
    let (mut summaries, mut wrong, mut printed) = (Vec::new(), Vec::new(), Ok(()));
    for oracle in &oracles {
        let name = oracle.app();
        now.is(&args.out.join(name));
        let Outcome { text, results, .. } =
            one(&oracle.experiment(), &setting, &origin, &args.out)?;
        now.is_over();
        if !args.json {
            // Without a reader the other applications still run: their results are in folders.
            printed = printed.and(output::print(&text));
        }
        wrong.extend(results.wrong.iter().map(|wrong| format!("{name}: {wrong}")));
        summaries.push(oracle.summary(&results));
    }
    // A wrong result is more important than a closed output.
    let concluded = conclude(&summaries, args.json);
    if wrong.is_empty() {
        printed?;
        concluded
    } else {
        Err(Failure::Wrong(format!("wrong answers: {}", wrong.join("; "))))
    }
}

/// The named applications, or all that have worklists.
fn apps(names: &[String]) -> Result<Vec<&'static App>, Failure> {
    if names.is_empty() {
        return Ok(sinew_apps::all().iter().filter(|app| app.has_worklist).collect());
    }
    names.iter().map(|name| find(name)).collect()
}

fn oracle(
    app: &App,
    args: &OracleArgs,
    cores: usize,
    worklists: Worklists,
) -> Result<Oracle, Failure> {
    let usual = if args.quick { "small" } else { search_size(app.name).unwrap_or(app.demo) };
    let size = args.size.as_deref().unwrap_or(usual);
    Oracle::new(app, size, args.path.clone(), cores, effort(args), worklists).map_err(failed)
}

fn effort(args: &OracleArgs) -> Effort {
    let usual = if args.quick { Effort::QUICK } else { Effort::full(args.runs.unwrap_or(3)) };
    Effort {
        runs: args.runs.unwrap_or(usual.runs),
        is_coarse: usual.is_coarse || args.coarse,
        ..usual
    }
}

/// Prints the final remarks about all of them.
fn conclude(summaries: &[Summary], json: bool) -> Result<(), Failure> {
    let several = summaries.len() > 1;
    let text = match summaries {
        [only] if json => serde_json::to_string_pretty(only),
        all if json => serde_json::to_string_pretty(&Summaries { applications: all }),
        all => Ok(if several { averages(all).markdown() } else { String::new() }),
    };
    let text = text.map_err(|error| Failure::Output(error.into()))?;
    if text.is_empty() { Ok(()) } else { Ok(output::print(&(text + "\n"))?) }
}

/// The folder whose report is being written.
struct Now(Arc<Mutex<Option<PathBuf>>>);

impl Now {
    /// Ends the process when it is interrupted; prints the current report first if `aloud`.
    fn watch(aloud: bool) -> Result<Self, Failure> {
        let folder: Arc<Mutex<Option<PathBuf>>> = Arc::default();
        let current = Arc::clone(&folder);
        let end = move || {
            let folder = current.lock().clone();
            if let Some(folder) = folder.filter(|_| aloud)
                && let Ok(report) = fs::read_to_string(folder.join("README.md"))
            {
                // A failure to print has no other output to go to.
                let _ = output::print(&format!("{report}\n"));
            }
            process::exit(INTERRUPTED)
        };
        at_interrupt(end)?;
        Ok(Self(folder))
    }

    fn is(&self, folder: &Path) {
        *self.0.lock() = Some(folder.to_owned());
    }

    fn is_over(&self) {
        *self.0.lock() = None;
    }
}
