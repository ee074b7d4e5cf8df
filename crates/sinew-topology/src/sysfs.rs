//! The machine as Linux describes it, below `/sys/devices/system`.
//!
//! `kinds` reads the kinds of cores, and `assemble` builds the tree. All files are read below a
//! root that tests can fake. Each value is checked before its use: sets of CPUs must be the same
//! for all CPUs in them. A fault becomes a warning, and the tree omits that part:
//!
//! | fault | instead |
//! |---|---|
//! | the list of CPUs | the `cpuN` folders; without those, as many as the affinity mask has |
//! | a package or core of any CPU, or a core in two packages | a flat tree of all CPUs |
//! | a level of caches, or one that only part of a core has | the tree without that level (no warning if the files do not exist) |
//! | the nodes, or a core in two of them | no nodes (no warning if the files do not exist) |
//! | the table of NUMA distances | all nodes equally far |
//!
//! # Not handled
//!
//! CPUs that are offline are left out; CPUs that go offline or online later are not noticed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::assemble::{CpuFacts, Facts, assemble};
use crate::collections::FirstSeen;
use crate::distance_table::Matrix;
use crate::files::{not_a, read_set, read_text};
use crate::kinds::core_kinds;
use crate::machine::{Level, Machine, Node, Source, host_parallelism};
use crate::warning::Warning;
use sinew_cpus::CpuSet;

impl Machine {
    /// The machine whose sysfs is at `root/sys`; `/` is the running one.
    ///
    /// Never fails: a file that cannot be read or makes no sense adds to [`Machine::warnings`], and
    /// its part of the tree is left out, down to a flat tree.
    ///
    /// ```
    /// use sinew_topology::{Machine, Source};
    ///
    /// let nothing_there = Machine::from_sysfs("/no/such/folder");
    /// assert_eq!(nothing_there.source(), &Source::Flat);
    /// assert!(nothing_there.warnings()[0].to_string().starts_with("/no/such/folder"));
    /// ```
    pub fn from_sysfs(root: impl AsRef<Path>) -> Self {
        let root = root.as_ref();
        let mut reader = Reader { system: root.join("sys/devices/system"), warnings: Vec::new() };
        let facts = reader.facts(root);
        assemble(Facts { warnings: reader.warnings, ..facts })
    }
}

const ALL: &str = "every CPU with a folder is taken to be on";

struct Reader {
    system: PathBuf,
    warnings: Vec<Warning>,
}

impl Reader {
    fn cpu(&self, cpu: usize, file: &str) -> PathBuf {
        self.system.join(format!("cpu/cpu{cpu}/{file}"))
    }

    fn facts(&mut self, root: &Path) -> Facts {
        let Some(cpus) = self.cpus() else {
            return Facts::flat(&CpuSet::first(host_parallelism()));
        };
        match self.packages_and_cores(&cpus) {
            Ok(cpus) => self.complete(root, cpus),
            Err(warning) => {
                self.warnings.push(warning.then("all CPUs are taken to be equal"));
                Facts::flat(&cpus)
            }
        }
    }

    /// The CPUs that are online; `None` if no CPU has a folder.
    fn cpus(&mut self) -> Option<CpuSet> {
        let folder = self.system.join("cpu");
        let folders = numbered(&folder, "cpu");
        if folders.is_empty() {
            let cpus = host_parallelism();
            let instead = format_args!("describes no CPU; {cpus} equal ones are assumed");
            self.warnings.push(Warning::at(&folder, instead));
            return None;
        }
        let online = folder.join("online");
        match read_set(&online).map(|cpus| cpus.intersection(&folders)) {
            Ok(cpus) if !cpus.is_empty() => return Some(cpus),
            Ok(_) => self
                .warnings
                .push(Warning::at(&online, format_args!("names no CPU that has a folder; {ALL}"))),
            Err(warning) => self.warnings.push(warning.then(ALL)),
        }
        Some(folders)
    }

