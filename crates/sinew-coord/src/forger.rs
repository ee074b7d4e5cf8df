//! Tables as a hostile program of the same user writes them: for tests.
//!
//! A forger knows the format, so each of its rows can be decoded. Each value is the worst that the
//! format allows: rows in the name of other processes, watchdogs that have ended, grants of all
//! cores, extreme demands, weights and speeds, and decisions dated in the future.

use sinew_cpus::CpuSet;
use sinew_policy::chunk::Schedule;
use sinew_policy::share::{Curve, Grant, MAX_CORES, POINTS, Policy, Request, Speed};

use crate::copies::{FILE_WORDS, LiveWord, live_word, publish, wake_all};
use crate::decision::Reason;
use crate::oracle::{CPUS, row};
use crate::process::ProcessId;
use crate::row::OwnSettings;
use crate::row::{Name, PEERS, Peer, Row, WEIGHTS};
use crate::table::Table;
use crate::table_state::{DECISIONS, REMEMBERED, TableState};
use crate::words::MAX_PROGRAMS;

/// Generates forged tables. The same seed generates the same tables.
#[derive(Debug)]
pub struct Forger {
    random: u64,
    claimed: Vec<ProcessId>,
}

impl Forger {
    /// The rows are in the names of `claimed`, and of processes that do not exist.
    pub fn new(seed: u64, claimed: Vec<ProcessId>) -> Self {
        Self { random: seed, claimed }
    }

    /// Puts a forged state in force in `table`, without its lock, and wakes all members.
    pub fn publish_forged(&mut self, table: &Table) {
        let state = self.state();
        let mapping = table.mapping();
        publish(&mapping, &state);
        for row in &state.rows {
            let words = [LiveWord::Demand, LiveWord::Progress, LiveWord::Waited, LiveWord::Idled];
            for word in words {
                let value = self.number();
                // Relaxed: a live line is statistics.
                live_word(&mapping, row.slot, word)
                    .store(value, sinew_sync::statics::Ordering::Relaxed);
            }
        }
        wake_all(&mapping);
    }

    /// Puts these rows, with slots in ascending order, in force in `table`, without its lock.
    pub fn publish_rows(&self, table: &Table, rows: Vec<Row>) {
        publish(&table.mapping(), &TableState { rows, ..TableState::default() });
    }

    /// Overwrites a random word of the file.
    pub fn overwrite_word(&mut self, table: &Table) {
        let (at, word) = (self.below(FILE_WORDS as u64) as usize, self.number());
        table.mapping().words()[at].store(word, sinew_sync::statics::Ordering::Relaxed);
    }

    /// A forged state that can be encoded and decoded.
    pub(crate) fn state(&mut self) -> TableState {
        let most = if self.below(100) == 0 { MAX_PROGRAMS as u64 } else { 12 };
        let mixed = Policy::Energy { percent: self.below(101) as u8 };
        let policy = if self.chance() { self.one_of(&Policy::ALL) } else { mixed };
        let mut state = TableState { policy, watts: self.curve(), ..TableState::default() };
        for _ in 0..self.below(most + 1) {
            let slot = self.below(MAX_PROGRAMS as u64) as u32;
            let row = self.row(slot);
            state.insert(row);
        }
        state.coordinator = if self.chance() { None } else { Some(self.process()) };
        for _ in 0..self.below(DECISIONS as u64 + 1) {
            let (at, by, changed) = (self.number(), self.number() as u32, self.number() as usize);
            let subject = state.rows.first().cloned();
            state.log_decision(at, by, Reason::Asked, subject.as_ref(), changed);
        }
        let remembered = self.below(REMEMBERED as u64 + 1);
        state.memory = (0..remembered).map(|_| (self.name(), self.curve())).collect();
        state
    }

