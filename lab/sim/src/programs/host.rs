//! One machine: its programs, their cores and their progress.
//!
//! Speeds are constant between two decisions, so the next event is the end of a program.

use sinew_cpus::CpuSet;
use sinew_policy::share::{Effects, Event, Grant, Layout, Place, Policy, Program, Script, decide};
use sinew_topology::{Level, Machine};

use super::mix::Mix;
use super::{Cluster, SECOND};
use crate::queue::Time;

/// Least relative speed of a program, whatever its neighbours do.
const SLOWEST: f64 = 0.05;
/// Greatest relative gain by neighbours: they at most double the speed.
const MOST_GAIN: f64 = 1.0;

/// Facts that all machines share.
#[derive(Debug)]
pub(super) struct Facts<'c> {
    pub(super) setup: &'c Cluster,
    pub(super) mix: &'c Mix,
    pub(super) layout: Layout,
    /// Effect on a kind of program, by kind and neighbour.
    effects: Vec<f64>,
    /// Speed by kind and number of cores.
    speeds: Vec<Vec<f64>>,
}

impl<'c> Facts<'c> {
    pub(super) fn new(setup: &'c Cluster, mix: &'c Mix) -> Self {
        let layout = layout(&setup.machine);
        let kinds = mix.kinds.len();
        let mut effects = vec![0.0; kinds * kinds];
        for &(program, neighbour, change) in &mix.effects {
            effects[program * kinds + neighbour] = change;
        }
        let curve =
            |kind: &super::Kind| (0..=layout.len() as u32).map(|n| kind.speed_up.at(n)).collect();
        let speeds = mix.kinds.iter().map(curve).collect();
        Self { setup, mix, layout, effects, speeds }
    }

    fn effect(&self, program: usize, neighbour: usize) -> f64 {
        self.effects[program * self.mix.kinds.len() + neighbour]
    }

    fn speed_up(&self, kind: usize, threads: u32) -> f64 {
        self.speeds[kind][threads as usize]
    }

    /// The speed of a kind alone on a machine, with its best number of cores.
    pub(super) fn best_speed(&self, kind: usize) -> f64 {
        let most = (self.mix.kinds[kind].max as usize).min(self.layout.len());
        self.speeds[kind][1..=most].iter().copied().fold(0.0, f64::max)
    }

    /// The greatest gain of a kind by neighbours.
    pub(super) fn best_company(&self) -> f64 {
        if self.effects.iter().any(|&effect| effect > 0.0) { 1.0 + MOST_GAIN } else { 1.0 }
    }
}

/// The machine as the share policies see it.
fn layout(machine: &Machine) -> Layout {
    let cache_level = machine.last_level_cache();
    Layout::new(machine.pu_ids().map(|id| {
        let package = machine.ancestor(id, Level::Package).unwrap_or(0);
        let cache = cache_level.and_then(|level| machine.ancestor(id, level)).unwrap_or(package);
        Place { cpu: machine.pu(id).cpu, core: machine.pu(id).core, cache, package }
    }))
}

/// A program on a machine.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) id: usize,
    pub(super) kind: usize,
    pub(super) program: Program,
    /// Remaining work in picoseconds of one core, including moves.
    pub(super) left: f64,
    /// Completed work.
    pub(super) done: f64,
    /// Total cost of its moves.
    pub(super) debt: f64,
    rate: f64,
    /// Whether it has its cores for itself.
    is_alone: bool,
    /// Time since its share last changed.
    steady_since: Time,
}

/// A machine with its coordinator.
#[derive(Debug)]
pub(super) struct Host<'c> {
    facts: &'c Facts<'c>,
    pub(super) residents: Vec<Resident>,
    script: Script,
    /// Time up to which work has been counted.
    counted: Time,
    /// Time of the next decision.
    pub(super) due: Option<Time>,
    pub(super) moved: u64,
    pub(super) decisions: u64,
    pub(super) moving: u64,
    /// Core time that was assigned to programs.
    pub(super) used: f64,
    /// Number of times that a core was given to two programs.
    pub(super) overlaps: u64,
}

impl<'c> Host<'c> {
    pub(super) fn new(facts: &'c Facts<'c>) -> Self {
        let mut script = facts.setup.script.clone();
        script.record(&Event::Start, 0);
        Self {
            facts,
            residents: Vec::new(),
            script,
            counted: 0,
            due: None,
            moved: 0,
            decisions: 0,
            moving: 0,
            used: 0.0,
            overlaps: 0,
        }
    }

