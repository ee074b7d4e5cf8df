//! The interface between `exec` and a source of shares.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use sinew_coord::ProcessId;
use sinew_topology::CpuSet;

/// A command to run, with its options.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// Its name, or its path.
    pub program: OsString,
    /// The arguments after its name.
    pub arguments: Vec<OsString>,
    /// Its request among the other programs.
    pub share_request: ShareRequest,
    /// Cores that it may have at most.
    pub max: Option<usize>,
    /// The preloaded library may lower teams.
    pub malleable: bool,
    /// Print the settings that are made and left alone to standard error.
    pub verbose: bool,
    /// A library to preload instead of the built-in one, for tests.
    pub library: Option<PathBuf>,
}

/// The description of a command for a source of shares.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its process.
    pub program: ProcessId,
    /// The name of its file.
    pub name: String,
    /// Its request among the other programs.
    pub share_request: ShareRequest,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
    /// Threads that it would run without neighbours.
    pub threads: usize,
    /// It follows its grants. Otherwise it stays on all of `cpus` whatever it is granted.
    pub follows: bool,
    /// Its teams are lowered to its threads, so they take no turns.
    pub lowers: bool,
}

/// A command's share of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// CPUs to run on.
    pub cpus: CpuSet,
    /// Threads to run there: fewer than the CPUs if there are more programs than CPUs.
    pub threads: usize,
}

/// A command's request among other programs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareRequest {
    /// Its part in proportion to the other programs' weights.
    pub weight: f64,
    /// Cores that it should have at least, as long as there are enough.
    pub min: usize,
}

impl Default for ShareRequest {
    fn default() -> Self {
        Self { weight: 1.0, min: 1 }
    }
}

/// The programs that have one thread each on the same processors, because there are more programs
/// than processors, and this command's position among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// This command's position, from 0, in an order that is the same for all.
    pub index: usize,
    /// The number of these programs.
    pub count: usize,
}

/// A function that is called with each grant.
pub type Listener = Box<dyn Fn(Grant) + Send + Sync>;

/// A command's membership among the programs that share the machine.
pub trait ShareSource: Send + Sync {
    /// Calls `listener` with the present grant, if there is one, before it returns. Later it calls
    /// it with every new grant, on another thread.
    ///
    /// # Errors
    ///
    /// The system has no thread for that.
    fn on_change(&self, listener: Listener) -> io::Result<()>;

    /// The number of other programs that need cores.
    fn neighbours(&self) -> usize {
        0
    }

    /// The programs that share this one's processors; `None` if it has its own.
    ///
    /// # Cost
    ///
    /// Reads the table.
    fn crowd(&self) -> Option<Crowd> {
        None
    }

    /// Sets the number of the command's threads that would find work.
    fn set_demand(&self, _threads: usize) {}

    /// Ends the membership. No other method is called afterwards.
    fn leave(&self);
}
