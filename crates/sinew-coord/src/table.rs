//! The table: a small file that every program of a user maps, and changes only under its lock.
//!
//! The file holds two copies of the [`TableState`]. To change the table, a program takes the lock,
//! reads the copy in force, writes the other copy, and puts it in force with one store. If the
//! program dies while it writes, the old copy stays in force, and the kernel frees the lock.
//! Readers take no lock. They read the copy in force, and read again if another copy came into
//! force meanwhile.
//!
//! Beside the copies, each row has a *live line*. Only the row's program writes it: how much work
//! it has, how much it has done, and by which schedule its last loop ran. The line also holds the
//! row's *futex word*, on which the program's listener sleeps.
//!
//! Source: utmp and the headers of System V message queues are tables without a server; double
//! buffering with a version is a seqlock. Differences: the reader verifies a checksum, and checks
//! every value that it reads.
//!
//! # Layout
//!
//! 64-bit words: a head (magic, layout, version in force, claim of the lock, futex word of the
//! table), 256 live lines of 8 words, the two copies.
//!
//! # Invariants
//!
//! - T1: the lowest bit of the version is the number of the copy in force. Only the holder of the
//!   lock writes the other copy.
//! - T2: a lock counts only on the file that has the table's name. A program that locked a renamed
//!   or removed file opens the new file.
//! - T3: no program waits for a dead or a stopped one. The kernel frees the lock of a dead process,
//!   and forked children close the file. If the holder is stopped, or a child of a dead holder
//!   still has the file open, a new file replaces the old one, and all programs move to it
//!   (`lock`).
//! - T4: the name alone says which file is the table; no word in a file does. If the folder forbids
//!   removal, the file keeps its name and stays the table.
//! - T5: every wait and every loop on the table ends within a few seconds, whatever the file and
//!   its folder contain.
//! - T6: the blocks of the file are reserved before it is mapped, so a store never fails for lack
//!   of room.
//!
//! # Orderings
//!
//! - C1: the words of a copy (Relaxed), the version (Release) ↔ the version (Acquire), the words; a
//!   fence (Acquire) and the version again.
//! - C2: a live line is statistics (Relaxed).
//! - C3: the version, then the futex word (AcqRel) and a futex wake-up ↔ the word read (Acquire)
//!   before the version. The kernel compares the word again before the listener sleeps.
//!
//! # Cost
//!
//! A change takes some 30 µs with a few programs. Most of that is the check whether each program is
//! still alive.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sinew_policy::share::{LastLoop, Layout, Place, Policy, Power, Request};
use sinew_sync::lock::Mutex;
use sinew_sync::statics::Ordering;

use crate::copies::{
    CLAIM_AT, FILE_WORDS, LAYOUT_AT, LiveWord, MAGIC_AT, TABLE_FUTEX_AT, VERSION_AT, decode_copy,
    live_word, publish, read, wake_all, wake_sleepers,
};
use crate::decision::{Decision, Reason};
use crate::error::Error;
use crate::fail_point::{FailPoint, reached};
use crate::lock::{self, Claim, LockOutcome};
use crate::process::ProcessId;
use crate::row::{Row, WEIGHTS};
use crate::sys::{self, Mapping};
use crate::table_folder;
use crate::table_state::TableState;

/// Version of the layout and of the kind of lock; a part of the file's name.
const LAYOUT: u64 = 6;
const MAGIC: u64 = u64::from_le_bytes(*b"sinewtbl");

/// Files that may lose their name one after the other before a change gives up.
const MOST_FILES: u32 = 50;

/// The opened table. Clones share it.
#[derive(Debug, Clone)]
pub struct Table {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    folder: PathBuf,
    /// The machine. [`Table::layout`] reads it at its first call, unless [`Table::open_on`] set it.
    layout: OnceLock<Layout>,
    generation: u32,
    /// The process that opened the table.
    process: ProcessId,
    claim: Claim,
    /// The present file. A change holds this lock as well, because the file's own lock does not
    /// exclude threads of the same process.
    file: Mutex<Arc<Mapping>>,
}

