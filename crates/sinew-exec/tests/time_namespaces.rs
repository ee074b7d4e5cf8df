//! Programs whose clocks differ: a time namespace has other clocks and other start times of
//! processes.
//!
//! No test sets the clock of the day: clippy refuses the code that would read it (`clippy.toml`).
//!
//! Blind to: a suspended machine, which a namespace's clocks cannot imitate.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{EXEC, Script, family_of, masks_of, two_cpus, unshare, until};
use sinew_coord::{Decision, Reason, Table};

/// Options of `unshare` for clocks that are a day ahead.
fn tomorrow() -> Option<&'static [&'static str]> {
    const DAY: [&str; 4] = ["--monotonic", "86400", "--boottime", "86400"];
    const ROOT: [&str; 6] = ["-T", "-f", DAY[0], DAY[1], DAY[2], DAY[3]];
    const USER: [&str; 6] = ["-UrT", "-f", DAY[0], DAY[1], DAY[2], DAY[3]];
    unshare("a namespace of time", &[&ROOT, &USER])
}

/// A command with the table's shares that waits for a line; killed at the end.
struct Waiting(Child);

impl Waiting {
    /// Starts it, with these words in front, and waits until it runs.
    fn start(folder: &Path, before: &[&str]) -> Self {
        let words = ["table", "sh", "-c", "echo runs; read line; exit 3"];
        let mut all = before.iter().chain(&[EXEC]).chain(&words);
        let mut command = Command::new(all.next().expect("a word"));
        command.args(all).env("SINEW_TABLE_DIR", folder.join("table"));
        for name in ["SINEW_EXEC", "LD_PRELOAD"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "runs\n");
        Self(child)
    }

    fn end(mut self) {
        writeln!(self.0.stdin.take().expect("its input")).expect("it reads");
        let error = std::io::read_to_string(self.0.stderr.take().expect("its errors"));
        assert_eq!((self.0.wait().unwrap().code(), error.unwrap().as_str()), (Some(3), ""));
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Catches: programs that date each other's starts by different clocks, and so take each other for
/// dead.
#[test]
fn programs_of_two_time_namespaces_take_no_program_for_dead() {
    let Some(tomorrow) = tomorrow() else { return };
    let ahead: Vec<&str> = ["unshare"].iter().chain(tomorrow).copied().collect();
    let folder = tempfile::tempdir().unwrap();
    let first = Waiting::start(folder.path(), &[]);
    let table = Table::open(&folder.path().join("table")).unwrap();
    for _ in 0..5 {
        let other = Waiting::start(folder.path(), &ahead);
        let near = Waiting::start(folder.path(), &[]);
        let running = [first.0.id(), near.0.id()];
        let (rows, log) = (table.read(), table.log());
        let is_there = |pid: &u32| rows.iter().any(|row| row.program.pid == *pid);
        let is_dead = |decision: &Decision| {
            decision.reason == Reason::Died && running.contains(&decision.subject)
        };
        assert!(running.iter().all(is_there) && !log.iter().any(is_dead), "{rows:?} {log:?}");
        other.end();
        near.end();
    }
    first.end();
}

/// Catches: threads that seem to have begun before or after their mask was in force, and so count
/// as bound.
#[test]
fn shares_are_followed_where_the_clocks_are_ahead() {
    let Some([first, second]) = two_cpus() else { return };
    let Some(tomorrow) = tomorrow() else { return };
    let script = Script::new();
    let inner = script.command(&[], &common::words(&["sh", "-c", "sleep 1000 & exec sleep 1000"]));
    let mut command = Command::new("unshare");
    command.args(tomorrow).arg("--kill-child").arg(inner.get_program()).args(inner.get_args());
    for name in ["SINEW_EXEC", "LD_PRELOAD"] {
        command.env_remove(name);
    }
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let mut grants = script.writer_from(&format!("{first} 1"));
    // The child of `unshare`, and its own child.
    let commands = || {
        let inner = family_of(child.id()).split_off(1);
        inner.into_iter().flat_map(family_of).collect::<Vec<u32>>()
    };
    for cpu in [first, second, first] {
        writeln!(grants, "{cpu} 1").unwrap();
        until("both on the CPU", || {
            let masks: Vec<String> = commands().into_iter().flat_map(masks_of).collect();
            masks == [cpu.to_string(), cpu.to_string()]
        });
    }
    drop(grants);
    commands().into_iter().for_each(|pid| common::kill("KILL", pid));
    child.wait().unwrap();
}
