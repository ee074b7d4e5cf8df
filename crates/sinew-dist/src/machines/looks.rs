//! The loads of the programs of one machine, from looks at its table.
//!
//! A rank of a job that waits works for a part of the time, and waits for the other ranks in the
//! rest. All ranks of a job have equally many waits in a second. So their loads are as the work
//! that they do in a second: the time in which they do not wait, times their speed.
//!
//! A wait is reported at its end, so a look during a wait counts it as work, and the next look
//! counts as much less. Older looks count less, by half after [`HALF_LIFE_S`].

use std::collections::HashMap;

use sinew_coord::{CpuSet, ProcessId, Row};

use super::plan::ProgramState;

/// After so long a look counts half. Phases of a job should be shorter.
const HALF_LIFE_S: f64 = 2.0;

/// A program that has done nothing for so long has no work.
const IDLE_NS: u64 = 2_000_000_000;

/// A program counts as if it had worked for so long before its first look.
const FIRST_S: f64 = 1e-3;

/// A load that is not zero.
const LEAST_LOAD: f64 = 1e-3;

/// The programs of a machine, as the last look saw them.
#[derive(Debug, Default)]
pub(super) struct Looks {
    programs: HashMap<(ProcessId, u64), Seen>,
}

#[derive(Debug)]
struct Seen {
    at_ns: u64,
    progress: u64,
    waited_ns: u64,
    idled_ns: u64,
    /// The speed relative to one core, since that look.
    speed: f64,
    /// The work and the time so far, of which old ones count less; in seconds.
    work: f64,
    time: f64,
    /// The same of its waits, which count less only once there are new ones.
    waited: f64,
    idled: f64,
    /// The last demand that was not 0.
    demand: u32,
    /// When it last worked or waited.
    active_ns: u64,
}

fn id_of(row: &Row) -> (ProcessId, u64) {
    (row.program, row.joined_ns)
}

impl Looks {
    /// Looks at the rows of the table, at this time.
    pub(super) fn look(&mut self, rows: &[Row], now_ns: u64) {
        self.programs.retain(|id, _| rows.iter().any(|row| id_of(row) == *id));
        let speeds = Speeds::of(rows);
        for row in rows {
            let speed = speeds.speed(row);
            let new = || Seen::new(row, speed, now_ns);
            let seen = self.programs.entry(id_of(row)).or_insert_with(new);
            seen.look(row, now_ns);
            seen.speed = speed;
        }
    }

    /// The programs of the rows of the last look, and the cores that those with work can use, out
    /// of `all`.
    pub(super) fn programs(&self, rows: &[Row], all: &CpuSet) -> (Vec<ProgramState>, u32) {
        let mut reach = CpuSet::new();
        let programs = rows.iter().map(|row| {
            let usable = row.usable().intersection(all);
            let program = self.program(row, usable.len() as u32);
            if program.max > 0 {
                reach = reach.union(&usable);
            }
            program
        });
        (programs.collect(), reach.len() as u32)
    }

    fn program(&self, row: &Row, usable: u32) -> ProgramState {
        let seen = self.programs.get(&id_of(row));
        let most = row.max.min(usable);
        let max = seen
            .filter(|seen| seen.is_active(row))
            .map_or(0, |seen| seen.demand.max(row.min).min(most));
        let speeds = row.curve.points().iter().map(|point| (point.cores, point.rate));
        ProgramState {
            job: row.own_settings.job,
            waited: seen.map_or(0.0, |seen| seen.waited),
            idled: seen.map_or(0.0, |seen| seen.idled),
            weight: row.weight,
            min: row.min,
            max,
            load: seen.map_or(1.0, Seen::load),
            speeds: speeds.collect(),
            held: row.assigned,
        }
    }
}

impl Seen {
    /// It counts as busy until it has waited.
    fn new(row: &Row, speed: f64, at_ns: u64) -> Self {
        Self {
            at_ns,
            progress: row.progress,
            waited_ns: row.waited_ns,
            idled_ns: row.idled_ns,
            speed,
            work: speed * FIRST_S,
            time: FIRST_S,
            waited: row.waited_ns as f64 / 1e9,
            idled: row.idled_ns as f64 / 1e9,
            demand: row.demand.max(1),
            active_ns: at_ns,
        }
    }

