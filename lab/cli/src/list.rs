//! `sinew-lab list`: the applications and their sizes.

use clap::Args;
use serde::Serialize;
use sinew_apps::App;
use sinew_console::{Failure, output};
use textwrap::{Options, WordSplitter, fill};

/// The columns of a usual terminal.
const WIDTH: usize = 80;
/// Blanks before a description, and before the lines about sizes.
const MARGIN: usize = 16;

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
    let head = "Every application has the sizes tiny, small and full, and its own.\n\n";
    sinew_apps::all().iter().fold(head.to_owned(), |text, app| text + &entry(app))
}

/// The name, the description beside it, and the sizes below.
fn entry(app: &App) -> String {
    let margin = " ".repeat(MARGIN);
    let lines = |first: &str, words: &str| {
        // Sizes have hyphens inside, and are copied.
        let options = Options::new(WIDTH).word_splitter(WordSplitter::NoHyphenation);
        fill(words, options.initial_indent(first).subsequent_indent(&margin)) + "\n"
    };
    let name = format!("{:<MARGIN$}", app.name);
    lines(&name, app.about) + &lines(&margin, &format!("size: {}", app.sizes))
}

/// An application in the output of `--json`.
#[derive(Serialize)]
struct Entry<'a> {
    application: &'a str,
    description: &'a str,
    sizes: [&'a str; 3],
    own_sizes: &'a str,
    demo_size: &'a str,
    has_loops: bool,
    has_worklist: bool,
    reads_files: bool,
}

impl<'a> From<&'a App> for Entry<'a> {
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
    let entries: Vec<Entry> = sinew_apps::all().iter().map(Entry::from).collect();
    let json =
        serde_json::to_string_pretty(&entries).map_err(|error| Failure::Output(error.into()))?;
    Ok(json + "\n")
}
