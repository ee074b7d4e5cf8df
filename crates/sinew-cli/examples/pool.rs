//! A program with a pool that shares the machine, for tests.
//!
//! `pool ROUNDS` adds the same numbers ROUNDS times on the pool of the program, and prints the last
//! sum.

use sinew::prelude::*;

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse::<u64>().ok());
    let Some(rounds) = rounds else {
        eprintln!("usage: pool ROUNDS");
        std::process::exit(2);
    };
    let numbers: Vec<u64> = (0..1_000_000).collect();
    let mut sum = 0;
    for _ in 0..rounds {
        sum = numbers.par_iter().map(|n| n % 7).sum();
    }
    println!("{sum}");
}
