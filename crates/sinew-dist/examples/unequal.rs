//! Ranks with unequal loads: in each round rank 0 has `SKEW` of 100 items, the last rank the
//! fewest. Between two rounds all wait for each other, and those that wait lend their cores.
//!
//! ```text
//! cargo build --release -p sinew-dist --features mpi --example unequal
//! mpirun --bind-to none -n 2 target/release/examples/unequal 90
//! SINEW_COORDINATE=0 mpirun --bind-to none -n 2 target/release/examples/unequal 90
//! ```

mod ranks;

use std::time::Instant;

use sinew::iter::ParIter;
use sinew_dist::World;

const ROUNDS: usize = 40;

/// Items of all ranks in a round, of about 20 µs each.
const ITEMS: usize = 4_000;

fn main() {
    let (ranks, skew) = ranks::arguments("90");
    let skew = skew.parse().ok().filter(|skew| (1..=100).contains(skew));
    let skew = skew.unwrap_or_else(|| ranks::usage("the part of rank 0, from 1 to 100"));
    ranks::run(ranks, |world| rounds(world, skew));
}

/// The items of a rank: rank 0 has `skew` per cent, the others divide the rest.
fn items(rank: usize, ranks: usize, skew: usize) -> std::ops::Range<usize> {
    let first = if ranks == 1 { ITEMS } else { ITEMS * skew / 100 };
    let bound = |rank: usize| match rank {
        0 => 0,
        rank => first + (ITEMS - first) * (rank - 1) / (ranks - 1).max(1),
    };
    bound(rank)..bound(rank + 1)
}

/// Some 20 µs of work.
fn work(item: usize) -> u64 {
    (0..20_000).fold(item as u64, |x, _| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
}

fn rounds(world: &World, skew: usize) {
    let own = items(world.rank() as usize, world.size() as usize, skew);
    let mut seconds = Vec::new();
    let mut sum = 0_u64;
    for _ in 0..ROUNDS {
        world.barrier();
        let began = Instant::now();
        let part = world
            .pool()
            .run(|_| sinew::over(own.clone()).map(work).reduce(|| 0, u64::wrapping_add));
        sum = world.all_reduce(part, u64::wrapping_add);
        seconds.push(began.elapsed().as_secs_f64());
    }
    assert_eq!(sum, (0..ITEMS).map(work).fold(0, u64::wrapping_add), "another sum than serial");
    let reports = world.report();
    if world.rank() > 0 {
        return;
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "{} ranks, {skew} % on rank 0: {:.2} ms a round",
        world.size(),
        1e3 * seconds[ROUNDS / 2]
    );
    for one in reports {
        println!(
            "rank {}: {} workers, waited {:.2} of {:.2} s, lent {} times",
            one.rank, one.workers, one.waited_s, one.total_s, one.lent
        );
    }
}
