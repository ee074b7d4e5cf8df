//! The state of a thread's transaction: snapshot, read set, write set; begin, commit and rollback.
//!
//! Source: Felber, Fetzer, Marlier and Riegel, "Time-Based Software Transactional Memory" (2010),
//! the TinySTM family: a version clock, invisible reads whose snapshot is extended at a younger
//! version, locks at the first write, values written back at the commit. Differences: the record is
//! next to its variable and names the entry of the write set, so a transaction finds its own values
//! without a search; the token that makes a transaction irrevocable is a bit of the clock.
//!
//! # Invariants
//!
//! - I8: every entry of the read set was the word of a record, free and not younger than the
//!   snapshot, when its value was read, or when this transaction locked it before that. All values
//!   read so far were current together at the time of the snapshot. (Opacity.)
//! - I9: records and words in the sets live until the attempt is over: they were accessed through
//!   `&'tx`.
//! - I10: each record locked by this transaction has exactly one entry that points to it, its
//!   *head*, whose index is in the record's word. Further entries of that record are linked from it
//!   and come after it.
//! - I11: a record in the read set that is now locked by this transaction has not changed since it
//!   was read: it was not younger than the snapshot when it was locked.
//! - I18: the first attempt of a transaction has a snapshot of a time that the clock has shown
//!   this thread before, usually at its last commit or extension. Later attempts begin with the
//!   present one.
//! - I14: a transaction that is not `special` is not doomed or untidy, has never aborted, has no
//!   token and no age, and locks early. Its descriptor stays with the thread. So one test at its
//!   end is enough.
//!
//! # Why an old snapshot is enough
//!
//! I18 spares most transactions the read of the clock, which each commit of another processor takes
//! from this one's cache. Let the snapshot be of the time `t`. By C1 this thread sees the locks of
//! all commits up to `t`, and did before the transaction began. So a record that it finds free, not
//! younger than `t`, has the value that it had after those commits, and no later commit has changed
//! it yet. All values read under this snapshot are thus of the state at `t` (I8), and they were
//! current when the transaction began, as those of a present snapshot. A record that changed after
//! `t` is younger, and leads to an extension. A commit finds the clock past `t` and validates. Pins
//! and allocated nodes rest on C1 in the same way, and `catch_up` compares with the real snapshot.

use crate::after::{self, After};
use crate::contention_manager::ContentionManager;
use crate::engine::{STEP, TOKEN, engine};
use crate::fork;
use crate::grace;
use crate::index::Index;
use crate::log::{ONE, Read, Target, Undo, Write};
use crate::record::{LOCKED, OWNER, WAITED};
use crate::run_ahead::{Ahead, PrefetchEnd};
use crate::sites::{Cause, Own, Site};
use crate::threads::{self, AGELESS, Shared};
use crate::tx_error::{TxError, TxResult, Why};
use crate::version::{Chain, from_bits};
use crate::waiting;
use crate::word::{Bits, Word};
use sinew_sync::plant::{Bug, planted};
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

/// The state at the beginning of a part of a transaction.
pub(crate) struct Mark {
    writes: usize,
    undo: usize,
    buffer: usize,
    after: after::Mark,
    /// Of the enclosing part.
    undo_below: usize,
    undo_from: usize,
}

/// Whether the transaction can still abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Optimistic,
    /// Reads ahead for another thread: never locks, never commits. See `ahead`.
    Ahead,
    /// Locks what it writes when it commits. See `late`.
    Late,
    /// Holds the token because it has aborted too often.
    Favoured,
    /// Holds the token by request. Locks what it writes when it commits.
    Irrevocable,
}

/// The state that passes from one attempt to the next, while others use the descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts {
    manager: ContentionManager,
    aborts: u32,
    wants_token: bool,
    age: u64,
}

