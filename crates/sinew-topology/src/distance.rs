//! The distance between two PUs.
//!
//! Two facts separate PUs: the innermost object that they share and, if the system gives a matrix
//! of NUMA distances, their nodes' distance, which counts first. A distance is the rank of such a
//! separation among those that occur on the machine (`distance_table`). So distances are small,
//! without gaps, and comparable within one machine only.
//!
//! # Cost
//!
//! Without a NUMA matrix: two words and their first differing bit (`PathWords` in
//! `distance_table`). With one: a walk up a path of at most five objects, and a binary search in a
//! list of usually fewer than ten.

use std::ops::Range;

use crate::distance_table::{DistanceTable, LOCAL, Matrix, PathWords, REMOTE, Separation};
use crate::machine::{Level, Machine, NONE, PuId};
use sinew_cpus::CpuSet;

impl DistanceTable {
    /// The table of a machine. Visits no pairs of PUs: a pair's innermost shared object is the one
    /// in which the two are in different children; beyond that only the nodes of those children
    /// matter.
    pub(crate) fn of(machine: &Machine, matrix: Option<Matrix>) -> Self {
        let mut table = Self { separations: Vec::new(), matrix, path_words: None };
        for object in 0..machine.objects.len() {
            table.add_meetings(machine, object);
        }
        table.path_words = table.path_words_of(machine);
        table
    }

    fn path_words_of(&self, machine: &Machine) -> Option<PathWords> {
        if self.matrix.is_some() || machine.pus.is_empty() {
            return None;
        }
        let mut steps = Vec::with_capacity(machine.pus.len());
        for pu in 1..machine.pus.len() as u32 {
            steps.extend([self.distance(machine, PuId(pu - 1), PuId(pu))]);
        }
        PathWords::of(&steps, u8::try_from(self.separations.len()).ok()?)
    }

    /// The distance of two different PUs.
    fn distance(&self, machine: &Machine, a: PuId, b: PuId) -> u8 {
        let separation = self.separation(machine, a, b);
        let below = self.separations.partition_point(|r| *r < separation);
        u8::try_from(below + 1).unwrap_or(u8::MAX)
    }

    fn add_meetings(&mut self, machine: &Machine, object: usize) {
        let up = levels_up(machine, object);
        let branches = branches(machine, object);
        if branches.len() < 2 {
            return;
        }
        let Some(matrix) = &self.matrix else {
            add(&mut self.separations, Separation { numa: 0, up });
            return;
        };
        let places = nodes_of(machine, &branches);
        if places.iter().all(|(_, node)| *node == places[0].1) {
            add(&mut self.separations, Separation { numa: LOCAL, up });
            return;
        }
        for (i, &(branch, node)) in places.iter().enumerate() {
            for &(_, other) in places[i + 1..].iter().filter(|(other, _)| *other != branch) {
                let numa = matrix.between(node, other);
                add(&mut self.separations, Separation { numa, up });
            }
        }
    }

    fn separation(&self, machine: &Machine, a: PuId, b: PuId) -> Separation {
        let shared =
            machine.path(a).iter().zip(machine.path(b)).rev().find(|(a, b)| a == b && **a != NONE);
        let up = levels_up(machine, shared.map_or(0, |(object, _)| *object as usize));
        let nodes = (machine.pu(a).node, machine.pu(b).node);
        Separation { numa: self.matrix.as_ref().map_or(0, |m| m.between(nodes.0, nodes.1)), up }
    }
}

/// Adds a separation, in order; there are few.
fn add(separations: &mut Vec<Separation>, separation: Separation) {
    if let Err(place) = separations.binary_search(&separation) {
        separations.insert(place, separation);
    }
}

fn levels_up(machine: &Machine, object: usize) -> u8 {
    let level = machine.objects[object].level;
    let outside = machine.levels.iter().position(|&l| l == level).map_or(0, |place| place + 1);
    (machine.levels.len() + 1 - outside) as u8
}

fn branches(machine: &Machine, object: usize) -> Vec<Range<usize>> {
    let object = &machine.objects[object];
    let mut branches = Vec::new();
    for &child in &object.children {
        branches.push(machine.objects[child].pus.clone());
    }
    if object.children.is_empty() {
        for pu in object.pus.clone() {
            branches.push(pu..pu + 1);
        }
    }
    branches
}

/// Each branch with each node of its PUs.
fn nodes_of(machine: &Machine, branches: &[Range<usize>]) -> Vec<(usize, Option<usize>)> {
    let mut places = Vec::new();
    for (branch, pus) in branches.iter().enumerate() {
        for pu in pus.clone() {
            let place = (branch, machine.pus[pu].node);
            if places.last() != Some(&place) {
                places.extend([place]);
            }
        }
    }
    places
}

