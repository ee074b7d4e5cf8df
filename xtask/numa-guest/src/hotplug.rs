//! CPUs that are switched off while the machine runs.

use std::fs;

use numa_protocol::{Outcome, Shape};
use sinew_core::Mapping;
use sinew_topology::{CpuSet, Level, Limits, Machine};

use crate::check::{Check, Verdict, ensure, same};
use crate::hwloc;
use crate::tree::sets_at;
use crate::workers::{pool, survey};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "hotplug/a-cpu-that-is-off-is-in-no-tree-and-no-pool", run: one_off },
    Check { name: "hotplug/a-package-that-is-off-leaves-its-memory", run: package_off },
    Check { name: "hotplug/a-pinned-pool-outlives-the-cpu-of-a-worker", run: pool_on_lost_cpu },
    Check { name: "hotplug/what-comes-back-is-found-again", run: back_again },
];

/// CPUs that are off until this is dropped.
struct Off(CpuSet);

impl Off {
    fn new(cpus: CpuSet) -> Result<Self, String> {
        let off = Self(cpus);
        off.0.iter().try_for_each(|cpu| switch(cpu, "0"))?;
        Ok(off)
    }
}

impl Drop for Off {
    fn drop(&mut self) {
        // The next check finds CPUs that stay off.
        self.0.iter().for_each(|cpu| drop(switch(cpu, "1")));
    }
}

fn switch(cpu: usize, state: &str) -> Result<(), String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(&path, state).map_err(|error| format!("cannot write {state} to {path}: {error}"))
}

/// The machine as it is now; pools use the one that was read once.
fn look() -> Result<Machine, String> {
    let machine = Machine::from_sysfs("/");
    ensure(machine.warnings().is_empty(), || format!("{:?}", machine.warnings()))?;
    Ok(machine)
}

fn rest(shape: &Shape, off: &CpuSet) -> CpuSet {
    (0..shape.cpus()).filter(|&cpu| !off.contains(cpu)).collect()
}

fn one_off(shape: &Shape) -> Verdict {
    let last = shape.cpus() - 1;
    let off = Off::new([last].into_iter().collect())?;
    let rest = rest(shape, &off.0);
    let machine = look()?;
    same("CPUs", &machine.cpus(), &rest)?;
    hwloc::compare(&machine)?;
    let node = shape.node_of(last).ok_or("the last CPU has no node")?;
    ensure(!machine.nodes()[node].cpus.contains(last), || {
        format!("node {node} still has CPU {last}")
    })?;
    same("allowed", Limits::read().allowed(), &rest)?;
    for mapping in [Mapping::Compact, Mapping::Scatter] {
        let seen = survey(&pool(rest.len(), &mapping)?);
        let used: CpuSet = seen.iter().flat_map(|worker| worker.on.iter()).collect();
        same(&format!("CPUs used by {mapping}"), &used, &rest)?;
    }
    let refusal = pool(1, &Mapping::Explicit(vec![last])).err();
    ensure(
        refusal.as_ref().is_some_and(|why| why.ends_with(&format!("choose from {rest}"))),
        || format!("a pool on CPU {last}, which is off: {refusal:?}"),
    )?;
    Ok(Outcome::Passed)
}

fn package_off(shape: &Shape) -> Verdict {
    let off = Off::new(shape.package(shape.packages - 1).collect())?;
    let machine = look()?;
    same("CPUs", &machine.cpus(), &rest(shape, &off.0))?;
    same("packages", &machine.count(Level::Package), &(shape.packages - 1))?;
    hwloc::compare(&machine)?;
    same("nodes", &machine.nodes().len(), &shape.nodes.len())?;
    for (node, expected) in machine.nodes().iter().zip(&shape.nodes) {
        let left: CpuSet =
            expected.cpus.iter().copied().filter(|&cpu| !off.0.contains(cpu)).collect();
        same(&format!("CPUs of node {}", node.number), &node.cpus, &left)?;
        let memory = node.memory_bytes.is_some_and(|bytes| bytes > 0);
        same(&format!("memory on node {}", node.number), &memory, &(expected.memory_mib > 0))?;
    }
    Ok(Outcome::Passed)
}

/// The kernel lets a thread run on other CPUs when its only allowed CPU goes offline.
fn pool_on_lost_cpu(shape: &Shape) -> Verdict {
    let pool = pool(shape.cpus(), &Mapping::Compact)?;
    survey(&pool);
    let off = Off::new([shape.cpus() - 1].into_iter().collect())?;
    let seen = survey(&pool);
    same("workers that answered", &seen.len(), &shape.cpus())?;
    let used: CpuSet = seen.iter().flat_map(|worker| worker.on.iter()).collect();
    let rest = rest(shape, &off.0);
    ensure(used.intersection(&rest) == used, || format!("workers ran on {used}, not {rest}"))?;
    Ok(Outcome::Passed)
}

fn back_again(shape: &Shape) -> Verdict {
    drop(Off::new((1..shape.cpus()).collect())?);
    let (now, before) = (look()?, Machine::host());
    for level in [Level::Package, Level::Node, Level::L3, Level::L2, Level::Core] {
        same(level.name(), &sets_at(&now, level), &sets_at(before, level))?;
    }
    Ok(Outcome::Passed)
}