/// The transaction of a thread, reused for all its transactions.
pub(crate) struct Descriptor {
    /// The time of the snapshot, with [`WAITED`]: values of free records up to here are valid. 0 if
    /// accesses must not take the fast paths. Kept from one transaction to the next (I18); 0 then
    /// if there is no such time.
    pub(crate) limit: u64,
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Vec<Write>,
    /// The word of a record that this thread locks, without the index.
    pub(crate) owner: u64,
    /// Why the attempt can no longer commit.
    pub(crate) doomed: Option<Cause>,
    /// When a wait of this attempt ends at the latest. Cleared by `tidy`.
    pub(crate) deadline: Option<Instant>,
    pub(crate) mode: Mode,
    /// Whether its end involves more than locks, values and counters (I14).
    pub(crate) special: bool,
    /// Whether `after` has work, a pin must end, or the pins must be scanned (`grace`).
    pub(crate) untidy: bool,
    pub(crate) pinned: bool,
    /// Entries of the write set before this one are older than the current part.
    pub(crate) undo_below: usize,
    /// Old values of the current part begin here.
    pub(crate) undo_from: usize,
    /// Whether a log has grown beyond the size that is kept.
    pub(crate) oversized: bool,
    pub(crate) manager: ContentionManager,
    /// Aborted attempts so far.
    pub(crate) aborts: u32,
    /// Whether the next attempt takes the token at its beginning.
    pub(crate) wants_token: bool,
    pub(crate) buffer: Vec<Bits>,
    pub(crate) undo: Vec<Undo>,
    /// The work after this attempt; `None` if there was none yet, or while it is done.
    after: Option<Box<After>>,
    pub(crate) retired: usize,
    pub(crate) rng: fastrand::Rng,
    pub(crate) number: u32,
    pub(crate) shared: Arc<Shared>,
    pub(crate) ahead: Ahead,
    pub(crate) index: Index,
    /// Whether it ends with its transaction, since the thread is past the destructor that would
    /// free it.
    pub(crate) ends_with_transaction: bool,
    site: *const Location<'static>,
    own: Arc<Own>,
    sites: Vec<(Site, Arc<Own>)>,
}

impl Descriptor {
    /// The descriptor of this thread, which gets a number. It has no site yet.
    pub(crate) fn new() -> Self {
        fork::register();
        let (number, shared) = engine().threads.lock().join();
        threads::note_own_number(Some(number));
        Self {
            limit: 0,
            reads: Vec::new(),
            writes: Vec::new(),
            owner: LOCKED | u64::from(number) << 32,
            doomed: None,
            deadline: None,
            mode: Mode::Optimistic,
            special: false,
            untidy: false,
            pinned: false,
            undo_below: 0,
            undo_from: 0,
            oversized: false,
            manager: ContentionManager::Backoff,
            aborts: 0,
            wants_token: false,
            buffer: Vec::new(),
            undo: Vec::new(),
            after: None,
            retired: 0,
            rng: fastrand::Rng::with_seed(u64::from(number)),
            number,
            shared,
            ahead: Ahead::default(),
            index: Index::default(),
            ends_with_transaction: false,
            site: Location::caller(),
            own: Arc::default(),
            sites: Vec::new(),
        }
    }

    /// Makes the descriptor end with its transaction.
    pub(crate) fn end_with_transaction(&mut self) {
        self.ends_with_transaction = true;
        self.special = true;
    }

