//! Variables: their versions and locks.

/// No owner.
const NOBODY: u32 = u32::MAX;

/// One variable.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// The commit that wrote it last.
    version: u64,
    owner: u32,
}

/// All variables, and the number of commits that wrote.
#[derive(Debug)]
pub(super) struct Memory {
    records: Vec<Record>,
    clock: u64,
}

/// The state of a variable that a transaction accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Unlocked, with this version.
    Version(u64),
    /// Locked by this worker.
    Locked(usize),
}

impl Memory {
    pub(super) fn new(variables: u32) -> Self {
        Self { records: vec![Record { version: 0, owner: NOBODY }; variables as usize], clock: 0 }
    }

    /// The number of commits so far: the snapshot of a transaction that begins now.
    pub(super) fn now(&self) -> u64 {
        self.clock
    }

    pub(super) fn look(&self, variable: u32, me: usize) -> Found {
        let record = self.records[variable as usize];
        match record.owner {
            NOBODY => Found::Version(record.version),
            owner if owner as usize == me => Found::Version(record.version),
            owner => Found::Locked(owner as usize),
        }
    }

    /// Whether the variable is unchanged since `version`.
    pub(super) fn is_still(&self, variable: u32, version: u64) -> bool {
        self.records[variable as usize].version == version
    }

    /// Locks the variable. Returns whether the lock is new.
    pub(super) fn lock(&mut self, variable: u32, me: usize) -> bool {
        let record = &mut self.records[variable as usize];
        let is_new = record.owner != me as u32;
        record.owner = me as u32;
        is_new
    }

    /// Releases the locks that `me` still holds of these variables.
    pub(super) fn release(&mut self, variables: &[u32], me: usize) {
        for &variable in variables {
            let record = &mut self.records[variable as usize];
            if record.owner == me as u32 {
                record.owner = NOBODY;
            }
        }
    }

    /// Takes the lock from its owner.
    pub(super) fn break_lock(&mut self, variable: u32) {
        self.records[variable as usize].owner = NOBODY;
    }

    /// Stores the values of these variables.
    pub(super) fn publish(&mut self, variables: &[u32], me: usize) {
        if variables.is_empty() {
            return;
        }
        self.clock += 1;
        for &variable in variables {
            self.records[variable as usize].version = self.clock;
        }
        self.release(variables, me);
    }

    /// Number of locked variables.
    pub(super) fn locked(&self) -> usize {
        self.records.iter().filter(|record| record.owner != NOBODY).count()
    }
}