    fn look(&mut self, row: &Row, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        // A row that was added again counts from 0.
        let waited = row.waited_ns.saturating_sub(self.waited_ns) as f64 / 1e9;
        let idled = row.idled_ns.saturating_sub(self.idled_ns) as f64 / 1e9;
        let old = (-passed / HALF_LIFE_S).exp2();
        self.work = self.work * old + self.speed * (passed - waited - idled);
        self.time = self.time * old + passed;
        let has_waited = waited + idled > 0.0;
        if has_waited {
            self.waited = self.waited * old + waited;
            self.idled = self.idled * old + idled;
        }
        if row.demand > 0 {
            self.demand = row.demand;
        }
        if row.demand > 0 || has_waited || row.progress != self.progress {
            self.active_ns = now_ns;
        }
        (self.at_ns, self.progress) = (now_ns, row.progress);
        (self.waited_ns, self.idled_ns) = (row.waited_ns, row.idled_ns);
    }

    fn is_active(&self, row: &Row) -> bool {
        !row.stopped && self.at_ns < self.active_ns + IDLE_NS
    }

    fn load(&self) -> f64 {
        (self.work / self.time).max(LEAST_LOAD)
    }
}

/// How fast programs are with their threads: on a crowded machine these share the cores.
struct Speeds {
    part: f64,
}

impl Speeds {
    fn of(rows: &[Row]) -> Self {
        let at_work = || rows.iter().filter(|row| row.demand > 0 && !row.stopped);
        let threads: u32 = at_work().map(|row| row.grant.threads).sum();
        let cores = at_work().fold(CpuSet::new(), |all, row| all.union(&row.grant.cores)).len();
        Self { part: (cores as f64 / f64::from(threads.max(1))).min(1.0) }
    }

    fn speed(&self, row: &Row) -> f64 {
        row.curve.speed_up(row.grant.threads.max(1)) * self.part
    }
}

#[cfg(test)]
mod tests {
    use sinew_coord::{Member, Offer, OwnSettings, Table};
    use sinew_policy::share::Layout;

    use super::*;

    const MS: u64 = 1_000_000;

    /// A row of a rank that may use four cores.
    fn row() -> Row {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::open_on(&folder.path().join("shared"), Layout::flat(4)).unwrap();
        let own_settings = OwnSettings { job: 5, ..OwnSettings::default() };
        let offer = Offer::on("rank", CpuSet::first(4), 4).own_settings(own_settings);
        let _member = Member::join(&table, offer).unwrap();
        table.read().remove(0)
    }

    fn seen(looks: &Looks, row: &Row) -> ProgramState {
        looks.programs(std::slice::from_ref(row), &CpuSet::first(4)).0.remove(0)
    }

    /// Catches: waits that count as work, waits that are reported late, and grants of another time.
    #[test]
    fn a_load_is_the_work_of_the_time_without_waits() {
        if !cfg!(target_os = "linux") {
            return println!("skipped: programs share a table on Linux only");
        }
        let (mut row, mut looks) = (row(), Looks::default());
        for at in 0..2_000_u64 {
            // On four cores, it waits for a quarter of the time. The wait is seen at its end.
            row.waited_ns += if at % 4 == 3 { 10 * MS } else { 0 };
            looks.look(std::slice::from_ref(&row), at * 10 * MS);
        }
        let program = seen(&looks, &row);
        assert!((program.load - 3.0).abs() < 0.05, "{program:?}");
        assert_eq!((program.job, program.max, program.idled), (5, 4, 0.0));
        assert!(program.waited > 0.0);
    }

    /// Catches: a rank that lends while it waits as one without work, and one that has ended its
    /// work as one with work.
    #[test]
    fn a_rank_that_waits_has_work_and_one_that_does_nothing_has_none() {
        if !cfg!(target_os = "linux") {
            return println!("skipped: programs share a table on Linux only");
        }
        let (mut row, mut looks) = (row(), Looks::default());
        looks.look(std::slice::from_ref(&row), 0);
        row.demand = 0;
        for at in 1..=10 {
            row.waited_ns += 1_000 * MS;
            looks.look(std::slice::from_ref(&row), at * 1_000 * MS);
        }
        assert_eq!(seen(&looks, &row).max, 4);
        looks.look(std::slice::from_ref(&row), 13_000 * MS);
        assert_eq!(seen(&looks, &row).max, 0);
        row.progress += 1;
        looks.look(std::slice::from_ref(&row), 13_001 * MS);
        assert_eq!(seen(&looks, &row).max, 4);
        looks.look(&[], 13_002 * MS);
        assert!(looks.programs.is_empty());
    }
}
