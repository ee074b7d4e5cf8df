//! A program with a pool that shares the machine, for tests.
//!
//! `pool ROUNDS` adds the same numbers ROUNDS times on the pool of the program, and prints the last
//! sum. `pool -` does so until its input ends. Meanwhile it prints the number of threads that may
//! work for each line of input.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sinew::global_pool;
use sinew::prelude::*;

fn main() {
    let rounds = match std::env::args().nth(1).as_deref() {
        Some("-") => Some(None),
        word => word.and_then(|rounds| rounds.parse::<u64>().ok()).map(Some),
    };
    let Some(rounds) = rounds else {
        eprintln!("usage: pool ROUNDS | pool -");
        std::process::exit(2);
    };
    let is_over = AtomicBool::new(false);
    let numbers: Vec<u64> = (0..1_000_000).collect();
    let sum = || numbers.par_iter().map(|n| n % 7).sum::<u64>();
    let mut last = 0;
    match rounds {
        Some(rounds) => (0..rounds).for_each(|_| last = sum()),
        None => thread::scope(|s| {
            s.spawn(|| {
                std::io::stdin().lines().for_each(|_| println!("{}", global_pool().threads()));
                is_over.store(true, Ordering::Relaxed);
            });
            while last == 0 || !is_over.load(Ordering::Relaxed) {
                last = sum();
            }
        }),
    }
    println!("{last}");
}