    /// Admits a program. It begins with one unpinned thread until shares are decided.
    pub(super) fn admit(&mut self, now: Time, id: usize, kind: usize, work: Time) {
        self.count(now);
        let cores = self.facts.layout.cores();
        let known = &self.facts.mix.kinds[kind];
        let most = known.max.min(cores.len() as u32);
        let held = Grant { threads: 1, cores: cores.clone() };
        let mut program =
            Program { min: known.min, weight: known.weight, held, ..Program::new(most, cores) };
        program.curve.learn(1, 1.0);
        let left = work as f64;
        self.residents.push(Resident {
            id,
            kind,
            program,
            left,
            done: 0.0,
            debt: 0.0,
            rate: 0.0,
            is_alone: false,
            steady_since: now,
        });
        self.script.record(&Event::Joins(known.name.clone()), now / (SECOND / 1_000));
        self.change_soon(now);
    }

    /// Removes a program and returns its state.
    pub(super) fn dismiss(&mut self, now: Time, id: usize) -> Option<Resident> {
        self.count(now);
        let at = self.residents.iter().position(|resident| resident.id == id)?;
        let gone = self.residents.remove(at);
        let name = self.facts.mix.kinds[gone.kind].name.clone();
        self.script.record(&Event::Leaves(name), now / (SECOND / 1_000));
        self.change_soon(now);
        Some(gone)
    }

    fn change_soon(&mut self, now: Time) {
        let due = now + self.facts.setup.delay;
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
        self.set_rates();
    }

    /// The time of the next event: the end of a program, or a decision.
    pub(super) fn next(&self) -> Option<Time> {
        let ends = self.residents.iter().map(|resident| self.counted + resident.ends_in());
        ends.chain(self.due).min()
    }

    /// A program that has finished by `now`.
    pub(super) fn finished(&mut self, now: Time) -> Option<usize> {
        self.count(now);
        let done = |resident: &&Resident| resident.ends_in() == 0;
        self.residents.iter().find(done).map(|resident| resident.id)
    }

    /// Counts work up to `now`.
    fn count(&mut self, now: Time) {
        let passed = (now - self.counted) as f64;
        self.counted = now;
        if passed == 0.0 {
            return;
        }
        let mut taken = 0_usize;
        for resident in &mut self.residents {
            let done = (resident.rate * passed).min(resident.left);
            resident.left -= done;
            resident.done += done;
            taken += if resident.is_alone { resident.program.held.cores.len() } else { 1 };
        }
        self.used += passed * taken.min(self.facts.layout.len()) as f64;
    }

    /// Decides the shares.
    pub(super) fn decide(&mut self, now: Time) {
        self.count(now);
        self.measure(now);
        self.follow_script(now);
        let programs: Vec<Program> =
            self.residents.iter().map(|resident| resident.program.clone()).collect();
        let effects = self.known_effects();
        let setup = self.facts.setup;
        let grants = decide(setup.policy, &self.facts.layout, &programs, &effects, setup.power);
        self.decisions += 1;
        let crowded = programs.len() > self.facts.layout.len();
        let mut moves = 0;
        for (resident, grant) in self.residents.iter_mut().zip(grants) {
            moves += resident.hold(grant, crowded, self.facts.setup.move_cost, now);
        }
        self.moved += moves;
        self.moving += u64::from(moves > 0);
        self.check_cores();
        self.set_rates();
        self.due = self.next_decision(now);
    }

    /// Policies that use measurements decide periodically; a program alone has all cores, unless
    /// they have a price.
    fn next_decision(&self, now: Time) -> Option<Time> {
        let Cluster { policy, period, .. } = self.facts.setup;
        let least = match policy {
            Policy::Efficiency => 2,
            policy if policy.uses_power() => 1,
            _ => usize::MAX,
        };
        let period = (self.residents.len() >= least).then_some(now + period);
        let scripted = self.script.next_due_ms().map(|ms| (ms * (SECOND / 1_000)).max(now + 1));
        period.into_iter().chain(scripted).min()
    }

    /// Programs that have run for a while on the same cores yield a measured speed.
    fn measure(&mut self, now: Time) {
        for resident in &mut self.residents {
            if now - resident.steady_since >= self.facts.setup.period && resident.is_alone {
                resident.program.curve.learn(resident.program.held.threads, resident.rate);
            }
        }
    }

