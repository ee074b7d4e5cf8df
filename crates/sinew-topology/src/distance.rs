//! The distance between two PUs.
//!
//! Two facts separate PUs: the innermost object that they share and, if the system gives a table of
//! NUMA distances, their nodes' distance, which counts first. The pairs of these that occur on a
//! machine, sorted, are the rungs of a ladder; a distance is a rung. So distances are small,
//! without gaps, and comparable within one machine only.
//!
//! # Cost
//!
//! Without a table of NUMA distances: two words and their first differing bit (`Addresses` in
//! `ladder`). With one: a walk up a path of at most five objects, and a binary search in a list of
//! usually fewer than ten.

use std::ops::Range;

use crate::ladder::{Addresses, LOCAL, Ladder, Matrix, REMOTE, Rung};
use crate::machine::{Level, Machine, NONE, PuId};
use sinew_cpus::CpuSet;

impl Ladder {
    /// Finds the rungs without a visit to all pairs of PUs. A pair's innermost shared object is the
    /// one in which the two are in different children; beyond that only the nodes of those children
    /// matter.
    pub(crate) fn of(machine: &Machine, matrix: Option<Matrix>) -> Self {
        let mut ladder = Self { rungs: Vec::new(), matrix, addresses: None };
        for object in 0..machine.objects.len() {
            ladder.add_meetings(machine, object);
        }
        ladder.addresses = ladder.find_addresses(machine);
        ladder
    }

    fn find_addresses(&self, machine: &Machine) -> Option<Addresses> {
        if self.matrix.is_some() || machine.pus.is_empty() {
            return None;
        }
        let mut steps = Vec::with_capacity(machine.pus.len());
        for pu in 1..machine.pus.len() as u32 {
            steps.extend([self.distance(machine, PuId(pu - 1), PuId(pu))]);
        }
        Addresses::of(&steps, u8::try_from(self.rungs.len()).ok()?)
    }

    /// The distance of two different PUs.
    fn distance(&self, machine: &Machine, a: PuId, b: PuId) -> u8 {
        let rung = self.rung(machine, a, b);
        let below = self.rungs.partition_point(|r| *r < rung);
        u8::try_from(below + 1).unwrap_or(u8::MAX)
    }

    fn add_meetings(&mut self, machine: &Machine, object: usize) {
        let up = levels_up(machine, object);
        let branches = branches(machine, object);
        if branches.len() < 2 {
            return;
        }
        let Some(matrix) = &self.matrix else {
            add(&mut self.rungs, Rung { numa: 0, up });
            return;
        };
        let places = nodes_of(machine, &branches);
        if places.iter().all(|(_, node)| *node == places[0].1) {
            add(&mut self.rungs, Rung { numa: LOCAL, up });
            return;
        }
        for (i, &(branch, node)) in places.iter().enumerate() {
            for &(_, other) in places[i + 1..].iter().filter(|(other, _)| *other != branch) {
                let numa = matrix.between(node, other);
                add(&mut self.rungs, Rung { numa, up });
            }
        }
    }

    fn rung(&self, machine: &Machine, a: PuId, b: PuId) -> Rung {
        let shared =
            machine.path(a).iter().zip(machine.path(b)).rev().find(|(a, b)| a == b && **a != NONE);
        let up = levels_up(machine, shared.map_or(0, |(object, _)| *object as usize));
        let nodes = (machine.pu(a).node, machine.pu(b).node);
        Rung { numa: self.matrix.as_ref().map_or(0, |m| m.between(nodes.0, nodes.1)), up }
    }
}

/// Adds a rung in its place; there are few.
fn add(rungs: &mut Vec<Rung>, rung: Rung) {
    if let Err(place) = rungs.binary_search(&rung) {
        rungs.insert(place, rung);
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
        match &self.ladder.addresses {
            Some(addresses) => addresses.distance(a.index(), b.index()),
            None if a == b => 0,
            None => self.ladder.distance(self, a, b),
        }
    }

    /// The largest distance between two PUs, which is the number of different distances above 0. 0
    /// on a machine of one PU.
    pub fn distance_levels(&self) -> u8 {
        u8::try_from(self.ladder.rungs.len()).unwrap_or(u8::MAX)
    }

    /// The name of each distance from 1 on: `same core`, `same package`, and the NUMA distance if
    /// it is more than local.
    pub fn distance_names(&self) -> Vec<String> {
        self.ladder.rungs.iter().map(|rung| self.rung_name(*rung)).collect()
    }

    fn rung_name(&self, rung: Rung) -> String {
        let outside = self.levels.len() + 1 - usize::from(rung.up);
        let level = if outside == 0 { Level::Machine } else { self.levels[outside - 1] };
        match rung.numa {
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
        match &self.ladder.matrix {
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
    fn every_rung_is_the_distance_of_some_pair_and_every_pair_has_a_rung() {
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
                    assert!(machine.ladder.rungs.contains(&machine.ladder.rung(&machine, a, b)));
                    assert_eq!(
                        machine.distance(a, b),
                        machine.ladder.distance(&machine, a, b),
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
