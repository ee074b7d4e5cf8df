//! The command runs, with one line of warning that names the cause, whatever the system refuses to give.
//!
//! Blind to: limits that are reached only after the command has started.
#![cfg(target_os = "linux")]

mod common;

use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A hang is a failure; a slow machine is none.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `echo ran` with a place in a table of its own, from a shell that first does `setup`.
fn run(setup: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{setup} && exec \"$@\""), "sh", common::EXEC, "table", "/bin/echo", "ran"]);
    end(shell.env("SINEW_TABLE_DIR", folder.path().join("table")))
}

fn end(command: &mut Command) -> Output {
    command.env_remove("SINEW_EXEC").env_remove("LD_PRELOAD");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("a shell");
    let pid = child.id().to_string();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait_with_output().expect("its output")));
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = Command::new("kill").args(["-s", "KILL", &pid]).status();
        panic!("{command:?} never ends");
    })
}

fn warning_of(what: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == b"ran\n", "{what}: {output:?}");
    assert!(said.lines().count() <= 1, "{what}: {said}");
    said
}

/// Catches: a process that the system ends because it makes a file too long.
#[test]
fn a_small_limit_on_file_sizes_is_named_and_kills_nothing() {
    for limit in [0, 1, 8, 64, 140, 200] {
        let said = warning_of(&format!("{limit}"), &run(&format!("ulimit -f {limit}")));
        assert!(said.contains("ulimit -f"), "{limit}: {said}");
    }
}

/// Catches: a warning that there is no such program, or that something ended, where descriptors are too few.
#[test]
fn too_few_descriptors_are_named() {
    for limit in 4..24 {
        let said = warning_of(&format!("{limit}"), &run(&format!("ulimit -n {limit}")));
        assert!(said.is_empty() || said.contains("Too many open files"), "{limit}: {said}");
    }
}

/// Catches: a command that does not start where there is little memory.
#[test]
fn little_memory_is_no_reason_not_to_run() {
    for kilobytes in [6_000, 8_000, 10_000, 20_000] {
        warning_of(&format!("{kilobytes}"), &run(&format!("ulimit -v {kilobytes}")));
    }
}

/// Catches: a path that is believed to lead somewhere.
#[test]
fn a_missing_proc_is_named() {
    let allowed = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh", common::EXEC]);
    command.args(["table", "/bin/echo", "ran"]).env("SINEW_TABLE_DIR", folder.path().join("table"));
    let said = warning_of("no /proc", &end(&mut command));
    assert!(said.contains("/proc"), "{said}");
}