impl Table {
    /// Opens the table that the programs of this user share, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] on systems other than Linux; [`Error::Insecure`] if another user
    /// could have made the folder or the file; [`Error::System`].
    ///
    /// # Cost
    ///
    /// About 50 µs.
    pub fn open_default() -> Result<Self, Error> {
        Self::open(&table_folder::default_folder())
    }

    /// Opens the table in `folder`, and creates both, for this user alone, if they do not exist.
    ///
    /// # Errors
    ///
    /// As [`open_default`](Self::open_default).
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Self::open_with(folder, OnceLock::new())
    }

    /// Opens the table of [`open_default`](Self::open_default) if it exists, and creates nothing.
    ///
    /// # Errors
    ///
    /// As [`open_default`](Self::open_default).
    pub fn find_default() -> Result<Option<Self>, Error> {
        let folder = table_folder::default_folder();
        let name = table_folder::file_name(LAYOUT)?;
        let path = folder.join(&name);
        let Some(file) = table_folder::find(&folder, &name)? else { return Ok(None) };
        let mapping = map(file, &path)?;
        Self::new(path, folder, OnceLock::new(), mapping).map(Some)
    }

    /// Whether programs still share this file. The last program to leave removes the file, and the
    /// next one creates another.
    pub fn is_in_force(&self) -> bool {
        is_current(self.path(), &self.mapping())
    }

    /// Opens the table in `folder` for the machine `layout` instead of this one: for tests.
    ///
    /// # Errors
    ///
    /// As [`open_default`](Self::open_default).
    pub fn open_on(folder: &Path, layout: Layout) -> Result<Self, Error> {
        Self::open_with(folder, OnceLock::from(layout))
    }

    fn open_with(folder: &Path, layout: OnceLock<Layout>) -> Result<Self, Error> {
        let path = folder.join(table_folder::file_name(LAYOUT)?);
        let mapping = make(folder, &path)?;
        Self::new(path, folder.to_owned(), layout, mapping)
    }

    fn new(
        path: PathBuf,
        folder: PathBuf,
        layout: OnceLock<Layout>,
        mapping: Mapping,
    ) -> Result<Self, Error> {
        let (generation, file) = (sys::generation(), Mutex::new(Arc::new(mapping)));
        let process = ProcessId::find_current()?;
        let claim = Claim::new(process);
        let shared = Shared { path, folder, layout, generation, process, claim, file };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The process that opened the table.
    pub(crate) fn process(&self) -> ProcessId {
        self.shared.process
    }

    /// The machine that the programs share.
    ///
    /// # Cost
    ///
    /// The first call in a process reads the machine, unless [`open_on`](Self::open_on) set it.
    pub fn layout(&self) -> &Layout {
        self.shared.layout.get_or_init(crate::machine::layout)
    }

    /// Whether this process inherited the table through a fork. Such a table cannot be used.
    pub fn is_of_another_process(&self) -> bool {
        self.shared.generation != sys::generation()
    }

    /// The programs in the table now, read without a lock. Programs that have just died are among
    /// them.
    pub fn read(&self) -> Vec<Row> {
        self.snapshot().rows
    }

    /// The last decisions, the oldest first.
    pub fn log(&self) -> Vec<Decision> {
        self.snapshot().log
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.snapshot().policy
    }

    /// The machine's power, if a coordinator has measured it for [`Policy::Energy`].
    pub fn power(&self) -> Option<Power> {
        Power::through(&self.snapshot().watts)
    }

    /// The number of publications. Every decision and every changed row raises it.
    pub fn version(&self) -> u64 {
        self.mapping().words()[VERSION_AT].load(Ordering::Relaxed)
    }

    /// The clock that all programs share, in nanoseconds. Decisions and rows carry its times.
    pub fn now_ns(&self) -> u64 {
        sys::now_ns()
    }

    /// Waits until the version differs from `version`, or until `time` has passed. Returns the
    /// version then.
    ///
    /// # Blocking
    ///
    /// For `time` at most.
    pub fn wait_change(&self, version: u64, time: Duration) -> u64 {
        let mapping = self.mapping();
        let call = &mapping.words()[TABLE_FUTEX_AT];
        let seen = call.load(Ordering::Acquire); // C3
        if self.version() == version {
            sys::wait(call, seen as u32, time.as_millis().min(1 << 31) as u64);
        }
        self.version()
    }

    /// Changes the weight of a program. `weight` is clamped to [`WEIGHTS`](crate::WEIGHTS); a
    /// weight that is not finite counts as 1.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the table has no such program. As every change: [`Error::Busy`],
    /// [`Error::Forked`], [`Error::System`].
    pub fn set_weight(&self, pid: u32, weight: f64) -> Result<(), Error> {
        let weight =
            if weight.is_finite() { weight.clamp(*WEIGHTS.start(), *WEIGHTS.end()) } else { 1.0 };
        self.change_program(pid, Reason::Weight, |row| row.weight = weight)
    }

    /// Requests threads, cores or a schedule on a program's behalf; [`Policy::Script`] follows the
    /// request. `None` withdraws it.
    ///
    /// # Errors
    ///
    /// As [`set_weight`](Self::set_weight).
    pub fn set_request(&self, pid: u32, request: Option<&Request>) -> Result<(), Error> {
        self.change_program(pid, Reason::Asked, |row| row.request = request.cloned())
    }

    /// Computes shares by another policy from now on.
    ///
    /// # Errors
    ///
    /// As every change: [`Error::Busy`], [`Error::Forked`], [`Error::System`].
    pub fn set_policy(&self, policy: Policy) -> Result<(), Error> {
        self.change(Reason::Policy, |state, _| {
            state.policy = policy;
            Ok(Change { subject: None, wakes_all: false })
        })
    }

    fn change_program(
        &self,
        pid: u32,
        reason: Reason,
        edit: impl Fn(&mut Row),
    ) -> Result<(), Error> {
        self.change(reason, |state, _| {
            let mut subject = None;
            for row in state.rows.iter_mut().filter(|row| row.program.pid == pid) {
                edit(row);
                subject = Some(row.clone());
            }
            subject.map(|row| Change { subject: Some(row), wakes_all: false }).ok_or(Error::Gone)
        })
    }

    /// The state in force, or an empty one if it cannot be read. The next change repairs the table.
    pub(crate) fn snapshot(&self) -> TableState {
        let mapping = self.mapping();
        let mut state = read(&mapping).unwrap_or_default();
        for row in &mut state.rows {
            let word = |word| live_word(&mapping, row.slot, word).load(Ordering::Relaxed);
            row.progress = word(LiveWord::Progress);
            row.waited_ns = word(LiveWord::Waited);
            row.idled_ns = word(LiveWord::Idled);
            row.last_loop = LastLoop::from_word(word(LiveWord::LastLoop));
        }
        state
    }

    pub(crate) fn mapping(&self) -> Arc<Mapping> {
        Arc::clone(&self.shared.file.lock())
    }

    /// Changes the table. `edit` changes the state; then all shares are computed again, and the
    /// programs whose share changed are woken.
    pub(crate) fn change(
        &self,
        reason: Reason,
        edit: impl FnOnce(&mut TableState, &Mapping) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        if self.is_of_another_process() {
            return Err(Error::Forked);
        }
        self.read_machine_before_lock(reason);
        let mut file = self.shared.file.lock();
        self.lock_file(&mut file)?;
        let locked = LockedTable { table: self, mapping: &file };
        let result = locked.change(reason, edit);
        drop(locked);
        result
    }

    /// Reads the machine before the lock is taken, if a share will depend on it. Reading the
    /// machine takes long beside a change.
    fn read_machine_before_lock(&self, reason: Reason) {
        let newcomers = usize::from(reason == Reason::Arrived);
        if self.snapshot().rows.len() + newcomers > 1 {
            self.layout();
        }
    }

    /// Takes the lock of the file that has the name (T2). Creates a new file if it must (T3), and
    /// gives up in the end (T5).
    fn lock_file(&self, file: &mut Arc<Mapping>) -> Result<(), Error> {
        let began = std::time::Instant::now();
        for _ in 0..MOST_FILES {
            if !self.is_current(file) {
                *file = Arc::new(make(&self.shared.folder, &self.shared.path)?);
            }
            let claim = &file.words()[CLAIM_AT];
            let got = lock::acquire(file, claim, self.shared.claim, began)
                .map_err(|error| Error::system("lock", &self.shared.path, error))?;
            match got {
                LockOutcome::Lock => {
                    reached(FailPoint::Locked);
                    if self.is_current(file) {
                        reached(FailPoint::Held);
                        return Ok(());
                    }
                    lock::release(file, claim, self.shared.claim);
                }
                LockOutcome::Stuck => self.replace(file)?,
                LockOutcome::Busy => return Err(Error::Busy),
            }
        }
        Err(Error::system(
            "keep",
            &self.shared.path,
            std::io::Error::other("each new file loses its name"),
        ))
    }

    fn is_current(&self, file: &Mapping) -> bool {
        is_current(&self.shared.path, file)
    }

    /// Removes the name of a file whose lock will not be freed. The next program that looks creates
    /// a new file. Members of the old file find that out and join the new one.
    fn replace(&self, file: &Mapping) -> Result<(), Error> {
        if is_current(&self.shared.path, file)
            && let Err(error) = fs::remove_file(&self.shared.path)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(Error::system("replace", &self.shared.path, error));
        }
        wake_all(file);
        Ok(())
    }
}

