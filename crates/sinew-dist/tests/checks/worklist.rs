//! Checks of worklists whose units have a home rank.

use std::collections::BTreeSet;

use sinew::stm::{TArray, TVar, Tx, TxResult};
use sinew::worklist::{Order, Worklist};
use sinew_dist::World;
use sinew_dist::worklist::{HomeCounts, Homed, Out, WorklistError};

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
    /// With edges that follow from the numbers of their nodes.
    fn regular(nodes: usize) -> Self {
        let edges = |v: usize| vec![((v * 7 + 1) % nodes, 5), ((v * 3 + 2) % nodes, v as u64 % 11)];
        Self { nodes, edges: (0..nodes).map(edges).collect() }
    }

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
        let parts = world.all_gather(&own.iter().map(|d| d.load()).collect::<Vec<_>>());
        let distances: Vec<u64> = (0..self.nodes).map(|v| parts[v % ranks][v / ranks]).collect();
        let reached = distances.iter().filter(|distance| **distance < FAR).count();
        assert!(sum >= reached as u64, "each was improved at least once");
        distances
    }
}

pub(crate) fn shortest_paths(world: &World) {
    for nodes in [1, 2, 5, 400] {
        let graph = Graph::regular(nodes);
        for order in [Order::Lifo, Order::Fifo, Order::priority(|(_, d): &(usize, u64)| d / 8)] {
            assert_eq!(graph.over(world, order), graph.serial(), "{nodes} nodes");
        }
    }
}

/// Catches: units that run elsewhere, and an end before the only busy rank is done.
pub(crate) fn one_home(world: &World) {
    let (rank, size) = (world.rank(), world.size());
    let home = u64::from(size) * 5 + u64::from(size) - 1;
    let mut list: Worklist<[u32; 2]> = (0..4).map(|number| [rank, number]).collect();
    let count = TVar::new(0_u64);
    let homed = world.plain_worklist(&mut list).home(|_| home).run(|tx, &[from, left], out| {
        out.extend((0..left).map(|fewer| [from, fewer]));
        count.modify(tx, |count| count + 1)
    });
    let counts = homed.unwrap().counts;
    assert_balanced(&counts);
    // A unit with the number n makes 2^n of it.
    let all = 15 * u64::from(size);
    for (number, one) in (0..).zip(&counts) {
        let last = number == size - 1;
        assert_eq!(one.run, if last { all } else { 0 });
        assert_eq!(one.units_given, if last { 0 } else { 4 });
    }
    assert_eq!(count.load(), counts[rank as usize].run);
}

/// A unit of the chain: it waits until the one before it has left its mark.
fn pass<'env>(
    tx: &mut Tx<'_, 'env>,
    marks: &'env TArray<bool>,
    ranks: usize,
    &(at, is_mark): &(usize, bool),
    out: &mut Out<'_, (usize, bool)>,
) -> TxResult<()> {
    if is_mark {
        return marks.set(tx, at / ranks, true);
    }
    // An attempt that waits sends nothing.
    out.push((at + 1, true));
    if marks.get(tx, at / ranks)? { Ok(()) } else { tx.retry() }
}

/// Catches: a unit that waits and keeps its rank from being quiet, or is not woken by one that
/// comes from another rank; and an end that forgets those that wait for nothing.
pub(crate) fn waiting(world: &World) {
    const LENGTH: usize = 30;
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let marks = TArray::new(LENGTH / ranks + 2, false);
    let own = (0..LENGTH).filter(|at| at % ranks == rank).map(|at| (at, false));
    let mut list: Worklist<(usize, bool)> = own.clone().collect();
    let process = |tx: &mut Tx<'_, '_>, unit: &_, out: &mut Out<'_, _>| {
        let marks = &marks;
        pass(tx, marks, ranks, unit, out)
    };
    let stuck = world.worklist(&mut list).home(|(at, _)| *at as u64).run(process);
    assert_eq!(stuck.unwrap_err(), WorklistError::Waiting { units: LENGTH as u64 });
    assert_eq!(list.len(), own.count());
    list.extend((rank == 0).then_some((0, true)));
    let homed = world.worklist(&mut list).home(|(at, _)| *at as u64).run(process).unwrap();
    assert_balanced(&homed.counts);
    let run: u64 = homed.counts.iter().map(|one| one.run).sum();
    assert_eq!(run, 2 * LENGTH as u64 + 1);
    assert!(list.is_empty());
}

/// Catches: units that a failed attempt sends, or that a commit sends twice.
pub(crate) fn conflicts(world: &World) {
    const UNITS: u64 = 300;
    let (rank, size) = (u64::from(world.rank()), u64::from(world.size()));
    let (sum, flips) = (TVar::new(0_u64), TVar::new(0_u64));
    let mut list: Worklist<(u64, u64)> = (0..UNITS).map(|number| (rank, number)).collect();
    let homed =
        world.worklist(&mut list).home(|(home, _)| *home).run(|tx, &(home, number), out| {
            let before = sum.get(tx)?;
            out.extend((number >= 100).then_some((home + 1, number % 100)));
            // Workers of one rank disagree about these two until one gives way.
            flips.modify(tx, |flips| flips + 1)?;
            sum.set(tx, before + number)
        });
    let homed = homed.unwrap();
    assert_balanced(&homed.counts);
    assert_eq!(homed.counts.iter().map(|one| one.run).sum::<u64>(), size * (UNITS + 200));
    let sums = world.all_reduce((sum.load(), flips.load()), |a, b| (a.0 + b.0, a.1 + b.1));
    assert_eq!(sums, (size * (44_850 + 2 * 4_950), size * (UNITS + 200)));
}