    /// The package and core of each CPU. Fails if one is unknown: no tree exists without them.
    fn packages_and_cores(&self, cpus: &CpuSet) -> Result<Vec<CpuFacts>, Warning> {
        let mut cores = Vec::with_capacity(cpus.len());
        for cpu in cpus.iter() {
            cores.push(Some(self.core(cpu)?));
        }
        let cores = groups(cpus, cores).map_err(|cpu| {
            Warning::at(&self.cpu(cpu, "topology"), "the CPUs of this core list different siblings")
        })?;
        let mut facts = Vec::new();
        for (cpu, core) in cpus.iter().zip(cores) {
            let mut fact = CpuFacts::alone(cpu);
            fact.groups[Level::Package.slot()] = Some(self.package(cpu)?);
            fact.groups[Level::Core.slot()] = core;
            facts.push(fact);
        }
        match split_core(&facts, &|cpu| cpu.groups[Level::Package.slot()]) {
            Some(cpu) => {
                Err(Warning::at(&self.cpu(cpu, "topology"), "this core is in two packages"))
            }
            None => Ok(facts),
        }
    }

    fn core(&self, cpu: usize) -> Result<CpuSet, Warning> {
        // The name since Linux 5.2; older kernels have only the second one.
        read_set(&self.cpu(cpu, "topology/core_cpus_list"))
            .or_else(|_| read_set(&self.cpu(cpu, "topology/thread_siblings_list")))
    }

    fn package(&self, cpu: usize) -> Result<usize, Warning> {
        let path = self.cpu(cpu, "topology/physical_package_id");
        let text = read_text(&path).map_err(|error| Warning::at(&path, error))?;
        // −1 is the kernel's "unknown", common on small ARM boards: one package.
        let number = if text == "-1" { Some(0) } else { text.parse::<u32>().ok() };
        number.map(|n| n as usize).ok_or_else(|| Warning::at(&path, not_a("package number", &text)))
    }

    /// Adds the facts that a tree does not require.
    fn complete(&mut self, root: &Path, mut cpus: Vec<CpuFacts>) -> Facts {
        let mut online = CpuSet::new();
        for cpu in &cpus {
            online.insert(cpu.cpu);
        }
        self.caches(&online, &mut cpus);
        let nodes = self.nodes(&online, &mut cpus);
        let matrix = self.matrix(&nodes);
        let kinds = core_kinds(&root.join("sys/devices"), &mut cpus, &mut self.warnings);
        let source = Source::Sysfs(root.to_owned());
        Facts { source, cpus, nodes, matrix, kinds, warnings: Vec::new() }
    }

    fn caches(&mut self, online: &CpuSet, cpus: &mut [CpuFacts]) {
        let mut caches = Vec::with_capacity(cpus.len());
        for cpu in &*cpus {
            caches.push(self.caches_of(cpu.cpu));
        }
        for (number, level) in [(1, Level::Core), (2, Level::L2), (3, Level::L3)] {
            let mut sets = Vec::with_capacity(cpus.len());
            for (cpu, caches) in cpus.iter_mut().zip(&caches) {
                let cache = caches.iter().find(|cache: &&Cache| cache.level == number);
                cpu.cache_bytes[level.slot()] = cache.and_then(|cache| cache.bytes);
                sets.push(cache.map(|cache| cache.shared.clone()));
            }
            if level == Level::Core {
                continue;
            }
            self.set_cache_groups(level, groups(online, sets), cpus);
        }
    }

    fn set_cache_groups(
        &mut self,
        level: Level,
        groups: Result<Vec<Option<usize>>, usize>,
        cpus: &mut [CpuFacts],
    ) {
        // Sets them first, to see whether they split a core.
        let fault = match groups {
            Ok(groups) => {
                for (cpu, group) in cpus.iter_mut().zip(groups) {
                    cpu.groups[level.slot()] = group;
                }
                split_core(cpus, &|cpu| cpu.groups[level.slot()])
                    .map(|cpu| (cpu, "only part of a core has it"))
            }
            Err(cpu) => Some((cpu, "its CPUs list different sets of sharers")),
        };
        if let Some((cpu, why)) = fault {
            for cpu in cpus {
                cpu.groups[level.slot()] = None;
            }
            let what = format_args!("{level}: {why}; all {level} caches are left out");
            self.warnings.push(Warning::at(&self.cpu(cpu, "cache"), what));
        }
    }

