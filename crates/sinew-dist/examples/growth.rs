//! The time that it takes to add ranks to a job: new ones, and those that rest.
//!
//! ```text
//! cargo run --release -p sinew-dist --example growth -- 2 --threads 2
//! ```

mod ranks;

use std::time::{Duration, Instant};

use sinew_dist::{Shrunk, World};

/// How often the ranks rest and are called back.
const ROUNDS: usize = 15;

fn main() {
    let (ranks, more) = ranks::arguments("1");
    let more = more.parse().ok().filter(|more| (1..=100).contains(more));
    let more = more.unwrap_or_else(|| ranks::usage("a number of new ranks from 1 to 100"));
    ranks::run(ranks, |world| grow_and_rest(world, more));
}

fn grow_and_rest(world: &World, more: u32) {
    let mut times = Vec::new();
    let mut round = 0;
    if !world.joined() {
        times.push(add(world, more));
    }
    loop {
        // Ranks that have come do not know the round.
        round = world.broadcast(&round) + 1;
        if round > ROUNDS {
            break;
        }
        match world.shrink(more) {
            Shrunk::Stayed => times.push(add(world, more)),
            Shrunk::Returned => {}
            Shrunk::Over => return,
        }
    }
    if world.rank() == 0 {
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        let (first, back) = times.split_first_mut().expect("rank 0 has added ranks");
        back.sort_unstable();
        let (least, most) = (ms(back[0]), ms(back[ROUNDS - 1]));
        println!("{} ranks, {more} of them new: {:.1} ms", world.size(), ms(*first));
        println!("called back: {:.2} ms (median), {least:.2} to {most:.2}", ms(back[ROUNDS / 2]));
    }
}

fn add(world: &World, more: u32) -> Duration {
    world.barrier();
    let begin = Instant::now();
    world.grow(more).unwrap_or_else(|error| world.abort(&error.to_string()));
    begin.elapsed()
}