    fn row(&mut self, slot: u32) -> Row {
        let max = 1 + self.below(MAX_CORES as u64) as u32;
        let request = Request {
            threads: self.maybe(|forger| 1 + forger.below(MAX_CORES as u64) as u32),
            cores: self.maybe(Self::cores),
            schedule: self.maybe(Self::schedule),
        };
        Row {
            slot,
            program: self.process(),
            watchdog: self.maybe(Self::process),
            name: self.name(),
            min: 1 + self.below(u64::from(max)) as u32,
            max,
            weight: self.one_of(&[*WEIGHTS.start(), 1.0, 3.0, *WEIGHTS.end()]),
            mask: self.cores(),
            assigned: self.below(MAX_CORES as u64 + 1) as u32,
            own_settings: OwnSettings {
                schedule: self.maybe(Self::schedule),
                cores: self.cores(),
                job: self.number(),
            },
            grant: Grant { threads: self.below(MAX_CORES as u64 + 1) as u32, cores: self.cores() },
            schedule: self.maybe(Self::schedule),
            epoch: self.number(),
            joined_ns: self.number(),
            demand: self.number() as u32,
            stopped: self.chance(),
            curve: self.curve(),
            request: self.chance().then_some(request),
            peers: [(); PEERS].map(|()| self.peer()),
            ..row(slot)
        }
    }

    /// A process: a claimed one, a claimed one with another start time, or one that does not exist.
    fn process(&mut self) -> ProcessId {
        let unknown =
            ProcessId { pid: 1 + self.below(i32::MAX as u64) as u32, started: self.number() };
        if self.claimed.is_empty() {
            return unknown;
        }
        let at = self.below(self.claimed.len() as u64) as usize;
        let other = ProcessId { started: self.number(), ..self.claimed[at] };
        self.one_of(&[self.claimed[at], self.claimed[at], other, unknown])
    }

    fn name(&mut self) -> Name {
        let long = "x".repeat(40);
        Name::new(self.one_of(&["", "honest", "one", "sh", "\u{1b}[2J", "\u{10ffff}é", &long]))
    }

    /// Cores on the machine and beyond it, never none.
    fn cores(&mut self) -> CpuSet {
        let core = |forger: &mut Self, most: usize| forger.below(most as u64) as usize;
        match self.below(4) {
            0 => CpuSet::first(CPUS),
            1 => CpuSet::first(1 + core(self, MAX_CORES)),
            2 => std::iter::once(core(self, MAX_CORES)).collect(),
            _ => [core(self, CPUS), core(self, CPUS)].into_iter().collect(),
        }
    }

    fn schedule(&mut self) -> Schedule {
        self.one_of(&[Schedule::Static, Schedule::Auto, Schedule::Dynamic { chunk: usize::MAX }])
    }

    fn curve(&mut self) -> Curve {
        let mut points = [Speed::default(); POINTS];
        for point in &mut points {
            let cores = self.below(MAX_CORES as u64 + 2) as u32;
            *point = Speed { cores, rate: self.float() };
        }
        Curve::from_points(points)
    }

    fn peer(&mut self) -> Peer {
        let name = self.name().hash32();
        Peer { name, change: self.float().clamp(-1.0, 1.0) }
    }

    fn float(&mut self) -> f32 {
        let bits = f32::from_bits(self.next() as u32);
        self.one_of(&[0.0, 1.0, -1.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN, bits])
    }

    /// A number near the limits of its range.
    fn number(&mut self) -> u64 {
        let any = self.next();
        self.one_of(&[0, 1, 2, any, 1 << 63, u64::MAX - 1, u64::MAX])
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let made = make(self);
        self.chance().then_some(made)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn chance(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: the reaction of programs to such a table; `tests/hostile.rs` checks that.
    use super::*;
    use crate::oracle::check;

    /// Catches: a policy that panics, never ends, or grants more than the machine has.
    #[test]
    fn forged_tables_are_shared_out_under_every_policy() {
        let tables = if std::env::var_os("SINEW_DEEP").is_some() { 100_000 } else { 3_000 };
        let mut forger = Forger::new(18, vec![ProcessId { pid: 1, started: 1 }]);
        let mut rows = 0;
        for _ in 0..tables {
            let state = forger.state();
            let decoded = TableState::decode(&state.encode()).expect("a forger knows the format");
            rows += decoded.rows.len();
            for policy in Policy::ALL {
                check(TableState { policy, ..decoded.clone() });
            }
        }
        assert!(rows > 4 * tables, "{rows} rows in {tables} tables");
    }
}
