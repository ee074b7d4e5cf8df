//! The whole table: its rows, policy, decisions and remembered speeds, as values and as words.
//!
//! Pure: no clock, no file. A change edits a [`TableState`] under the lock, and the table publishes
//! the state as a whole.
//!
//! # Invariants
//!
//! - S1: a decoded state has at most [`MAX_PROGRAMS`] rows, in ascending order of their slots, and
//!   no two rows share a slot.
//! - S2: `decode` refuses words that [`TableState::encode`] did not write, or returns a state that
//!   keeps every invariant of states.

use sinew_cpus::CpuSet;
use sinew_policy::share::{Curve, Effects, Grant, Layout, Policy, Power, Program, decide};

use crate::decision::{Decision, Reason};
use crate::process::ProcessId;
use crate::row::{Name, ROW_WORDS, Row, read_curve, read_process, write_curve, write_process};
use crate::words::MAX_PROGRAMS;
use crate::words::{Reader, Writer, checksum};

/// Decisions that the table remembers.
pub(crate) const DECISIONS: usize = 64;
/// Programs whose speed the table remembers.
pub(crate) const REMEMBERED: usize = 64;

const HEAD_WORDS: usize = 24;
const MEMORY_WORDS: usize = 12;
/// The most words that a state takes.
pub(crate) const STATE_WORDS: usize =
    HEAD_WORDS + MAX_PROGRAMS * ROW_WORDS + DECISIONS * Decision::WORDS + REMEMBERED * MEMORY_WORDS;

/// The contents of the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TableState {
    /// Counts publications.
    pub(crate) version: u64,
    pub(crate) policy: Policy,
    pub(crate) coordinator: Option<ProcessId>,
    /// The machine's watts by the number of busy cores: see [`Power::through`].
    pub(crate) watts: Curve,
    pub(crate) rows: Vec<Row>,
    /// The oldest first.
    pub(crate) log: Vec<Decision>,
    /// The least recent first.
    pub(crate) memory: Vec<(Name, Curve)>,
}

impl TableState {
    /// The words: the length, the checksum, and the encoded state.
    pub(crate) fn encode(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(HEAD_WORDS + self.rows.len() * ROW_WORDS + 2048);
        let mut out = Writer(&mut words);
        out.put(0);
        out.put(0);
        out.put(self.version);
        out.put(self.policy.code());
        write_process(self.coordinator, &mut out);
        write_curve(&self.watts, &mut out);
        out.pair(self.rows.len() as u32, self.log.len() as u32);
        out.put(self.memory.len() as u64);
        self.rows.iter().for_each(|row| row.encode(&mut out));
        self.log.iter().for_each(|decision| decision.encode(&mut out));
        for (name, speeds) in &self.memory {
            name.encode(&mut out);
            write_curve(speeds, &mut out);
        }
        words[0] = words.len() as u64;
        words[1] = checksum(&words[2..]);
        words
    }

    /// Decodes the state at the beginning of `words`; `None` if they hold none.
    pub(crate) fn decode(words: &[u64]) -> Option<Self> {
        let length =
            usize::try_from(*words.first()?).ok().filter(|&n| (8..=words.len()).contains(&n))?;
        let words = &words[..length];
        if checksum(&words[2..]) != words[1] {
            return None;
        }
        Self::read(&mut Reader::new(&words[2..]))
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        let version = words.take()?;
        let policy = Policy::from_code(words.take()?)?;
        let coordinator = read_process(words)?;
        let watts = read_curve(words)?;
        let (rows, log) = words.pair()?;
        let memory = words.small(REMEMBERED as u32)?;
        if rows as usize > MAX_PROGRAMS || log as usize > DECISIONS {
            return None;
        }
        let rows: Vec<Row> = (0..rows).map(|_| Row::decode(words)).collect::<Option<_>>()?;
        let log = (0..log).map(|_| Decision::decode(words)).collect::<Option<_>>()?;
        let memory = (0..memory).map(|_| Some((Name::decode(words)?, read_curve(words)?)));
        let state = Self {
            version,
            policy,
            coordinator,
            watts,
            log,
            memory: memory.collect::<Option<_>>()?,
            rows,
        };
        state.rows.is_sorted_by(|a, b| a.slot < b.slot).then_some(state)
    }

