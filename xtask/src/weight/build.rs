//! One build of a package, from nothing, and its figures.

use crate::command;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Settings of the caller that would change what is built, or how.
const SETTINGS: [&str; 7] = [
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// The figures of one build.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) processor_s: f64,
    pub(super) clock_s: f64,
    /// Packages that were compiled, with the program's own.
    pub(super) crates: usize,
    /// The program without symbols.
    pub(super) bytes: u64,
}

/// A package on the disk.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) name: String,
    /// The package of this repository that it must be built on.
    pub(super) library: Option<PathBuf>,
}

impl Folder {
    /// Downloads what it depends on, if that is not on this machine.
    ///
    /// # Errors
    ///
    /// One line: cargo's first one that says why.
    pub(super) fn fetch(&self) -> Result<(), String> {
        if self.library.as_ref().is_some_and(|library| library.ends_with(command::DROP_IN)) {
            // The lock file names the one in the registry.
            self.cargo(&["update", "--package", "rayon-core"])?;
        }
        self.cargo(&["fetch"]).map(|_| ())
    }

    /// Builds it from nothing.
    ///
    /// # Errors
    ///
    /// One line: as above, a program that is not where cargo puts it, or one that was built without
    /// its library.
    pub(super) fn build(&self) -> Result<Cost, String> {
        remove(&self.path.join("target"))?;
        let (messages, processor_s, clock_s) = timed(|| {
            self.cargo(&[
                "build",
                "--release",
                "--offline",
                "--message-format",
                "json-render-diagnostics",
            ])
        })?;
        if self.library.as_ref().is_some_and(|library| !has(&messages, library)) {
            return Err(format!("{}: built without its library of this repository", self.name));
        }
        let program = self.path.join("target").join("release").join(executable("one"));
        let bytes = size(&program)?;
        Ok(Cost { processor_s, clock_s, crates: compiled(&messages), bytes })
    }

    fn cargo(&self, arguments: &[&str]) -> Result<String, String> {
        let mut cargo = cargo(arguments);
        cargo.current_dir(&self.path);
        succeed(&mut cargo).map_err(|why| format!("{}: {why}", self.name))
    }
}

/// Cargo without the caller's settings, which removes the symbols of programs.
pub(super) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command::cargo(arguments);
    SETTINGS.iter().for_each(|name| _ = cargo.env_remove(name));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PROFILE_")) {
            cargo.env_remove(name);
        }
    }
    cargo.env_remove("CARGO_TARGET_DIR").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    cargo
}

/// Runs `command` and returns what it printed.
///
/// # Errors
///
/// One line: it could not be started, or the first line by which it says why it failed.
pub(super) fn succeed(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot start {shown}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(reason(&String::from_utf8_lossy(&output.stderr))),
    }
}

/// Why cargo failed, in one line: its first error with the last cause, which names what is missing.
fn reason(messages: &str) -> String {
    let lines = || messages.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().find(|line| line.starts_with("error")).or_else(|| lines().next_back());
    let cause =
        lines().skip_while(|line| *line != "Caused by:").filter(|line| *line != "Caused by:");
    match (first, cause.last()) {
        (Some(first), Some(cause)) => format!("{first} ({cause})"),
        (Some(first), None) => first.to_owned(),
        (None, _) => "cargo failed without a message".to_owned(),
    }
}

/// The result of `work`, its processor time and its time on the clock, in seconds.
pub(super) fn timed<T>(work: impl FnOnce() -> Result<T, String>) -> Result<(T, f64, f64), String> {
    let (before, start) = (spent()?, Instant::now());
    let done = work()?;
    let clock_s = start.elapsed().as_secs_f64();
    Ok((done, spent()? - before, clock_s))
}

/// Seconds of processor time of all processes that this one has started and that have ended, and
/// of those that they have waited for.
///
/// # Errors
///
/// One line: this system has no `/proc`.
pub(super) fn spent() -> Result<f64, String> {
    let stat = fs::read_to_string("/proc/self/stat");
    let stat = stat.map_err(|error| format!("processor time is read from /proc: {error}"))?;
    ticks_of_children(&stat)
        .map(|ticks| ticks as f64 / TICKS_PER_S)
        .ok_or_else(|| "/proc/self/stat has another form than expected".to_owned())
}

/// Linux counts times for programs in hundredths of a second on all machines of today.
const TICKS_PER_S: f64 = 100.0;

/// The sum of the fields `cutime` and `cstime`.
fn ticks_of_children(stat: &str) -> Option<u64> {
    // The name in parentheses may contain spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ticks(13)? + ticks(14)?)
}

/// How many packages cargo reports as compiled.
fn compiled(messages: &str) -> usize {
    packages(messages).len()
}

/// Whether the package in `folder` is one of them.
fn has(messages: &str, folder: &Path) -> bool {
    let shown = folder.display().to_string();
    packages(messages).iter().any(|package| package.contains(&shown))
}

/// The compiled packages, as cargo names them.
fn packages(messages: &str) -> BTreeSet<String> {
    let compiled = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["reason"] == "compiler-artifact")
            .then(|| message["package_id"].as_str().map(str::to_owned))?
    });
    compiled.collect()
}

pub(super) fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

pub(super) fn size(file: &Path) -> Result<u64, String> {
    let data = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(data.len())
}

/// Removes a folder with all that it contains, if it exists.
pub(super) fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: the fields of this process itself, and a name that shifts the fields.
    #[test]
    fn the_time_of_children_is_read_behind_any_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 300 45 20 0 1 0";
        assert_eq!(ticks_of_children(stat), Some(345));
        assert_eq!(ticks_of_children("7 (short) S 1"), None);
    }

    /// Catches: a build script that counts as a package of its own.
    #[test]
    fn a_package_with_a_build_script_counts_once() {
        let one = |id: &str| format!(r#"{{"reason":"compiler-artifact","package_id":"{id}"}}"#);
        let other = r#"{"reason":"build-script-executed","package_id":"c"}"#;
        assert_eq!(compiled(&format!("{}\n{}\n{}\n{other}\n", one("a"), one("a"), one("b"))), 2);
    }

    /// Catches: a drop-in that cargo does not use, so that rayon's own is measured.
    #[test]
    fn a_package_from_another_folder_is_not_the_wanted_one() {
        let one = |id: &str| format!(r#"{{"reason":"compiler-artifact","package_id":"{id}"}}"#);
        let ours = one("path+file:///here/compat/rayon-core#1.13.100");
        let theirs = one("registry+https://github.com/rust-lang/crates.io-index#rayon-core@1.13.0");
        let folder = Path::new("/here/compat/rayon-core");
        assert!(has(&ours, folder) && !has(&theirs, folder));
    }

    /// Catches: a failure that is told by its last line, which is advice, or by many lines.
    #[test]
    fn a_failed_build_is_told_in_one_line() {
        let messages = "    Updating crates.io index\nerror: failed to get `rayon`\n\nCaused by:\n\
             download of config.json failed\n\nCaused by:\n  could not resolve host\n";
        assert_eq!(reason(messages), "error: failed to get `rayon` (could not resolve host)");
        let full = "error: could not write: No space left on device (os error 28)\nwarning: x\n";
        assert_eq!(reason(full), full.lines().next().unwrap());
        assert_eq!(
            succeed(&mut Command::new("/nowhere/cargo")).unwrap_err().split(':').next(),
            Some("cannot start /nowhere/cargo")
        );
    }
}
