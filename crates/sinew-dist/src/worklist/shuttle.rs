//! Several members of a worklist under random schedules (shuttle), over the network within a
//! process. The members run their units themselves, without pools, which have models of their own.
//!
//! `cargo xtask shuttle`; a schedule that fails is printed with its seed.

use ::shuttle::thread;
use sinew::worklist::Round;
use sinew_sync::explore::explore;
use sinew_sync::plant::{Bug, plant};

use super::member::{Local, Member};
use crate::World;
use crate::threads::{Faults, links};
use crate::wire::Plain;

const RANKS: u32 = 3;

/// Once around all ranks.
const STEPS: u32 = RANKS;

const LEAVES: usize = 4;

/// A stack of units. A round is one unit, which runs with yields around it.
struct Stack {
    rank: u32,
    units: Vec<[u32; 2]>,
    ran: u64,
}

impl Local<[u32; 2]> for Stack {
    fn add(&mut self, units: Vec<[u32; 2]>) -> bool {
        let at_home = units.iter().all(|[home, _]| *home == self.rank);
        self.units.extend(units);
        at_home
    }

    /// A unit with n steps left adds one with a step less on the next rank, and some without steps
    /// on its own: a rank that has passed a unit on is still at work.
    fn round(&mut self, away: &mut [Vec<[u32; 2]>]) -> Round {
        let Some([_, steps]) = self.units.pop() else { return Round::Idle };
        thread::yield_now();
        self.ran += 1;
        if steps > 0 {
            let next = (self.rank + 1) % RANKS;
            away[next as usize].push([next, steps - 1]);
            self.units.extend([[self.rank, 0]; LEAVES]);
        }
        if self.units.is_empty() { Round::Idle } else { Round::More }
    }
}

/// Runs a list whose first unit is at the last rank. All units run, each on its home.
fn list() {
    let ranks = links(RANKS, &Faults::default()).into_iter().map(|link| {
        thread::spawn(move || {
            let world = World::over(Box::new(link));
            let rank = world.rank();
            let units = if rank == RANKS - 1 { vec![[rank, STEPS]] } else { vec![] };
            let mut stack = Stack { rank, units, ran: 0 };
            let away = (0..RANKS).map(|_| Vec::new()).collect();
            Member::<[u32; 2], Plain>::new(&world, away).run(&mut stack);
            assert!(stack.units.is_empty(), "a unit is left");
            // A job whose ranks do not agree about the end would wait here.
            world.all_reduce(stack.ran, |a, b| a + b)
        })
    });
    let ranks: Vec<_> = ranks.collect();
    for rank in ranks {
        assert_eq!(rank.join().unwrap(), 4 + 3 * LEAVES as u64);
    }
}

#[test]
fn shuttle_a_worklist_ends_after_its_last_unit() {
    plant(&[]);
    explore(list, 3);
}

#[test]
#[should_panic(expected = "")]
fn shuttle_finds_a_worklist_that_ends_after_one_wave() {
    plant(&[Bug::OneWave]);
    for _ in 0..20 {
        explore(list, 3);
    }
}
