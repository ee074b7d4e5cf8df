//! Options of an experiment.

use std::fmt;

use serde::{Deserialize, Serialize};
use sinew::Mapping;
use sinew_topology::{CpuSet, Level, Machine, place};

use crate::failure::Failure;
use crate::parameters::Values;
use crate::worklists::Worklists;

/// The size of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Everything once round in some seconds: shows that it works, its figures mean little.
    Quick,
    /// A few minutes on two cores.
    #[default]
    Default,
    /// The published sizes, which may take hours.
    Full,
}

impl Scale {
    /// The value for this scale.
    pub fn pick<T>(self, quick: T, default: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Default => default,
            Self::Full => full,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("quick", "default", "full"))
    }
}

/// The conditions of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The size of the problems.
    pub scale: Scale,
    /// The numbers of workers, rising, at least one.
    pub threads: Vec<usize>,
    /// Number of repetitions; figures are medians.
    pub repeat: usize,
    /// Decides the order of the runs.
    pub seed: u64,
    /// The mapping of all pools, except where a case is about a mapping; `None`: each experiment's
    /// own.
    pub mapping: Option<Mapping>,
    /// Numbers that replace those of the size.
    pub parameters: Values,
    /// The conditions of experiments with worklists.
    pub worklists: Worklists,
}

impl Setting {
    /// Everything at its default, on a machine on which this process may use `processors`.
    pub fn new(scale: Scale, processors: usize) -> Self {
        Self {
            scale,
            threads: worker_counts(processors),
            repeat: scale.pick(1, 5, 5),
            seed: 1,
            mapping: None,
            worklists: Worklists::default(),
            parameters: Values::default(),
        }
    }

    /// The same with these numbers of workers and 1, if there are any.
    #[must_use]
    pub fn workers(self, counts: &[usize]) -> Self {
        if counts.is_empty() {
            return self;
        }
        let mut threads = [counts, &[1]].concat();
        threads.sort_unstable();
        threads.dedup();
        Self { threads, ..self }
    }

    /// The same with `each` workers on one package of `machine`, on two, and so on up to all that
    /// have `allowed` processors; and with one worker. Also sets the mapping.
    ///
    /// # Errors
    ///
    /// If a package has fewer than `each` allowed processors, or no package has any.
    pub fn per_package(
        self,
        each: usize,
        machine: &Machine,
        allowed: &CpuSet,
    ) -> Result<Self, Failure> {
        let level = match machine.objects_at(Level::Package).next() {
            Some(_) => Level::Package,
            None => Level::Machine,
        };
        let of = |pus: std::ops::Range<usize>| -> CpuSet {
            machine.pus()[pus]
                .iter()
                .map(|pu| pu.cpu)
                .filter(|&cpu| allowed.contains(cpu))
                .collect()
        };
        let packages = machine.objects_at(level).map(|package| of(package.pus.clone()));
        let mut cpus = Vec::new();
        for package in packages.filter(|package| !package.is_empty()) {
            if package.len() < each {
                return Err(Failure::Impossible(format!(
                    "{each} workers do not fit onto a package with the processors {package}"
                )));
            }
            let places = place(machine, &package, &Mapping::Compact, each);
            let places = places.map_err(Failure::impossible)?;
            cpus.extend(places.into_iter().flatten().map(|pu| machine.pu(pu).cpu));
        }
        let counts: Vec<usize> = (each..=cpus.len()).step_by(each.max(1)).collect();
        Ok(Self { mapping: Some(Mapping::Explicit(cpus)), ..self.workers(&counts) })
    }

    /// The value for its scale: quick, default or full.
    pub(crate) fn pick<T>(&self, [quick, default, full]: [T; 3]) -> T {
        self.scale.pick(quick, default, full)
    }

    /// The largest number of workers.
    pub fn most_workers(&self) -> usize {
        self.threads.iter().copied().max().unwrap_or(1)
    }

    /// The numbers of workers above one: those with victims.
    pub fn parallel_counts(&self) -> Vec<usize> {
        self.threads.iter().copied().filter(|&workers| workers > 1).collect()
    }
}

/// The powers of two below the number of processors, and that number.
fn worker_counts(processors: usize) -> Vec<usize> {
    let most = processors.max(1);
    let powers = std::iter::successors(Some(1), |&workers: &usize| workers.checked_mul(2));
    powers.take_while(|&workers| workers < most).chain([most]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: workers that fill one package before the next one has any, or siblings before
    /// cores; numbers that do not grow by packages; a package that is too small.
    #[test]
    fn workers_are_added_package_by_package() {
        let machine: Machine = "package:2 core:3 pu:2".parse().unwrap();
        let on = |each, allowed: &CpuSet| {
            let setting = Setting::new(Scale::Quick, 1).per_package(each, &machine, allowed)?;
            Ok::<_, Failure>((setting.threads, setting.mapping.unwrap()))
        };
        let (threads, mapping) = on(2, &machine.cpus()).unwrap();
        let Mapping::Explicit(cpus) = mapping else { panic!("{mapping}") };
        let places: Vec<_> = cpus.iter().map(|&cpu| machine.find_cpu(cpu).unwrap()).collect();
        let of = |level| places.iter().map(|&pu| machine.ancestor(pu, level)).collect::<Vec<_>>();
        let (packages, cores) = (of(Level::Package), of(Level::Core));
        assert_eq!(threads, [1, 2, 4]);
        assert!(packages[0] == packages[1] && packages[2] == packages[3], "{packages:?}");
        assert!(packages[1] != packages[2] && cores[0] != cores[1], "{packages:?} {cores:?}");
        let error = on(3, &cpus.iter().copied().collect()).unwrap_err().to_string();
        assert!(error.contains("3 workers do not fit"), "{error}");
        let flat: Machine = "core:4".parse().unwrap();
        let setting = Setting::new(Scale::Quick, 1).per_package(2, &flat, &flat.cpus()).unwrap();
        assert_eq!(setting.threads, [1, 2]);
    }

    /// Catches: a machine whose size is no power of two, or that has one processor.
    #[test]
    fn worker_counts_double_up_to_the_machine() {
        assert_eq!(worker_counts(1), [1]);
        assert_eq!(worker_counts(2), [1, 2]);
        assert_eq!(worker_counts(6), [1, 2, 4, 6]);
        assert_eq!(worker_counts(8), [1, 2, 4, 8]);
        assert_eq!(Setting::new(Scale::Quick, 6).parallel_counts(), [2, 4, 6]);
    }
}
