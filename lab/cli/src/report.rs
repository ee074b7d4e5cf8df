//! `sinew-lab report`: collects results of any kind on one page.

use std::path::PathBuf;

use clap::Args;
use sinew_console::{Failure, output};
use sinew_report::{gather, page};

use crate::files::ResultFile;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders of `reproduce` and `oracle`; files of `sim --csv`, `run --json` and `bench`; or
    /// folders that contain such files
    #[arg(value_name = "PATH", default_value = "reproduced")]
    pub(crate) paths: Vec<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// The title of the page
    #[arg(long, value_name = "TEXT", default_value = "Results")]
    pub(crate) title: String,
}

pub(crate) fn perform(args: &ReportArgs) -> Result<(), Failure> {
    // Checked before anything is collected.
    let out = ResultFile::create(&args.out)?;
    let gathered = gather(&args.paths).map_err(Failure::usage)?;
    for line in &gathered.left_out {
        output::complain("sinew-lab", &format!("left out: {line}"));
    }
    out.write(&page(&args.title, &gathered.sections))?;
    let (file, sections) = (args.out.display(), gathered.sections.len());
    Ok(output::print(&format!("{file}: {sections} results\n"))?)
}