    fn follow_script(&mut self, now: Time) {
        for step in self.script.due(now / (SECOND / 1_000)) {
            for resident in &mut self.residents {
                if self.facts.mix.kinds[resident.kind].name == step.program {
                    resident.program.request.clone_from(&step.request);
                }
            }
        }
    }

    /// The effects that measurements of the present programs would have shown.
    fn known_effects(&self) -> Effects {
        if self.facts.setup.policy != Policy::Contention {
            return Effects::none();
        }
        let mut effects = Effects::among(self.residents.len());
        for (a, program) in self.residents.iter().enumerate() {
            for (b, neighbour) in self.residents.iter().enumerate().filter(|(b, _)| *b != a) {
                effects.set(a, b, self.facts.effect(program.kind, neighbour.kind));
            }
        }
        effects
    }

    fn check_cores(&mut self) {
        let mut taken = CpuSet::new();
        for resident in self.residents.iter().filter(|resident| resident.is_alone) {
            let cores = &resident.program.held.cores;
            self.overlaps += u64::from(!taken.intersection(cores).is_empty());
            taken = taken.union(cores);
        }
    }

    /// Sets the speed of every program from its cores.
    fn set_rates(&mut self) {
        let anywhere = self.residents.iter().filter(|resident| !resident.is_alone).count();
        let own: CpuSet = self
            .residents
            .iter()
            .filter(|resident| resident.is_alone)
            .fold(CpuSet::new(), |all, resident| all.union(&resident.program.held.cores));
        // Unpinned threads share the remaining cores evenly or, if none remain, all cores.
        let free = (self.facts.layout.len() - own.len()).max(1) as f64;
        let part = (free / anywhere.max(1) as f64).min(1.0);
        let rates: Vec<f64> = (0..self.residents.len()).map(|at| self.rate(at, part)).collect();
        for (resident, rate) in self.residents.iter_mut().zip(rates) {
            resident.rate = rate;
        }
    }

    fn rate(&self, at: usize, part: f64) -> f64 {
        let resident = &self.residents[at];
        let alone = resident.is_alone;
        let threads = if alone { resident.program.held.threads } else { 1 };
        let change = if alone { self.company(at) } else { 0.0 };
        let speed = self.facts.speed_up(resident.kind, threads) * if alone { 1.0 } else { part };
        speed * (1.0 + change).max(SLOWEST)
    }

    /// Effect of neighbours in shared caches, weighted by the fraction of cores that feel it.
    fn company(&self, at: usize) -> f64 {
        let resident = &self.residents[at];
        let cores = &resident.program.held.cores;
        let others =
            self.residents.iter().filter(|other| other.id != resident.id && other.is_alone);
        let touched = |other: &Resident| {
            let near = self.near(&other.program.held.cores).intersection(cores).len();
            near as f64 / cores.len().max(1) as f64
        };
        others
            .map(|other| (self.facts.effect(resident.kind, other.kind), other))
            .filter(|(effect, _)| *effect != 0.0)
            .map(|(effect, other)| effect * touched(other))
            .sum::<f64>()
            .min(MOST_GAIN)
    }

    /// All cores that share a cache with one of these.
    fn near(&self, cores: &CpuSet) -> CpuSet {
        let places = self.facts.layout.places();
        let caches: Vec<usize> = places
            .iter()
            .filter(|place| cores.contains(place.cpu))
            .map(|place| place.cache)
            .collect();
        places.iter().filter(|place| caches.contains(&place.cache)).map(|place| place.cpu).collect()
    }
}

impl Resident {
    /// Time until its work is done at its present speed.
    fn ends_in(&self) -> Time {
        // Less than a picosecond of work is a rounding error.
        if self.left < 1.0 { 0 } else { (self.left / self.rate.max(1e-9)).ceil().min(1e19) as Time }
    }

    /// Accepts a grant; returns the number of cores that changed.
    fn hold(&mut self, grant: Grant, crowded: bool, cost: Time, now: Time) -> u64 {
        let had = self.is_alone;
        self.is_alone = !crowded && grant.cores.len() == grant.threads as usize;
        let before = std::mem::replace(&mut self.program.held, grant);
        let (old, new) = (&before.cores, &self.program.held.cores);
        if before == self.program.held {
            return 0;
        }
        self.steady_since = now;
        let moves = if had && self.is_alone {
            new.difference(old).len() + old.difference(new).len()
        } else {
            0
        };
        let debt = moves as f64 * cost as f64;
        self.left += debt;
        self.debt += debt;
        moves as u64
    }
}
