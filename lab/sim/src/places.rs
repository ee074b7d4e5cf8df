//! Places of workers on the machine, and masters of packages.

use sinew_policy::victim::{Candidate, Holder, Neighbours, takes_over};
use sinew_topology::{Level, Machine, Mapping, MappingError, PuId, place};

/// The workers' places on a machine.
#[derive(Debug, Default)]
pub(crate) struct Places {
    machine: Option<Machine>,
    pus: Vec<PuId>,
    packages: Vec<u32>,
    count: usize,
    /// The memory of each worker: its node's, or the only one.
    memories: Vec<u32>,
    memory_count: usize,
    /// A worker of each package.
    firsts: Vec<usize>,
    last_level: u8,
    /// Runs of workers with consecutive numbers in one package and node. All workers of a run are
    /// equally far from a worker of another package.
    runs: Vec<(usize, usize)>,
}

impl Places {
    /// Places `workers` workers on `machine` by this mapping; without a machine all are at distance
    /// 1.
    pub(crate) fn new(
        machine: Option<&Machine>,
        workers: usize,
        mapping: &Mapping,
    ) -> Result<Self, MappingError> {
        let Some(machine) = machine else {
            return Ok(Self {
                machine: None,
                pus: Vec::new(),
                packages: vec![0; workers],
                count: 1,
                memories: vec![0; workers],
                memory_count: 1,
                firsts: vec![0],
                last_level: 1,
                runs: Vec::new(),
            });
        };
        let order = place(machine, &machine.cpus(), mapping, workers)?;
        let pus: Vec<PuId> = order.into_iter().flatten().collect();
        let (packages, count) = numbered(machine, &pus, Level::Package);
        let (memories, memory_count) = numbered(machine, &pus, Level::Node);
        let first = |package| packages.iter().position(|of| *of as usize == package);
        let firsts = (0..count).filter_map(first).collect();
        let last_level = last_level(machine);
        let runs = runs(machine, &pus, &packages);
        let machine = Some(machine.clone());
        let places = Self { machine, pus, packages, count, last_level, runs, ..Self::default() };
        Ok(Self { memories, memory_count, firsts, ..places })
    }

    /// The distance of two workers.
    pub(crate) fn distance(&self, a: usize, b: usize) -> u8 {
        match &self.machine {
            None => u8::from(a != b),
            // If there are more workers than PUs, several share one; no rule may take them for the
            // same worker.
            Some(machine) => machine.distance(self.pus[a], self.pus[b]).max(u8::from(a != b)),
        }
    }

    /// All other workers, as [`View::neighbours`](sinew_policy::victim::View::neighbours) returns
    /// them: one query per run of another package, one per worker of the own package.
    pub(crate) fn neighbours(&self, me: usize) -> Vec<Neighbours> {
        let mut all = Vec::new();
        if self.machine.is_none() {
            add(&mut all, Neighbours { first: 0, end: me, distance: 1, near: true });
            add(
                &mut all,
                Neighbours { first: me + 1, end: self.packages.len(), distance: 1, near: true },
            );
        }
        for &(first, end) in &self.runs {
            if self.packages[first] != self.packages[me] {
                add(
                    &mut all,
                    Neighbours { first, end, distance: self.distance(me, first), near: false },
                );
                continue;
            }
            for worker in (first..end).filter(|&worker| worker != me) {
                let distance = self.distance(me, worker);
                add(&mut all, Neighbours { first: worker, end: worker + 1, distance, near: true });
            }
        }
        all
    }

    #[inline]
    pub(crate) fn package(&self, worker: usize) -> usize {
        self.packages[worker] as usize
    }

    pub(crate) fn packages(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn memory(&self, worker: usize) -> usize {
        self.memories[worker] as usize
    }

    pub(crate) fn memories(&self) -> usize {
        self.memory_count
    }

    /// How many levels of distance a package is farther from another one than the nearest is.
    pub(crate) fn beyond(&self, package: usize, other: usize) -> u8 {
        let between = |a: usize, b: usize| self.distance(self.firsts[a], self.firsts[b]);
        let nearest = (1..self.count).map(|other| between(0, other)).min().unwrap_or(0);
        between(package, other).saturating_sub(nearest)
    }

    pub(crate) fn last_level(&self) -> u8 {
        self.last_level
    }
}

/// Appends a run, merging it with the last one if they are adjacent.
fn add(all: &mut Vec<Neighbours>, run: Neighbours) {
    match all.last_mut() {
        _ if run.first == run.end => {}
        Some(last)
            if last.end == run.first && (last.distance, last.near) == (run.distance, run.near) =>
        {
            last.end = run.end;
        }
        _ => all.push(run),
    }
}

fn runs(machine: &Machine, pus: &[PuId], packages: &[u32]) -> Vec<(usize, usize)> {
    let cell = |worker: usize| (packages[worker], machine.ancestor(pus[worker], Level::Node));
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for worker in 0..pus.len() {
        match runs.last_mut() {
            Some((first, end)) if cell(*first) == cell(worker) => *end = worker + 1,
            _ => runs.push((worker, worker + 1)),
        }
    }
    runs
}

/// The object of this level around each worker, numbered without gaps in order of occurrence.
fn numbered(machine: &Machine, pus: &[PuId], level: Level) -> (Vec<u32>, usize) {
    let mut known = Vec::new();
    let mut number = |pu: &PuId| {
        let object = machine.ancestor(*pu, level);
        known.iter().position(|other| *other == object).unwrap_or_else(|| {
            known.push(object);
            known.len() - 1
        }) as u32
    };
    let numbers = pus.iter().map(&mut number).collect();
    (numbers, known.len())
}

/// The distance of two PUs that share a last-level cache and no closer level.
fn last_level(machine: &Machine) -> u8 {
    let names = machine.distance_names();
    let cache = machine.last_level_cache().map(|level| format!("same {level}"));
    let rung = names.iter().position(|name| Some(name) == cache.as_ref());
    rung.map_or(1, |rung| u8::try_from(rung + 1).unwrap_or(u8::MAX))
}

/// The state that victim policies with package masters use.
#[derive(Debug)]
pub(crate) struct Packages {
    masters: Vec<Option<u32>>,
    /// Packages that have got their piece of the current root.
    has_piece: Vec<bool>,
}

impl Packages {
    pub(crate) fn new(count: usize) -> Self {
        Self { masters: vec![None; count], has_piece: vec![false; count] }
    }

