//! `sinew exec` as a user would start it, with a table of its own.
//!
//! What this would miss: what commands do; `sinew-exec/tests` has that.
#![cfg(target_os = "linux")]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use sinew_coord::{Member, Offer, Table};

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.arg("exec").args(words).env("SINEW_TABLE_DIR", folder.join("table"));
    for name in ["SINEW_EXEC", "LD_PRELOAD", "OMP_NUM_THREADS"] {
        command.env_remove(name);
    }
    command
}

fn exec(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().expect("the command")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Would miss: statuses other than these.
#[test]
fn a_command_ends_as_it_would_without() {
    let folder = folder();
    let output = exec(folder.path(), &["--malleable", "--", "sh", "-c", "echo out; echo error >&2; exit 7"]);
    assert_eq!(
        (output.status.code(), output.stdout.as_slice(), output.stderr.as_slice()),
        (Some(7), &b"out\n"[..], &b"error\n"[..])
    );
    assert_eq!(exec(folder.path(), &["sh", "-c", "kill -9 $$"]).status.signal(), Some(9));
}

/// Would miss: what the system says in other languages.
#[test]
fn what_cannot_be_run_is_one_line_with_the_shells_status() {
    let folder = folder();
    for (command, status) in [("no-such-command-here", 127), ("/", 126)] {
        let output = exec(folder.path(), &[command]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status));
        assert!(error.lines().count() == 1 && error.starts_with("sinew: "), "{error}");
    }
}

/// Would miss: a table that fails later.
#[test]
fn without_a_table_there_is_a_warning_and_the_command_runs() {
    let folder = folder();
    std::fs::write(folder.path().join("table"), "a file where a folder should be").unwrap();
    let output = exec(folder.path(), &["echo", "ran"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ran\n"[..]));
    assert!(error.lines().count() == 1 && error.starts_with("sinew: warning: "), "{error}");
}

/// Would miss: settings that are told and not made.
#[test]
fn verbose_says_what_is_set_and_what_is_left() {
    let folder = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command
        .args(["exec", "--verbose", "printenv", "OMP_NUM_THREADS"])
        .env("SINEW_TABLE_DIR", folder.path().join("table"));
    let output = command.env("OMP_NUM_THREADS", "3").env_remove("SINEW_EXEC").output().expect("the command");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.stdout, b"3\n");
    assert!(
        error.contains("left alone: OMP_NUM_THREADS") || error.contains("left alone: affinity"),
        "{error}"
    );
}

/// Would miss: a command that was stopped, as by Ctrl-Z, and keeps its cores, or does not get them back.
#[test]
fn the_cores_of_a_stopped_command_are_the_others_until_it_goes_on() {
    let folder = folder();
    let table = Table::open(&folder.path().join("table")).expect("a table");
    let member = Member::join(&table, Offer::new("test")).expect("a row");
    let all = member.share().threads;
    if all < 2 {
        println!("skipped: one core cannot be divided");
        return;
    }
    let wait_for_all = |has_all: bool| {
        let mut share = member.share();
        while (share.threads == all) != has_all {
            share = member.wait_change(share.epoch, Duration::from_secs(60));
        }
    };
    let mut child = command(folder.path(), &["sleep", "600"]).spawn().expect("the command");
    let signal = |signal: &str, pid: u32| {
        assert!(Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill").success());
    };
    wait_for_all(false);
    for _ in 0..2 {
        signal("-STOP", child.id());
        wait_for_all(true);
        signal("-CONT", child.id());
        wait_for_all(false);
    }
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    wait_for_all(true);
}
