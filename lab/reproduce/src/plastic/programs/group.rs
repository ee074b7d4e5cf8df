//! Starting programs, speaking with them, and the coordinator beside them.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sinew_coord::{Coordinator, Policy, Script, Table};

use super::PROGRAM;
use super::job::{Finished, Job, Order, Said};
use crate::failure::Failure;
use crate::process::Spoken;

/// The programs' own name for the folder of their table, in a temporary one.
pub(crate) fn place(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("shared")
}

/// Another process: it waits to begin, or works. Dropping it ends it at once.
pub(crate) struct Program {
    name: String,
    process: Spoken,
}

impl Program {
    /// Starts it, and waits until it is ready.
    pub(crate) fn start(job: &Job) -> Result<Self, Failure> {
        let mut command = Command::new(binary()?);
        let process =
            Spoken::start(&job.name, command.arg(PROGRAM)).map_err(Failure::Impossible)?;
        let mut program = Self { name: job.name.clone(), process };
        program.tell(serde_json::to_string(&Order::of(job)).map_err(Failure::impossible)?)?;
        program.expect(&Said::Ready)?;
        Ok(program)
    }

    /// Says a line: lets it begin, count, or end.
    pub(crate) fn tell(&mut self, line: impl std::fmt::Display) -> Result<(), Failure> {
        self.process.say(line).map_err(Failure::Impossible)
    }

    /// Waits until the part of its tasks is done.
    pub(crate) fn wait_for_part(&mut self) -> Result<(), Failure> {
        self.expect(&Said::Part)
    }

    /// Waits until it is done.
    pub(crate) fn outcome(mut self) -> Result<Finished, Failure> {
        let Said::Done(outcome) = self.said()? else { return Err(self.misunderstood()) };
        self.process.end().map_err(Failure::Impossible)?;
        match &outcome.wrong {
            Some(wrong) => Err(Failure::Wrong(format!("{}: {wrong}", self.name))),
            None => Ok(outcome),
        }
    }

    fn expect(&mut self, expected: &Said) -> Result<(), Failure> {
        if self.said()? == *expected { Ok(()) } else { Err(self.misunderstood()) }
    }

    fn said(&mut self) -> Result<Said, Failure> {
        let line = self.process.line().map_err(Failure::Impossible)?;
        serde_json::from_str(&line).map_err(|_| self.misunderstood())
    }

    fn misunderstood(&self) -> Failure {
        Failure::impossible(format!("{} said something unexpected", self.name))
    }
}

/// This binary, which has to be the command.
fn binary() -> Result<PathBuf, Failure> {
    let binary = std::env::current_exe().map_err(Failure::impossible)?;
    if binary.file_stem().is_some_and(|name| name == "sinew-lab") {
        return Ok(binary);
    }
    Err(Failure::impossible(
        "programs are processes of the `sinew-lab` command, which this is not: run `sinew-lab \
         reproduce`",
    ))
}

/// A coordinator that stands by until this is dropped.
pub(crate) struct Standing {
    end: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// The time in which a coordinator notices that it is to end.
const LOOK: Duration = Duration::from_millis(20);

impl Standing {
    /// Coordinates the table in this folder from now on.
    pub(crate) fn start(folder: &Path, policy: Policy, script: Script) -> Result<Self, Failure> {
        let table = Table::open(folder).map_err(Failure::impossible)?;
        let coordinator =
            Coordinator::start(&table, policy, script).map_err(Failure::impossible)?;
        let (end, ended) = mpsc::channel();
        let thread = thread::spawn(move || stand_by(coordinator, &table, &ended));
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

fn stand_by(mut coordinator: Coordinator, table: &Table, ended: &Receiver<Infallible>) {
    while ended.try_recv() == Err(TryRecvError::Empty) {
        let version = table.version();
        // A table that is busy is looked at again.
        let _ = coordinator.step();
        coordinator.wait(version, LOOK);
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}