    /// Returns the thread's number and counters.
    #[cfg_attr(
        any(loom, shuttle),
        expect(dead_code, reason = "a model's threads end with its engine")
    )]
    pub(crate) fn retire(&self) {
        let mut sites = engine().sites.lock();
        self.sites.iter().for_each(|(site, own)| sites.leave(site, own));
        drop(sites);
        threads::note_own_number(None);
        let stock_is_due = engine().threads.lock().leave(self.number, self.retired);
        if stock_is_due {
            grace::advance();
        }
    }

    /// Counts for `site` from here on.
    #[inline(always)]
    pub(crate) fn count_for(&mut self, site: Site) {
        if !std::ptr::eq(self.site, site) {
            self.count_for_cold(site);
        }
    }

    #[cold]
    fn count_for_cold(&mut self, site: Site) {
        self.site = site;
        let known = self.sites.iter().find(|(known, _)| std::ptr::eq(*known, site));
        self.own = match known {
            Some((_, own)) => Arc::clone(own),
            None => {
                let own = engine().sites.lock().enter(site);
                self.sites.push((site, Arc::clone(&own)));
                own
            }
        };
    }

    /// The counters of this thread at the current site.
    #[inline(always)]
    pub(crate) fn counters(&self) -> &Own {
        &self.own
    }

    /// The address of one of the accesses so far, chosen by `random`.
    pub(crate) fn accessed(&self, random: u64) -> Option<usize> {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        let at = usize::try_from(random).unwrap_or_default().checked_rem(reads + writes)?;
        Some(if at < reads {
            self.reads[at].record.addr()
        } else {
            self.writes[at - reads].at.addr()
        })
    }

    /// The time of the snapshot.
    #[inline(always)]
    pub(crate) fn snapshot(&self) -> u64 {
        self.limit & !WAITED
    }

    #[inline(always)]
    fn see_up_to(&mut self, now: u64) {
        self.limit = now | WAITED;
    }

    /// Begins the first attempt of a transaction (I18). The sets are empty.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        if self.limit == 0 {
            self.begin_now();
        }
    }

    /// Begins an attempt with the present snapshot. The sets are empty.
    #[cold]
    pub(crate) fn begin_now(&mut self) {
        self.see_up_to(engine().clock.now());
    }

    pub(crate) fn attempts(&self) -> Attempts {
        let Self { manager, aborts, wants_token, .. } = *self;
        Attempts { manager, aborts, wants_token, age: self.shared.age() }
    }

    pub(crate) fn resume(&mut self, attempts: Attempts) {
        Attempts {
            manager: self.manager,
            aborts: self.aborts,
            wants_token: self.wants_token,
            ..
        } = attempts;
        self.shared.set_age(attempts.age);
        self.special = true;
    }

    /// Records that there is work after the attempt.
    #[inline(always)]
    pub(crate) fn leave_a_mess(&mut self) {
        self.untidy = true;
        self.special = true;
    }

    /// Resets the attempts: the next transaction begins its own.
    pub(crate) fn forget_attempts(&mut self) {
        self.give_token();
        self.aborts = 0;
        self.wants_token = false;
        self.shared.set_age(AGELESS);
        self.special = false;
    }

    /// Returns the token, if this transaction has it.
    pub(crate) fn give_token(&mut self) {
        if self.holds_token() {
            self.mode = Mode::Optimistic;
            engine().gate.give(&engine().clock);
        }
    }

    pub(crate) fn holds_token(&self) -> bool {
        matches!(self.mode, Mode::Favoured | Mode::Irrevocable)
    }

    /// Dooms the attempt: it can no longer commit, because of `cause`.
    #[cold]
    pub(crate) fn doom<T>(&mut self, cause: Cause) -> TxResult<T> {
        self.special = true;
        self.doomed.get_or_insert(cause);
        Err(TxError(Why::Conflict))
    }

    /// Moves the snapshot to the present.
    #[cold]
    pub(crate) fn extend(&mut self) -> TxResult<()> {
        match self.later_snapshot() {
            Some(now) => self.see_up_to(now),
            None => return self.doom(Cause::Changed),
        }
        Ok(())
    }

    /// Makes the snapshot at least as young as `time`: for facts that were read outside of records,
    /// and have held since `time`.
    pub(crate) fn catch_up(&mut self, time: u64) -> TxResult<()> {
        // By I4 nothing has changed since the snapshot of the token's holder.
        if time <= self.pin_time() || self.holds_token() || planted(Bug::StaleNode) {
            return Ok(());
        }
        if !matches!(self.mode, Mode::Ahead | Mode::Late) {
            self.extend()
        } else if self.see_later() {
            Ok(())
        } else if self.mode == Mode::Ahead {
            self.end_ahead(PrefetchEnd::Conflict)
        } else {
            self.doom(Cause::Changed)
        }
    }

    /// The current time, if all variables that were read are unchanged.
    pub(crate) fn later_snapshot(&self) -> Option<u64> {
        let now = engine().clock.now();
        (planted(Bug::NoExtensionValidation) || self.still_valid()).then_some(now)
    }

    /// Whether all variables that were read are unchanged.
    fn still_valid(&self) -> bool {
        self.reads.iter().all(|read| {
            // SAFETY: I9.
            let now = unsafe { &*read.record }.look();
            // A mark is no change; a record that this transaction has locked is unchanged, by I11.
            now == read.seen || now & !WAITED == read.seen & !WAITED || now & OWNER == self.owner
        })
    }

    /// Commits and returns true. If it returns false, a rollback must follow.
    #[inline(always)]
    pub(crate) fn commit(&mut self) -> bool {
        if self.special && !self.ready() {
            return false;
        }
        if !self.writes.is_empty() {
            let before = engine().clock.advance();
            if before != self.snapshot() && !self.validate_or_doom(before) {
                return false;
            }
            let version = (before & !TOKEN) + STEP;
            self.write_back(version);
            // I18: the clock had this version, and C1 holds for it.
            let ahead = if planted(Bug::FutureSnapshot) { STEP } else { 0 };
            self.see_up_to(version + ahead);
        }
        let own = &*self.own;
        own.commits.add(1);
        own.reads.add(self.reads.len() as u64);
        self.reads.clear();
        true
    }

    /// Dooms the transaction unless it may commit although the clock was at `before`, not at its
    /// snapshot. Returns whether it may.
    #[cold]
    fn validate_or_doom(&mut self, before: u64) -> bool {
        if self.holds_token() {
            // By I4 nothing has changed.
            return true;
        }
        if before & TOKEN != 0 {
            self.doomed = Some(Cause::Token);
        } else if !planted(Bug::NoCommitValidation) && !self.still_valid() {
            self.doomed = Some(Cause::Changed);
        }
        self.doomed.is_none()
    }

    /// Stores the values and releases the records, in reverse order. So a head, which precedes the
    /// entries linked from it in the write set, is handled after them.
    #[inline(always)]
    fn write_back(&mut self, version: u64) {
        self.own.writes.add(self.writes.len() as u64);
        let mut before = 0;
        for index in (0..self.writes.len()).rev() {
            // SAFETY: below the length, which nothing in here changes.
            let write = unsafe { *self.writes.get_unchecked(index) };
            let Write { record, before: word, bits, .. } = write;
            let target = write.target();
            if planted(Bug::EarlyRelease) && !record.is_null() {
                // SAFETY: I9.
                unsafe { &*record }.release(version);
            }
            if target.kind == ONE {
                // SAFETY: I9, of a target that is a word.
                unsafe { &*target.at.cast::<Word>() }.store(bits);
            } else {
                self.store_cold(target, bits, version);
            }
            if !record.is_null() {
                before |= word;
                // SAFETY: I9.
                unsafe { &*record }.release(version);
            }
        }
        if before & WAITED != 0 {
            self.wake_cold();
        }
        self.writes.clear();
        self.buffer.clear();
    }

    #[inline(never)]
    fn store_cold(&mut self, target: Target, bits: Bits, version: u64) {
        if target.is_chain() {
            // SAFETY: the chain lives (I9), its record is locked (I10), and the bits of such an
            // entry are a version, which is given up here. No transaction can see versions up to
            // `safe` (`grace`).
            unsafe {
                let chain = &*target.at.cast::<Chain>();
                chain.publish(from_bits(bits), version);
                chain.cut(grace::safe(), |version| {
                    self.after.get_or_insert_default().discard(version);
                });
            }
            self.retired += 1;
            return;
        }
        let from = self.place(bits);
        // SAFETY: I9, for the words of one value.
        let to =
            unsafe { std::slice::from_raw_parts(target.at.cast::<Word>(), target.kind as usize) };
        to.iter().zip(&self.buffer[from..]).for_each(|(to, bits)| to.store(*bits));
    }

    /// The index in the buffer from an entry's bits.
    pub(crate) fn place(&self, bits: Bits) -> usize {
        // SAFETY: the bits of an entry of several words are an initialised number.
        usize::try_from(unsafe { bits.assume_init() }).expect("the place of something in memory")
    }

    #[cold]
    fn wake_cold(&self) {
        let heads = self.writes.iter().filter(|write| !write.record.is_null());
        heads
            .filter(|write| write.before & WAITED != 0)
            .for_each(|write| waiting::wake(write.record));
    }

    /// Begins a part that can be undone by itself: from here on, the old value of an earlier entry
    /// is kept.
    pub(crate) fn begin_part(&mut self) -> Mark {
        let (writes, undo, buffer) = (self.writes.len(), self.undo.len(), self.buffer.len());
        let undo_below = std::mem::replace(&mut self.undo_below, writes);
        let undo_from = std::mem::replace(&mut self.undo_from, undo);
        Mark {
            writes,
            undo,
            buffer,
            after: self.after.as_ref().map_or_else(Default::default, |after| after.mark()),
            undo_below,
            undo_from,
        }
    }

    /// Ends a part. Old values are kept for the enclosing part, if there is one.
    pub(crate) fn end_part(&mut self, mark: &Mark) {
        if planted(Bug::LostPart) && mark.undo_below > 0 {
            self.roll_back_to(self.writes.len(), mark.undo);
        }
        (self.undo_below, self.undo_from) = (mark.undo_below, mark.undo_from);
        if mark.undo_below == 0 && self.undo.len() > mark.undo {
            self.discard_undo(mark.undo);
        }
    }

    /// Undoes everything since `mark`, handlers included. Reads stay in the read set.
    #[cold]
    pub(crate) fn undo_part(&mut self, mark: &Mark) {
        (self.undo_below, self.undo_from) = (mark.undo_below, mark.undo_from);
        self.roll_back_to(mark.writes, mark.undo);
        self.buffer.truncate(mark.buffer);
        self.after().undo(mark.after);
    }

    /// Undoes the writes from `writes` on, and restores the values overwritten since `undo`.
    pub(crate) fn roll_back_to(&mut self, writes: usize, undo: usize) {
        for Undo { index, bits, boxed } in self.undo.drain(undo..).rev() {
            let write = &mut self.writes[index];
            if boxed {
                // SAFETY: the bits are a version, which was never published and leaves the write
                // set here.
                unsafe { self.after.get_or_insert_default().discard(from_bits(write.bits)) };
            }
            if boxed || !planted(Bug::TornUndo) {
                write.bits = bits;
            }
        }
        while self.writes.len() > writes {
            self.take_back_last();
        }
    }

    fn take_back_last(&mut self) {
        let Some(write) = self.writes.pop() else { return };
        if write.target().is_chain() {
            // SAFETY: as in `roll_back_to`.
            unsafe { self.after().discard(from_bits(write.bits)) };
        }
        if self.mode == Mode::Ahead || write.is_unlocked() {
            // Its record was never locked.
        } else if write.record.is_null() {
            self.writes[write.before as usize].next = write.next;
        } else if !(planted(Bug::KeptLock) && std::thread::panicking()) {
            // SAFETY: I9. By I1 the value is unchanged, so is the version.
            unsafe { &*write.record }.release(write.before);
        }
    }

    /// Aborts: undoes all writes. The read set stays, for a transaction that then waits for a
    /// change.
    #[cold]
    pub(crate) fn roll_back(&mut self) {
        self.roll_back_to(0, 0);
        self.buffer.clear();
        if self.mode == Mode::Late {
            self.mode = Mode::Optimistic;
        }
    }

    /// Ends the attempt's pin, after a commit or an abort. Returns the work that remains outside of
    /// the attempt.
    #[cold]
    pub(crate) fn tidy(&mut self) -> Option<Box<After>> {
        if self.pinned {
            self.pinned = false;
            grace::unpin(&self.shared);
        }
        (self.undo_below, self.undo_from) = (0, 0);
        self.discard_undo(0);
        if self.oversized {
            self.free_giants();
        }
        if self.retired >= threads::OFTEN {
            self.retired = 0;
            grace::advance();
        }
        self.deadline = None;
        self.untidy = false;
        self.after.take()
    }

    /// The work after this attempt.
    pub(crate) fn after(&mut self) -> &mut After {
        self.after.get_or_insert_default()
    }

    /// Keeps lists for the work after the next attempt: not moved, because a move would read whole
    /// what has just been written in parts.
    pub(crate) fn keep_lists(&mut self, empty: Box<After>) {
        debug_assert!(empty.is_empty() && self.after.as_ref().is_none_or(|after| after.is_empty()));
        self.after = Some(empty);
    }

    /// Discards old values of parts that were not undone, from this one on.
    #[cold]
    fn discard_undo(&mut self, from: usize) {
        for Undo { bits, .. } in self.undo.drain(from..).filter(|undo| undo.boxed) {
            // SAFETY: the bits are a version that a later one has replaced in the write set.
            unsafe { self.after.get_or_insert_default().discard(from_bits(bits)) };
        }
    }
}
