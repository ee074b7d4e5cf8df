//! Bags that survive the loss of ranks, over ranks that are threads: ranks are lost at any of their
//! uses of the network, with delayed and reordered messages.

use proptest::prelude::*;
use sinew_dist::World;
use sinew_dist::bag::{BagCounts, Settings};
use sinew_dist::threads::{Lost, Ranks};

/// The number of units of a tree of each rank that begins with 10, by one bag.
fn trees(world: &World, settings: Settings) -> (u64, Vec<BagCounts>) {
    let bag = world.bag([10_u32]).steal_by(settings).survive_losses();
    bag.run_counted(
        |height, out, count: &mut u64| {
            *count += 1;
            out.extend(1..height);
        },
        |a, b| a + b,
    )
}

const TREE: u64 = 512;

#[test]
fn without_a_loss_every_unit_runs_once_and_all_messages_arrive() {
    for size in [1, 2, 3, 4, 7] {
        for seed in 0..6 {
            let settings = Settings { tries: seed as u32 % 3, base: 2 + seed as u32 % 2 };
            let ranks = Ranks::new(size).delays(seed);
            let results = ranks.run(|world| trees(world, settings)).unwrap();
            for (units, counts) in results {
                let sum = |part: fn(&BagCounts) -> u64| counts.iter().map(part).sum::<u64>();
                assert_eq!(units, TREE * u64::from(size), "{size} ranks, seed {seed}");
                assert_eq!(sum(|one| one.run), units);
                assert_eq!(sum(|one| one.sent), sum(|one| one.received));
                assert_eq!(sum(|one| one.given), sum(|one| one.taken));
                assert_eq!(sum(|one| one.units_given), sum(|one| one.units_taken));
                // All ranks but rank 0 also report the units with which they began.
                assert_eq!(sum(|one| one.reported), sum(|one| one.given) + u64::from(size) - 1);
            }
        }
    }
}

/// The results of two bags, the second one for each rank that began it, the lost ranks, and the
/// number of the others.
type Two = (u64, u64, Vec<u32>, u32);

/// Two bags, one after the other, and what all survivors know then.
fn two_bags(ranks: &Ranks, settings: Settings) -> Result<Vec<Two>, Lost> {
    ranks.run(|world| {
        let first = trees(world, settings).0;
        let begun = world.all_reduce(1_u32, |a, b| a + b);
        let second = trees(world, settings).0 / u64::from(begun);
        (first, second, world.lost(), world.all_reduce(1_u32, |a, b| a + b))
    })
}

fn cases() -> ProptestConfig {
    let deep = std::env::var_os("SINEW_DEEP").is_some();
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if deep { 20_000 } else { 200 })
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Catches: units of lost ranks that do not run again, results that count twice, and ranks that
    /// wait for lost ones.
    #[test]
    fn the_result_is_that_of_all_ranks_whichever_are_lost(
        size in 2..8_u32,
        losses in prop::collection::vec((1..8_u32, 0..120_u64), 1..4),
        tries in 0..3_u32,
        seed: u64,
    ) {
        let ranks = Ranks::new(size).delays(seed);
        let lost = losses.iter().map(|(rank, at)| (rank % (size - 1) + 1, at));
        let ranks = lost.fold(ranks, |ranks, (rank, at)| ranks.lose_in_bag(rank, *at));
        match two_bags(&ranks, Settings { tries, base: 2 }) {
            Ok(results) => {
                prop_assert!(!results.is_empty());
                for (first, second, lost, left) in results {
                    prop_assert_eq!(first, TREE * u64::from(size));
                    prop_assert_eq!(second, TREE);
                    prop_assert_eq!(left as usize + lost.len(), size as usize);
                }
            }
            // It was lost after rank 0 had its last message.
            Err(lost) => prop_assert!(lost.why.contains("is lost"), "{}", lost),
        }
    }
}

#[test]
fn losses_within_the_bag_do_not_end_the_job() {
    let survives = |at| {
        let ranks = Ranks::new(4).delays(at).lose_in_bag(2, at);
        ranks.run(|world| trees(world, Settings::default())).is_ok()
    };
    let survived = (0..40).filter(|at| survives(*at)).count();
    // Those before all ranks are in the bag do: the slower a rank comes, the more.
    assert!(survived >= 10, "{survived} of 40");
}

#[test]
fn the_loss_of_rank_0_ends_the_job() {
    let lost = Ranks::new(3).lose_in_bag(0, 3).run(|world| trees(world, Settings::default()));
    assert!(lost.unwrap_err().why.contains("rank 0 is lost"));
}

#[test]
fn what_needs_all_ranks_ends_the_job_after_a_loss() {
    let run = |_| {
        let lost = Ranks::new(3).lose_in_bag(1, 0).run(|world| {
            trees(world, Settings::default());
            assert_eq!(world.lost(), [1]);
            world.bag([1_u32]).run(|_, _, _: &mut ()| (), |(), ()| ());
        });
        lost.unwrap_err().why
    };
    // A loss before all ranks are in the bag ends the job: such runs show nothing.
    let why = (0..1_000).map(run).find(|why| why != "rank 1 is lost").expect("a loss in the bag");
    assert!(why.contains("`bag` needs all ranks, and rank 1 was lost before"), "{why}");
}
