//! `sinew-lab list`: the applications and their sizes.

use clap::Args;
use serde::Serialize;
use sinew_apps::App;
use sinew_console::{Failure, output};

use crate::entries::{Entry, render};

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array of one object for each application
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn perform(args: &ListArgs) -> Result<(), Failure> {
    let text = if args.json { json()? } else { text() };
    Ok(output::print(&text)?)
}

fn text() -> String {
    let entry = |app: &'static App| {
        let remark = format!("size: {}", app.sizes);
        Entry { name: app.name, description: app.about, remark }
    };
    let entries: Vec<Entry> = sinew_apps::all().iter().map(entry).collect();
    let head = "Every application has the sizes tiny, small and full, and its own.";
    format!("{head}\n\n{}", render(&entries))
}

/// An application in the output of `--json`.
#[derive(Serialize)]
struct Listed<'a> {
    application: &'a str,
    description: &'a str,
    sizes: [&'a str; 3],
    own_sizes: &'a str,
    demo_size: &'a str,
    has_loops: bool,
    has_worklist: bool,
    reads_files: bool,
}

impl<'a> From<&'a App> for Listed<'a> {
    fn from(app: &'a App) -> Self {
        Self {
            application: app.name,
            description: app.about,
            sizes: ["tiny", "small", "full"],
            own_sizes: app.sizes,
            demo_size: app.demo,
            has_loops: app.loops,
            has_worklist: app.has_worklist,
            reads_files: app.reads_files,
        }
    }
}

fn json() -> Result<String, Failure> {
    let entries: Vec<Listed> = sinew_apps::all().iter().map(Listed::from).collect();
    let json =
        serde_json::to_string_pretty(&entries).map_err(|error| Failure::Output(error.into()))?;
    Ok(json + "\n")
}
