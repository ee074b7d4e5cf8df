//! Checks of worklists whose units have a home rank.

use sinew::stm::{TArray, TVar, Tx, TxResult};
use sinew::worklist::{Order, Worklist};
use sinew_dist::World;
use sinew_dist::worklist::{Out, WorklistError};

use super::graph::{Graph, assert_balanced};

/// A graph with edges that follow from the numbers of their nodes.
fn regular(nodes: usize) -> Graph {
    let edges = |v: usize| vec![((v * 7 + 1) % nodes, 5), ((v * 3 + 2) % nodes, v as u64 % 11)];
    Graph { nodes, edges: (0..nodes).map(edges).collect() }
}

pub(crate) fn shortest_paths(world: &World) {
    for nodes in [1, 2, 5, 400] {
        let graph = regular(nodes);
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
fn pass<'tx>(
    tx: &mut Tx<'tx, '_>,
    marks: &'tx TArray<bool>,
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
    let stuck = world.worklist(&mut list).home(|(at, _)| *at as u64);
    let stuck = stuck.run(|tx, unit, out| pass(tx, &marks, ranks, unit, out));
    assert_eq!(stuck.unwrap_err(), WorklistError::Waiting { units: LENGTH as u64 });
    assert_eq!(list.len(), own.count());
    list.extend((rank == 0).then_some((0, true)));
    let homed = world.worklist(&mut list).home(|(at, _)| *at as u64);
    let homed = homed.run(|tx, unit, out| pass(tx, &marks, ranks, unit, out)).unwrap();
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
