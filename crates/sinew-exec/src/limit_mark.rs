//! The limit by which a command's processes are recognised: a soft limit on the time, in
//! microseconds, for which a real-time thread may compute without a pause. Every descendant
//! inherits it, whatever session and environment it has.
//!
//! # Not handled
//!
//! A program that sets this limit itself, and a user who has set it: then only environment and
//! family lead to the command's processes.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sinew_coord::ProcessId;

use crate::descendants::all_processes;
use crate::sys::real_time_limit;

/// No user asks for such a limit, and no thread reaches these hundred thousand years.
const LEAST: u64 = 1 << 62;
/// The bits of the highest process number on Linux.
const PID_BITS: u32 = 22;

/// The limit of a command: no other command's.
fn limit_of(command: ProcessId) -> u64 {
    LEAST | (command.started << PID_BITS) & (LEAST - 1) | u64::from(command.pid)
}

/// Sets the limit of `command`, which this process is about to become.
pub(crate) fn set(command: ProcessId) {
    let limit = getrlimit(Resource::Rttime);
    if limit.current.is_none_or(|current| current >= LEAST) {
        // Fails if the highest limit is lower, which a user has set.
        let mark = Rlimit { current: Some(limit_of(command)), ..limit };
        let _ = setrlimit(Resource::Rttime, mark);
    }
}

/// All processes with the limit of `command`, but no processes of other users.
///
/// # Cost
///
/// A system call for every process of the machine, some 0.2 µs each.
pub(crate) fn processes_of(command: ProcessId) -> Vec<u32> {
    let limit = Some(limit_of(command));
    all_processes().filter(|&pid| real_time_limit(pid) == limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: commands that share a limit, and a limit that a program can reach.
    #[test]
    fn every_command_has_a_limit_of_its_own() {
        let limit = |pid, started| limit_of(ProcessId { pid, started });
        let all = [limit(1, 1), limit(1, 2), limit(2, 1), limit((1 << 22) - 1, 0), limit(1, 0)];
        for (index, one) in all.iter().enumerate() {
            assert!(*one >= LEAST && !all[..index].contains(one));
        }
        assert!(processes_of(ProcessId { pid: 1, started: 0 }).is_empty());
    }
}
