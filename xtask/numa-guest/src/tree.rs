//! The tree that `sinew-topology` reads from this kernel's sysfs, beside the shape that the machine
//! was made by.

use std::collections::BTreeSet;

use numa_protocol::{Outcome, Shape};
use sinew_topology::{CpuSet, Level, Machine, Source};

use crate::check::{Check, Verdict, ensure, same};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "tree/is-read-without-a-warning", run: without_warnings },
    Check { name: "tree/packages-nodes-and-cores-are-those-of-the-shape", run: groups_of_cpus },
    Check { name: "tree/caches-are-private-to-cores-or-shared-by-packages", run: caches },
    Check { name: "tree/nodes-have-their-cpus-and-memory", run: nodes },
    Check { name: "tree/node-distances-are-those-of-the-shape", run: node_distances },
    Check { name: "tree/what-shares-more-or-lies-nearer-is-less-far", run: order_of_distances },
];

fn without_warnings(_: &Shape) -> Verdict {
    let machine = Machine::host();
    same("source", machine.source(), &Source::Sysfs("/".into()))?;
    ensure(machine.warnings().is_empty(), || {
        let warnings: Vec<String> = machine.warnings().iter().map(ToString::to_string).collect();
        warnings.join("; ")
    })?;
    Ok(Outcome::Passed)
}

/// The sets of CPUs that the objects of one level hold, as lists.
pub(crate) fn sets_at(machine: &Machine, level: Level) -> BTreeSet<String> {
    let cpus = |range: std::ops::Range<usize>| -> CpuSet {
        range.map(|pu| machine.pus()[pu].cpu).collect()
    };
    machine.objects_at(level).map(|object| cpus(object.pus.clone()).to_string()).collect()
}

fn lists(sets: impl Iterator<Item = CpuSet>) -> BTreeSet<String> {
    sets.filter(|set| !set.is_empty()).map(|set| set.to_string()).collect()
}

fn packages(shape: &Shape) -> BTreeSet<String> {
    lists((0..shape.packages).map(|package| shape.package(package).collect()))
}

fn cores(shape: &Shape) -> BTreeSet<String> {
    lists((0..shape.packages * shape.cores).map(|core| shape.core(core).collect()))
}

fn groups_of_cpus(shape: &Shape) -> Verdict {
    let machine = Machine::host();
    same("CPUs", &machine.cpus(), &CpuSet::first(shape.cpus()))?;
    same("packages", &sets_at(machine, Level::Package), &packages(shape))?;
    let nodes = lists(shape.nodes.iter().map(|node| node.cpus.iter().copied().collect()));
    same("nodes", &sets_at(machine, Level::Node), &nodes)?;
    same("cores", &sets_at(machine, Level::Core), &cores(shape))?;
    for object in machine.objects_at(Level::Package) {
        let first = machine.pus()[object.pus.start].cpu;
        same("number of a package", &object.number, &shape.package_of(first))?;
    }
    Ok(Outcome::Passed)
}

/// The emulator's processors have a level-2 cache a core and a level-3 cache a package.
fn caches(shape: &Shape) -> Verdict {
    let machine = Machine::host();
    same("level-2 caches", &sets_at(machine, Level::L2), &cores(shape))?;
    same("level-3 caches", &sets_at(machine, Level::L3), &packages(shape))?;
    for level in [Level::L2, Level::L3, Level::Core] {
        let unknown = machine.objects_at(level).find(|object| object.cache_bytes.is_none());
        ensure(unknown.is_none(), || format!("a cache of a {level} has no size"))?;
    }
    Ok(Outcome::Passed)
}

fn nodes(shape: &Shape) -> Verdict {
    let machine = Machine::host();
    let numbers: Vec<usize> = machine.nodes().iter().map(|node| node.number).collect();
    same("numbers of nodes", &numbers, &(0..shape.nodes.len()).collect())?;
    for (node, expected) in machine.nodes().iter().zip(&shape.nodes) {
        let what = format!("CPUs of node {}", node.number);
        same(&what, &node.cpus, &expected.cpus.iter().copied().collect())?;
        let mib = node.memory_bytes.map(|bytes| bytes >> 20);
        // The kernel and its tables take some of what the firmware gave.
        let enough = |mib: u64| mib <= expected.memory_mib && mib + 64 >= expected.memory_mib;
        ensure(mib.is_some_and(enough), || {
            format!("node {} has {mib:?} MiB, not {}", node.number, expected.memory_mib)
        })?;
    }
    for pu in machine.pus() {
        same("node of a CPU", &pu.node, &shape.node_of(pu.cpu))?;
    }
    Ok(Outcome::Passed)
}

/// Of a pair's two distances Sinew takes the larger one for both ways.
pub(crate) fn expected_distance(shape: &Shape, a: usize, b: usize) -> u32 {
    shape.distances[a][b].max(shape.distances[b][a])
}

fn node_distances(shape: &Shape) -> Verdict {
    let machine = Machine::host();
    for a in 0..shape.nodes.len() {
        for b in 0..shape.nodes.len() {
            let what = format!("distance of nodes {a} and {b}");
            same(&what, &machine.node_distance(a, b), &expected_distance(shape, a, b))?;
        }
    }
    Ok(Outcome::Passed)
}

/// Near to far: the distance of the nodes counts first, then core, package and machine.
pub(crate) fn nearness(shape: &Shape, a: usize, b: usize) -> (u32, u8) {
    let nodes = shape.node_of(a).zip(shape.node_of(b));
    let numa = nodes.map_or(u32::MAX, |(a, b)| expected_distance(shape, a, b));
    let apart = match () {
        () if shape.core_of(a) == shape.core_of(b) => 0,
        () if shape.package_of(a) == shape.package_of(b) => 1,
        () => 2,
    };
    (numa, apart)
}

fn order_of_distances(shape: &Shape) -> Verdict {
    let machine = Machine::host();
    let pu = |cpu| machine.find_cpu(cpu).ok_or_else(|| format!("no CPU {cpu}"));
    let far = |a, b| -> Result<u8, String> { Ok(machine.distance(pu(a)?, pu(b)?)) };
    for here in 0..shape.cpus() {
        let others = || (0..shape.cpus()).filter(move |&cpu| cpu != here);
        for (near, other) in others().flat_map(|near| others().map(move |other| (near, other))) {
            let (a, b) = (far(here, near)?, far(here, other)?);
            let nearer = nearness(shape, here, near).cmp(&nearness(shape, here, other));
            ensure(a.cmp(&b) == nearer, || {
                format!(
                    "from CPU {here}, {near} is at {a} and {other} at {b}, but should be {nearer:?}"
                )
            })?;
        }
    }
    Ok(Outcome::Passed)
}
