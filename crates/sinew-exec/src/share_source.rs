//! What is asked of whoever shares out the machine.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use sinew_coord::ProcessId;
use sinew_topology::CpuSet;

/// A command to run, and how.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// Its name, or its path.
    pub program: OsString,
    /// What follows its name.
    pub arguments: Vec<OsString>,
    /// Its terms among the other programs.
    pub share_request: ShareRequest,
    /// Cores that it may have at most.
    pub max: Option<usize>,
    /// The preloaded library may lower teams.
    pub malleable: bool,
    /// Say on standard error what is set and what is left alone.
    pub verbose: bool,
    /// Another library than the one built in, for tests.
    pub library: Option<PathBuf>,
}

/// What the sharer is told about a command.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its process.
    pub program: ProcessId,
    /// The name of its file.
    pub name: String,
    /// Its terms among the other programs.
    pub share_request: ShareRequest,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
    /// Threads that it would run without anybody beside it.
    pub threads: usize,
    /// It follows what it is granted; otherwise it stays on all of `cpus` whatever anybody says.
    pub follows: bool,
    /// Its teams are lowered to its threads, so that they do not have to take turns.
    pub lowers: bool,
}

/// What a command may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// CPUs to run on.
    pub cpus: CpuSet,
    /// Threads to run there: fewer than the CPUs if there are more programs than CPUs.
    pub threads: usize,
}

/// What a command is to have among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareRequest {
    /// Its part in proportion to others'.
    pub weight: f64,
    /// Cores that it should have at least, as long as there are enough.
    pub min: usize,
}

impl Default for ShareRequest {
    fn default() -> Self {
        Self { weight: 1.0, min: 1 }
    }
}

/// More programs than processors, each with one thread on all of them, and which of them this one
/// is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// Its number, from 0, in an order that is the same for all.
    pub index: usize,
    /// How many they are.
    pub count: usize,
}

/// Is told of grants.
pub type Listener = Box<dyn Fn(Grant) + Send + Sync>;

/// A place among the programs that share the machine.
pub trait ShareSource: Send + Sync {
    /// Calls `listener` with the present grant, if there is one, before it returns, and from then
    /// on with every new one, on another thread.
    ///
    /// # Errors
    ///
    /// The system has no thread for that.
    fn on_change(&self, listener: Listener) -> io::Result<()>;

    /// How many others there are to leave cores to.
    fn neighbours(&self) -> usize {
        0
    }

    /// Whom it shares its processors with; `None` where it has its own.
    ///
    /// # Cost
    ///
    /// Reads the table.
    fn crowd(&self) -> Option<Crowd> {
        None
    }

    /// Says how many threads of the command would find something to do.
    fn set_demand(&self, _threads: usize) {}

    /// Gives the place back. Nothing is asked afterwards.
    fn leave(&self);
}
