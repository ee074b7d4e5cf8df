//! Builds a tree from facts about single CPUs.
//!
//! A source gives for each CPU the numbers of its package, node, caches and core. This file orders
//! the levels so that each refines the one outside it, sorts CPUs so that each group is a range,
//! and opens and closes objects along that order.
//!
//! # Not handled
//!
//! Crossing groups (a cache with CPUs of two packages, neither inside the other) cannot be nested.
//! The inner group is cut at the border of the outer one and becomes two objects. The error is on
//! the side of "farther apart".

use crate::collections::{FirstSeen, sorted_indices};
use crate::distance_table::{DistanceTable, Matrix};
use crate::machine::{CoreKind, Level, Machine, NONE, Node, Object, Pu, PuId, Source};
use crate::warning::Warning;
use sinew_cpus::CpuSet;

const SLOTS: usize = Level::GROUPS.len();

/// The facts about one CPU.
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuFacts {
    pub(crate) cpu: usize,
    /// By [`Level::slot`]: CPUs with equal numbers are in the same group. Packages by the system's
    /// number, nodes by index.
    pub(crate) groups: [Option<usize>; SLOTS],
    /// By [`Level::slot`]: the sizes of the caches; at `Core` that of the level-1 data cache.
    pub(crate) cache_bytes: [Option<u64>; SLOTS],
    pub(crate) kind: usize,
}

impl CpuFacts {
    /// A CPU that is a core of its own in package 0.
    pub(crate) fn alone(cpu: usize) -> Self {
        let mut facts = Self { cpu, ..Self::default() };
        facts.groups[Level::Package.slot()] = Some(0);
        facts.groups[Level::Core.slot()] = Some(cpu);
        facts
    }
}

/// The facts of one source.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) source: Source,
    /// Not empty; every CPU with a package and a core, and all CPUs of a core in the same groups.
    pub(crate) cpus: Vec<CpuFacts>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) matrix: Option<Matrix>,
    pub(crate) kinds: Vec<CoreKind>,
    pub(crate) warnings: Vec<Warning>,
}

impl Facts {
    /// One package of equal cores.
    pub(crate) fn flat(cpus: &CpuSet) -> Self {
        Self {
            source: Source::Flat,
            cpus: cpus.iter().map(CpuFacts::alone).collect(),
            nodes: Vec::new(),
            matrix: None,
            kinds: vec![CoreKind { name: "core".into() }],
            warnings: Vec::new(),
        }
    }
}

impl Machine {
    /// One package of `cpus` equal cores, numbered from 0: the tree when no facts are known.
    ///
    /// # Panics
    ///
    /// If `cpus` is 0 or exceeds [`MAX_CPUS`](crate::MAX_CPUS).
    #[track_caller]
    pub fn flat(cpus: usize) -> Self {
        assert!(cpus > 0, "a machine has at least one CPU");
        assemble(Facts::flat(&CpuSet::first(cpus)))
    }
}

/// Builds the tree.
pub(crate) fn assemble(facts: Facts) -> Machine {
    let Facts { source, mut cpus, nodes, matrix, kinds, warnings } = facts;
    let levels = nest_levels(&cpus);
    sort_into_ranges(&mut cpus, &levels);
    let mut machine = Machine {
        source,
        objects: vec![whole_machine(cpus.len())],
        pus: Vec::with_capacity(cpus.len()),
        paths: Vec::with_capacity(cpus.len() * levels.len()),
        levels,
        nodes,
        kinds,
        distance_table: DistanceTable::default(),
        warnings,
    };
    let mut builder =
        TreeBuilder { machine: &mut machine, open: [None; SLOTS], counts: [0; SLOTS] };
    cpus.iter().for_each(|cpu| builder.add(cpu));
    machine.distance_table = DistanceTable::of(&machine, matrix);
    machine
}

