//! Builds the files of other machines and containers in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A root folder and the files written below it.
pub(crate) struct Root(TempDir);

impl Root {
    pub(crate) fn new() -> Self {
        // Thousands of small files are written: in memory, if possible.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(folder.expect("a temporary folder"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        let path = self.at(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        self
    }

    pub(crate) fn cpu(&self, cpu: usize, file: &str, text: &str) -> &Self {
        self.write(&format!("sys/devices/system/cpu/cpu{cpu}/{file}"), format!("{text}\n"))
    }

    pub(crate) fn online(&self, list: &str) -> &Self {
        self.write("sys/devices/system/cpu/online", format!("{list}\n"))
    }

    pub(crate) fn core(&self, cpu: usize, package: &str, siblings: &str) -> &Self {
        self.cpu(cpu, "topology/physical_package_id", package).cpu(
            cpu,
            "topology/core_cpus_list",
            siblings,
        )
    }

    pub(crate) fn cache(
        &self,
        cpu: usize,
        index: usize,
        level: u32,
        kind: &str,
        size: &str,
        shared: &str,
    ) -> &Self {
        let file = |name: &str| format!("cache/index{index}/{name}");
        self.cpu(cpu, &file("level"), &level.to_string())
            .cpu(cpu, &file("type"), kind)
            .cpu(cpu, &file("size"), size)
            .cpu(cpu, &file("shared_cpu_list"), shared)
    }

    pub(crate) fn node(&self, node: usize, cpus: &str, distances: &str, kib: u64) -> &Self {
        let file = |name: &str| format!("sys/devices/system/node/node{node}/{name}");
        self.write(&file("cpulist"), format!("{cpus}\n"))
            .write(&file("distance"), format!("{distances}\n"))
            .write(
                &file("meminfo"),
                format!("Node {node} MemTotal:       {kib} kB\nNode {node} MemFree: 1 kB\n"),
            )
    }

    /// Writes `/proc/self` with these groups and mounts.
    pub(crate) fn process(&self, cgroup: &str, mountinfo: &str) -> &Self {
        self.write("proc/self/cgroup", cgroup).write("proc/self/mountinfo", mountinfo)
    }
}

/// Two CPUs, one node, all levels: the usual virtual machine of a cloud, with control groups of
/// version 1.
pub(crate) fn small_vm() -> Root {
    let root = Root::new();
    root.online("0-1").node(0, "0-1", "10", 4_286_676);
    for cpu in 0..2 {
        let own = &cpu.to_string();
        root.core(cpu, "0", own)
            .cache(cpu, 0, 1, "Data", "48K", own)
            .cache(cpu, 1, 1, "Instruction", "32K", own)
            .cache(cpu, 2, 2, "Unified", "1024K", own)
            .cache(cpu, 3, 3, "Unified", "32768K", "0-1")
            .cpu(cpu, "cpu_capacity", "1024");
    }
    root.process(
        "9:name=systemd:/\n4:memory:/job/7\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n",
        "23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n\
         32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
         34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
         41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
    )
    .write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    .write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    .write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1\n")
    .write("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
    root
}

/// Four packages, each of two nodes of four cores with two threads, siblings numbered after all
/// cores as Linux does: CPU c and c + 32. The packages stand in a ring: neighbours at 16, the one
/// across at 22, the other node of the same package at 12.
pub(crate) fn numa_server() -> Root {
    let root = Root::new();
    root.online("0-63");
    for core in 0..32 {
        let (node, pair) = (core / 4, format!("{core},{}", core + 32));
        let group = format!("{}-{},{}-{}", 4 * node, 4 * node + 3, 4 * node + 32, 4 * node + 35);
        for cpu in [core, core + 32] {
            root.core(cpu, &(core / 8).to_string(), &pair)
                .cache(cpu, 0, 1, "Data", "32K", &pair)
                .cache(cpu, 1, 1, "Instruction", "32K", &pair)
                .cache(cpu, 2, 2, "Unified", "512K", &pair)
                .cache(cpu, 3, 3, "Unified", "16384K", &group);
        }
    }
    for node in 0..8_usize {
        let cpus = format!("{}-{},{}-{}", 4 * node, 4 * node + 3, 4 * node + 32, 4 * node + 35);
        root.node(node, &cpus, &ring_distances(node), 64 << 20);
    }
    root
}

fn ring_distances(node: usize) -> String {
    let distance = |other: usize| match (node == other, (node / 2).abs_diff(other / 2)) {
        (true, _) => "10",
        (_, 0) => "12",
        (_, 2) => "22",
        _ => "16",
    };
    (0..8).map(distance).collect::<Vec<_>>().join(" ")
}

/// Six fast cores with two threads each (CPUs 0 to 11), eight slow ones in clusters of four that
/// share an L2 (12 to 19), and two low-power ones without an L3 (20 and 21).
pub(crate) fn hybrid_laptop() -> Root {
    let root = Root::new();
    root.online("0-21").node(0, "0-21", "10", 32 << 20);
    for cpu in 0..22 {
        let (siblings, l2) = match cpu {
            0..12 => (
                format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1),
                format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1),
            ),
            12..20 => (cpu.to_string(), format!("{}-{}", cpu / 4 * 4, cpu / 4 * 4 + 3)),
            _ => (cpu.to_string(), "20-21".into()),
        };
        root.core(cpu, "0", &siblings).cache(cpu, 0, 1, "Data", "48K", &siblings);
        root.cache(cpu, 1, 2, "Unified", "2048K", &l2);
        if cpu < 20 {
            root.cache(cpu, 2, 3, "Unified", "24576K", "0-19");
        }
    }
    root.write("sys/devices/cpu_core/cpus", "0-11\n")
        .write("sys/devices/cpu_atom/cpus", "12-19\n")
        .write("sys/devices/cpu_lowpower/cpus", "20-21\n");
    root
}
