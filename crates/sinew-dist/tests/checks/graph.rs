//! A graph whose nodes have home ranks, and the shortest paths in it.

use std::collections::BTreeSet;

use sinew::stm::TArray;
use sinew::worklist::{Order, Worklist};
use sinew_dist::World;
use sinew_dist::worklist::{HomeCounts, Homed};

/// Messages and units that were sent are as many as those that came.
pub(crate) fn assert_balanced(counts: &[HomeCounts]) {
    let sum = |part: fn(&HomeCounts) -> u64| counts.iter().map(part).sum::<u64>();
    assert_eq!(sum(|one| one.sent), sum(|one| one.received));
    assert_eq!(sum(|one| one.given), sum(|one| one.taken));
    assert_eq!(sum(|one| one.units_given), sum(|one| one.units_taken));
}

const FAR: u64 = u64::MAX;

/// A graph of which node v is at rank v modulo the number of ranks.
pub(crate) struct Graph {
    pub(crate) nodes: usize,
    /// For each node the other ends of its edges, and their lengths.
    pub(crate) edges: Vec<Vec<(usize, u64)>>,
}

impl Graph {
    /// The distances of all nodes from node 0, by Dijkstra's algorithm.
    pub(crate) fn serial(&self) -> Vec<u64> {
        let mut distances = vec![FAR; self.nodes];
        distances[0] = 0;
        let mut next = BTreeSet::from([(0, 0)]);
        while let Some((distance, v)) = next.pop_first() {
            for &(to, length) in &self.edges[v] {
                if distance + length < distances[to] {
                    distances[to] = distance + length;
                    next.insert((distance + length, to));
                }
            }
        }
        distances
    }

    /// The same over ranks.
    pub(crate) fn over(&self, world: &World, order: Order<(usize, u64)>) -> Vec<u64> {
        let (rank, ranks) = (world.rank() as usize, world.size() as usize);
        let own = TArray::new(self.nodes.div_ceil(ranks), FAR);
        // Far from its home, unless there is one rank.
        let first = (rank == ranks - 1).then_some((0, 0));
        let mut list = first.into_iter().collect::<Worklist<_>>().order(order);
        let homed = world.worklist(&mut list).home(|(v, _)| *v as u64).run_fold(
            |tx, &(v, distance), out| {
                assert_eq!(v % ranks, rank, "a unit runs on its home");
                let is_shorter = distance < own.get(tx, v / ranks)?;
                if is_shorter {
                    own.set(tx, v / ranks, distance)?;
                    out.extend(self.edges[v].iter().map(|&(to, length)| (to, distance + length)));
                }
                Ok(is_shorter)
            },
            |improved: &mut u64, is_shorter| *improved += u64::from(is_shorter),
            |a, b| a + b,
        );
        let Homed { sum, counts, cancelled, .. } = homed.unwrap();
        assert_balanced(&counts);
        assert!(!cancelled && list.is_empty());
        let parts = world.all_gather(&own.load_all());
        let distances: Vec<u64> = (0..self.nodes).map(|v| parts[v % ranks][v / ranks]).collect();
        let reached = distances.iter().filter(|distance| **distance < FAR).count();
        assert!(sum >= reached as u64, "each was improved at least once");
        distances
    }
}
