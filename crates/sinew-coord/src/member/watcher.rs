//! The watcher: it finds programs that have ended or are stopped.
//!
//! It sleeps on pidfds of the next few programs in the table and of the coordinator, and removes
//! the rows of the dead. It watches several programs, so that a stopped watcher does not hide the
//! death of the program after it.
//!
//! The kernel sends no event when a process is stopped (SIGSTOP, a shell's Ctrl-Z, a debugger). So
//! the watcher of a program that has less than it could use asks the system about some other
//! programs every 50 ms. It marks a stopped program in its row: that program counts as dormant, and
//! the others get its cores. A program that continues finds the mark in its row and clears it. For
//! an unmodified program, its watchdog does that.

use sinew_sync::atomic::Ordering;

use super::state::{MemberState, RowLocation};
use crate::copies::read;
use crate::decision::Reason;
use crate::error::Error;
use crate::process::ProcessId;
use crate::row::Row;
use crate::sys::{self, PidFd, Ready};
use crate::table::Change;
use crate::table_state::TableState;

/// Programs that each watcher watches.
const WATCHED: usize = 3;
/// Time between two checks for stopped programs.
const STOP_CHECK_MS: i32 = 50;
/// Programs that each check asks about.
const STOP_CHECKED: usize = 4;
/// Time before a failed change is tried again.
const RETRY_MS: i32 = 20;
/// Time between two checks of processes without a descriptor.
const UNWATCHED_MS: i32 = 1_000;

impl MemberState {
    /// Chooses the processes to watch: the rows that follow this one, around the end of the table,
    /// and the coordinator.
    pub(super) fn choose_watched(&self, state: &TableState, slot: u32) {
        let (before, after): (Vec<&Row>, Vec<&Row>) =
            state.rows.iter().filter(|row| row.slot != slot).partition(|row| row.slot < slot);
        let next = after.into_iter().chain(before).take(WATCHED);
        let rows = next.flat_map(|row| [Some(row.program), row.watchdog]).flatten();
        // Every program watches the coordinator, so that its policy and requests end with it.
        let mut processes: Vec<ProcessId> = rows.chain(state.coordinator).collect();
        processes.retain(|&process| process != self.program && Some(process) != self.watchdog);
        processes.dedup();
        let mut watched = self.watched.lock();
        if *watched != processes {
            *watched = processes;
            self.interrupt.signal();
        }
    }

    /// Whether the watcher should check for stops. It should if the program could use more than it
    /// has. It also should if the program itself is stopped and has a watchdog, to see it continue.
    fn needs_stop_checks(&self) -> bool {
        let share = self.share.lock();
        let could_use = self.demand.load(Ordering::Relaxed).min(u64::from(self.offer.max));
        (share.neighbours > 0 && could_use > u64::from(share.threads))
            || self.marked_stopped.load(Ordering::Relaxed)
    }

    /// Wakes the watcher if [`needs_stop_checks`](Self::needs_stop_checks) has changed.
    pub(super) fn update_stop_checks(&self) {
        let checks_stops = self.needs_stop_checks();
        if self.checks_stops.swap(checks_stops, Ordering::Relaxed) != checks_stops {
            self.interrupt.signal();
        }
    }

    /// Asks the system about some other programs, and about the program itself if it is another
    /// process.
    fn check_stopped(&self, turn: usize) {
        let RowLocation { mapping, slot } = self.location();
        let Some(state) = read(&mapping) else { return };
        let mine = self.watchdog.is_none().then_some(slot);
        for row in state.stop_candidates(mine, turn, STOP_CHECKED) {
            let stopped = row.program.is_stopped();
            if stopped != row.stopped {
                // If the table cannot be written now, the next check tries again.
                let _ = self.write_stopped(row, stopped);
            }
        }
    }

    /// Writes into a row whether its program is stopped.
    pub(super) fn write_stopped(&self, row: &Row, stopped: bool) -> Result<(), Error> {
        let reason = if stopped { Reason::Stopped } else { Reason::Continued };
        self.table.change(reason, |state, _| {
            // The process is asked again under the lock: it may have continued and cleared the
            // mark.
            let Some(row) = state.find_mut(row.slot, row.program) else { return Err(Error::Gone) };
            row.stopped = stopped && row.program.is_stopped();
            Ok(Change { subject: Some(row.clone()), wakes_all: false })
        })
    }

    pub(super) fn watch(&self) {
        let (mut reap_failed, mut turn) = (false, 0_usize);
        while !self.is_leaving() {
            self.interrupt.clear();
            let watched = self.watched.lock().clone();
            let processes: Vec<PidFd> =
                watched.iter().filter_map(|process| PidFd::open(process.pid).ok()).collect();
            let is_missing = watched.iter().any(|process| !process.is_alive());
            let happened = match is_missing && !reap_failed {
                true => Some(Ready::Ended(0)),
                false if reap_failed => self.wait_for(&[], RETRY_MS),
                // The system gives no descriptor for some process, so that process is asked about
                // instead.
                false if processes.len() < watched.len() => {
                    match self.wait_for(&processes, UNWATCHED_MS) {
                        None => continue,
                        happened => happened,
                    }
                }
                false => self.wait_checking_stops(&processes, &mut turn),
            };
            reap_failed = match happened {
                Some(Ready::Interrupted) => false,
                _ if self.is_leaving() => false,
                _ => self.reap().is_err(),
            };
        }
    }

    fn wait_for(&self, processes: &[PidFd], ms: i32) -> Option<Ready> {
        sys::first_ready(&processes.iter().collect::<Vec<_>>(), Some(&self.interrupt), ms)
    }

    /// Waits until one of the processes has ended or the eventfd is signalled. Meanwhile it checks
    /// for stopped programs, if that matters.
    fn wait_checking_stops(&self, processes: &[PidFd], turn: &mut usize) -> Option<Ready> {
        loop {
            let waits = if self.needs_stop_checks() { STOP_CHECK_MS } else { -1 };
            let happened = self.wait_for(processes, waits);
            if happened.is_some() || self.is_leaving() {
                return happened;
            }
            self.check_stopped(*turn);
            *turn = turn.wrapping_add(1);
        }
    }

    /// Removes the rows of dead programs. If the own row is missing afterwards, the processes to
    /// watch are unknown, and this fails.
    fn reap(&self) -> Result<(), Error> {
        self.table.change(Reason::Died, |_, _| Ok(Change { subject: None, wakes_all: false }))?;
        if self.follow_row() { Ok(()) } else { Err(Error::Gone) }
    }
}
