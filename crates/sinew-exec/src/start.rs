//! What is known of the machine and of this process before the command runs.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;

use sinew_topology::{CpuSet, Level, Limits, Machine};

/// The state of things at the start.
#[derive(Debug)]
pub(crate) struct Start {
    /// The mask.
    pub(crate) cpus: CpuSet,
    /// Physical cores in it.
    pub(crate) cores: usize,
    /// Threads that a quota leaves.
    pub(crate) threads: usize,
    /// Somebody has made the mask narrower than it might be.
    pub(crate) narrowed: bool,
    /// Memory has been bound to nodes, or spread over them.
    pub(crate) memory_bound: bool,
}

impl Start {
    /// Of this process, now.
    pub(crate) fn read() -> Self {
        let (limits, machine) = (Limits::read(), Machine::host());
        let cpus = limits.allowed().clone();
        Self {
            cores: cores(machine, &cpus),
            threads: limits.effective_threads(),
            narrowed: is_narrowed(&limits, machine),
            memory_bound: is_memory_bound(),
            cpus,
        }
    }
}

fn cores(machine: &Machine, cpus: &CpuSet) -> usize {
    let core = |cpu| machine.find_cpu(cpu).and_then(|pu| machine.ancestor(pu, Level::Core));
    let distinct: HashSet<usize> = cpus.iter().filter_map(core).collect();
    if distinct.is_empty() { cpus.len() } else { distinct.len() }
}

/// Without a cpuset the whole machine is what the mask could be.
fn is_narrowed(limits: &Limits, machine: &Machine) -> bool {
    let possible =
        limits.cpuset().map_or_else(|| machine.cpus(), |cpuset| cpuset.intersection(&machine.cpus()));
    limits.affinity().intersection(&possible) != possible
}

/// The policy of the first mapping is the process's, since nobody has had the time to choose another one for a single mapping.
fn is_memory_bound() -> bool {
    let mut start = [0; 256];
    let length = File::open("/proc/self/numa_maps").and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let policy = String::from_utf8_lossy(&start[..length]).split_ascii_whitespace().nth(1).map(str::to_owned);
    policy.is_some_and(|policy| policy != "default" && policy != "local")
}
