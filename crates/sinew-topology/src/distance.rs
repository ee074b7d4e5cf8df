//! How far two PUs are apart.
//!
//! Two things tell PUs apart: the innermost object they share, and, where the system gives a table of NUMA distances, that
//! table, which counts first. All pairs of these that occur on a machine, sorted, are the rungs of a ladder; a distance
//! is a rung. So distances are small, without gaps, comparable within one machine and of no meaning across machines.
//!
//! # Cost
//!
//! Without a table of NUMA distances: two words, and a look at where they begin to differ ([`Addresses`]). With one: a walk up a path of at most five
//! objects, and a binary search in a list of usually fewer than ten.

use std::ops::Range;

use crate::cpuset::CpuSet;
use crate::machine::{Level, Machine, NONE, PuId};

/// NUMA distances between nodes, by index; as the firmware has it, 10 is "the same node".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matrix {
    nodes: usize,
    distances: Vec<u32>,
}

/// What the firmware's convention gives where it says nothing.
const LOCAL: u32 = 10;
const REMOTE: u32 = 20;

impl Matrix {
    /// `None` unless the rows form a square in which no node is nearer to another than to itself. Of a pair's two
    /// distances, the larger one counts for both ways.
    pub(crate) fn new(rows: &[Vec<u32>]) -> Option<Self> {
        let nodes = rows.len();
        let sane = |(i, row): (usize, &Vec<u32>)| {
            row.len() == nodes && row.iter().all(|d| *d >= row[i] && row[i] > 0)
        };
        if !rows.iter().enumerate().all(sane) {
            return None;
        }
        let distances =
            (0..nodes * nodes).map(|k| rows[k / nodes][k % nodes].max(rows[k % nodes][k / nodes]));
        Some(Self { nodes, distances: distances.collect() })
    }

    fn between(&self, a: Option<usize>, b: Option<usize>) -> u32 {
        match (a, b) {
            (a, b) if a == b => LOCAL,
            (Some(a), Some(b)) => self.distances[a * self.nodes + b],
            _ => REMOTE,
        }
    }
}

/// What a distance is made of; sorts from near to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rung {
    numa: u32,
    /// Levels from the core outwards to the innermost shared object: 1 for the core itself.
    up: u8,
}

/// Each PU's way down the tree as one word: a digit for each distance, the farthest first, which counts the groups of PUs that are nearer than that to each other.
/// PUs that are next to each other in number are next to each other in the tree, so two PUs are as far apart as the first digit in which they differ.
#[derive(Debug, Clone)]
struct Addresses {
    words: Vec<u64>,
    /// The distance that each bit belongs to.
    bits: [u8; 64],
}

impl Addresses {
    /// `steps`: how far each PU but the first is from the one before it, at most `levels`. `None` if a word has too few bits.
    fn of(steps: &[u8], levels: u8) -> Option<Self> {
        let numbers = count(steps, levels);
        let most = |level: usize| numbers.iter().map(|digits| digits[level]).max().unwrap_or(0);
        let (mut bits, mut shifts, mut used) = ([0; 64], vec![0; usize::from(levels)], 0);
        for (level, shift) in shifts.iter_mut().enumerate() {
            *shift = used;
            let width = (u32::BITS - most(level).leading_zeros()) as usize;
            bits.get_mut(used..used + width)?.fill(level as u8 + 1);
            used += width;
        }
        // A digit without bits is 0, and may lie beyond the last one.
        let digit = |(digit, shift): (&u32, &usize)| u64::from(*digit) << (shift % 64);
        let word =
            |digits: &Vec<u32>| digits.iter().zip(&shifts).map(digit).fold(0, |word, digit| word | digit);
        Some(Self { words: numbers.iter().map(word).collect(), bits })
    }

