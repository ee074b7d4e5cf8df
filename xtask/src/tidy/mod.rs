//! House rules that no compiler checks: `cargo xtask tidy`.
//!
//! A rule is a pure function from a file to findings; this module only collects the files and
//! prints. Rules look at lines, not at syntax: they are cheap, they may be fooled, and clippy
//! stands behind them for what matters. Imports and prose are not yet as they should be, so their
//! findings are counted, and the counts only fall ([`counts`]).

mod circles;
mod counts;
mod modules;
mod prose;
mod rules;

use std::fs;
use std::path::Path;

/// A text file of the workspace.
#[derive(Debug)]
struct SourceFile {
    /// Relative to the root, with forward slashes.
    path: String,
    text: String,
}

/// A line that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    what: String,
}

/// Kinds of file that the rules look at.
const EXTENSIONS: [&str; 5] = ["rs", "md", "toml", "cpp", "sh"];

/// The options of `cargo xtask tidy`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// List the findings behind a count: `--show imports crates/sinew-core`.
    #[arg(long, num_args = 2, value_names = ["RULE", "PART"])]
    show: Option<Vec<String>>,
    /// Note the counts that have fallen.
    #[arg(long, conflicts_with = "show")]
    lower: bool,
}

/// Checks every text file under `root`, or does what `options` ask for instead.
///
/// # Errors
///
/// The number of findings (each is printed), a count that has changed, or a file that cannot be
/// read.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let mut files = Vec::new();
    collect(root, root, &mut files)?;
    match options.show.as_deref() {
        Some([rule, part]) => return counts::show(&files, rule, part),
        _ if options.lower => return counts::lower(root, &files),
        _ => {}
    }
    let mut count = 0;
    for file in &files {
        for finding in rules::check(file) {
            println!("{}:{}: {}", file.path, finding.line, finding.what);
            count += 1;
        }
    }
    if count > 0 {
        return Err(format!("tidy: {count} findings in {} files", files.len()));
    }
    counts::check(root, &files)?;
    println!("tidy: {} files, nothing to mend", files.len());
    Ok(())
}

/// The Rust files below `folder`, relative to `root`.
///
/// # Errors
///
/// A file that cannot be read.
pub(crate) fn rust_files(root: &Path, folder: &str) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    collect(root, &root.join(folder), &mut files)?;
    let paths = files.into_iter().map(|file| file.path);
    Ok(paths.filter(|path| path.ends_with(".rs")).collect())
}

/// Gathers text files below `folder`, leaving out build outputs and hidden folders.
fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), String> {
    let unreadable = |path: &Path, error| format!("cannot read {}: {error}", path.display());
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && !name.starts_with("target-") {
                collect(root, &path, files)?;
            }
        } else if path.extension().is_some_and(|kind| EXTENSIONS.iter().any(|known| kind == *known))
        {
            let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
            let path =
                path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Blind to: files of other kinds than those in [`EXTENSIONS`].
    use super::*;

    #[test]
    fn files_are_found_and_build_outputs_are_not() {
        let mut files = Vec::new();
        let root = crate::command::root();
        collect(&root, &root, &mut files).expect("the workspace can be read");
        assert!(files.iter().any(|file| file.path == "xtask/src/tidy/mod.rs"));
        assert!(!files.iter().any(|file| file.path.starts_with("target")));
    }
}