fn whole_machine(pus: usize) -> Object {
    Object {
        level: Level::Machine,
        number: 0,
        cache_bytes: None,
        parent: None,
        children: vec![],
        pus: 0..pus,
    }
}

/// The levels that occur, coarser before finer; levels that are equal stand in the usual order.
fn nest_levels(cpus: &[CpuFacts]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for level in Level::GROUPS {
        if cpus.iter().all(|cpu| cpu.groups[level.slot()].is_none()) {
            continue;
        }
        // Inserts it before the first level that is strictly finer. `Core` comes last: no group
        // splits a core.
        let finer = |&other: &Level| refines(cpus, other, level) && !refines(cpus, level, other);
        let place = levels.iter().position(finer).unwrap_or(levels.len());
        levels.insert(place, level);
    }
    debug_assert_eq!(levels.last(), Some(&Level::Core), "no group splits a core");
    levels
}

/// Whether each group of `fine` lies in one group of `coarse`, or wholly outside all of them.
fn refines(cpus: &[CpuFacts], fine: Level, coarse: Level) -> bool {
    let mut outer_of = FirstSeen::default();
    cpus.iter().all(|cpu| {
        let outer = cpu.groups[coarse.slot()];
        cpu.groups[fine.slot()].is_none_or(|group| outer_of.agrees([group; 3], outer))
    })
}

/// Sorts CPUs by the lowest CPU of their groups, level by level, so that every (cut) group is a
/// range.
fn sort_into_ranges(cpus: &mut Vec<CpuFacts>, levels: &[Level]) {
    let by_number = sorted_indices(cpus.len(), &|a, b| cpus[a].cpu.cmp(&cpus[b].cpu));
    *cpus = in_order(cpus, &by_number);
    let cut = cut_groups(cpus, levels);
    let keys: Vec<Vec<usize>> = (0..cpus.len()).map(|i| sort_key(&cut, i, cpus[i].cpu)).collect();
    let by_key = sorted_indices(cpus.len(), &|a, b| keys[a].cmp(&keys[b]));
    *cpus = in_order(cpus, &by_key);
}

fn in_order(cpus: &[CpuFacts], places: &[usize]) -> Vec<CpuFacts> {
    places.iter().map(|&place| cpus[place].clone()).collect()
}

/// For each level and CPU the lowest CPU of its group as cut by the levels outside it. Expects CPUs
/// in ascending order.
fn cut_groups(cpus: &[CpuFacts], levels: &[Level]) -> Vec<Vec<Option<usize>>> {
    // The level of the object outside, and its lowest CPU.
    let mut outside = vec![(0, 0); cpus.len()];
    let mut cut = Vec::new();
    for level in levels {
        let mut lowest = FirstSeen::default();
        let mut row = Vec::with_capacity(cpus.len());
        for (cpu, outside) in cpus.iter().zip(&mut outside) {
            let here = cpu.groups[level.slot()]
                .and_then(|group| lowest.value_of([outside.0, outside.1, group], Some(cpu.cpu)));
            // Only an object cuts the groups inside it. A CPU without one at this level stays in
            // the object outside.
            if let Some(cpu) = here {
                *outside = (*level as usize, cpu);
            }
            row.extend([here]);
        }
        cut.push(row);
    }
    cut
}

/// A CPU without an object at a level is sorted by its next object further in, which keeps that
/// object together.
fn sort_key(cut: &[Vec<Option<usize>>], i: usize, cpu: usize) -> Vec<usize> {
    let mut further_in = cpu;
    let mut key = vec![cpu];
    for row in cut.iter().rev() {
        further_in = row[i].unwrap_or(further_in);
        key.extend([further_in]);
    }
    key.reverse();
    key
}

/// Adds PUs in tree order, and opens an object where a PU differs from its predecessor.
struct TreeBuilder<'m> {
    machine: &'m mut Machine,
    /// By place in `levels`: the source's group and the object of the last PU.
    open: [Option<(usize, usize)>; SLOTS],
    counts: [usize; SLOTS],
}

