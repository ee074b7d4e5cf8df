//! Worklists with homes over ranks that are threads: equal to serial programs, and what goes wrong.

#[path = "checks/graph.rs"]
mod graph;

use graph::Graph;
use proptest::prelude::*;
use sinew::stm::TVar;
use sinew::worklist::{Order, Settings, Tuning, Worklist};
use sinew_dist::threads::Ranks;
use sinew_dist::worklist::WorklistError;

fn cases() -> ProptestConfig {
    let deep = std::env::var_os("SINEW_DEEP").is_some();
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if deep { 2_000 } else { 40 })
    }
}

fn order(number: usize) -> Order<(usize, u64)> {
    match number {
        0 => Order::Lifo,
        1 => Order::Fifo,
        _ => Order::priority(|(_, distance)| distance / 4),
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn paths_over_ranks_are_those_of_a_serial_program(
        ranks in 1..8_u32,
        workers in 1..3_usize,
        kind in 0..3_usize,
        edges in prop::collection::vec(
            prop::collection::vec((any::<prop::sample::Index>(), 0..20_u64), 0..4),
            1..60,
        ),
        seed: u64,
    ) {
        let nodes = edges.len();
        let end = |(to, length): (prop::sample::Index, u64)| (to.index(nodes), length);
        let edges = edges.into_iter().map(|ends| ends.into_iter().map(end).collect()).collect();
        let graph = Graph { nodes, edges };
        let found = Ranks::new(ranks)
            .delays(seed)
            .workers(workers)
            .run(|world| graph.over(world, order(kind)));
        for distances in found.unwrap() {
            prop_assert_eq!(&distances, &graph.serial());
        }
    }
}

#[test]
fn a_panic_in_a_unit_names_its_home() {
    let lost = Ranks::new(3).run(|world| {
        let mut list = Worklist::from(vec![7_u64]);
        world.worklist(&mut list).home(|unit| *unit).run(|_, _, _| panic!("a bad unit"))
    });
    let lost = lost.unwrap_err();
    assert_eq!((lost.rank, lost.why.as_str()), (1, "a bad unit"));
}

/// Catches: a unit that goes from rank to rank without end, or runs anywhere.
#[test]
fn ranks_that_compute_other_homes_end_the_job() {
    let lost = Ranks::new(3).run(|world| {
        let rank = u64::from(world.rank());
        let mut list: Worklist<u64> = (rank == 0).then_some(5).into_iter().collect();
        world.worklist(&mut list).home(|_| rank + 1).run(|_, _, _| Ok(()))
    });
    let lost = lost.unwrap_err();
    assert_eq!(lost.rank, 1);
    assert_eq!(lost.why, "rank 0 has sent a unit whose home is another rank");
}

/// Catches: ranks that wait for one whose list cannot run, and units that are lost then.
#[test]
fn all_ranks_refuse_a_list_that_one_rank_refuses() {
    let results = Ranks::new(4).delays(3).run(|world| {
        let threads = if world.rank() == 2 { 9 } else { 1 };
        let tuning = Tuning::Fixed(Settings::baseline(threads));
        let mut list = Worklist::from((0..10_u64).collect::<Vec<_>>()).tune(tuning);
        let ended = world.worklist(&mut list).home(|unit| *unit).run(|_, _, _| Ok(()));
        (ended.unwrap_err(), list.len())
    });
    for (error, units) in results.unwrap() {
        let WorklistError::Refused { rank, why } = &error else { panic!("{error}") };
        assert_eq!((*rank, units), (2, 10));
        assert!(why.contains("9 threads"), "{why}");
    }
}

/// Catches: a cancelled rank that keeps the others waiting, or loses units.
#[test]
fn a_cancelled_rank_keeps_its_units_and_the_others_go_on() {
    let results = Ranks::new(3).delays(1).run(|world| {
        let control = sinew::Control::new();
        let sick = world.rank() == 1;
        if sick {
            control.cancel();
        }
        let sum = TVar::new(0);
        let mut list = Worklist::from(vec![0_u64, 1, 2, 4]).control(&control);
        let homed = world.worklist(&mut list).home(|unit| *unit).run(|tx, unit, _| {
            assert!(!sick, "this rank is cancelled");
            sum.modify(tx, |sum| sum + unit)
        });
        (homed.unwrap().cancelled, sum.load(), list.len())
    });
    assert_eq!(results.unwrap(), [(true, 0, 0), (true, 0, 6), (true, 6, 0)]);
}

/// Catches: a tuner that is lost between two runs of a list.
#[test]
fn a_list_keeps_its_tuner_and_runs_again() {
    let results = Ranks::new(2).run(|world| {
        let mut list = Worklist::new().tune(Tuning::Auto);
        let sum = TVar::new(0);
        for _ in 0..3 {
            list.extend(0..5_000_u64);
            let ended = world.worklist(&mut list).home(|unit| *unit);
            ended.run(|tx, unit, _| sum.modify(tx, |sum| sum + unit)).unwrap();
        }
        world.all_reduce(sum.load(), |a, b| a + b)
    });
    assert_eq!(results.unwrap(), [6 * 12_497_500; 2]);
}
