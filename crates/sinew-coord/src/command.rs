//! Commands of `sinew exec`, and the mark by which a process finds that it is a part of one.
//!
//! The mark is a soft limit on the time, in microseconds, for which a real-time thread may compute
//! without a pause. Every descendant of a command inherits it, whatever session and environment it
//! has. It is made of the command's number and start, as the row is, so a later process of the same
//! number has another one.
//!
//! # Not handled
//!
//! A program that sets this limit itself, and a user who has set it: such a process does not find
//! its command. Nor do the processes of a command whose threads `sinew exec` leaves alone; it sets
//! no mark for these.

use crate::offer::Share;
use crate::process::ProcessId;
use crate::row::Row;
use crate::sys;
use crate::table::Table;
use crate::table_state::TableState;

/// The bits of the highest process number on Linux.
const PID_BITS: u32 = 22;

impl ProcessId {
    /// The lowest [`mark`](Self::mark). No user asks for such a limit, and no thread reaches these
    /// hundred thousand years.
    pub const LEAST_MARK: u64 = 1 << 62;

    /// The limit by which the processes of this command are recognised: no other command's.
    pub fn mark(&self) -> u64 {
        let started = (self.started << PID_BITS) & (Self::LEAST_MARK - 1);
        Self::LEAST_MARK | started | u64::from(self.pid)
    }
}

impl Table {
    /// The share of the command that this process is a part of, if `sinew exec` runs it and keeps
    /// its row. Such a process needs no row: the command's row stands for it, and its threads are
    /// moved to the command's cores.
    ///
    /// # Cost
    ///
    /// Some 20 µs for a process of a command; a system call for others.
    pub fn share_of_command(&self) -> Option<Share> {
        let mark = sys::real_time_limit().filter(|limit| *limit >= ProcessId::LEAST_MARK)?;
        let state = self.snapshot();
        let row = row_of(mark, &state).filter(|row| row.watchdog.is_some_and(|w| w.is_alive()))?;
        Some(Share::of(row, &state))
    }
}

/// The row of the command with this mark. A row without a watchdog is a program's own.
fn row_of(mark: u64, state: &TableState) -> Option<&Row> {
    state.rows.iter().find(|row| row.watchdog.is_some() && row.program.mark() == mark)
}

#[cfg(test)]
mod tests {
    //! Blind to: who sets the mark, and whether the row's watchdog is alive; the tests of `sinew
    //! exec` check both.
    use super::*;
    use crate::oracle::honest;

    /// Catches: commands that share a mark, and a mark that a program can reach.
    #[test]
    fn every_command_has_a_mark_of_its_own() {
        let mark = |pid, started| ProcessId { pid, started }.mark();
        let all = [mark(1, 1), mark(1, 2), mark(2, 1), mark((1 << 22) - 1, 0), mark(1, 0)];
        for (index, one) in all.iter().enumerate() {
            assert!(*one >= ProcessId::LEAST_MARK && !all[..index].contains(one));
        }
    }

    /// Catches: the row of a later command of the same number, taken for the one of a command that
    /// has ended; another command's row; a program's own row, taken for its command's.
    #[test]
    fn a_process_finds_the_row_of_its_own_command_only() {
        let mut state = honest();
        state.rows.iter_mut().for_each(|row| row.watchdog = None);
        let command = state.rows[1].program;
        assert_eq!(row_of(command.mark(), &state), None);
        state.rows[1].watchdog = Some(ProcessId::current());
        assert_eq!(row_of(command.mark(), &state), Some(&state.rows[1]));
        let ProcessId { pid, started } = command;
        for other in [ProcessId { pid, started: started + 1 }, ProcessId { pid: pid + 1, started }]
        {
            assert_eq!(row_of(other.mark(), &state), None, "{other:?}");
        }
        state.rows.remove(1);
        assert_eq!(row_of(command.mark(), &state), None);
    }

    /// Catches: a process without a mark, or with a limit of a user's, that finds a command.
    #[test]
    fn a_process_without_a_mark_is_a_part_of_no_command() {
        let state = honest();
        for limit in [0, 1, 200_000, ProcessId::LEAST_MARK - 1] {
            assert_eq!(row_of(limit, &state), None);
        }
    }
}