impl TreeBuilder<'_> {
    fn add(&mut self, cpu: &CpuFacts) {
        let pu = self.machine.pus.len();
        let mut parent = 0;
        for place in 0..self.machine.levels.len() {
            let object = self.enter(place, parent, cpu, pu);
            self.machine.paths.extend([object.map_or(NONE, |o| o as u32)]);
            parent = object.unwrap_or(parent);
        }
        let sibling = pu - self.machine.objects[parent].pus.start;
        let node = cpu.groups[Level::Node.slot()];
        self.machine.pus.push(Pu { cpu: cpu.cpu, core: parent, sibling, kind: cpu.kind, node });
    }

    /// The object for `pu` at a level: its predecessor's, or a new one.
    fn enter(&mut self, place: usize, parent: usize, cpu: &CpuFacts, pu: usize) -> Option<usize> {
        let level = self.machine.levels[place];
        let group = cpu.groups[level.slot()];
        if self.open[place].map(|(group, _)| group) != group {
            // Open objects further in belong to another object at this level.
            self.open[place..].fill(None);
        }
        let group = group?;
        let object = match self.open[place] {
            Some((_, object)) => object,
            None => self.start_object(level, parent, cpu, pu),
        };
        self.open[place] = Some((group, object));
        self.machine.objects[object].pus.end = pu + 1;
        Some(object)
    }

    fn start_object(&mut self, level: Level, parent: usize, cpu: &CpuFacts, pu: usize) -> usize {
        let object = self.machine.objects.len();
        let number = self.number(level, cpu);
        let cache_bytes = cpu.cache_bytes[level.slot()];
        let start = Object {
            level,
            number,
            cache_bytes,
            parent: Some(parent),
            children: vec![],
            pus: pu..pu,
        };
        self.machine.objects.push(start);
        self.machine.objects[parent].children.extend([object]);
        object
    }

    fn number(&mut self, level: Level, cpu: &CpuFacts) -> usize {
        let count = &mut self.counts[level.slot()];
        *count += 1;
        match (level, cpu.groups[level.slot()]) {
            (Level::Package, Some(number)) => number,
            (Level::Node, Some(index)) => self.machine.nodes[index].number,
            _ => *count - 1,
        }
    }
}

impl Machine {
    /// Checks I1 to I4 of the tree; for tests. Inline, so that it is compiled in these alone.
    #[doc(hidden)]
    #[inline]
    pub fn check(&self) -> Result<(), String> {
        let fail = |what: &str, i: usize| Err(format!("{what} {i}: {:?}", self.objects.get(i)));
        if self.pus.is_empty() || self.objects[0].pus != (0..self.pus.len()) {
            return fail("the machine", 0);
        }
        for (i, object) in self.objects.iter().enumerate() {
            let mut end = object.pus.start;
            for &child in &object.children {
                let child_object = &self.objects[child];
                if child_object.parent != Some(i)
                    || child_object.pus.start != end
                    || child_object.pus.is_empty()
                {
                    return fail("a child", child);
                }
                end = child_object.pus.end;
            }
            if (object.level == Level::Core) != object.children.is_empty() {
                return fail("only cores have no children", i);
            }
            if object.level != Level::Core && end != object.pus.end {
                return fail("children do not fill their parent", i);
            }
        }
        let bad = self.pu_ids().find(|&id| !self.path_holds(id));
        bad.map_or(Ok(()), |id| Err(format!("the path of {:?}: {:?}", self.pu(id), self.path(id))))
    }

    #[inline]
    fn path_holds(&self, id: PuId) -> bool {
        let holds = |&object: &u32| {
            object == NONE || self.objects[object as usize].pus.contains(&id.index())
        };
        let package = self.ancestor(id, Level::Package);
        self.path(id).iter().all(holds)
            && package.is_some()
            && self.ancestor(id, Level::Core) == Some(self.pu(id).core)
    }
}