    /// The lowest slot that no row has.
    pub(crate) fn free_slot(&self) -> Option<u32> {
        // The rows are in ascending order of their slots (S1).
        let is_free = |(slot, row): &(u32, &Row)| row.slot != *slot;
        let gap = (0..).zip(&self.rows).find(is_free).map(|(slot, _)| slot);
        let slot = gap.unwrap_or(self.rows.len() as u32);
        (slot < MAX_PROGRAMS as u32).then_some(slot)
    }

    /// Adds a row. It replaces another row of the same slot.
    pub(crate) fn insert(&mut self, row: Row) {
        match self.rows.binary_search_by_key(&row.slot, |row| row.slot) {
            Ok(at) => self.rows[at] = row,
            Err(at) => self.rows.insert(at, row),
        }
    }

    /// The row in this slot, if it is this program's.
    pub(crate) fn find(&self, slot: u32, program: ProcessId) -> Option<&Row> {
        let at = self.rows.binary_search_by_key(&slot, |row| row.slot).ok()?;
        Some(&self.rows[at]).filter(|row| row.program == program)
    }

    /// As `find`, to change the row.
    pub(crate) fn find_mut(&mut self, slot: u32, program: ProcessId) -> Option<&mut Row> {
        let at = self.rows.binary_search_by_key(&slot, |row| row.slot).ok()?;
        Some(&mut self.rows[at]).filter(|row| row.program == program)
    }

    /// Ends the coordination: the default policy is in force again, and all requests and assigned
    /// cores are withdrawn.
    pub(crate) fn end_coordination(&mut self) {
        self.coordinator = None;
        self.policy = Policy::default();
        self.rows.iter_mut().for_each(|row| (row.request, row.assigned) = (None, 0));
    }

    /// Programs that may be stopped, except the one in slot `but`. Each of them has cores that
    /// others could use, or was found stopped before. Returns at most `most` of them, and other
    /// ones at each `turn`.
    pub(crate) fn stop_candidates(&self, but: Option<u32>, turn: usize, most: usize) -> Vec<&Row> {
        let all: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| Some(row.slot) != but && (row.demand > 0 || row.stopped))
            .collect();
        let first = if all.is_empty() { 0 } else { turn.wrapping_mul(most) % all.len() };
        all.iter().cycle().skip(first).take(most.min(all.len())).copied().collect()
    }

    /// Removes a row, and remembers its speeds.
    pub(crate) fn remove(&mut self, slot: u32, program: ProcessId) -> Option<Row> {
        let at = self.rows.iter().position(|row| row.slot == slot && row.program == program)?;
        let row = self.rows.remove(at);
        self.remember_curve(row.name, row.curve);
        Some(row)
    }

    fn remember_curve(&mut self, name: Name, speeds: Curve) {
        if speeds.points().is_empty() {
            return;
        }
        self.memory.retain(|(other, _)| *other != name);
        if self.memory.len() == REMEMBERED {
            self.memory.remove(0);
        }
        self.memory.push((name, speeds));
    }

    /// The remembered speeds of programs of this name.
    pub(crate) fn remembered_curve(&self, name: Name) -> Curve {
        self.memory
            .iter()
            .find(|(other, _)| *other == name)
            .map_or_else(Curve::default, |(_, speeds)| *speeds)
    }

    /// Computes all shares again. Returns the slots whose share changed.
    pub(crate) fn compute_shares(&mut self, layout: &Layout) -> Vec<u32> {
        let programs: Vec<Program> = self.rows.iter().map(Row::as_program).collect();
        let power = Power::through(&self.watts);
        let grants = decide(self.policy, layout, &programs, &self.effects(), power);
        let mut changed = Vec::new();
        for (row, grant) in self.rows.iter_mut().zip(grants) {
            let asked = row.request.as_ref().and_then(|request| request.schedule);
            let schedule = asked.filter(|_| row.own_settings.schedule.is_none());
            if (&row.grant, row.schedule) != (&grant, schedule) || row.epoch == 0 {
                (row.grant, row.schedule) = (grant, schedule);
                row.epoch = row.epoch.wrapping_add(1).max(1);
                changed.extend([row.slot]);
            }
        }
        changed
    }

    /// The mask of a lone program that has work for all of it and may use all of it. Such a program
    /// gets its whole mask on any machine. The empty set if the table has no program.
    pub(crate) fn lone_mask(&self) -> Option<CpuSet> {
        let row = match self.rows.as_slice() {
            [] => return Some(CpuSet::new()),
            [row] => row,
            _ => return None,
        };
        let (cores, threads) = (row.usable(), row.demand.min(row.max));
        let has_all = threads as usize >= cores.len() && !cores.is_empty();
        let is_plain = self.policy == Policy::default() && row.request.is_none() && !row.stopped;
        (has_all && is_plain).then_some(cores)
    }

    fn effects(&self) -> Effects {
        let mut effects = Effects::among(self.rows.len());
        for (a, row) in self.rows.iter().enumerate() {
            for peer in row.peers.iter().filter(|peer| peer.name != 0) {
                let others = self.rows.iter().enumerate();
                others
                    .filter(|(b, other)| *b != a && other.name.hash32() == peer.name)
                    .for_each(|(b, _)| effects.set(a, b, f64::from(peer.change)));
            }
        }
        effects
    }

    /// Adds a decision to the log.
    pub(crate) fn log_decision(
        &mut self,
        at_ns: u64,
        by: u32,
        reason: Reason,
        subject: Option<&Row>,
        changed: usize,
    ) {
        if self.log.len() == DECISIONS {
            self.log.remove(0);
        }
        self.log.push(Decision {
            at_ns,
            by,
            reason,
            subject: subject.map_or(0, |row| row.program.pid),
            name: subject.map_or_else(Name::default, |row| row.name),
            programs: self.rows.len() as u32,
            changed: changed as u32,
        });
    }
}

