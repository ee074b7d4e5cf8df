//! What is asked of whoever shares out the machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use sinew_topology::CpuSet;

/// A command to run, and how.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// Its name, or its path.
    pub program: OsString,
    /// What follows its name.
    pub arguments: Vec<OsString>,
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
    pub pid: u32,
    /// The name of its file.
    pub name: String,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
    /// Threads that it would run without anybody beside it.
    pub threads: usize,
    /// It follows what it is granted; otherwise it stays on all of `cpus` whatever anybody says.
    pub follows: bool,
}

/// What a command may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// CPUs to run on.
    pub cpus: CpuSet,
    /// Threads to run there: fewer than the CPUs if there are more programs than CPUs.
    pub threads: usize,
}

/// A place among the programs that share the machine.
pub trait Shares: Send + Sync {
    /// Waits until the grant is another one than last time, for `patience` at most; the first call answers at once. `None`: nothing new.
    fn next(&self, patience: Duration) -> Option<Grant>;

    /// Gives the place back. Nothing is asked afterwards.
    fn leave(&self);
}
