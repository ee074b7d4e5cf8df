//! A program in the table: its row, and the two threads that serve it.
//!
//! The *listener* sleeps on the row's futex word. When the word changes, it reads the row and calls
//! the functions that follow the share. The *watcher* finds programs that have ended or are stopped
//! (`watcher`). They are two threads because no call waits for a futex and a descriptor at once. A
//! futex word needs no descriptor, no file and no permission, and ends with its page.
//!
//! # Invariants
//!
//! - M1: the share that a member reports is within its offer, whatever the table contains.
//! - M2: no thread of the program waits for the table, except to join, to leave and to change the
//!   demand. Those take the lock, and give up in the end.
//! - M3: a member whose row is missing (damage, a new file) adds it again, unless its program has
//!   ended. It has one row at most.
//! - M4: a row stops saying that its program is stopped once the program continues: its listener
//!   changes the row, or its watchdog's watcher does.
//! - M5: with neighbours, shares are computed from the program's last demand and settings. The
//!   program publishes them if it knows of its neighbours; else its listener does when it sees
//!   them.
//! - M6: a table that is damaged again and again costs a member one change every two seconds, and
//!   no busy loop.
//!
//! # Cost
//!
//! Two threads that sleep, and wake once every two seconds to check that the file is still the
//! table. A program that could use more than it has asks the system 20 times a second about up to
//! four others, some 15 µs each. Reading the share when nothing has changed: one load.

mod state;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod watcher;

use std::fmt;
use std::sync::{Arc, Once, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sinew_policy::share::LastLoop;
use sinew_sync::atomic::Ordering;
use sinew_sync::lock::Mutex;

use crate::copies::{LiveWord, live_word};
use crate::error::Error;
use crate::offer::{Offer, Share};
use crate::process::ProcessId;
use crate::row::OwnSettings;
use crate::sys;
use crate::table::Table;
use state::MemberState;

/// A program in the table. Dropping it leaves.
///
/// ```
/// use sinew_coord::{Member, Offer, Table};
///
/// # let folder = tempfile::tempdir()?;
/// let table = Table::open(&folder.path().join("shared"))?;
/// let member = Member::join(&table, Offer::new("solver"))?;
/// println!("{} threads on {}", member.share().threads, member.share().cores);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Member {
    shared: Arc<MemberState>,
    threads: Vec<JoinHandle<()>>,
}

impl Member {
    /// Joins the programs in `table`: takes a row, and with it a share.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; [`Error::Gone`] if the program that the row is for has ended;
    /// [`Error::Busy`], [`Error::Forked`], [`Error::System`].
    ///
    /// # Cost
    ///
    /// Some 100 µs with a few programs: a change of the table and two threads.
    pub fn join(table: &Table, offer: Offer) -> Result<Self, Error> {
        let shared = MemberState::new(table, offer)?;
        shared.take_row()?;
        shared.follow_row();
        let mut member = Self { shared: Arc::new(shared), threads: Vec::new() };
        register_for_exit(&member.shared);
        member.start("sinew-listen", MemberState::listen)?;
        member.start("sinew-watch", MemberState::watch)?;
        Ok(member)
    }