impl Row {
    fn as_program(&self) -> Program {
        // A stopped program has no demand, whatever its live line says.
        let demand = if self.stopped { 0 } else { self.demand };
        Program {
            demand,
            min: self.min.max(self.assigned.min(demand)).min(self.max),
            max: self.max,
            weight: self.weight,
            mask: self.usable(),
            held: if self.epoch == 0 { Grant::default() } else { self.grant.clone() },
            curve: self.curve,
            request: self.request.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::oracle::{CPUS, honest};
    use crate::row::OwnSettings;
    use sinew_policy::chunk::Schedule;
    use sinew_policy::share::{Place, Request};

    /// Catches: a slot that another row has, a gap that is skipped, and a slot beyond the last one.
    #[test]
    fn the_lowest_free_slot_is_given() {
        let slots = |slots: &[u32]| {
            let rows = slots.iter().map(|&slot| crate::oracle::row(slot)).collect();
            TableState { rows, ..TableState::default() }.free_slot()
        };
        assert_eq!([slots(&[]), slots(&[1]), slots(&[0, 1])], [Some(0), Some(0), Some(2)]);
        assert_eq!(slots(&[0, 1, 3, 7]), Some(2));
        let all: Vec<u32> = (0..MAX_PROGRAMS as u32).collect();
        assert_eq!((slots(&all[..255]), slots(&all), slots(&all[1..])), (Some(255), None, Some(0)));
    }

    /// Catches: a stopped program that keeps its cores, and a stop that is forgotten or counts as
    /// an end.
    #[test]
    fn a_stopped_program_counts_as_dormant() {
        let mut state = honest();
        let threads =
            |state: &TableState| state.rows.iter().map(|row| row.grant.threads).collect::<Vec<_>>();
        let cores = |row: &Row| row.grant.cores.len();
        assert_eq!((threads(&state), state.rows[1].stopped), (vec![2, 1, 2], true));
        assert_eq!(
            cores(&state.rows[1]),
            CPUS,
            "it has its whole mask, which the others may use, too"
        );
        state.rows[1].stopped = false;
        assert!(state.compute_shares(&Layout::flat(CPUS)).contains(&1));
        assert_eq!(threads(&state).iter().sum::<u32>(), CPUS as u32);
        assert!(state.rows.iter().all(|row| cores(row) == row.grant.threads as usize));
        let again = TableState::decode(
            &TableState { rows: state.rows.clone(), ..TableState::default() }.encode(),
        );
        assert_eq!(again.map(|again| again.rows[1].stopped), Some(false));
    }

    /// Catches: cores that a pinned program cannot use and no other program gets; cores that it
    /// gets in place of those that it can use; and pins outside of its mask.
    #[test]
    fn a_pinned_program_is_given_none_but_the_cores_it_is_pinned_to() {
        let mut state = honest();
        state.rows[1].stopped = false;
        let set = |cpus: &[usize]| cpus.iter().copied().collect::<CpuSet>();
        for pins in [set(&[0]), set(&[3]), set(&[1, 2])] {
            state.rows[1].own_settings.cores.clone_from(&pins);
            state.compute_shares(&Layout::flat(CPUS));
            let rows = &state.rows;
            assert!(rows[1].grant.cores.is_subset(&pins), "{pins}: {}", rows[1].grant.cores);
            let all = rows.iter().fold(CpuSet::new(), |all, row| all.union(&row.grant.cores));
            let threads: u32 = rows.iter().map(|row| row.grant.threads).sum();
            assert_eq!((all.len(), threads), (CPUS, CPUS as u32), "{pins}");
        }
        let again = TableState::decode(
            &TableState { rows: state.rows.clone(), ..TableState::default() }.encode(),
        );
        assert_eq!(
            again.map(|again| again.rows[1].own_settings.clone()),
            Some(state.rows[1].own_settings.clone())
        );
        (state.rows[1].mask, state.rows[1].own_settings.cores) = (set(&[2]), set(&[3, 900]));
        state.compute_shares(&Layout::flat(CPUS));
        assert_eq!(
            state.rows[1].grant.cores,
            set(&[2]),
            "it may use none of the cores that it pinned its threads to"
        );
    }

    /// Catches: a lone program that gets fewer or more cores than the machine leaves it.
    #[test]
    fn a_lone_program_with_work_for_its_mask_has_the_same_on_any_machine() {
        let alone = |mask: CpuSet, demand: u32, max: u32| {
            let mut state = TableState::default();
            let row = Row {
                mask,
                demand,
                max,
                stopped: false,
                request: None,
                ..honest().rows[0].clone()
            };
            state.insert(row);
            state
        };
        for mask in [CpuSet::first(CPUS), [1, 3].into_iter().collect()] {
            for (demand, max) in [(0, 4), (1, 4), (2, 2), (4, 1), (4, 4)] {
                let (mut known, mut unknown) =
                    (alone(mask.clone(), demand, max), alone(mask.clone(), demand, max));
                known.compute_shares(&Layout::flat(CPUS));
                let whole = Grant { threads: mask.len() as u32, cores: mask.clone() };
                let is_whole = demand.min(max) as usize >= mask.len();
                assert_eq!(
                    unknown.lone_mask(),
                    is_whole.then(|| mask.clone()),
                    "{demand} of {max}"
                );
                if is_whole {
                    let one_by_one = |cpu| Place { cpu, core: cpu, cache: 0, package: 0 };
                    unknown.compute_shares(&Layout::new(mask.iter().map(one_by_one)));
                    assert_eq!((&known.rows[0].grant, &unknown.rows[0].grant), (&whole, &whole));
                }
            }
        }
        assert_eq!(TableState::default().lone_mask(), Some(CpuSet::new()));
        assert_eq!(honest().lone_mask(), None, "it is not alone");
    }

    /// Catches: a schedule that is granted to a program with one of its own, and one that is not
    /// granted after the program gives its own up.
    #[test]
    fn a_schedule_that_the_program_has_chosen_is_left_to_it() {
        let mut state = honest();
        state.rows[0].request =
            Some(Request { schedule: Some(Schedule::Static), ..Request::default() });
        for (own, granted) in
            [(None, Some(Schedule::Static)), (Some(Schedule::Auto), None)].repeat(2)
        {
            state.rows[0].own_settings = OwnSettings { schedule: own, ..OwnSettings::default() };
            state.compute_shares(&Layout::flat(CPUS));
            assert_eq!(state.rows[0].schedule, granted);
        }
    }

    /// Catches: a program that is never checked, or is checked in vain.
    #[test]
    fn all_programs_that_may_be_stopped_are_checked_in_turn() {
        let mut state = honest();
        state.rows[2].demand = 0;
        let asked = |but, turn, most| {
            state.stop_candidates(but, turn, most).iter().map(|row| row.slot).collect::<Vec<_>>()
        };
        assert_eq!(asked(None, 7, 9), [0, 1].map(|slot| (slot + 7 * 9) % 2));
        let over_time: HashSet<u32> = (0..2).flat_map(|turn| asked(None, turn, 1)).collect();
        assert_eq!(over_time, HashSet::from([0, 1]), "no program could gain cores of the third");
        assert_eq!((asked(Some(0), 0, 4), asked(Some(1), 3, 4)), (vec![1], vec![0]));
        assert!(TableState::default().stop_candidates(None, 5, 4).is_empty());
    }
}
