//! What a program is told, and what it says: a line of JSON each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sinew_apps::collatz::{Kind, Workload};

/// What its tasks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Access {
    /// Arithmetic.
    Compute,
    /// Reads a table in a row.
    Row,
    /// Reads a table at random.
    Random,
}

/// All that a program has to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// What coordinators know it by.
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) tasks: usize,
    pub(crate) repeats: u32,
    /// Of the table; a power of two.
    pub(crate) entries: usize,
    /// The most that work.
    pub(crate) threads: usize,
    pub(crate) way: Way,
    pub(crate) until: Until,
}

/// How it stands to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    /// It has all its threads at any time, wherever the system puts them.
    Anarchic,
    /// Its pool takes part in the table of this folder.
    Shares(PathBuf),
    /// The program takes part in it, and changes its loop when it finds its share changed: it looks
    /// every so many milliseconds, or is told at once (0).
    Looks { folder: PathBuf, every_ms: u64 },
}

/// How long it works.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Until {
    /// Until all tasks are done, once. It says when this part of them is.
    Done { tell_at: Option<f64> },
    /// Until it is told: the tasks are done again and again. Counted is what is done between two
    /// lines.
    Told,
}

/// What it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// It waits to begin.
    Ready,
    /// The part of its tasks is done.
    Part,
    /// All is.
    Done(Finished),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// By its own clock.
    pub(crate) seconds: f64,
    /// Tasks that were done in that time.
    pub(crate) tasks: u64,
    /// How often its loop was changed.
    pub(crate) changes: u64,
    /// What is wrong with its answers.
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