impl Machine {
    /// The distance of two PUs: 0 for the same PU, 1 for the nearest kind of neighbour on this
    /// machine, and so on up to [`distance_levels`](Self::distance_levels). Symmetric. The NUMA
    /// distance counts first if the system gives one, then the innermost shared object.
    ///
    /// ```
    /// # use sinew_topology::Machine;
    /// let machine: Machine = "package:2 core:2 pu:2".parse()?;
    /// let pu: Vec<_> = machine.pu_ids().collect();
    /// assert_eq!(machine.distance(pu[0], pu[1]), 1); // same core
    /// assert_eq!(machine.distance(pu[0], pu[2]), 2); // same package
    /// assert_eq!(machine.distance(pu[0], pu[4]), 3);
    /// # Ok::<(), sinew_topology::DescriptionError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a PU comes from a larger machine.
    #[track_caller]
    pub fn distance(&self, a: PuId, b: PuId) -> u8 {
        match &self.distance_table.path_words {
            Some(path_words) => path_words.distance(a.index(), b.index()),
            None if a == b => 0,
            None => self.distance_table.distance(self, a, b),
        }
    }

    /// The largest distance between two PUs, which is the number of different distances above 0. 0
    /// on a machine of one PU.
    pub fn distance_levels(&self) -> u8 {
        u8::try_from(self.distance_table.separations.len()).unwrap_or(u8::MAX)
    }

    /// The name of each distance from 1 on: `same core`, `same package`, and the NUMA distance if
    /// it is more than local.
    pub fn distance_names(&self) -> Vec<String> {
        self.distance_table
            .separations
            .iter()
            .map(|separation| self.separation_name(*separation))
            .collect()
    }

    fn separation_name(&self, separation: Separation) -> String {
        let outside = self.levels.len() + 1 - usize::from(separation.up);
        let level = if outside == 0 { Level::Machine } else { self.levels[outside - 1] };
        match separation.numa {
            0 | LOCAL => format!("same {level}"),
            numa => format!("same {level} (node distance {numa})"),
        }
    }

    /// The NUMA distance between two nodes, by their indices in [`Machine::nodes`]. The unit is the
    /// firmware's: 10 is local. If the system gives no table, two different nodes have 20.
    ///
    /// # Panics
    ///
    /// If a node does not exist.
    #[track_caller]
    pub fn node_distance(&self, a: usize, b: usize) -> u32 {
        assert!(a.max(b) < self.nodes.len(), "there are only {} nodes", self.nodes.len());
        match &self.distance_table.matrix {
            Some(matrix) => matrix.between(Some(a), Some(b)),
            None if a == b => LOCAL,
            None => REMOTE,
        }
    }

    /// The node among `among` (the system's numbers) that is nearest to a PU; its own, if that is
    /// in `among`. `None` if the PU has no node, or none of them exists.
    ///
    /// # Panics
    ///
    /// If `id` comes from a larger machine.
    #[track_caller]
    pub fn nearest_node(&self, id: PuId, among: &CpuSet) -> Option<usize> {
        let own = self.pu(id).node?;
        let mut nearest = None;
        for (index, node) in self.nodes.iter().enumerate() {
            let key = (index != own, self.node_distance(own, index));
            if among.contains(node.number) && nearest.is_none_or(|(least, _)| key < least) {
                nearest = Some((key, node.number));
            }
        }
        nearest.map(|(_, number)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_separation_belongs_to_a_pair_and_every_pair_has_one() {
        for description in [
            "package:2 node:2 l3:2 core:2 pu:2",
            "core:3",
            "package:3",
            "pu:2",
            "node:4 l2:2 core:2",
        ] {
            let machine: Machine = description.parse().unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for a in machine.pu_ids() {
                for b in machine.pu_ids().filter(|b| *b != a) {
                    assert!(
                        machine
                            .distance_table
                            .separations
                            .contains(&machine.distance_table.separation(&machine, a, b))
                    );
                    assert_eq!(
                        machine.distance(a, b),
                        machine.distance_table.distance(&machine, a, b),
                        "{description}"
                    );
                    seen.insert(machine.distance(a, b));
                }
            }
            assert!(seen.into_iter().eq(1..=machine.distance_levels()), "{description}");
            assert!(machine.pu_ids().all(|pu| machine.distance(pu, pu) == 0));
        }
    }
}
