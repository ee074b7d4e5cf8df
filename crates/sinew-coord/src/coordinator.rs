//! A coordinator: the part of coordination that needs a clock.
//!
//! The table works without one. A user starts a coordinator to choose another policy than the
//! default, to have programs' speeds measured and used, or to run a script. The coordinator writes
//! measurements and requests into the table, and every program computes shares from them as before.
//! When it ends, for whatever reason, the default policy is in force again: every member watches
//! its process.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sinew_policy::share::{
    Curve, Event, MAX_CORES, Meter, Policy, PowerMeter, PowerReading, Reading, Script, Step,
};

use crate::decision::{Decision, Reason};
use crate::error::Error;
use crate::powercap::EnergyCounter;
use crate::process::ProcessId;
use crate::row::{Peer, Row};
use crate::sys;
use crate::table::{Change, Table};
use crate::table_state::TableState;

/// A running coordinator. Dropping it ends the coordination.
///
/// ```
/// use sinew_coord::{Coordinator, Policy, Table};
///
/// # let folder = tempfile::tempdir()?;
/// let table = Table::open(&folder.path().join("shared"))?;
/// let mut coordinator = Coordinator::start(&table, Policy::Efficiency, Default::default())?;
/// for decision in coordinator.step()? {
///     println!("{} {}", decision.reason, decision.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Coordinator {
    table: Table,
    process: ProcessId,
    policy: Policy,
    script: Script,
    /// Steps that were due before their programs joined, the last one for each program.
    late: Vec<Step>,
    began_ns: u64,
    /// The rows of the last look, with the measurements of their programs. A process that drops a
    /// pool and builds another gets a new row. A script's steps apply to the new row as to the
    /// first.
    programs: HashMap<RowId, Seen>,
    /// The log at the last look. All fields identify a decision, not its date: programs write the
    /// date, and a forged one in the future would hide all later decisions.
    seen: Vec<Decision>,
    measured_ns: u64,
    energy: Option<EnergyCounter>,
    power: PowerMeter,
    /// The last measured power.
    watts: Option<f64>,
}

/// The least time between two measurements; over shorter times they are mostly noise.
const READING_NS: u64 = 50_000_000;

/// A wait for the table's next change calls `is_over` this often.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// Identifies a row among all rows of the same process, and of the same slot over time.
type RowId = (ProcessId, u64);

fn id_of(row: &Row) -> RowId {
    (row.program, row.joined_ns)
}

#[derive(Debug, Default)]
struct Seen {
    name: String,
    meter: Meter,
    /// In items a second.
    rate: Option<f64>,
    /// The items at the last measurement.
    items: u64,
}

impl Coordinator {
    /// Takes over the coordination of the table, with this policy. An empty script does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Coordinated`] if another coordinator runs; [`Error::Busy`], [`Error::Forked`],
    /// [`Error::System`].
    pub fn start(table: &Table, policy: Policy, script: Script) -> Result<Self, Error> {
        let began_ns = sys::now_ns();
        let mut coordinator = Self {
            table: table.clone(),
            process: table.process(),
            policy,
            script,
            late: Vec::new(),
            began_ns,
            programs: HashMap::new(),
            seen: table.log(),
            measured_ns: 0,
            energy: None,
            power: PowerMeter::default(),
            watts: None,
        };
        coordinator.take_over()?;
        coordinator.script.record(&Event::Start, 0);
        Ok(coordinator)
    }

    /// Measures the machine's power by this counter from now on, for [`Policy::Energy`]. Under that
    /// policy without a counter, shares are those of [`Policy::Efficiency`].
    pub fn measure_energy(&mut self, counter: EnergyCounter) {
        self.energy = Some(counter);
    }

    /// The machine's last measured power in watts, if it is known.
    pub fn watts(&self) -> Option<f64> {
        self.watts
    }

    fn take_over(&self) -> Result<(), Error> {
        let (process, policy) = (self.process, self.policy);
        self.table.change(Reason::Policy, |state, _| {
            if let Some(other) = state.coordinator.filter(|other| *other != process) {
                return Err(Error::Coordinated(other.pid));
            }
            (state.coordinator, state.policy) = (Some(process), policy);
            // All members wake up and watch this process.
            Ok(Change { subject: None, wakes_all: true })
        })
    }

