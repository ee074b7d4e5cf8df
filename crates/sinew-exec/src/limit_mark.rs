//! The limit by which a command's processes are recognised ([`ProcessId::mark`]).
//!
//! # Not handled
//!
//! A program that sets this limit itself, and a user who has set it: then only environment and
//! family lead to the command's processes.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sinew_coord::ProcessId;

use crate::descendants::all_processes;
use crate::sys::real_time_limit;

/// Sets the limit of `command`, which this process is about to become.
pub(crate) fn set(command: ProcessId) {
    let limit = getrlimit(Resource::Rttime);
    if limit.current.is_none_or(|current| current >= ProcessId::LEAST_MARK) {
        // Fails if the highest limit is lower, which a user has set.
        let mark = Rlimit { current: Some(command.mark()), ..limit };
        let _ = setrlimit(Resource::Rttime, mark);
    }
}

/// All processes with the limit of `command`, but no processes of other users.
///
/// # Cost
///
/// A system call for every process of the machine, some 0.2 µs each.
pub(crate) fn processes_of(command: ProcessId) -> Vec<u32> {
    let limit = Some(command.mark());
    all_processes().filter(|&pid| real_time_limit(pid) == limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a mark of no command that some process has.
    #[test]
    fn no_process_has_the_limit_of_a_command_that_never_was() {
        assert!(processes_of(ProcessId { pid: 1, started: 0 }).is_empty());
    }
}
