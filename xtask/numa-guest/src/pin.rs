//! Workers run where their mapping puts them; external threads are not moved.
//!
//! The expected result of a mapping is specified here by its purpose, not by the code that deals
//! the slots; on the regular shape it is written out.

use std::collections::BTreeSet;

use numa_protocol::{Outcome, Shape};
use sinew_core::{Mapping, Pool};
use sinew_topology::{CpuAssignment, CpuSet, Machine};

use crate::check::{Check, Verdict, ensure, same};
use crate::workers::{mask, pool, restricted, survey, watch};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "pin/compact-fills-a-package-before-the-next", run: compact },
    Check { name: "pin/scatter-spreads-over-packages-first", run: scatter },
    Check { name: "pin/an-explicit-list-is-followed-in-its-order", run: explicit },
    Check { name: "pin/more-workers-than-cpus-start-over", run: more_than_cpus },
    Check { name: "pin/without-a-mapping-nobody-is-pinned", run: unpinned },
    Check { name: "pin/external-threads-are-never-pinned", run: external },
    Check { name: "pin/an-affinity-mask-sizes-and-bounds-a-pool", run: within_a_mask },
    Check { name: "pin/a-cpu-outside-the-mask-is-refused-by-name", run: outside_the_mask },
];

/// Every worker is on one CPU only, which is also all the kernel would allow it. Returns the CPUs
/// by worker.
fn pinned(mapping: &Mapping, threads: usize) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for worker in survey(&pool(threads, mapping)?) {
        let at = format!("worker {} of {mapping}", worker.slot);
        same(&format!("{at} ran on"), &worker.on, &worker.mask)?;
        same(&format!("CPUs of {at}"), &worker.mask.len(), &1)?;
        cpus.extend(worker.mask.iter());
    }
    same("workers that answered", &cpus.len(), &threads)?;
    Ok(cpus)
}

/// As [`pinned`], with a worker for each CPU; `CpuAssignment` returned the same before, every CPU
/// is used, and whole cores come first.
fn all_pinned(shape: &Shape, mapping: &Mapping) -> Result<Vec<usize>, String> {
    let cpus = pinned(mapping, shape.cpus())?;
    let machine = Machine::host();
    let cpu_assignment = CpuAssignment::new(machine, &machine.cpus(), mapping, shape.cpus());
    let cpu_assignment = cpu_assignment.map_err(|error| error.to_string())?;
    same(
        "cpu_assignment",
        &cpu_assignment.cpus().iter().copied().flatten().collect::<Vec<_>>(),
        &cpus,
    )?;
    same("CPUs in use", &cpus.iter().copied().collect(), &CpuSet::first(shape.cpus()))?;
    let cores = shape.packages * shape.cores;
    let first: BTreeSet<usize> = cpus[..cores].iter().map(|&cpu| shape.core_of(cpu)).collect();
    same("different cores among the first slots", &first.len(), &cores)?;
    Ok(cpus)
}

/// The number of different packages of a run of slots.
fn packages_of(shape: &Shape, cpus: &[usize]) -> usize {
    cpus.iter().map(|&cpu| shape.package_of(cpu)).collect::<BTreeSet<_>>().len()
}

fn compact(shape: &Shape) -> Verdict {
    let cpus = all_pinned(shape, &Mapping::Compact)?;
    for slots in cpus.chunks(shape.cores) {
        same(&format!("packages under the slots on {slots:?}"), &packages_of(shape, slots), &1)?;
    }
    if shape.name == "four-packages" {
        same("compact", &cpus, &vec![0, 1, 2, 3, 4, 5, 6, 7])?;
    }
    Ok(Outcome::Passed)
}

fn scatter(shape: &Shape) -> Verdict {
    let cpus = all_pinned(shape, &Mapping::Scatter)?;
    for slots in cpus.chunks(shape.packages) {
        let packages = packages_of(shape, slots);
        same(&format!("packages under the slots on {slots:?}"), &packages, &shape.packages)?;
    }
    if shape.name == "four-packages" {
        same("scatter", &cpus, &vec![0, 2, 4, 6, 1, 3, 5, 7])?;
    }
    Ok(Outcome::Passed)
}

fn explicit(shape: &Shape) -> Verdict {
    let backwards: Vec<usize> = (0..shape.cpus()).rev().step_by(2).collect();
    let mapping = Mapping::Explicit(backwards.clone());
    same("explicit", &pinned(&mapping, backwards.len())?, &backwards)?;
    Ok(Outcome::Passed)
}

fn more_than_cpus(shape: &Shape) -> Verdict {
    let once = pinned(&Mapping::Scatter, shape.cpus())?;
    let twice = pinned(&Mapping::Scatter, 2 * shape.cpus())?;
    same("two rounds", &twice, &[once.clone(), once].concat())?;
    Ok(Outcome::Passed)
}

fn unpinned(shape: &Shape) -> Verdict {
    let all = CpuSet::first(shape.cpus());
    for worker in survey(&pool(shape.cpus(), &Mapping::None)?) {
        same(&format!("mask of worker {}", worker.slot), &worker.mask, &all)?;
    }
    Ok(Outcome::Passed)
}

fn external(shape: &Shape) -> Verdict {
    let before = mask();
    let pool = Pool::builder().threads(shape.cpus()).mapping(Mapping::Compact).build();
    let pool = pool.map_err(|error| error.to_string())?;
    let (slot, inside) = pool.run(|worker| (worker.index(), mask()));
    same("slot of an external thread", &slot, &0)?;
    same("mask of an external thread", &inside, &before)?;
    same("mask after the call", &mask(), &before)?;
    Ok(Outcome::Passed)
}

/// Some CPUs of a machine: all odd ones.
fn odd(shape: &Shape) -> CpuSet {
    (0..shape.cpus()).filter(|cpu| cpu % 2 == 1).collect()
}

fn within_a_mask(shape: &Shape) -> Verdict {
    let odd = odd(shape);
    for mapping in [Mapping::None, Mapping::Compact, Mapping::Scatter] {
        let (seen, caller) = restricted(&odd, || {
            let pool = Pool::builder().mapping(mapping.clone()).external_slot(false).build();
            Ok((survey(&pool.map_err(|error| error.to_string())?), watch()))
        })?;
        same("workers", &seen.len(), &odd.len())?;
        let used: CpuSet = seen.iter().flat_map(|worker| worker.on.iter()).collect();
        ensure(used.intersection(&odd) == used, || {
            format!("{mapping}: workers ran on {used}, not {odd}")
        })?;
        ensure(caller.intersection(&odd) == caller, || {
            format!("{mapping}: the caller ran on {caller}")
        })?;
        if mapping != Mapping::None {
            same("CPUs in use", &used, &odd)?;
        }
    }
    Ok(Outcome::Passed)
}

fn outside_the_mask(shape: &Shape) -> Verdict {
    let odd = odd(shape);
    for (cpu, threads) in [(0, 1), (shape.cpus(), 2)] {
        let mapping = Mapping::Explicit(vec![1, cpu]);
        let refusal = restricted(&odd, || match pool(threads, &mapping) {
            Ok(_) => Err(format!("a pool on {mapping} was built with the mask {odd}")),
            Err(refusal) => Ok(refusal),
        })?;
        let expected = format!(
            "{mapping}: CPU {cpu} of the mapping is not one this process may use: choose from {odd}"
        );
        same("refusal", &refusal, &expected)?;
    }
    Ok(Outcome::Passed)
}
