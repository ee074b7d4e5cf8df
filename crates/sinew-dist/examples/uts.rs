//! Counts the nodes of an unbalanced tree over ranks, and compares with the published counts.
//!
//! ```text
//! cargo run --release -p sinew-dist --example uts -- T3               # a world of one
//! cargo run --release -p sinew-dist --example uts -- T3 --threads 4   # four ranks as threads
//! cargo build --release -p sinew-dist --features mpi --example uts
//! mpirun -n 4 target/release/examples/uts T3
//! ```

mod ranks;

use std::time::Instant;

use sinew_apps::uts::{Found, Node, Search, by_name};
use sinew_dist::World;
use sinew_dist::bag::{BagCounts, Out};

fn main() {
    let (ranks, name) = ranks::arguments("T3");
    let search = by_name(&name).unwrap_or_else(|| ranks::usage("a tree: T1, T1L, T3 or T3L"));
    ranks::run(ranks, |world| count(world, &search));
}

/// Nodes, leaves and depth.
type Sum = (u64, u64, u32);

fn found((nodes, leaves, depth): Sum) -> Found {
    Found { nodes, leaves, depth }
}

fn sum(found: Found) -> Sum {
    (found.nodes, found.leaves, found.depth)
}

fn count(world: &World, search: &Search) {
    let (tree, start) = (search.tree, Instant::now());
    let roots = (world.rank() == 0).then(|| tree.root().to_bytes());
    let unit = |bytes: [u8; 24], out: &mut Out<'_, [u8; 24]>, all: &mut Sum| {
        let node = Node::from_bytes(&bytes);
        let children = tree.children(&node);
        *all = sum(found(*all).and(Found::at(&node, children)));
        out.extend((0..children).map(|child| node.child(child).to_bytes()));
    };
    let merge = |a, b| sum(found(a).and(found(b)));
    let (all, counts) = world.plain_bag(roots).run_counted(unit, merge);
    let all = found(all);
    if let Some(known) = search.known {
        assert_eq!(all, known, "{} has other published counts", search.name);
    }
    if world.rank() == 0 {
        let seconds = start.elapsed().as_secs_f64();
        println!("{}: {all}, as published; {} ranks, {seconds:.2} s", search.name, world.size());
        report(&counts);
    }
}

fn report(counts: &[BagCounts]) {
    for (rank, one) in counts.iter().enumerate() {
        println!(
            "rank {rank}: {} units, {} came in {} messages; {} questions, {} refused; {} messages \
             sent",
            one.run,
            one.units_taken,
            one.taken,
            one.random_questions + one.lifeline_questions,
            one.refused,
            one.sent,
        );
    }
    let sum = |part: fn(&BagCounts) -> u64| counts.iter().map(part).sum::<u64>();
    assert_eq!(sum(|one| one.sent), sum(|one| one.received), "every message has arrived");
    assert_eq!(sum(|one| one.units_given), sum(|one| one.units_taken));
    let units = sum(|one| one.run) as f64;
    println!(
        "for a million units: {:.1} messages, {:.1} failed steals",
        1e6 * sum(|one| one.sent) as f64 / units,
        1e6 * sum(|one| one.refused) as f64 / units
    );
}