    fn start(&mut self, name: &str, body: fn(&MemberState)) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name.into()).stack_size(128 << 10);
        let thread = thread.spawn(move || body(&shared));
        let fail = |error| Error::system("start a thread for", self.shared.table.path(), error);
        self.threads.push(thread.map_err(fail)?);
        Ok(())
    }

    /// The program's present share.
    pub fn share(&self) -> Share {
        self.shared.share.lock().clone()
    }

    /// Counts the shares so far: it changes with every new [`share`](Self::share).
    ///
    /// # Cost
    ///
    /// One load of a line that is rarely written.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Relaxed: the share itself is read under its lock.
        self.shared.epoch.load(Ordering::Relaxed)
    }

    /// Calls `listener` with the present share, and later with every new one, on a thread of this
    /// crate.
    pub fn on_change(&self, listener: impl Fn(&Share) + Send + Sync + 'static) {
        let mut listeners = self.shared.listeners.lock();
        listener(&self.share());
        listeners.push(Box::new(listener));
    }

    /// Waits until the share's epoch differs from `epoch`, or until `time` has passed. Returns the
    /// share then.
    ///
    /// # Blocking
    ///
    /// For `time` at most.
    pub fn wait_change(&self, epoch: u64, time: Duration) -> Share {
        let began = std::time::Instant::now();
        let mut share = self.shared.share.lock();
        while share.epoch == epoch {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            let ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            share = self.shared.changed.wait_for(share, ns);
        }
        share.clone()
    }

    /// Sets the number of threads that would find work now. With 0, other programs get the cores
    /// until the demand rises again.
    ///
    /// # Cost
    ///
    /// Nothing if the demand is unchanged; a change of the table if there are neighbours.
    pub fn set_demand(&self, threads: u32) {
        self.shared.set_demand(threads.min(self.shared.offer.max));
    }

    /// Publishes the settings that the program has decided itself: see [`OwnSettings`].
    ///
    /// # Cost
    ///
    /// An uncontended lock if they are unchanged; else a change of the table.
    pub fn set_own_settings(&self, own_settings: &OwnSettings) {
        if !self.shared.table.is_of_another_process() {
            self.shared.set_own_settings(own_settings);
        }
    }

    /// Publishes the schedule of the program's last loop; `None` if it has run none.
    ///
    /// # Cost
    ///
    /// An uncontended lock and a store.
    pub fn set_last_loop(&self, last: Option<LastLoop>) {
        if !self.shared.table.is_of_another_process() {
            let location = self.shared.location.lock();
            let word = last.map_or(0, LastLoop::to_word);
            self.shared.last_loop.store(word, Ordering::Relaxed);
            live_word(&location.mapping, location.slot, LiveWord::LastLoop)
                .store(word, Ordering::Relaxed);
        }
    }

    /// Adds to the items that the program has completed, in a unit of its own. A coordinator
    /// measures by them how fast the program is on how many cores.
    pub fn report(&self, items: u64) {
        self.add(LiveWord::Progress, items);
    }

    fn add(&self, word: LiveWord, more: u64) {
        if !self.shared.table.is_of_another_process() {
            let location = self.shared.location.lock();
            live_word(&location.mapping, location.slot, word).fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Adds to the time in which the program has waited for slower ranks of its job. A coordinator
    /// measures by it what part of the job's work each rank has.
    ///
    /// # Cost
    ///
    /// An uncontended lock and an addition.
    pub fn report_wait(&self, time: Duration) {
        self.add(LiveWord::Waited, nanoseconds(time));
    }

    /// Adds to the time in which the program has waited for a part of its job's work, which others
    /// give it. A coordinator sees by it that no rank waits for this one.
    ///
    /// # Cost
    ///
    /// As [`report_wait`](Self::report_wait).
    pub fn report_idle(&self, time: Duration) {
        self.add(LiveWord::Idled, nanoseconds(time));
    }

    /// Leaves: removes the row, so that the other programs get its cores. The share keeps its last
    /// value. Dropping the member leaves, too.
    ///
    /// # Cost
    ///
    /// A change of the table, once.
    pub fn leave(&self) {
        if !self.shared.table.is_of_another_process() && !self.shared.is_leaving() {
            self.shared.leave();
        }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.shared.table
    }

    /// The program that the row is for.
    pub fn program(&self) -> ProcessId {
        self.shared.program
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Members of this process. Those of pools that are never dropped leave when the process ends.
static MEMBERS: Mutex<Vec<Weak<MemberState>>> = Mutex::new(Vec::new());

fn register_for_exit(shared: &Arc<MemberState>) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| sys::at_exit(leave_all));
    let mut members = MEMBERS.lock();
    members.retain(|member| member.strong_count() > 0);
    members.push(Arc::downgrade(shared));
}

extern "C" fn leave_all() {
    // If the lock is held, a thread joins now, or did so at the time of a fork. Then the other
    // programs find out that this process has ended.
    let Some(members) = MEMBERS.try_lock() else { return };
    for member in members.iter().filter_map(Weak::upgrade) {
        if !member.table.is_of_another_process() && !member.is_leaving() {
            member.leave();
        }
        // Its threads are still running.
        std::mem::forget(member);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.shared.table.is_of_another_process() {
            // The row and the threads are the parent's.
            std::mem::take(&mut self.threads).into_iter().for_each(std::mem::forget);
            return;
        }
        self.leave();
        let here = thread::current().id();
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != here) {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("name", &self.shared.offer.name)
            .field("program", &self.shared.program)
            .field("share", &self.share())
            .finish_non_exhaustive()
    }
}
