//! The origin of a figure: machine, program, and the command that repeats it.

use crate::output::say;
use serde::Serialize;
use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The fields of a report about its origin.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) system: String,
    pub(crate) compiler: &'static str,
    /// Cargo's: `release` is the default one, `lto` that of the workspace.
    pub(crate) profile: &'static str,
    pub(crate) commit: String,
    pub(crate) command: String,
    /// Seconds since 1970.
    pub(crate) time: u64,
}

impl Machine {
    /// Looks around; what cannot be found out is called unknown.
    #[allow(clippy::disallowed_methods, reason = "a date for readers, by which nothing decides")]
    pub(crate) fn here() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            processor: processor()
                .unwrap_or_else(|| format!("unknown ({})", std::env::consts::ARCH)),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            system: system(),
            compiler: env!("BENCH_RUSTC"),
            profile: env!("BENCH_PROFILE"),
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            time: since_1970.map_or(0, |time| time.as_secs()),
        }
    }

    /// Prints the origin above the tables.
    pub(crate) fn print(&self) {
        say!("{}, {} cores, {}", self.processor, self.cores, self.system);
        say!("{}, profile {}, commit {}", self.compiler, self.profile, self.commit);
    }
}

fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn system() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, kernel.trim()).trim().to_owned()
}

/// The commit of the sources, marked if they differ from it.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-C", env!("CARGO_MANIFEST_DIR")])
            .args(arguments)
            .output()
            .ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { format!("{commit} with changes") } else { commit })
}

#[cfg(test)]
mod tests {
    //! Blind to: a wrong figure in the origin; it only looks for its presence.
    use super::*;

    #[test]
    fn the_origin_names_everything_that_a_reader_needs() {
        let machine = Machine::here();
        assert!(machine.cores > 0 && machine.compiler.starts_with("rustc"), "{machine:?}");
        assert!(!machine.processor.is_empty() && !machine.command.is_empty(), "{machine:?}");
        let built_in = std::env::current_exe().expect("this program");
        assert!(
            built_in.iter().any(|folder| folder == machine.profile),
            "{machine:?} in {built_in:?}"
        );
    }
}