    pub(crate) fn master(&self, package: usize) -> Option<usize> {
        self.masters[package].map(|master| master as usize)
    }

    /// `worker` asks to become the master of its package.
    pub(crate) fn stand(
        &mut self,
        package: usize,
        worker: usize,
        holder: Holder,
        candidate: Candidate,
    ) {
        if takes_over(holder, candidate) {
            self.masters[package] = Some(worker as u32);
        }
    }

    /// `worker` parks or leaves.
    pub(crate) fn resign(&mut self, package: usize, worker: usize) {
        if self.master(package) == Some(worker) {
            self.masters[package] = None;
        }
    }

    pub(crate) fn wants_piece(&self, package: usize) -> bool {
        !self.has_piece[package]
    }

    pub(crate) fn got_piece(&mut self, package: usize) {
        self.has_piece[package] = true;
    }

    /// A new root begins in `package`.
    pub(crate) fn begin(&mut self, package: usize) {
        self.has_piece.fill(false);
        self.got_piece(package);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: workers in a wrong package, or distances that differ from the machine's.
    #[test]
    fn workers_sit_as_near_to_each_other_as_they_can() {
        let machine: Machine = "package:2 l3:2 core:2".parse().expect("a machine");
        let places = Places::new(Some(&machine), 8, &Mapping::Compact).expect("places");
        assert_eq!((0..8).map(|w| places.package(w)).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!([0, 1, 2, 4].map(|w| places.distance(0, w)), [0, 1, 2, 3]);
        assert_eq!((places.packages(), places.last_level()), (2, 1));
        assert_eq!((places.memories(), places.beyond(0, 1)), (1, 0));
        let flat = Places::new(None, 3, &Mapping::Compact).expect("places");
        assert_eq!((flat.distance(0, 2), flat.memories()), (1, 1));
    }

    /// Catches: workers of two nodes on one memory, or a mapping that is not followed.
    #[test]
    fn every_node_is_a_memory_and_scattered_workers_are_on_all_of_them() {
        let machine: Machine = "package:2 node:2 core:2".parse().expect("a machine");
        let memories = |mapping| {
            let places = Places::new(Some(&machine), 4, &mapping).expect("places");
            ((0..4).map(|worker| places.memory(worker)).collect::<Vec<_>>(), places.memories())
        };
        assert_eq!(memories(Mapping::Compact), (vec![0, 0, 1, 1], 2));
        assert_eq!(memories(Mapping::Scatter), (vec![0, 1, 2, 3], 4));
    }

    /// The trait's default implementation.
    struct Asked<'p>(&'p Places, usize);

    impl sinew_policy::victim::View for Asked<'_> {
        fn workers(&self) -> usize {
            self.0.packages.len()
        }
        fn me(&self) -> usize {
            self.1
        }
        fn is_active(&self, _: usize) -> bool {
            true
        }
        fn load(&self, _: usize) -> usize {
            0
        }
        fn oldest_depth(&self, _: usize) -> Option<u32> {
            None
        }
        fn distance(&self, worker: usize) -> u8 {
            self.0.distance(self.1, worker)
        }
        fn package(&self, worker: usize) -> usize {
            self.0.package(worker)
        }
    }

    /// Catches: a run with a worker at another distance, or one that omits a worker.
    #[test]
    fn neighbours_by_runs_are_those_that_are_found_by_asking_for_each() {
        for text in [
            "core:5",
            "package:3 l3:2 core:2",
            "package:2 node:2 l3:2 core:2 pu:2",
            "package:4 node:1 l2:3 core:2",
        ] {
            let machine: Machine = text.parse().expect("a machine");
            let all = machine.pus().len();
            for workers in [1, all / 2, all] {
                let places =
                    Places::new(Some(&machine), workers, &Mapping::Compact).expect("places");
                for me in 0..workers {
                    let asked = sinew_policy::victim::View::neighbours(&Asked(&places, me));
                    assert_eq!(places.neighbours(me), asked, "{me} of {workers} on {text}");
                }
            }
        }
    }
}