    /// The data caches of a CPU; malformed entries are skipped with a warning.
    fn caches_of(&mut self, cpu: usize) -> Vec<Cache> {
        let folder = self.cpu(cpu, "cache");
        let mut caches = Vec::new();
        for index in numbered(&folder, "index").iter() {
            match Cache::read(&folder.join(format!("index{index}"))) {
                Ok(cache) => caches.extend(cache),
                Err(warning) => self.warnings.push(warning.then("this cache is left out")),
            }
        }
        caches
    }

    fn nodes(&mut self, online: &CpuSet, cpus: &mut [CpuFacts]) -> Vec<Node> {
        let folder = self.system.join("node");
        read_nodes(&folder, online, cpus).unwrap_or_else(|warning| {
            self.warnings.push(warning.then("NUMA nodes are left out"));
            Vec::new()
        })
    }

    fn matrix(&mut self, nodes: &[Node]) -> Option<Matrix> {
        if nodes.len() < 2 {
            return None;
        }
        let folder = self.system.join("node");
        let matrix = read_distances(&folder, nodes).and_then(|rows| Matrix::new(&rows));
        if matrix.is_none() {
            let what = "the NUMA distances are missing or make no sense; \
                        all nodes are taken to be equally far";
            self.warnings.push(Warning::at(&folder, what));
        }
        matrix
    }
}

/// Reads the nodes below `folder` and adds them to the facts; all of them or none.
fn read_nodes(folder: &Path, online: &CpuSet, cpus: &mut [CpuFacts]) -> Result<Vec<Node>, Warning> {
    let mut nodes = Vec::new();
    for number in numbered(folder, "node").iter() {
        nodes.push(read_node(folder, number, online)?);
    }
    let mut node_of = vec![None; online.iter().last().map_or(0, |last| last + 1)];
    for (i, node) in nodes.iter().enumerate() {
        for cpu in node.cpus.iter() {
            if node_of[cpu].replace(i).is_some() {
                return Err(Warning::at(folder, "a CPU belongs to two nodes"));
            }
        }
    }
    if split_core(cpus, &|cpu| node_of[cpu.cpu]).is_some() {
        return Err(Warning::at(folder, "a core belongs to two nodes"));
    }
    for cpu in cpus {
        cpu.groups[Level::Node.slot()] = node_of[cpu.cpu];
    }
    Ok(nodes)
}

/// The distances from each node, as their files have them.
fn read_distances(folder: &Path, nodes: &[Node]) -> Option<Vec<Vec<u32>>> {
    let mut rows = Vec::new();
    for node in nodes {
        let text = read_text(&folder.join(format!("node{}/distance", node.number))).ok()?;
        let mut row = Vec::new();
        for distance in text.split_whitespace() {
            let distance: u32 = distance.parse().ok()?;
            row.extend([distance]);
        }
        rows.push(row);
    }
    Some(rows)
}

/// The N of all entries called `prefixN`.
fn numbered(folder: &Path, prefix: &str) -> CpuSet {
    let mut numbers = CpuSet::new();
    let Ok(entries) = fs::read_dir(folder) else { return numbers };
    for entry in entries {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)).map(str::parse);
        if let Some(Ok::<CpuSet, _>(list)) = number
            && let (Some(number), 1) = (list.lowest(), list.len())
        {
            numbers.insert(number);
        }
    }
    numbers
}

/// Turns the set of CPUs that each CPU shares with into groups, numbered by their lowest CPU. Fails
/// with the first CPU whose set does not contain itself or differs from its members' sets. Offline
/// CPUs do not count.
fn groups(cpus: &CpuSet, sets: Vec<Option<CpuSet>>) -> Result<Vec<Option<usize>>, usize> {
    // By CPU, as the CPUs are in ascending order.
    let mut known: Vec<(usize, CpuSet)> = Vec::new();
    for (cpu, set) in cpus.iter().zip(sets) {
        if let Some(set) = set {
            known.push((cpu, set.intersection(cpus)));
        }
    }
    let set_of = |cpu: usize| {
        let place = known.partition_point(|(other, _)| *other < cpu);
        known.get(place).filter(|(other, _)| *other == cpu).map(|(_, set)| set)
    };
    for (cpu, set) in &known {
        // The first member represents all: if every CPU agrees with its first member, all members
        // agree.
        let lowest = set.lowest();
        let mut agreed = set.contains(*cpu) && lowest.and_then(set_of) == Some(set);
        for member in set.iter() {
            agreed &= set_of(member).is_some_and(|other| other.lowest() == lowest);
        }
        if !agreed {
            return Err(*cpu);
        }
    }
    let mut groups = Vec::with_capacity(cpus.len());
    for cpu in cpus.iter() {
        groups.push(set_of(cpu).and_then(CpuSet::lowest));
    }
    Ok(groups)
}

