//! The PU of each worker of a pool, and the distances between workers.
//!
//! A pool computes it once, from a [`Machine`] and the rule in `mapping`. It pins its threads to
//! these CPUs (`pin`), and victim rules read the distances and packages.

use crate::machine::{Level, Machine, PuId};
use crate::mapping::{Mapping, MappingError, place};
use sinew_cpus::CpuSet;

/// A PU for each worker slot, and the distances between them.
///
/// Workers that the operating system places all have distance 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuAssignment {
    pus: Vec<Option<PuId>>,
    cpus: Vec<Option<usize>>,
    /// Row by row, `workers` × `workers`; empty if no worker is placed.
    distances: Vec<u8>,
}

impl CpuAssignment {
    /// Places `workers` workers on the allowed CPUs by the mapping; see [`place`].
    ///
    /// # Errors
    ///
    /// As [`place`].
    ///
    /// # Cost
    ///
    /// `workers`² bytes, if the mapping places them.
    pub fn new(
        machine: &Machine,
        allowed: &CpuSet,
        mapping: &Mapping,
        workers: usize,
    ) -> Result<Self, MappingError> {
        let pus = place(machine, allowed, mapping, workers)?;
        let mut cpus = Vec::with_capacity(workers);
        for pu in &pus {
            cpus.push(pu.map(|pu| machine.pu(pu).cpu));
        }
        let placed = if pus.iter().any(Option::is_some) { workers } else { 0 };
        let mut distances = Vec::with_capacity(placed * placed);
        for a in 0..placed {
            for b in 0..workers {
                distances.extend([worker_distance(machine, &pus, a, b)]);
            }
        }
        Ok(Self { pus, cpus, distances })
    }

    /// The number of worker slots.
    pub fn workers(&self) -> usize {
        self.pus.len()
    }

    /// The PU of each worker; `None` if the operating system decides.
    pub fn pus(&self) -> &[Option<PuId>] {
        &self.pus
    }

    /// The CPU of each worker, by the operating system's numbers, for pinning.
    pub fn cpus(&self) -> &[Option<usize>] {
        &self.cpus
    }

    /// The CPU to which a worker is pinned, if any.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[track_caller]
    pub fn pin_of(&self, worker: usize) -> Option<CpuSet> {
        self.cpus[worker].map(|cpu| CpuSet::from_iter([cpu]))
    }

    /// The distance of two workers: 0 for a worker and itself, and for workers on the same PU; see
    /// [`Machine::distance`].
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[track_caller]
    pub fn distance(&self, a: usize, b: usize) -> u8 {
        assert!(
            a < self.workers() && b < self.workers(),
            "no workers {a} and {b} among {}",
            self.workers()
        );
        self.distances.get(a * self.workers() + b).copied().unwrap_or(u8::from(a != b))
    }

    /// The largest distance between two workers.
    pub fn farthest(&self) -> u8 {
        self.distances.iter().copied().max().unwrap_or(u8::from(self.workers() > 1))
    }

    /// For each worker the object of `level` that contains its PU, as an index into
    /// [`Machine::objects`]. `None` for workers that the operating system places, and where no such
    /// object exists.
    pub fn objects(&self, machine: &Machine, level: Level) -> Vec<Option<usize>> {
        self.pus.iter().map(|pu| pu.and_then(|pu| machine.ancestor(pu, level))).collect()
    }

    /// For each worker the number of its package, counted from 0 in the order of workers, without
    /// gaps. Workers without a package share one number.
    pub fn packages(&self, machine: &Machine) -> Vec<usize> {
        let mut known = Vec::new();
        let mut numbers = Vec::with_capacity(self.workers());
        for package in self.objects(machine, Level::Package) {
            let number = known.iter().position(|&other| other == package).unwrap_or(known.len());
            if number == known.len() {
                known.push(package);
            }
            numbers.extend([number]);
        }
        numbers
    }

    /// The distance of two PUs that share a last-level cache and nothing closer, measured at the
    /// first placed worker. Workers at a smaller distance share more than that cache. 1 if no cache
    /// is known or no worker is placed.
    pub fn last_level_distance(&self, machine: &Machine) -> u8 {
        let around = |first: PuId| {
            let cache = machine.ancestor(first, machine.last_level_cache()?)?;
            let mut farthest = 0;
            for pu in machine.objects()[cache].pus.clone() {
                farthest = machine.distance(first, PuId(pu as u32)).max(farthest);
            }
            Some(farthest)
        };
        let first = self.pus.iter().copied().flatten().next();
        first.and_then(around).unwrap_or(1).max(1)
    }
}

fn worker_distance(machine: &Machine, pus: &[Option<PuId>], a: usize, b: usize) -> u8 {
    match (pus[a], pus[b]) {
        (Some(a), Some(b)) => machine.distance(a, b),
        _ => u8::from(a != b),
    }
}
