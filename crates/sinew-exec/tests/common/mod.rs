//! Commands under scripted shares.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

pub(crate) mod compile;
pub(crate) mod processes;
pub(crate) mod terminal;

pub(crate) use processes::*;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The program that runs commands by a script.
pub(crate) const EXEC: &str = env!("CARGO_BIN_EXE_exec-script");

/// The CPUs of this process, if there are at least two; else prints that the test is skipped.
pub(crate) fn two_cpus() -> Option<[usize; 2]> {
    let list = mask_of(std::process::id())?;
    let set: sinew_topology::CpuSet = list.parse().ok()?;
    let mut cpus = set.iter();
    let pair = cpus.next().zip(cpus.next()).map(|(first, second)| [first, second]);
    if pair.is_none() {
        println!("skipped: shares of one CPU are the whole CPU");
    }
    pair
}

/// A named pipe of grants.
pub(crate) struct Script {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Script {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("grants");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        Self { _folder: folder, path }
    }

    /// A command that runs under this script, with `options` of the script's program.
    pub(crate) fn command(&self, options: &[&OsStr], words: &[&OsStr]) -> Command {
        let mut command = Command::new(EXEC);
        command.args(options).arg(&self.path).args(words);
        // Variables that a developer may have set for other reasons.
        for name in [
            "OMP_NUM_THREADS",
            "OMP_PROC_BIND",
            "OMP_PLACES",
            "GOMP_SPINCOUNT",
            "SINEW_EXEC",
            "LD_PRELOAD",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// The pipe, once the command's share agent reads it, with a first grant of everything. The
    /// command waits for that grant.
    pub(crate) fn writer(&self) -> File {
        let mut grants = File::options().write(true).open(&self.path).expect("the agent reads");
        writeln!(grants, "{} 1", mask_of(std::process::id()).expect("an own mask"))
            .expect("the agent reads");
        grants
    }

    /// Opens the pipe for a share agent that waits for that, and closes it at once.
    pub(crate) fn let_go(&self) {
        drop(File::options().write(true).open(&self.path).expect("the agent waits"));
    }

    /// The pipe with another first grant.
    pub(crate) fn writer_from(&self, grant: &str) -> File {
        let mut grants = File::options().write(true).open(&self.path).expect("the agent reads");
        writeln!(grants, "{grant}").expect("the agent reads");
        grants
    }

    /// Runs a command while grants alternate between one CPU and two, the narrow one first.
    pub(crate) fn run_flapping(&self, command: &mut Command, cpus: [usize; 2]) -> Output {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the script's program");
        let (stop, stopped) = mpsc::channel::<()>();
        let path = self.path.clone();
        let flapping = thread::spawn(move || {
            let mut grants = File::options().write(true).open(path).expect("the agent reads");
            let lines = [
                format!("{} 1\n", cpus[0]),
                format!("{},{} 2\n", cpus[0], cpus[1]),
                format!("{} 1\n", cpus[1]),
            ];
            for line in lines.iter().cycle() {
                // Ends when the share agent does, or when the command ended before the share agent
                // began to read.
                if grants.write_all(line.as_bytes()).is_err()
                    || stopped.recv_timeout(Duration::from_millis(3))
                        != Err(mpsc::RecvTimeoutError::Timeout)
                {
                    return;
                }
            }
        });
        let output = output_of(child, &format!("{command:?}"));
        drop(stop);
        flapping.join().expect("the script was written");
        output
    }
}

/// Converts words for a command line.
pub(crate) fn words<'a>(words: &[&'a str]) -> Vec<&'a OsStr> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}

/// Runs a program while its share changes.
pub(crate) fn flapping(
    options: &[&OsStr],
    program: &Path,
    arguments: &[&OsStr],
    cpus: [usize; 2],
) -> String {
    let script = Script::new();
    let all: Vec<&OsStr> =
        std::iter::once(program.as_os_str()).chain(arguments.iter().copied()).collect();
    let output = script.run_flapping(&mut script.command(options, &all), cpus);
    compile::text(&output, &format!("{options:?} {arguments:?}"))
}