/// The subject of a change.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) subject: Option<Row>,
    /// Whether programs joined or left, so that all of them have to look.
    pub(crate) wakes_all: bool,
}

/// The table while its lock is held.
struct LockedTable<'t> {
    table: &'t Table,
    mapping: &'t Mapping,
}

impl LockedTable<'_> {
    fn change(
        &self,
        reason: Reason,
        edit: impl FnOnce(&mut TableState, &Mapping) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        let now = sys::now_ns();
        let (mut state, damaged) = self.load();
        let dead = self.reap(&mut state);
        let abandoned = end_dead_coordination(&mut state);
        let change = edit(&mut state, self.mapping)?;
        for row in &mut state.rows {
            row.demand =
                live_word(self.mapping, row.slot, LiveWord::Demand).load(Ordering::Relaxed) as u32;
        }
        let changed = self.compute_shares(&mut state);
        let by = std::process::id();
        for row in &dead {
            state.log_decision(now, by, Reason::Died, Some(row), changed.len());
        }
        if abandoned {
            state.log_decision(now, by, Reason::Policy, None, changed.len());
        }
        if damaged {
            state.log_decision(now, by, Reason::Repaired, None, changed.len());
        }
        // Measurements are frequent; one that changes no share is not logged.
        let is_news = reason != Reason::Measured || !changed.is_empty();
        if reason != Reason::Died && is_news {
            state.log_decision(now, by, reason, change.subject.as_ref(), changed.len());
        }
        state.version = publish(self.mapping, &state);
        reached(FailPoint::Published);
        let wakes_all = change.wakes_all || damaged || abandoned || !dead.is_empty();
        self.wake_members(&state, &changed, wakes_all);
        if state.rows.is_empty() && state.coordinator.is_none() {
            self.remove();
        }
        Ok(())
    }

    /// Computes all shares again. Returns the slots whose share changed.
    ///
    /// A program that is alone and gets its whole mask does not need the machine, so it is not
    /// read.
    fn compute_shares(&self, state: &mut TableState) -> Vec<u32> {
        let is_unknown = self.table.shared.layout.get().is_none();
        match state.lone_mask().filter(|_| is_unknown) {
            Some(mask) => state.compute_shares(&Layout::new(mask.iter().map(lone_place))),
            None => state.compute_shares(self.table.layout()),
        }
    }

    /// The state in force; else the previous state; else an empty one, to which the missing members
    /// add their rows again.
    fn load(&self) -> (TableState, bool) {
        if let Some(state) = read(self.mapping) {
            return (state, false);
        }
        let version = self.mapping.words()[VERSION_AT].load(Ordering::Relaxed);
        let older = decode_copy(self.mapping, version.wrapping_add(1));
        (TableState { version, ..older.unwrap_or_default() }, version != 0)
    }

    /// Removes the rows of dead programs, and of programs whose watchdog is dead.
    fn reap(&self, state: &mut TableState) -> Vec<Row> {
        let is_alive = |row: &Row| {
            row.program.is_alive() && row.watchdog.is_none_or(|watchdog| watchdog.is_alive())
        };
        let dead: Vec<Row> = state.rows.iter().filter(|row| !is_alive(row)).cloned().collect();
        for row in &dead {
            state.remove(row.slot, row.program);
        }
        dead
    }

    fn wake_members(&self, state: &TableState, changed: &[u32], wakes_all: bool) {
        for row in state.rows.iter().filter(|row| wakes_all || changed.contains(&row.slot)) {
            wake_sleepers(live_word(self.mapping, row.slot, LiveWord::Futex));
        }
        wake_sleepers(&self.mapping.words()[TABLE_FUTEX_AT]);
    }

    /// Removes the file when the last program leaves, and the default folder if it is empty then. A
    /// file that cannot be removed stays the table (T4).
    fn remove(&self) {
        let shared = &self.table.shared;
        let _ = fs::remove_file(&shared.path);
        wake_all(self.mapping);
        if shared.folder == table_folder::default_folder() {
            let _ = fs::remove_dir(&shared.folder);
        }
    }
}

