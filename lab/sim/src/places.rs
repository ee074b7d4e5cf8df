//! Places of workers on the machine, and masters of packages.

use sinew_policy::victim::{Candidate, Holder, Neighbours, takes_over};
use sinew_topology::{Level, Machine, Mapping, MappingError, PuId, place};

/// The workers' places on a machine.
#[derive(Debug)]
pub(crate) struct Places {
    machine: Option<Machine>,
    pus: Vec<PuId>,
    packages: Vec<u32>,
    count: usize,
    last_level: u8,
    /// Runs of workers with consecutive numbers in one package and node. All workers of a run are
    /// equally far from a worker of another package.
    runs: Vec<(usize, usize)>,
}

impl Places {
    /// Places `workers` workers on `machine`, packed as close together as possible; without a
    /// machine all are at distance 1.
    pub(crate) fn new(machine: Option<&Machine>, workers: usize) -> Result<Self, MappingError> {
        let Some(machine) = machine else {
            return Ok(Self {
                machine: None,
                pus: Vec::new(),
                packages: vec![0; workers],
                count: 1,
                last_level: 1,
                runs: Vec::new(),
            });
        };
        let order = place(machine, &machine.cpus(), &Mapping::Compact, workers)?;
        let pus: Vec<PuId> = order.into_iter().flatten().collect();
        let (packages, count) = packages(machine, &pus);
        let last_level = last_level(machine);
        let runs = runs(machine, &pus, &packages);
        Ok(Self { machine: Some(machine.clone()), pus, packages, count, last_level, runs })
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

/// The package of each worker, numbered without gaps in order of occurrence.
fn packages(machine: &Machine, pus: &[PuId]) -> (Vec<u32>, usize) {
    let mut known = Vec::new();
    let mut number = |pu: &PuId| {
        let package = machine.ancestor(*pu, Level::Package);
        known.iter().position(|other| *other == package).unwrap_or_else(|| {
            known.push(package);
            known.len() - 1
        }) as u32
    };
    let packages = pus.iter().map(&mut number).collect();
    (packages, known.len())
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
        let places = Places::new(Some(&machine), 8).expect("places");
        assert_eq!((0..8).map(|w| places.package(w)).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!([0, 1, 2, 4].map(|w| places.distance(0, w)), [0, 1, 2, 3]);
        assert_eq!((places.packages(), places.last_level()), (2, 1));
        assert_eq!(Places::new(None, 3).expect("places").distance(0, 2), 1);
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
                let places = Places::new(Some(&machine), workers).expect("places");
                for me in 0..workers {
                    let asked = sinew_policy::victim::View::neighbours(&Asked(&places, me));
                    assert_eq!(places.neighbours(me), asked, "{me} of {workers} on {text}");
                }
            }
        }
    }
}
