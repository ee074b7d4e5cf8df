//! `sinew report`: results of any kind, gathered into one page.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use sinew_report::{Failure as Failed, gather, page};

use crate::failure::Failure;
use crate::output;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders of `reproduce` and `oracle`, files of `sim --csv`, `run --json` and `bench`, or folders with any of these
    #[arg(value_name = "PATH", default_value = "reproduced")]
    pub(crate) paths: Vec<PathBuf>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// What stands above it
    #[arg(long, value_name = "TEXT", default_value = "Results")]
    pub(crate) title: String,
}

pub(crate) fn perform(args: &ReportArgs) -> Result<(), Failure> {
    let gathered = gather(&args.paths)?;
    for line in &gathered.left_out {
        output::complain(&format!("left out: {line}"));
    }
    write(&args.out, &page(&args.title, &gathered.sections))?;
    let (file, sections) = (args.out.display(), gathered.sections.len());
    Ok(output::print(&format!("{file}: {sections} results\n"))?)
}

/// Writes beside the place and moves there, so that a page that was there before stays until this one is whole.
fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let written = fs::write(&beside, page).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        // Nothing is there if it could not even be begun.
        let _ = fs::remove_file(&beside);
        Failure::Unwritten(format!(
            "cannot write `{}`: {error}; give another file with --out",
            path.display()
        ))
    })
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        Self::usage(failed)
    }
}
