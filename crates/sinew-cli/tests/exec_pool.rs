//! Programs with a pool that shares the machine, under `sinew exec`: they have one row.
//!
//! Blind to: on which processors the pool's threads run; `sinew-exec/tests` checks where commands
//! run.
#![cfg(target_os = "linux")]

mod common;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use common::{Program, SUM, example, kill, sinew, until};
use sinew_coord::{FOLDER_VARIABLE, Row, Table};

/// The path of the example.
fn example_path() -> String {
    example("pool").get_program().to_str().expect("a path in UTF-8").to_owned()
}

/// The command under `sinew exec`. All of its pools share, and have a thread for each processor by
/// their own setting, so that the share alone limits them.
fn exec(folder: &Path, words: &[&str]) -> Command {
    let mut command = sinew(folder, &["exec"]);
    command.args(words).env("SINEW_COORDINATE", "1").env("SINEW_THREADS", cpus().to_string());
    command
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether `sinew exec` moves commands here. Prints a message if it does not, or if one processor
/// is all.
fn moves_commands(folder: &Path) -> bool {
    let output = sinew(folder, &["exec", "--verbose", "true"]).output().expect("it runs");
    let moves = String::from_utf8_lossy(&output.stderr).contains("the command's share");
    if !moves || cpus() < 2 {
        println!("skipped: commands keep their processors here, or there is a single one");
    }
    moves && cpus() >= 2
}

/// The number of threads that the pool of `program` says may work.
fn threads(program: &mut Program) -> usize {
    let input = program.child.stdin.as_mut().expect("its input");
    input.write_all(b"\n").expect("it reads");
    program.line().trim().parse().expect("a number")
}

fn rows(folder: &Path) -> Vec<Row> {
    Table::open(folder).expect("a table").read()
}

/// Ends the input of `program`, whose sum must be right.
fn end(mut program: Program) {
    drop(program.child.stdin.take());
    assert_eq!(program.line(), SUM);
    assert!(program.end().success());
}

/// Waits until each program has a row, and its pool has the threads of that row, which are all in
/// sum. No program ever has a second row. Returns whether each row is that of a command.
fn are_shared<const N: usize>(folder: &Path, mut programs: [&mut Program; N]) -> [bool; N] {
    let ids = programs.each_ref().map(|program| program.id());
    let mut of_commands = [false; N];
    until("a share for each", || {
        let rows = rows(folder);
        let own = ids.map(|id| rows.iter().filter(|row| row.program.pid == id).collect());
        assert!(own.iter().all(|own: &Vec<&Row>| own.len() <= 1), "{rows:?}");
        let own = own.map(|own| own.first().copied().cloned());
        of_commands = own.each_ref().map(|row| row.as_ref().is_some_and(|r| r.watchdog.is_some()));
        let granted = own.map(|row| row.map_or(0, |row| row.grant.threads as usize));
        rows.len() == N
            && granted.iter().sum::<usize>() == cpus()
            && programs
                .iter_mut()
                .zip(granted)
                .all(|(program, granted)| threads(program) == granted)
    });
    of_commands
}

/// Catches: a program that counts twice, by the row of its command and that of its pool; a pool
/// that keeps all its threads beside another program, or fewer after that has ended; a row that
/// stays.
#[test]
fn a_program_has_one_row_and_its_pool_follows_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = &folder.path().join("table");
    if !moves_commands(folder) {
        return;
    }
    let start = || Program::start(&mut exec(folder, &[&example_path(), "-"]));
    let mut first = start();
    assert_eq!(are_shared(folder, [&mut first]), [true]);
    let mut second = start();
    assert_eq!(are_shared(folder, [&mut first, &mut second]), [true; 2]);
    end(second);
    assert_eq!(are_shared(folder, [&mut first]), [true]);
    end(first);
    until("no row", || rows(folder).is_empty());
}

/// Catches: recognition by variables, which a program may clear, and a user may keep.
#[test]
fn variables_neither_hide_the_command_nor_pretend_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = &folder.path().join("table");
    if !moves_commands(folder) {
        return;
    }
    let table = format!("{FOLDER_VARIABLE}={}", folder.display());
    let threads = format!("SINEW_THREADS={}", sinew_coord::layout().cores().len());
    let cleared = ["env", "-i", "SINEW_COORDINATE=1", &threads, &table, &example_path(), "-"];
    let mut cleared = Program::start(&mut exec(folder, &cleared));
    let stale = exec(folder, &[]);
    let stale = stale.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut stale = Program::start(
        Command::new(example_path()).arg("-").envs(stale).env("SINEW_EXEC", "1 3 4"),
    );
    assert_eq!(are_shared(folder, [&mut cleared, &mut stale]), [true, false]);
    end(stale);
    end(cleared);
}

/// Catches: a process that outlives its command and stays without a row, or keeps to the cores that
/// the command had.
#[test]
fn a_pool_that_outlives_its_command_gets_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = &folder.path().join("table");
    if !moves_commands(folder) {
        return;
    }
    let script = format!("exec 3<&0; {} - <&3 & wait", example_path());
    let mut command = Program::start(&mut exec(folder, &["sh", "-c", &script]));
    let mut second = Program::start(&mut exec(folder, &[&example_path(), "-"]));
    assert_eq!(are_shared(folder, [&mut command, &mut second]), [true; 2]);
    kill("KILL", command.id());
    until("a row of its own, and all cores", || {
        let rows = rows(folder);
        let own = rows.iter().find(|row| row.watchdog.is_none());
        rows.len() == 2 && own.is_some_and(|row| row.mask.len() == cpus())
    });
    end(second);
    until("all threads", || threads(&mut command) == cpus());
    drop(command.child.stdin.take());
    assert_eq!(command.line(), SUM);
    until("no row", || rows(folder).is_empty());
}
