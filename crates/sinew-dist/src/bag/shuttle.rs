//! Several members of a bag under random schedules (shuttle), over the network within a process.
//! The members run their units themselves, without pools, which have models of their own.
//!
//! A push that is lost keeps waves coming without end; a wave too few ends the bag while a unit
//! exists. Ranks of a bag that survives losses are lost at any of their uses of the network; then
//! the result is still that of a serial run. `cargo xtask shuttle`; a schedule that fails is
//! printed with its seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ::shuttle::rand::Rng as _;
use ::shuttle::thread;
use sinew_policy::lifelines::Settings;
use sinew_sync::explore::explore;
use sinew_sync::plant::{Bug, plant};

use super::member::Member;
use super::survivor::Survivor;
use crate::World;
use crate::threads::{Faults, Loss, Threads, links};
use crate::wire::{Plain, Way as _};

const RANKS: u32 = 3;

/// A tree: a unit of size n adds one of every smaller size, so a tree has 2^(n - 1) units.
fn run_one(unit: u32, units: &mut Vec<u32>) -> u64 {
    units.extend(1..unit);
    1
}

/// Runs a bag that begins with a unit of this size at the last rank, until rank 0 has asked
/// `asks` times whether to stop. Each unit has run, or is left on a rank.
fn run_bag(size: u32, asks: usize) {
    let ranks = links(RANKS, &Faults::default()).into_iter().map(|link| {
        thread::spawn(move || {
            let world = World::over(Box::new(link));
            let units = if world.rank() == RANKS - 1 { vec![size] } else { vec![] };
            // A ring: rank 2 pushes to 1, and 1 to 0. A push that goes on behind the back of a wave
            // needs such a way.
            let settings = Settings { tries: 0, base: 4 };
            let member = Member::<u32, Plain>::new(&world, units, settings);
            let batch = |units: &mut Vec<u32>| {
                let unit = units.pop().expect("a batch has units");
                thread::yield_now();
                run_one(unit, units) as usize
            };
            let mut asked = 0;
            let stop = || {
                asked += 1;
                asked > asks
            };
            let (counts, rest) = member.run(stop, batch);
            let left: u64 = rest.into_iter().map(|unit| 1 << (unit - 1)).sum();
            // A job whose ranks do not agree about the end would wait here.
            world.all_reduce(counts.run + left, |a, b| a + b)
        })
    });
    let ranks: Vec<_> = ranks.collect();
    for rank in ranks {
        assert_eq!(rank.join().unwrap(), 1 << (size - 1));
    }
}

/// A bag that runs to its end.
fn bag() {
    run_bag(5, usize::MAX);
}

/// A bag that is stopped at any time.
fn stopped_bag() {
    run_bag(4, ::shuttle::rand::thread_rng().gen_range(0..6));
}

/// Runs a bag of which rank 1 or 2, or both, are lost at any time. Units begin at the last rank.
fn bag_with_losses() {
    let mut random = ::shuttle::rand::thread_rng();
    let mut loss = || {
        let (rank, at) = (random.gen_range(1..RANKS), random.gen_range(0..60));
        Loss { rank, at, in_bag: true }
    };
    let losses = vec![loss(), loss()];
    let ranks = links(RANKS, &Faults { losses, ..Faults::default() })
        .into_iter()
        .map(|link| thread::spawn(move || catch_unwind(AssertUnwindSafe(|| survive(link))).ok()));
    let ranks: Vec<_> = ranks.collect();
    for (rank, result) in ranks.into_iter().enumerate() {
        match result.join().unwrap() {
            Some(sum) => assert_eq!(sum, 8),
            // Lost, or it needs one that was lost at the very end (S2).
            None => assert!(rank > 0, "rank 0 is never lost"),
        }
    }
}

/// The result of the bag.
fn survive(link: Threads) -> u64 {
    let world = World::over(Box::new(link));
    let units = if world.rank() == RANKS - 1 { vec![4] } else { vec![] };
    let settings = Settings { tries: 0, base: 4 };
    let add = |a: u64, b: u64| a + b;
    // A loss within `new` ends the job, so the model knows the units of all.
    let roots = [vec![], vec![], vec![4]].map(|units: Vec<u32>| Plain::pack(&units)).to_vec();
    let survivor = Survivor::<u32, Plain, u64, _>::begin(&world, units, roots, settings, &add);
    let batch = |units: &mut Vec<u32>, sum: &mut u64| {
        let unit = units.pop().expect("a batch has units");
        thread::yield_now();
        *sum += run_one(unit, units);
        1
    };
    let (sum, _) = survivor.run(batch);
    // A loss from here on ends the job.
    std::mem::forget(world);
    sum
}

#[test]
fn shuttle_a_bag_that_survives_losses_counts_every_unit_once() {
    plant(&[]);
    explore(bag_with_losses, 3);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_a_forgotten_lease() {
    hunt_losses(Bug::ForgottenLease);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_a_result_that_counts_twice() {
    hunt_losses(Bug::MergedTwice);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_an_end_that_waits_for_a_lost_rank() {
    hunt_losses(Bug::CountedLoss);
}

fn hunt_losses(bug: Bug) {
    plant(&[bug]);
    for _ in 0..20 {
        explore(bag_with_losses, 3);
    }
}

#[test]
fn shuttle_a_bag_that_is_stopped_keeps_its_units() {
    plant(&[]);
    explore(stopped_bag, 3);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_a_unit_that_comes_after_the_stop_and_is_lost() {
    plant(&[Bug::LostRest]);
    for _ in 0..20 {
        explore(stopped_bag, 3);
    }
}

#[test]
fn shuttle_a_bag_ends_after_its_last_unit() {
    plant(&[]);
    explore(bag, 3);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_an_end_after_one_wave() {
    hunt(Bug::OneWave);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_a_lost_push() {
    hunt(Bug::LostPush);
}

fn hunt(bug: Bug) {
    plant(&[bug]);
    for _ in 0..20 {
        explore(bag, 3);
    }
}