/// A CPU whose core has CPUs of different groups, or some without a group.
fn split_core(cpus: &[CpuFacts], group: &dyn Fn(&CpuFacts) -> Option<usize>) -> Option<usize> {
    let mut group_of_core = FirstSeen::default();
    for cpu in cpus {
        let core = cpu.groups[Level::Core.slot()].map_or([0; 3], |core| [1, core, 0]);
        if !group_of_core.agrees(core, group(cpu)) {
            return Some(cpu.cpu);
        }
    }
    None
}

#[derive(Debug)]
struct Cache {
    level: u32,
    bytes: Option<u64>,
    shared: CpuSet,
}

impl Cache {
    /// `None` for instruction caches and for levels that the tree does not have.
    fn read(folder: &Path) -> Result<Option<Self>, Warning> {
        let path = folder.join("level");
        let text = read_text(&path).map_err(|error| Warning::at(&path, error))?;
        let level = text.parse().map_err(|_| Warning::at(&path, not_a("cache level", &text)))?;
        let instructions = read_text(&folder.join("type")).is_ok_and(|kind| kind == "Instruction");
        if instructions || !(1..=3).contains(&level) {
            return Ok(None);
        }
        // The size is only shown, so a cache without a known size is kept.
        let bytes = read_text(&folder.join("size")).ok().and_then(|size| parse_size(&size));
        Ok(Some(Self { level, bytes, shared: read_set(&folder.join("shared_cpu_list"))? }))
    }
}

/// `48K`, `32M`, or bytes.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

fn read_node(folder: &Path, number: usize, online: &CpuSet) -> Result<Node, Warning> {
    let folder = folder.join(format!("node{number}"));
    let cpus = read_set(&folder.join("cpulist"))?.intersection(online);
    let meminfo = read_text(&folder.join("meminfo")).unwrap_or_default();
    Ok(Node { number, memory_bytes: total_memory(&meminfo), cpus })
}

/// From `Node 0 MemTotal:        4286676 kB`.
fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    //! Blind to: whole machines; `tests/machines/trees.rs` reads faked ones.

    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(parse_size("48K"), Some(48 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(
            ["", "K", "0K", "x", "99999999999999999999G", "18446744073709551615K"].map(parse_size),
            [None; 6]
        );
    }

    #[test]
    fn a_cpu_missing_from_its_own_group_or_doubted_by_its_partner_is_found() {
        let cpus = CpuSet::first(3);
        let sets = |lists: [&str; 3]| lists.map(|list| Some(list.parse().unwrap())).to_vec();
        assert_eq!(groups(&cpus, sets(["0-1", "0-1", "2"])), Ok(vec![Some(0), Some(0), Some(2)]));
        assert_eq!(
            groups(&cpus, sets(["0-1,7", "0-1,7", "2"])),
            Ok(vec![Some(0), Some(0), Some(2)])
        );
        assert!(groups(&cpus, sets(["1", "1", "2"])).is_err());
        assert!(groups(&cpus, sets(["0-1", "1", "2"])).is_err());
        assert!(groups(&cpus, sets(["0", "0-1", "2"])).is_err());
        assert!(groups(&cpus, sets(["", "1", "2"])).is_err());
        assert!(groups(&cpus, vec![Some(CpuSet::first(2)), None, None]).is_err());
        assert_eq!(groups(&cpus, vec![None, None, None]), Ok(vec![None; 3]));
    }
}