    /// Reads the table once: measures, and takes the script's steps that are due. Returns the
    /// decisions since the last call, of all programs.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn step(&mut self) -> Result<Vec<Decision>, Error> {
        let mut state = self.table.snapshot();
        if state.coordinator != Some(self.process) || !self.table.is_in_force() {
            // The table was damaged, or another file has taken its place (T3). The script's
            // requests are lost with it.
            self.take_over()?;
            self.programs.clear();
            state = self.table.snapshot();
        }
        self.note_events(&state);
        self.measure(&state)?;
        let now_ms = self.now_ms();
        let came = |step: &mut Step| state.rows.iter().any(|row| row.name.as_str() == step.program);
        let late: Vec<Step> = self.late.extract_if(.., came).collect();
        for step in late.into_iter().chain(self.script.due(now_ms)) {
            self.follow(step)?;
        }
        let log = self.table.log();
        let new = log.iter().filter(|decision| !self.seen.contains(decision)).copied().collect();
        self.seen = log;
        Ok(new)
    }

    /// Waits until the table changes, the script's next step is due, or `time` has passed.
    ///
    /// # Blocking
    ///
    /// For `time` at most.
    pub fn wait(&self, version: u64, time: Duration) {
        self.wait_unless(version, time, || false);
    }

    /// As [`wait`](Self::wait), or until `is_over` holds. It is called after every signal that this
    /// thread handles, and every 100 ms, because a signal may arrive just before the wait.
    ///
    /// # Blocking
    ///
    /// For `time` at most.
    pub fn wait_unless(&self, version: u64, time: Duration, is_over: impl Fn() -> bool) {
        let due = self.script.next_due_ms();
        let due = due.map(|due| Duration::from_millis(due.saturating_sub(self.now_ms())));
        let (time, began) = (time.min(due.unwrap_or(time)), Instant::now());
        while !is_over() {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() || self.table.wait_change(version, left.min(ASKED_EVERY)) != version {
                return;
            }
        }
    }

    /// Assigns cores to programs, in place of those that were assigned before; programs that are
    /// not named have none then. A program gets its assigned cores, if there are enough for all and
    /// it has work for them, and a part of what is left. The end of the coordinator withdraws them.
    ///
    /// # Errors
    ///
    /// As every change: [`Error::Busy`], [`Error::Forked`], [`Error::System`].
    ///
    /// # Cost
    ///
    /// A change of the table, if anything is new.
    pub fn assign(&self, cores: &[(&Row, u32)]) -> Result<(), Error> {
        let of = |row: &Row| {
            let own = cores.iter().find(|(other, _)| id_of(other) == id_of(row));
            own.map_or(0, |(_, cores)| (*cores).min(MAX_CORES as u32))
        };
        if self.table.snapshot().rows.iter().all(|row| row.assigned == of(row)) {
            return Ok(());
        }
        self.table.change(Reason::Assigned, |state, _| {
            // Otherwise nothing would withdraw it.
            if state.coordinator == Some(self.process) {
                state.rows.iter_mut().for_each(|row| row.assigned = of(row));
            }
            Ok(Change { subject: None, wakes_all: false })
        })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A program's last measured speed in items a second, if it is known.
    pub fn rate(&self, program: ProcessId) -> Option<f64> {
        let rates = self.programs.iter().filter(|((process, _), _)| *process == program);
        rates.filter_map(|(_, seen)| seen.rate).reduce(|sum, rate| sum + rate)
    }

    fn now_ms(&self) -> u64 {
        (sys::now_ns() - self.began_ns) / 1_000_000
    }

    /// Reports programs that joined or left to the script.
    fn note_events(&mut self, state: &TableState) {
        let now_ms = self.now_ms();
        for row in &state.rows {
            if !self.programs.contains_key(&id_of(row)) {
                let name = row.name.as_str().to_owned();
                self.script.record(&Event::Joins(name.clone()), now_ms);
                self.programs.insert(id_of(row), Seen { name, ..Seen::default() });
            }
        }
        let gone =
            self.programs.extract_if(|id, _| !state.rows.iter().any(|row| id_of(row) == *id));
        for (_, seen) in gone {
            self.script.record(&Event::Leaves(seen.name), now_ms);
        }
    }

    /// Measures every program, and writes the results into the table if the policy uses them.
    fn measure(&mut self, state: &TableState) -> Result<(), Error> {
        let now = sys::now_ns();
        if now < self.measured_ns + READING_NS {
            return Ok(());
        }
        self.measured_ns = now;
        let watts = self.measure_power(state, now)?;
        let mut learned = Vec::new();
        // A stopped program does no work, so it is not measured.
        for row in state.rows.iter().filter(|row| !row.stopped) {
            let reading = Reading {
                // A program that waits for other ranks is not slow.
                at_ns: now.saturating_sub(row.waited_ns.saturating_add(row.idled_ns)),
                items: row.progress,
                cores: row.grant.threads,
                epoch: row.epoch,
                neighbours: self.neighbours(row, state),
            };
            let Some(seen) = self.programs.get_mut(&id_of(row)) else { continue };
            let mut curve = row.curve;
            if let Some(rate) = seen.meter.read(&reading, &mut curve) {
                seen.rate = Some(rate);
                learned.push((row.slot, row.program, curve, seen.meter.effects()));
            }
        }
        if !self.policy.uses_speeds() || (learned.is_empty() && watts == state.watts) {
            return Ok(());
        }
        self.table.change(Reason::Measured, |state, _| {
            state.watts = watts;
            for (slot, program, curve, effects) in learned {
                if let Some(row) = state.find_mut(slot, program) {
                    row.curve = curve;
                    row.peers = [Peer::default(); crate::row::PEERS];
                    row.peers.iter_mut().zip(effects).for_each(|(peer, (name, change))| {
                        *peer = Peer { name, change: change as f32 };
                    });
                }
            }
            Ok(Change { subject: None, wakes_all: false })
        })
    }

    /// Measures the machine's power. Returns the watts by the number of busy cores.
    fn measure_power(&mut self, state: &TableState, at_ns: u64) -> Result<Curve, Error> {
        let (mut watts, mut cores) = (state.watts, 0);
        for row in &state.rows {
            let Some(seen) = self.programs.get_mut(&id_of(row)) else { continue };
            // A pool alone demands all cores, also without work. Commands report no items.
            let before = std::mem::replace(&mut seen.items, row.progress);
            let has_worked = row.progress > before || row.progress == 0 && row.demand > 0;
            cores += if has_worked && !row.stopped { row.grant.threads } else { 0 };
        }
        if let Some(counter) = &mut self.energy {
            let reading = PowerReading { at_ns, energy_uj: counter.read_uj()?, cores };
            self.watts = self.power.read(reading, &mut watts).or(self.watts);
        }
        Ok(watts)
    }

    /// The names of the programs that share a last-level cache with this one.
    fn neighbours(&self, row: &Row, state: &TableState) -> Vec<u32> {
        let places = self.table.layout().places();
        let caches = |row: &Row| -> Vec<usize> {
            places
                .iter()
                .filter(|place| row.grant.cores.contains(place.cpu))
                .map(|place| place.cache)
                .collect()
        };
        let mine = caches(row);
        // The grant of a stopped program is its whole mask, but it does not run there.
        let at_work = |other: &&Row| other.slot != row.slot && other.demand > 0 && !other.stopped;
        let others = state.rows.iter().filter(at_work);
        let near = others.filter(|other| caches(other).iter().any(|cache| mine.contains(cache)));
        let mut names: Vec<u32> = near.map(|other| other.name.hash32()).collect();
        names.sort_unstable();
        names
    }

    /// Takes a step, or keeps it until its program joins.
    fn follow(&mut self, step: Step) -> Result<(), Error> {
        let result = self.table.change(Reason::Asked, |state, _| {
            let mut subject = None;
            for row in state.rows.iter_mut().filter(|row| row.name.as_str() == step.program) {
                row.request.clone_from(&step.request);
                subject = Some(row.clone());
            }
            subject.map(|row| Change { subject: Some(row), wakes_all: false }).ok_or(Error::Gone)
        });
        match result {
            Err(Error::Gone) => {
                self.late.retain(|late| late.program != step.program);
                self.late.push(step);
                Ok(())
            }
            result => result,
        }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // If this fails, the next change of the table finds that this process has ended.
        let _ = self.table.change(Reason::Policy, |state, _| {
            if state.coordinator == Some(self.process) {
                state.end_coordination();
            }
            Ok(Change { subject: None, wakes_all: true })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{CPUS, honest};
    use crate::{CpuSet, Member, Offer};
    use sinew_policy::share::Layout;

    fn with_table(test: impl FnOnce(&Table)) {
        let folder = tempfile::tempdir().unwrap();
        test(&Table::open_on(&folder.path().join("shared"), Layout::flat(CPUS)).unwrap());
    }

    /// Catches: a stopped program that is blamed for another one's effect, because its grant is its
    /// whole mask.
    #[test]
    fn a_stopped_program_runs_beside_no_other() {
        with_table(|table| {
            let coordinator =
                Coordinator::start(table, Policy::Contention, Script::default()).unwrap();
            let mut state = honest();
            assert!(state.rows[1].stopped);
            assert_eq!(coordinator.neighbours(&state.rows[0], &state).len(), 1);
            state.rows[1].stopped = false;
            assert_eq!(coordinator.neighbours(&state.rows[0], &state).len(), 2);
        });
    }

    /// Catches: a lone program that keeps all cores although they are not worth their power, one
    /// that is never measured on fewer of them, and watts that count for the wrong number of cores.
    #[test]
    fn a_lone_program_has_the_cores_that_are_worth_their_power() {
        let counters = tempfile::tempdir().unwrap();
        let zone = counters.path().join("intel-rapl:0");
        std::fs::create_dir(&zone).unwrap();
        let write = |file: &str, text: &str| std::fs::write(zone.join(file), text).unwrap();
        write("name", "package-0\n");
        write("max_energy_range_uj", "1000000000000\n");
        write("energy_uj", "0\n");
        with_table(|table| {
            let started = Coordinator::start(table, Policy::ENERGY, Script::default());
            let mut coordinator = started.unwrap();
            coordinator.measure_energy(EnergyCounter::open(counters.path()).unwrap());
            let offer = Offer::on("lone", CpuSet::first(CPUS), CPUS as u32);
            let member = Member::join(table, offer).unwrap();
            let (mut last_ns, mut energy_uj) = (sys::now_ns(), 0.0);
            // On two cores it is nearly as fast as on four, and the machine needs half as much.
            let is_settled = |row: &Row| row.curve.points().len() >= 2 && row.grant.threads == 2;
            while !is_settled(&table.read()[0]) {
                let now_ns = sys::now_ns();
                let seconds = (now_ns - std::mem::replace(&mut last_ns, now_ns)) as f64 / 1e9;
                let threads = f64::from(member.share().threads);
                member.report((seconds * (1e9 + threads * 1e7)) as u64);
                energy_uj += seconds * threads * 10e6;
                write("energy_uj", &format!("{energy_uj:.0}\n"));
                coordinator.step().unwrap();
            }
            let share = member.share();
            assert!(share.is_binding() && share.neighbours == 0, "{share:?}");
            assert_eq!(share.threads, 2);
            assert!(coordinator.watts().is_some() && table.power().is_some());
            assert_eq!(table.read()[0].curve.points()[0].cores, 2);
        });
    }

    /// Catches: assigned cores that are not granted, that a program without work for them keeps, or
    /// that stay when the coordinator ends.
    #[test]
    fn assigned_cores_are_granted_until_the_coordinator_ends() {
        with_table(|table| {
            let coordinator = Coordinator::start(table, Policy::Equal, Script::default()).unwrap();
            let join = |name| {
                Member::join(table, Offer::on(name, CpuSet::first(CPUS), CPUS as u32)).unwrap()
            };
            let (first, second) = (join("first"), join("second"));
            let threads = || {
                let rows = table.read();
                ["first", "second"].map(|name| {
                    rows.iter().find(|row| row.name.as_str() == name).unwrap().grant.threads
                })
            };
            let assign = |cores: [u32; 2]| {
                let rows = table.read();
                let cores: Vec<(&Row, u32)> = rows.iter().zip(cores).collect();
                coordinator.assign(&cores).unwrap();
            };
            assign([3, 1]);
            assert_eq!(threads(), [3, 1]);
            let version = table.version();
            assign([3, 1]);
            assert_eq!(table.version(), version, "nothing is new");
            // A member that does not know of its neighbour yet publishes its demand later.
            for (demand, expected) in [(1, [1, 3]), (4, [3, 1])] {
                first.set_demand(demand);
                while threads() != expected {
                    std::thread::yield_now();
                }
            }
            assign([1, 1]);
            assert_eq!(threads(), [2, 2], "no core stays idle");
            assign([1, 3]);
            coordinator.assign(&[]).unwrap();
            assert!(table.read().iter().all(|row| row.assigned == 0));
            assign([1, 3]);
            drop(coordinator);
            assert_eq!(threads(), [2, 2]);
            drop((first, second));
        });
    }

    /// Catches: a forged date that hides all later decisions.
    #[test]
    fn a_decision_dated_in_the_future_hides_no_others() {
        with_table(|table| {
            let started = Coordinator::start(table, Policy::Equal, Script::default());
            let mut coordinator = started.unwrap();
            coordinator.step().unwrap();
            let forge =
                |state: &mut TableState| state.log_decision(u64::MAX, 1, Reason::Policy, None, 0);
            let no_subject = || Ok(Change { subject: None, wakes_all: false });
            table
                .change(Reason::Measured, |state, _| no_subject().inspect(|_| forge(state)))
                .unwrap();
            let reasons = |coordinator: &mut Coordinator| -> Vec<Reason> {
                coordinator.step().unwrap().iter().map(|decision| decision.reason).collect()
            };
            assert_eq!(reasons(&mut coordinator), [Reason::Policy]);
            let offer = Offer::on("late", CpuSet::first(CPUS), CPUS as u32);
            let _member = Member::join(table, offer).unwrap();
            assert_eq!(reasons(&mut coordinator), [Reason::Arrived]);
            assert_eq!(reasons(&mut coordinator), []);
        });
    }

    /// Catches: a pool that ends and a pool that is built before the coordinator's next look, taken
    /// for the same one.
    #[test]
    fn a_steps_event_happens_again_for_the_next_row_of_the_same_process() {
        with_table(|table| {
            let script = "when twice joins twice threads 1".parse().unwrap();
            let mut coordinator = Coordinator::start(table, Policy::Script, script).unwrap();
            for _ in 0..2 {
                let offer = Offer::on("twice", CpuSet::first(CPUS), CPUS as u32);
                let _member = Member::join(table, offer).unwrap();
                coordinator.step().unwrap();
                assert_eq!(
                    table.read()[0].request.as_ref().and_then(|request| request.threads),
                    Some(1)
                );
            }
        });
    }

    /// Catches: a coordinator that stays with a file that is not the table any more, for example
    /// after a program was stopped while it held the lock.
    #[test]
    fn a_coordinator_follows_its_programs_to_another_file() {
        with_table(|table| {
            let script = "at 0 one threads 1".parse().unwrap();
            let mut coordinator = Coordinator::start(table, Policy::Script, script).unwrap();
            coordinator.step().unwrap();
            std::fs::remove_file(table.path()).unwrap();
            let folder = table.path().parent().unwrap();
            let other = Table::open_on(folder, Layout::flat(CPUS)).unwrap();
            let member = Member::join(&other, Offer::on("one", CpuSet::first(CPUS), 4)).unwrap();
            coordinator.step().unwrap();
            assert_eq!(other.policy(), Policy::Script);
            assert!(
                other.read()[0].request.as_ref().is_some_and(|request| request.threads == Some(1))
            );
            drop((member, coordinator));
            assert!(!other.is_in_force());
        });
    }

    /// Catches: a step that is dropped because its program is late, one that is taken although a
    /// later one replaced it, and one that is taken twice.
    #[test]
    fn a_step_for_a_program_that_is_late_waits_for_it() {
        with_table(|table| {
            let script =
                "at 0 late threads 3\nat 0 late threads 1\nat 0 other threads 2".parse().unwrap();
            let mut coordinator = Coordinator::start(table, Policy::Script, script).unwrap();
            coordinator.step().unwrap();
            let request = || table.read()[0].request.as_ref().and_then(|request| request.threads);
            let join = || {
                Member::join(table, Offer::on("late", CpuSet::first(CPUS), CPUS as u32)).unwrap()
            };
            let member = join();
            assert_eq!(request(), None);
            coordinator.step().unwrap();
            assert_eq!(request(), Some(1));
            drop(member);
            let _again = join();
            coordinator.step().unwrap();
            assert_eq!(request(), None);
        });
    }
}
