//! Many commands at a time: each runs as if it were alone, and leaves nothing behind. The start of
//! one command: a few processes and reads.
//!
//! Blind to: durations; `bench -- arrivals` measures them.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{end, unshare, until};

/// As many as arrive in a busy second.
const COMMANDS: usize = 64;

fn start(number: usize, place: &Path) -> Child {
    let mut command = Command::new(common::EXEC);
    let shell = format!("echo {number}; exit {number}");
    command.args(["table", "sh", "-c", &shell]).env("SINEW_TABLE_DIR", place);
    command.env_remove("SINEW_EXEC").env_remove("LD_PRELOAD");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the script's program")
}

/// Processes whose environment names the table.
fn left_behind(place: &Path) -> Vec<String> {
    let variable = format!("SINEW_TABLE_DIR={}", place.display());
    let names = |environment: Vec<u8>| {
        environment.split(|&byte| byte == 0).any(|word| word == variable.as_bytes())
    };
    let all = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    all.filter(|path| fs::read(path.join("environ")).is_ok_and(names))
        .map(|path| path.display().to_string())
        .collect()
}

/// Catches: a command that is lost, or ends with another status, when many start and end at once; a
/// row, a share agent or a watchdog that stays.
#[test]
fn commands_that_arrive_together_all_run_and_leave_no_row_and_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    let children: Vec<Child> = (0..COMMANDS).map(|number| start(number, &place)).collect();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), i32::try_from(number).ok(), "{number}: {said}");
        assert_eq!(output.stdout, format!("{number}\n").into_bytes());
        assert_eq!(said, "", "{number} has had a share");
    }
    until("no share agent and no watchdog", || left_behind(&place).is_empty());
    // The last command has removed the table.
    assert_eq!(fs::read_dir(&place).map_or(0, Iterator::count), 0, "no row");
}

/// Runs a command in a namespace of processes, and returns the number of the next process there:
/// one more than all processes and threads so far.
fn next_number(options: &[&str], place: &Path, words: &[&str]) -> usize {
    let mut command = Command::new("unshare");
    command.args(options).args(["sh", "-c", "\"$@\" || exit; : & echo $!; wait", "sh"]).args(words);
    let output = end(command.env("SINEW_TABLE_DIR", place));
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// The most processes and threads of a command that does nothing, besides its own process: one that
/// forks the watchdog, the watchdog, the share agent, and two threads of the share agent.
const MOST_HELPERS: usize = 5;

/// Catches: a command whose start costs more processes or threads than it did.
#[test]
fn a_command_starts_with_few_processes() {
    let namespaces = [&["-pf", "--mount-proc"][..], &["-Urpf", "--mount-proc"][..]];
    let Some(options) = unshare("a namespace of processes", &namespaces) else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    let plain = next_number(options, &place, &["/bin/true"]);
    for round in 0..5 {
        let under = next_number(options, &place, &[common::EXEC, "table", "/bin/true"]);
        let helpers = under - plain;
        assert!((1..=MOST_HELPERS).contains(&helpers), "{helpers} in round {round}");
    }
}

/// The system calls of a command's process that read or wrote, before it is asked.
fn reads_and_writes(command: &mut Command) -> usize {
    let output = end(command.args(["cat", "/proc/self/io"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    let both = count("syscr: ")
        .zip(count("syscw: "))
        .map(|(reads, writes): (usize, usize)| reads + writes);
    both.unwrap_or_else(|| panic!("{output:?}"))
}

/// Catches: a command whose start reads more of the system than it did, such as all processes.
#[test]
fn a_command_starts_with_few_reads() {
    if !Path::new("/proc/self/io").exists() {
        println!("skipped: this kernel counts no reads");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let plain = reads_and_writes(&mut Command::new("env"));
    let mut under = Command::new(common::EXEC);
    under.arg("table").env("SINEW_TABLE_DIR", folder.path().join("table"));
    let under = reads_and_writes(&mut under);
    // The topology is a few files for each CPU.
    let cpus = sinew_topology::Machine::host().cpus().len();
    assert!(under <= plain + 40 + 8 * cpus, "{under}, and {plain} without a share");
}