    #[inline]
    fn distance(&self, a: PuId, b: PuId) -> u8 {
        let differing = self.words[a.index()] ^ self.words[b.index()];
        // Two PUs never have the same word; of one, nothing differs.
        differing.checked_ilog2().map_or(0, |bit| self.bits[bit as usize])
    }
}

/// The digits of all PUs, the one for the nearest first.
fn count(steps: &[u8], levels: u8) -> Vec<Vec<u32>> {
    let mut digits = vec![0; usize::from(levels)];
    let mut all = vec![digits.clone()];
    for &step in steps {
        let (below, above) = digits.split_at_mut(usize::from(step) - 1);
        below.fill(0);
        above[0] += 1;
        all.push(digits.clone());
    }
    all
}

/// The rungs that occur on a machine, nearest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ladder {
    rungs: Vec<Rung>,
    matrix: Option<Matrix>,
    /// Where there is no table.
    addresses: Option<Addresses>,
}

impl Ladder {
    /// Finds the rungs without looking at all pairs of PUs: a pair meets in an object exactly if it comes from different
    /// children of it, and only the nodes of those children matter beyond that.
    pub(crate) fn of(machine: &Machine, matrix: Option<Matrix>) -> Self {
        let mut ladder = Self { rungs: Vec::new(), matrix, addresses: None };
        for object in 0..machine.objects.len() {
            ladder.add_meetings(machine, object);
        }
        ladder.rungs.sort_unstable();
        ladder.rungs.dedup();
        ladder.addresses = ladder.find_addresses(machine);
        ladder
    }

    fn find_addresses(&self, machine: &Machine) -> Option<Addresses> {
        if self.matrix.is_some() || machine.pus.is_empty() {
            return None;
        }
        let neighbours = machine.pu_ids().zip(machine.pu_ids().skip(1));
        let steps: Vec<u8> = neighbours.map(|(a, b)| self.distance(machine, a, b)).collect();
        Addresses::of(&steps, u8::try_from(self.rungs.len()).ok()?)
    }

    /// The distance of two different PUs by what they share.
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
            self.rungs.push(Rung { numa: 0, up });
            return;
        };
        let places = nodes_of(machine, &branches);
        if places.iter().all(|(_, node)| *node == places[0].1) {
            self.rungs.push(Rung { numa: LOCAL, up });
            return;
        }
        for (i, &(branch, node)) in places.iter().enumerate() {
            let elsewhere = places[i + 1..].iter().filter(|(other, _)| *other != branch);
            self.rungs.extend(elsewhere.map(|&(_, other)| Rung { numa: matrix.between(node, other), up }));
            self.rungs.sort_unstable();
            self.rungs.dedup();
        }
    }

    fn rung(&self, machine: &Machine, a: PuId, b: PuId) -> Rung {
        let shared = machine.path(a).iter().zip(machine.path(b)).rev().find(|(a, b)| a == b && **a != NONE);
        let up = levels_up(machine, shared.map_or(0, |(object, _)| *object as usize));
        let nodes = (machine.pu(a).node, machine.pu(b).node);
        Rung { numa: self.matrix.as_ref().map_or(0, |m| m.between(nodes.0, nodes.1)), up }
    }
}

fn levels_up(machine: &Machine, object: usize) -> u8 {
    let level = machine.objects[object].level;
    let outside = machine.levels.iter().position(|&l| l == level).map_or(0, |place| place + 1);
    (machine.levels.len() + 1 - outside) as u8
}

fn branches(machine: &Machine, object: usize) -> Vec<Range<usize>> {
    let object = &machine.objects[object];
    if object.children.is_empty() {
        return object.pus.clone().map(|pu| pu..pu + 1).collect();
    }
    object.children.iter().map(|&child| machine.objects[child].pus.clone()).collect()
}

/// Each branch with each node it has PUs of.
fn nodes_of(machine: &Machine, branches: &[Range<usize>]) -> Vec<(usize, Option<usize>)> {
    let pus = branches.iter().enumerate().flat_map(|(branch, pus)| pus.clone().map(move |pu| (branch, pu)));
    let mut places: Vec<_> = pus.map(|(branch, pu)| (branch, machine.pus[pu].node)).collect();
    places.dedup();
    places
}

