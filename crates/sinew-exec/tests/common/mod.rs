//! Commands under scripted shares.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod compile;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what must happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program that runs commands by a script.
pub(crate) const EXEC: &str = env!("CARGO_BIN_EXE_exec-script");

/// The CPUs of this process, if there are at least two; says that the test is skipped otherwise.
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

/// A named pipe that grants are written to.
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
        // What a developer may have set for other reasons.
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

    /// The pipe, once the command's agent reads it, with a first grant of everything, for which the
    /// command waits.
    pub(crate) fn writer(&self) -> File {
        let mut grants = File::options().write(true).open(&self.path).expect("the agent reads");
        writeln!(grants, "{} 1", mask_of(std::process::id()).expect("an own mask"))
            .expect("the agent reads");
        grants
    }

    /// Opens the pipe for an agent that waits for that, and closes it at once.
    pub(crate) fn let_go(&self) {
        drop(File::options().write(true).open(&self.path).expect("the agent waits"));
    }

    /// The pipe with another first grant.
    pub(crate) fn writer_from(&self, grant: &str) -> File {
        let mut grants = File::options().write(true).open(&self.path).expect("the agent reads");
        writeln!(grants, "{grant}").expect("the agent reads");
        grants
    }

    /// Runs a command while grants go to and fro between one CPU and two, the narrow one first.
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
                // Ends when the agent does, or when the command has ended before it began to read.
                if grants.write_all(line.as_bytes()).is_err()
                    || stopped.recv_timeout(Duration::from_millis(3))
                        != Err(mpsc::RecvTimeoutError::Timeout)
                {
                    return;
                }
            }
        });
        let output = child.wait_with_output().expect("the command ends");
        drop(stop);
        flapping.join().expect("the script was written");
        output
    }
}

/// Waits until `what` holds, without counting on any time.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        thread::yield_now();
    }
}

/// A process's mask as the kernel writes it.
pub(crate) fn mask_of(pid: u32) -> Option<String> {
    status_line(Path::new(&format!("/proc/{pid}/status")), "Cpus_allowed_list:")
}

/// The masks of all threads of a process.
pub(crate) fn masks_of(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| status_line(&thread.path().join("status"), "Cpus_allowed_list:"))
        .collect()
}

pub(crate) fn status_line(path: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

/// Agent and keeper of a command: processes of its name that are in sessions of their own, the
/// agent a child of the keeper.
pub(crate) fn helpers_of(child: &Child) -> Option<(u32, u32)> {
    let environment = fs::read(format!("/proc/{}/environ", child.id())).ok()?;
    let variable = environment
        .split(|&byte| byte == 0)
        .find_map(|variable| variable.strip_prefix(b"SINEW_EXEC="))?;
    let keeper: u32 = std::str::from_utf8(variable).ok()?.split(' ').next()?.parse().ok()?;
    let of = |pid: u32| {
        status_line(Path::new(&format!("/proc/{pid}/status")), "PPid:")?.parse::<u32>().ok()
    };
    let all = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let agent = all.into_iter().find(|pid| of(*pid) == Some(keeper))?;
    Some((agent, keeper))
}

/// A process and its children.
pub(crate) fn family_of(pid: u32) -> Vec<u32> {
    let children = Command::new("pgrep").args(["-P", &pid.to_string()]).output().expect("pgrep");
    let children = String::from_utf8_lossy(&children.stdout)
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect::<Vec<u32>>();
    std::iter::once(pid).chain(children).collect()
}

/// Whether a process is there, and more than a remainder.
pub(crate) fn runs(pid: u32) -> bool {
    status_line(Path::new(&format!("/proc/{pid}/status")), "State:")
        .is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Sends a signal by its name.
pub(crate) fn kill(signal: &str, pid: u32) {
    let kill = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(kill.expect("kill").success());
}

/// Words as the tests write them.
pub(crate) fn words<'a>(words: &[&'a str]) -> Vec<&'a OsStr> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}
