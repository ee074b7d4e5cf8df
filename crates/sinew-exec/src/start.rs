//! Facts about the machine and this process before the command runs.
//!
//! Every file that is read here delays the command. So only files that matter for the plan are
//! read; the share agent reads the rest of the machine when it has neighbours.

use std::collections::HashSet;
use std::fs;

use sinew_topology::{CpuSet, Limits, Machine};

use crate::sys;

/// The facts at the start.
#[derive(Debug)]
pub(crate) struct Start {
    /// The mask.
    pub(crate) cpus: CpuSet,
    /// Physical cores in it.
    pub(crate) cores: usize,
    /// Threads that a quota allows.
    pub(crate) threads: usize,
    /// The mask is narrower than it could be.
    pub(crate) narrowed: bool,
    /// Memory is bound to nodes, or spread over them.
    pub(crate) memory_bound: bool,
}

impl Start {
    /// Reads the facts about this process.
    pub(crate) fn read() -> Self {
        let limits = Limits::read();
        let cpus = limits.allowed().clone();
        Self {
            cores: cores(&cpus),
            threads: limits.effective_threads(),
            narrowed: is_narrowed(&limits, &online()),
            memory_bound: sys::binds_memory(),
            cpus,
        }
    }
}

/// The CPUs that are online.
fn online() -> CpuSet {
    one_line("/sys/devices/system/cpu/online")
        .and_then(|line| line.parse().ok())
        .unwrap_or_else(|| Machine::host().cpus())
}

/// The number of physical cores that these CPUs belong to.
fn cores(cpus: &CpuSet) -> usize {
    if one_line("/sys/devices/system/cpu/smt/active").as_deref() == Some("0") {
        return cpus.len();
    }
    let siblings = |cpu: usize| {
        let of = |name| one_line(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
        // The second name is the one before Linux 5.3.
        of("core_cpus_list").or_else(|| of("thread_siblings_list"))
    };
    let cores: Option<HashSet<String>> = cpus.iter().map(siblings).collect();
    cores.map_or(cpus.len(), |cores| cores.len())
}

fn one_line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// Compares the mask with the cpuset; without one, with the whole machine.
fn is_narrowed(limits: &Limits, online: &CpuSet) -> bool {
    let possible =
        limits.cpuset().map_or_else(|| online.clone(), |cpuset| cpuset.intersection(online));
    limits.affinity().intersection(&possible) != possible
}

#[cfg(test)]
mod tests {
    use sinew_topology::Level;

    use super::*;

    /// Catches: the short read of the machine that differs from the full one.
    #[test]
    fn cpus_and_cores_are_those_of_the_whole_look() {
        let (machine, cpus) = (Machine::host(), online());
        assert_eq!(cpus, machine.cpus());
        let core = |cpu| machine.find_cpu(cpu).and_then(|pu| machine.ancestor(pu, Level::Core));
        let distinct: HashSet<usize> = cpus.iter().filter_map(core).collect();
        assert_eq!(cores(&cpus), distinct.len());
    }
}
