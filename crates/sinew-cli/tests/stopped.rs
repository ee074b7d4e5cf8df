//! Commands start, run and end under every policy while another process is stopped (Ctrl-Z, a
//! debugger). When it continues, the state is as before.
//!
//! Blind to: a machine so busy that a program seems to be stopped.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;

use common::compile::is_deep;
use common::{
    Program, coordinator, end, helpers_of, is_stopped, kill, policy_words, runs, sinew, until,
};
use sinew_coord::{FailPoint, Policy, Table};

/// A coordinator, a command with a row, and the state to compare.
struct Place {
    folder: tempfile::TempDir,
    policy: Policy,
    coordinator: Program,
    command: Program,
}

impl Place {
    fn new(policy: Policy) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        std::fs::write(&script, "when sh joins sh threads 1\n").expect("a script");
        let place = folder.path().join("shared");
        let words = match policy {
            Policy::Script => vec!["--script".to_owned(), script.display().to_string()],
            _ => policy_words(folder.path(), policy),
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let coordinator = coordinator(&place, &words);
        let command = Program::waiting(&place);
        Self { folder, policy, coordinator, command }
    }

    fn table(&self) -> std::path::PathBuf {
        self.folder.path().join("shared")
    }

    /// Runs a command beside a stopped process.
    fn runs_a_command(&self, beside: &str) {
        let words = ["exec", "sh", "-c", "echo out; echo error >&2; exit 7"];
        let output = end(&mut sinew(&self.table(), &words));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(7), &b"out\n"[..]),
            "{} beside {beside}: {said}",
            self.policy
        );
        let warnings: Vec<&str> = said.lines().filter(|line| *line != "error").collect();
        let is_short = warnings.len() <= 1 && said.lines().count() == warnings.len() + 1;
        assert!(is_short, "{} beside {beside}: {said}", self.policy);
    }

    /// The policy is in force, and the command has its row, as at the beginning.
    fn is_as_before(&self, after: &str) {
        until(&format!("as before: {} after {after}", self.policy), || {
            let table = Table::open(&self.table()).expect("a table");
            let rows = table.read();
            table.policy() == self.policy
                && rows.len() == 1
                && rows[0].program.pid == self.command.id()
                && !rows[0].stopped
        });
    }

    fn stop(&self, what: &str, pid: u32) {
        kill("STOP", pid);
        until("stopped", || is_stopped(pid));
        self.runs_a_command(what);
        kill("CONT", pid);
        until("not stopped", || !is_stopped(pid));
        self.is_as_before(what);
    }

    /// Ends all of them normally; they leave nothing behind.
    fn end(self) {
        let helpers = helpers_of(&self.command.child).expect("share agent and watchdog");
        assert_eq!(self.command.end().code(), Some(3));
        assert!(self.coordinator.end_by("TERM").success());
        until("the end of the helpers", || !runs(helpers.0) && !runs(helpers.1));
        let left =
            || std::fs::read_dir(self.folder.path().join("shared")).map_or(0, Iterator::count);
        until("no file", || left() == 0);
    }
}

/// Catches: a command that waits for a stopped neighbour, agent, watchdog or coordinator; one of
/// those that has lost its row or its policy when it continues.
#[test]
fn commands_run_beside_whatever_is_stopped() {
    for policy in Policy::ALL {
        let place = Place::new(policy);
        let (agent, watchdog) = helpers_of(&place.command.child).expect("share agent and watchdog");
        let others = [("coordinator", place.coordinator.id()), ("command", place.command.id())];
        let all = [("agent", agent), ("watchdog", watchdog)].into_iter().chain(others);
        all.for_each(|(what, pid)| place.stop(what, pid));
        place.end();
    }
}

/// Catches: a command that waits for a stopped program that holds the table's lock, and a neighbour
/// or a coordinator that stays in the old table. Two fail points under each policy; all of them
/// with `SINEW_DEEP=1`.
#[test]
fn commands_run_beside_a_stopped_holder_of_the_lock() {
    for (index, policy) in Policy::ALL.into_iter().enumerate() {
        let place = Place::new(policy);
        for (number, point) in FailPoint::ALL.into_iter().enumerate() {
            if !is_deep() && number % 3 != index % 3 {
                continue;
            }
            let name = format!("{point:?}");
            let holder = Program::neighbour(&place.table(), &["halt", &name]);
            kill("STOP", holder.id());
            until("stopped", || is_stopped(holder.id()));
            place.runs_a_command(&name);
            kill("CONT", holder.id());
            place.runs_a_command(&name);
            assert!(!holder.end_by("KILL").success());
            place.is_as_before(&name);
        }
        place.end();
    }
}

/// Catches: a command that keeps the share of a stopped process that has ended since, and helpers
/// that stay although all processes that they follow were killed while the helpers were stopped.
#[test]
fn what_ends_while_its_helpers_are_stopped_leaves_nothing() {
    for stopped in [[true, false], [false, true], [true, true]] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("shared");
        let command = Program::waiting(&place);
        let (agent, watchdog) = helpers_of(&command.child).expect("share agent and watchdog");
        let pids: Vec<u32> = [agent, watchdog]
            .into_iter()
            .zip(stopped)
            .filter_map(|(pid, stops)| stops.then_some(pid))
            .collect();
        pids.iter().for_each(|pid| kill("STOP", *pid));
        until("stopped", || pids.iter().all(|pid| is_stopped(*pid)));
        assert_eq!(command.end().code(), Some(3));
        let next = Program::waiting(&place);
        until("one row", || rows(&place) == [next.id()]);
        pids.iter().for_each(|pid| kill("CONT", *pid));
        until("the end of the helpers", || !runs(agent) && !runs(watchdog));
        assert_eq!(rows(&place), [next.id()]);
        assert_eq!(next.end().code(), Some(3));
    }
}

/// The ids of the processes that have rows.
fn rows(place: &Path) -> Vec<u32> {
    let table = Table::open(place).expect("a table");
    table.read().iter().map(|row| row.program.pid).collect()
}
