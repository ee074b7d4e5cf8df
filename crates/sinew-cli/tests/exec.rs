//! `sinew exec`, started like a user does, with a table of its own.
//!
//! Blind to: the behaviour of commands; `sinew-exec/tests` covers it.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use sinew_coord::{Member, Offer, Table};

const LIMIT: Duration = Duration::from_secs(60);

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

/// A shell command that never ends.
const BUSY: &str = "while :; do :; done";

/// A member of the table that observes whether it has all cores. `None`, and a message, if one core
/// is all.
fn observer(folder: &Path) -> Option<Member> {
    let table = Table::open(&folder.join("table")).expect("a table");
    let member = Member::join(&table, Offer::new("test")).expect("a row");
    if member.share().threads < 2 {
        println!("skipped: one core cannot be divided");
        return None;
    }
    Some(member)
}

fn wait_for_all(member: &Member, has_all: bool) {
    let (mut share, began) = (member.share(), Instant::now());
    let all =
        member.table().read().iter().find(|row| row.name.as_str() == "test").map(|row| row.max);
    while (Some(share.threads) == all) != has_all {
        assert!(began.elapsed() < LIMIT, "{share:?}");
        share = member.wait_change(share.epoch, LIMIT);
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Blind to: other exit statuses.
#[test]
fn a_command_ends_as_it_would_without() {
    let folder = folder();
    let output =
        exec(folder.path(), &["--malleable", "--", "sh", "-c", "echo out; echo error >&2; exit 7"]);
    assert_eq!(
        (output.status.code(), output.stdout.as_slice(), output.stderr.as_slice()),
        (Some(7), &b"out\n"[..], &b"error\n"[..])
    );
    assert_eq!(exec(folder.path(), &["sh", "-c", "kill -9 $$"]).status.signal(), Some(9));
}

/// Blind to: messages of the system in other languages.
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

/// Blind to: a table that fails later.
#[test]
fn without_a_table_there_is_a_warning_and_the_command_runs() {
    let folder = folder();
    std::fs::write(folder.path().join("table"), "a file where a folder should be").unwrap();
    let output = exec(folder.path(), &["echo", "ran"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ran\n"[..]));
    assert!(error.lines().count() == 1 && error.starts_with("sinew: warning: "), "{error}");
}

/// Catches: settings that are printed and not made.
#[test]
fn verbose_says_what_is_set_and_what_is_left() {
    let folder = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command
        .args(["exec", "--verbose", "printenv", "OMP_NUM_THREADS"])
        .env("SINEW_TABLE_DIR", folder.path().join("table"));
    let output =
        command.env("OMP_NUM_THREADS", "3").env_remove("SINEW_EXEC").output().expect("the command");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.stdout, b"3\n");
    assert!(
        error.contains("left alone: OMP_NUM_THREADS") || error.contains("left alone: affinity"),
        "{error}"
    );
}

/// Catches: a sleeping command, such as an idle shell, that keeps its cores, or does not get them
/// back when it works; a child's work that is not counted because its parent sleeps.
#[test]
fn the_cores_of_a_sleeping_command_are_the_others_until_it_works() {
    let folder = folder();
    let Some(member) = observer(folder.path()) else { return };
    let shell = format!("while read line; do sh -c '{BUSY}' & read line; kill $!; done");
    let mut child = command(folder.path(), &["sh", "-c", &shell]);
    let mut child = child.stdin(Stdio::piped()).spawn().expect("the command");
    let mut input = child.stdin.take().expect("its input");
    wait_for_all(&member, false);
    for _ in 0..2 {
        wait_for_all(&member, true);
        writeln!(input, "work").expect("it reads");
        wait_for_all(&member, false);
        writeln!(input, "sleep").expect("it reads");
    }
    drop(input);
    child.wait().expect("it ends");
}

/// Catches: limits that are parsed and not written to the table.
#[test]
fn a_command_has_its_least_and_its_most_cores() {
    let folder = folder();
    let Some(member) = observer(folder.path()) else { return };
    let all = member.share().threads;
    for (option, cores, bounds) in [("--max", "1", (1, 1)), ("--min", "2", (2, all))] {
        let words = [option, cores, "sh", "-c", BUSY];
        let mut child = command(folder.path(), &words).spawn().expect("the command");
        wait_for_all(&member, false);
        let rows = member.table().read();
        let row = rows.iter().find(|row| row.program.pid == child.id()).expect("a row");
        assert_eq!((row.min, row.max), bounds, "{option}");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        wait_for_all(&member, true);
    }
    for (words, says) in [
        (&["--min", "3", "--max", "2", "true"][..], "`--min 3` is more than `--max 2`"),
        (&["--max", "0", "true"], "'0'"),
    ] {
        let output = exec(folder.path(), words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && error.lines().count() == 1 && error.contains(says),
            "{error}"
        );
    }
}

/// Catches: a minimum beyond the machine that is silently ignored.
#[test]
fn a_minimum_beyond_the_machine_is_one_warning_and_the_command_runs() {
    let folder = folder();
    let most = sinew_coord::MAX_CORES.to_string();
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= sinew_coord::MAX_CORES) {
        println!("skipped: this machine has all the cores that can be asked for");
        return;
    }
    let output = exec(folder.path(), &["--min", &most, "echo", "ran"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ran\n"[..]));
    assert!(error.lines().count() == 1 && error.contains(&format!("--min {most} ")), "{error:?}");
}

/// Catches: a Sinew program that takes its initial share for the machine.
#[test]
fn a_sinew_program_is_told_how_many_threads_the_machine_has() {
    let folder = folder();
    let Some(member) = observer(folder.path()) else { return };
    let all = member.share().threads;
    let output = exec(folder.path(), &["printenv", "SINEW_THREADS"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{all}\n"));
}

/// Catches: a stopped command, as by Ctrl-Z, that keeps its cores, or does not get them back.
#[test]
fn the_cores_of_a_stopped_command_are_the_others_until_it_goes_on() {
    let folder = folder();
    let Some(member) = observer(folder.path()) else { return };
    let wait_for_all = |has_all| wait_for_all(&member, has_all);
    let mut child = command(folder.path(), &["sh", "-c", BUSY]).spawn().expect("the command");
    let signal = |signal: &str, pid: u32| {
        assert!(
            Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill").success()
        );
    };
    wait_for_all(false);
    for _ in 0..2 {
        signal("-STOP", child.id());
        wait_for_all(true);
        signal("-CONT", child.id());
        wait_for_all(false);
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    wait_for_all(true);
}
