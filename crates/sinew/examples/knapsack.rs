//! Packs a knapsack by branch and bound: the most valuable things that fit.
//!
//! Shows: `divide_and_conquer` over a tree of unknown shape, with a bound that all branches share,
//! and a control that tells how far it has got.

use sinew::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy)]
struct Thing {
    weight: u64,
    value: u64,
}

/// The things before `next` are decided.
#[derive(Debug, Clone, Copy)]
struct Packed {
    next: usize,
    room: u64,
    value: u64,
}

/// An upper bound: the best things that remain, and a part of the first that does not fit.
fn bound(things: &[Thing], packed: Packed) -> u64 {
    let (mut room, mut value) = (packed.room, packed.value);
    for thing in &things[packed.next..] {
        if thing.weight > room {
            return value + thing.value * room / thing.weight;
        }
        room -= thing.weight;
        value += thing.value;
    }
    value
}

fn best_by_branches(things: &[Thing], room: u64, control: &Control) -> Result<u64, Cancelled> {
    let best = AtomicU64::new(0);
    let step = |packed: Packed| {
        // Relaxed: an old bound only costs branches that lead nowhere.
        let best_value = best.fetch_max(packed.value, Ordering::Relaxed).max(packed.value);
        let Some(thing) = things.get(packed.next) else { return Step::Solved(best_value) };
        if bound(things, packed) <= best_value {
            return Step::Solved(best_value);
        }
        let without = Packed { next: packed.next + 1, ..packed };
        if thing.weight > packed.room {
            return Step::Split(without, Packed { next: things.len(), ..packed });
        }
        let room = packed.room - thing.weight;
        let with = Packed { next: packed.next + 1, room, value: packed.value + thing.value };
        Step::Split(with, without)
    };
    let start = Packed { next: 0, room, value: 0 };
    divide_and_conquer(start).control(control).run(step, u64::max)
}

/// The same by a table over all amounts of room.
fn best_by_table(things: &[Thing], room: u64) -> u64 {
    let mut best = vec![0; room as usize + 1];
    for thing in things {
        for room in (thing.weight as usize..best.len()).rev() {
            best[room] = best[room].max(best[room - thing.weight as usize] + thing.value);
        }
    }
    best[room as usize]
}

fn main() {
    let mut things: Vec<Thing> = (0..60_u64)
        .map(|i| {
            let weight = 20 + i * 7_919 % 181;
            Thing { weight, value: weight + i * 104_729 % 23 }
        })
        .collect();
    // The best value for its weight first.
    things.sort_by(|a, b| (b.value * a.weight).cmp(&(a.value * b.weight)));
    let room = things.iter().map(|thing| thing.weight).sum::<u64>() / 2;

    let control = Control::new();
    let best = best_by_branches(&things, room, &control);
    assert_eq!(best, Ok(best_by_table(&things, room)));
    println!("{} things, room for {room}: worth {}", things.len(), best.unwrap_or(0));
}
