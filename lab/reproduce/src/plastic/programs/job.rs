//! The messages to and from a program: a line of JSON each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sinew::Mapping;
use sinew_apps::collatz::{Kind, Workload};

use crate::common::place::requested;
use crate::failure::Failure;

/// The kind of its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    /// Arithmetic.
    Compute,
    /// Reads a table in a row.
    Row,
    /// Reads a table at random.
    Random,
}

/// The first line to a program: its job, and the mapping that the user has requested for pools.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) job: Job,
    mapping: Option<String>,
}

impl Order {
    /// This job, with what is requested on this thread.
    pub(crate) fn of(job: &Job) -> Self {
        Self { job: job.clone(), mapping: requested().map(|mapping| mapping.to_string()) }
    }

    /// The requested mapping.
    ///
    /// # Errors
    ///
    /// A text that is none.
    pub(crate) fn mapping(&self) -> Result<Option<Mapping>, Failure> {
        let mapping = self.mapping.as_ref().map(|text| text.parse());
        mapping.transpose().map_err(Failure::impossible)
    }
}

/// The complete job of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Its name in the table.
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) tasks: usize,
    pub(crate) repeats: u32,
    /// Entries of the table; a power of two.
    pub(crate) entries: usize,
    /// The most that work.
    pub(crate) threads: usize,
    /// Whether each of them is pinned to a core of its own, as far as there are enough.
    pub(crate) pinned: bool,
    /// Tasks that a thread takes at a time, unless it is granted another schedule.
    pub(crate) chunk: usize,
    pub(crate) way: Way,
    pub(crate) until: Until,
}

/// Its relation to other programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    /// It has all its threads at any time, and nothing can change its loop or sees its progress.
    Fixed,
    /// It has all its threads at any time, placed by the system unless the user has requested
    /// another mapping.
    Anarchic,
    /// A thread for each of these CPUs, and on it, whatever is requested.
    On(Vec<usize>),
    /// Its pool takes part in the table of this folder.
    Shares(PathBuf),
    /// The program takes part in it, and changes its loop when its share has changed. It checks at
    /// this interval in milliseconds, or is notified at once (0).
    Looks { folder: PathBuf, every_ms: u64 },
}

/// Its duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Until {
    /// Until all tasks are done, once. It says when this part of them is.
    Done { tell_at: Option<f64> },
    /// Until it is told: the tasks are done again and again. Counted is what is done between two
    /// lines.
    Told,
}

/// The messages that it sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It waits to begin.
    Ready,
    /// The part of its tasks is done.
    Part,
    /// All is.
    Done(Finished),
}

/// Its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// By its own clock.
    pub(crate) seconds: f64,
    /// Tasks that were done in that time.
    pub(crate) tasks: u64,
    /// Number of changes: requests for its loop, or shares of its pool after the first one.
    pub(crate) changes: u64,
    /// The error in its results.
    pub(crate) wrong: Option<String>,
}

impl Job {
    pub(crate) fn workload(&self) -> Workload {
        let workload = Workload::uniform(self.tasks, self.repeats);
        match self.access {
            Access::Compute => workload,
            Access::Row => workload.kind(Kind::Stream, self.entries),
            Access::Random => workload.kind(Kind::Irregular, self.entries),
        }
    }
}
