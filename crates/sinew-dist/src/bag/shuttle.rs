//! Several members of a bag under random schedules (shuttle), over the network within a process.
//! The members run their units themselves, without pools, which have models of their own.
//!
//! A push that is lost keeps waves coming without end; a wave too few ends the bag while a unit
//! exists. `cargo xtask shuttle`; a schedule that fails is printed with its seed.

use ::shuttle::thread;
use sinew_policy::lifelines::Settings;
use sinew_sync::explore::explore;
use sinew_sync::plant::{Bug, plant};

use super::member::Member;
use crate::World;
use crate::threads::links;
use crate::wire::Plain;

const RANKS: u32 = 3;

/// A tree: a unit of size n adds one of every smaller size, so a tree has 2^(n - 1) units.
fn run_one(unit: u32, units: &mut Vec<u32>) -> u64 {
    units.extend(1..unit);
    1
}

/// Runs a bag whose units begin at the last rank. All units run, on whichever rank.
fn bag() {
    let ranks = links(RANKS, None).into_iter().map(|link| {
        thread::spawn(move || {
            let world = World::over(Box::new(link));
            let units = if world.rank() == RANKS - 1 { vec![5] } else { vec![] };
            // A ring: rank 2 pushes to 1, and 1 to 0. A push that goes on behind the back of a wave
            // needs such a way.
            let settings = Settings { tries: 0, base: 4 };
            let member = Member::<u32, Plain>::new(&world, units, settings);
            let batch = |units: &mut Vec<u32>| {
                let unit = units.pop().expect("a batch has units");
                thread::yield_now();
                run_one(unit, units) as usize
            };
            let counts = member.run(batch);
            // A job whose ranks do not agree about the end would wait here.
            world.all_reduce(counts.run, |a, b| a + b)
        })
    });
    let ranks: Vec<_> = ranks.collect();
    for rank in ranks {
        assert_eq!(rank.join().unwrap(), 16);
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