impl Drop for LockedTable<'_> {
    fn drop(&mut self) {
        lock::release(self.mapping, &self.mapping.words()[CLAIM_AT], self.table.shared.claim);
    }
}

/// The place of a CPU on a machine that was not read.
fn lone_place(cpu: usize) -> Place {
    Place { cpu, core: cpu, cache: 0, package: 0 }
}

/// Ends the coordination of a dead process. Returns whether there was one.
fn end_dead_coordination(state: &mut TableState) -> bool {
    let is_dead = state.coordinator.is_some_and(|coordinator| !coordinator.is_alive());
    if is_dead {
        state.end_coordination();
    }
    is_dead
}

/// Opens and maps the file; creates it if it does not exist.
fn make(folder: &Path, path: &Path) -> Result<Mapping, Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    map(table_folder::make(folder, name)?, path)
}

/// Maps the file, and writes the head of a new or broken file.
fn map(file: File, path: &Path) -> Result<Mapping, Error> {
    let bytes = (FILE_WORDS * size_of::<u64>()) as u64;
    let fail = |error| Error::system("map", path, error);
    let is_reserved = sys::reserve(&file, bytes)
        .map_err(|error| Error::system("reserve room for", path, error))?;
    if file.metadata().map_err(fail)?.len() != bytes {
        file.set_len(bytes).map_err(fail)?;
    }
    let mapping = Mapping::new(file, FILE_WORDS).map_err(fail)?;
    if !is_reserved {
        mapping.populate().map_err(|error| Error::system("reserve room for", path, error))?;
    }
    let words = mapping.words();
    if words[MAGIC_AT].load(Ordering::Relaxed) != MAGIC
        || words[LAYOUT_AT].load(Ordering::Relaxed) != LAYOUT
    {
        // Another process that opens the file at the same time stores the same words.
        words[LAYOUT_AT].store(LAYOUT, Ordering::Relaxed);
        words[MAGIC_AT].store(MAGIC, Ordering::Relaxed);
    }
    Ok(mapping)
}

/// Whether the file has the name (T4) and its full length.
pub(crate) fn is_current(path: &Path, file: &Mapping) -> bool {
    crate::private::is_named(file.file(), path) && file.is_whole()
}
