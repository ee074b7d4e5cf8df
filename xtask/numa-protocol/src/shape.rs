//! A machine, as the emulator is told and as the guest should find it.
//!
//! CPUs are numbered as the emulator does: package by package, core by core, the threads of a core
//! next to each other. So all that a tree of the machine must say follows from a few numbers, by
//! arithmetic that shares nothing with what is checked.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A machine of equal packages, with nodes that need not follow them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The name on the command line.
    pub name: String,
    /// Processor packages.
    pub packages: usize,
    /// Cores in each package.
    pub cores: usize,
    /// Threads of each core.
    pub threads: usize,
    /// The NUMA nodes, by their number.
    pub nodes: Vec<Node>,
    /// The distance from each node (row) to each other, in the firmware's unit: 10 is local.
    pub distances: Vec<Vec<u32>>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its CPUs; none for memory alone.
    pub cpus: Vec<usize>,
    /// Its memory in MiB; 0 for CPUs alone.
    pub memory_mib: u64,
}

impl Shape {
    /// The number of CPUs.
    pub fn cpus(&self) -> usize {
        self.packages * self.cores * self.threads
    }

    /// The package of a CPU.
    pub fn package_of(&self, cpu: usize) -> usize {
        cpu / (self.cores * self.threads)
    }

    /// The core of a CPU, counted through all packages.
    pub fn core_of(&self, cpu: usize) -> usize {
        cpu / self.threads
    }

    /// The CPUs of a package.
    pub fn package(&self, package: usize) -> Range<usize> {
        let size = self.cores * self.threads;
        package * size..(package + 1) * size
    }

    /// The CPUs of a core.
    pub fn core(&self, core: usize) -> Range<usize> {
        core * self.threads..(core + 1) * self.threads
    }

    /// The node of a CPU.
    pub fn node_of(&self, cpu: usize) -> Option<usize> {
        self.nodes.iter().position(|node| node.cpus.contains(&cpu))
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: whether the emulator numbers CPUs so; the guest's checks tell.

    use super::*;

    #[test]
    fn packages_and_cores_are_runs_of_cpus() {
        let shape = Shape {
            name: "test".into(),
            packages: 2,
            cores: 3,
            threads: 2,
            nodes: vec![
                Node { cpus: vec![0, 1, 10, 11], memory_mib: 1 },
                Node { cpus: (2..10).collect(), memory_mib: 1 },
            ],
            distances: vec![vec![10, 20], vec![20, 10]],
        };
        assert_eq!((shape.cpus(), shape.package(1), shape.core(4)), (12, 6..12, 8..10));
        assert!(shape.package(1).all(|cpu| shape.package_of(cpu) == 1));
        assert!(shape.core(4).all(|cpu| shape.core_of(cpu) == 4));
        assert_eq!([1, 2, 10, 12].map(|cpu| shape.node_of(cpu)), [Some(0), Some(1), Some(0), None]);
    }
}
