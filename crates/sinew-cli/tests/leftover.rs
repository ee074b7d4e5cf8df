//! A table in a folder that its user may not write keeps no command and no coordinator waiting.
//!
//! Blind to: damaged tables; `sinew-coord/tests` covers them.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Program, end, helpers_of, runs, sinew, until};

const NOBODY: u32 = 65_534;

/// A folder with a table that an ordinary user's command could not remove.
struct Leftover {
    _folder: tempfile::TempDir,
    place: PathBuf,
    is_root: bool,
}

impl Leftover {
    /// Prints a reason and returns `None` if no ordinary user can run the command.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("shared");
        fs::create_dir(&place).expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).expect("a mode");
        fs::set_permissions(&place, Permissions::from_mode(0o700)).expect("a mode");
        // Root may write everywhere, so the commands must not be root's.
        let is_root = chown(&place, Some(NOBODY), Some(NOBODY)).is_ok();
        let leftover = Self { _folder: folder, place, is_root };
        let mut probe = leftover.command(&["--version"]);
        let probe = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !probe.is_ok_and(|status| status.success()) {
            println!("skipped: an ordinary user cannot run the programs of this build");
            return None;
        }
        leftover.leave_a_table();
        Some(leftover)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = sinew(&self.place, words);
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn leave_a_table(&self) {
        let mut sleeper = self.command(&["exec", "--", "sh", "-c", "echo runs; read line; exit 3"]);
        let mut sleeper = Program::start(&mut sleeper);
        assert_eq!(sleeper.line(), "runs\n");
        let helpers = helpers_of(&sleeper.child).expect("share agent and watchdog");
        fs::set_permissions(&self.place, Permissions::from_mode(0o500)).expect("a mode");
        assert_eq!(sleeper.end().code(), Some(3));
        until("the end of the helpers", || !runs(helpers.0) && !runs(helpers.1));
        self.has_its_table();
    }

    fn has_its_table(&self) {
        assert_eq!(fs::read_dir(&self.place).expect("a folder").count(), 1, "the file stays");
    }

    fn runs_a_command(&self, when: &str) {
        let output = end(&mut self.command(&["exec", "--", "echo", "next"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && output.stdout == b"next\n", "{when}: {output:?}");
        assert!(said.lines().count() <= 1, "{when}: {said}");
    }
}

/// Catches: a command that searches for another table for ever.
#[test]
fn commands_run_on_a_table_that_cannot_be_removed() {
    let Some(leftover) = Leftover::new() else { return };
    for when in ["next", "after that"] {
        leftover.runs_a_command(when);
    }
    leftover.has_its_table();
}

/// Catches: a coordinator that ignores signals while it searches for another table.
#[test]
fn a_coordinator_on_a_table_that_cannot_be_removed_ends_when_terminated() {
    let Some(leftover) = Leftover::new() else { return };
    for signal in ["TERM", "INT"] {
        let mut command = leftover.command(&["coordinator", "--interval-ms", "20"]);
        let mut coordinator = Program::start(&mut command);
        assert!(coordinator.line_with("policy").contains("table"));
        leftover.runs_a_command("beside a coordinator");
        assert!(coordinator.end_by(signal).success(), "{signal}");
        leftover.runs_a_command("after a coordinator");
    }
    leftover.has_its_table();
}
