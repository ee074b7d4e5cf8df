//! A process that numbers itself otherwise is not taken for another one.
//!
//! Blind to: namespaces of other kinds.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::compile::build;
use common::{Script, kill, mask_of, two_cpus, until, words};

/// Options of `unshare` for a namespace of process numbers; `None`, and a word, where there is none.
fn namespaces() -> Option<&'static [&'static str]> {
    let allowed = |options: &&&[&str]| {
        let status = Command::new("unshare").args(**options).arg("true").stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let found = [&["-pf"][..], &["-Urpf"][..]].iter().find(allowed).copied();
    if found.is_none() {
        println!("skipped: no namespace of process numbers can be made here");
    }
    found
}

/// A number that no process has here, and that one in a new namespace is soon given.
fn free_number() -> Option<u32> {
    (5..400).find(|number| !Path::new(&format!("/proc/{number}")).exists())
}

const ENDLESS: &str = "int main(void) { for (;;) {
#pragma omp parallel
__asm__ volatile(\"\");
} }";

/// Catches: a process that is taken for the one that has its number outside of its namespace: it has
/// no piece of the share, and the other one's threads are moved.
#[test]
fn a_process_in_a_namespace_of_its_own_is_moved_as_itself() {
    let Some([first, second]) = two_cpus() else { return };
    let (Some(options), Some(number)) = (namespaces(), free_number()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build("gcc", folder.path(), ENDLESS, "endless", &[]) else {
        println!("skipped: gcc cannot build OpenMP programs here");
        return;
    };
    let path = program.display();
    // It is given that number, which on the outside nobody has, whatever is believed.
    let inner = format!("i=2; while [ $i -lt {number} ]; do i=$((i+1)); /bin/true; done; {path} & wait");
    let options = options.join(" ");
    let shell = format!("{path} & unshare {options} --kill-child sh -c '{inner}' & wait");
    let script = Script::new();
    let mut command = script.command(&[std::ffi::OsStr::new("--malleable")], &words(&["sh", "-c", &shell]));
    let mut command = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let grants = script.writer_from(&format!("{first},{second} 2"));
    let is_ours =
        |pid: &u32| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file == program);
    let ours = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(is_ours).collect::<Vec<u32>>()
    };
    let masks = || {
        let mut masks: Vec<String> = ours().into_iter().filter_map(mask_of).collect();
        masks.sort();
        masks
    };
    until("a processor for each of the two", || masks() == [first.to_string(), second.to_string()]);
    ours().into_iter().for_each(|pid| kill("KILL", pid));
    command.wait().unwrap();
    drop(grants);
}

/// Catches: an agent that looks for the command, and its own files, by numbers of another namespace.
#[test]
fn under_a_foreign_proc_the_command_runs_with_one_warning() {
    let Some(options) = namespaces() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(options).args([common::EXEC, "table", "sh", "-c", "echo ran; wait"]);
    command.env("SINEW_TABLE_DIR", folder.path().join("table")).env_remove("SINEW_EXEC");
    let output = command.env_remove("LD_PRELOAD").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == b"ran\n", "{output:?}");
    assert!(said.lines().count() == 1 && said.contains("/proc shows the processes of another"), "{said}");
}