impl Machine {
    /// How far two PUs are apart: 0 for the same PU, 1 for the nearest kind of neighbour this machine has, and so on up
    /// to [`distance_levels`](Self::distance_levels). Symmetric. NUMA distance counts first where the system knows it, then
    /// the innermost shared object.
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
    pub fn distance(&self, a: PuId, b: PuId) -> u8 {
        match &self.ladder.addresses {
            Some(addresses) => addresses.distance(a, b),
            None if a == b => 0,
            None => self.ladder.distance(self, a, b),
        }
    }

    /// The largest distance between two PUs: the number of different ways of being apart. 0 on a machine of one PU.
    pub fn distance_levels(&self) -> u8 {
        u8::try_from(self.ladder.rungs.len()).unwrap_or(u8::MAX)
    }

    /// What each distance from 1 on means: `same core`, `same package`, and with the NUMA distance where that is more than local.
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

    /// The NUMA distance between two nodes, by their indices in [`Machine::nodes`], in the firmware's unit: 10 is local.
    /// Where the system gives no table, 20 for any two different nodes.
    ///
    /// # Panics
    ///
    /// If a node does not exist.
    pub fn node_distance(&self, a: usize, b: usize) -> u32 {
        assert!(a.max(b) < self.nodes.len(), "there are only {} nodes", self.nodes.len());
        match &self.ladder.matrix {
            Some(matrix) => matrix.between(Some(a), Some(b)),
            None if a == b => LOCAL,
            None => REMOTE,
        }
    }

    /// Of the nodes `among`, by the system's numbers, the one that is nearest to a PU: its own, if that is one of them. `None` where the PU lies on no node, or none of
    /// them exists.
    ///
    /// # Panics
    ///
    /// If `id` comes from a larger machine.
    pub fn nearest_node(&self, id: PuId, among: &CpuSet) -> Option<usize> {
        let own = self.pu(id).node?;
        let there = self.nodes.iter().enumerate().filter(|(_, node)| among.contains(node.number));
        let nearest = there.min_by_key(|&(node, _)| (node != own, self.node_distance(own, node)));
        nearest.map(|(_, node)| node.number)
    }
}

#[cfg(test)]
mod tests {
    //! What these would miss: wrong tables that look right.

    use super::*;

    #[test]
    fn a_table_that_is_not_square_or_has_a_nearer_remote_node_is_refused() {
        assert!(Matrix::new(&[vec![10, 20], vec![20]]).is_none());
        assert!(Matrix::new(&[vec![10, 5], vec![5, 10]]).is_none());
        assert!(Matrix::new(&[vec![0, 0], vec![0, 0]]).is_none());
    }

    #[test]
    fn an_uneven_pair_counts_with_its_larger_distance() {
        let matrix = Matrix::new(&[vec![10, 21], vec![17, 10]]).unwrap();
        assert_eq!(matrix.between(Some(0), Some(1)), 21);
        assert_eq!(matrix.between(Some(1), Some(0)), 21);
    }

    #[test]
    fn every_rung_is_the_distance_of_some_pair_and_every_pair_has_a_rung() {
        for description in
            ["package:2 node:2 l3:2 core:2 pu:2", "core:3", "package:3", "pu:2", "node:4 l2:2 core:2"]
        {
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

    #[test]
    fn addresses_that_do_not_fit_into_a_word_are_left_out() {
        // Distances as if of a tree with a branch of two at each of 70 levels would have.
        let steps: Vec<u8> = (1..=70).collect();
        assert!(Addresses::of(&steps, 70).is_none());
        let all = Addresses::of(&steps[..64], 64).unwrap();
        assert_eq!((all.words.len(), all.words[64]), (65, 1 << 63));
    }
}
