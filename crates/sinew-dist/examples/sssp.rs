//! Shortest paths in a random graph over ranks, equal to Dijkstra's algorithm. The distance of node
//! v is a transactional variable of rank v modulo the number of ranks. A unit is a shorter path to
//! a node; short ones run first.
//!
//! ```text
//! cargo run --release -p sinew-dist --example sssp -- 100000 --threads 4
//! cargo build --release -p sinew-dist --features mpi --example sssp
//! mpirun -n 4 target/release/examples/sssp 100000
//! ```

mod ranks;

use std::time::Instant;

use sinew::stm::TArray;
use sinew::worklist::{Order, Worklist};
use sinew_apps::graph::{Graph, Shape, UNREACHED};
use sinew_dist::World;
use sinew_dist::worklist::HomeCounts;

/// The width of a bucket of distances.
const WIDTH: u32 = 32;

fn main() {
    let (ranks, nodes) = ranks::arguments("100000");
    let nodes = nodes.parse().ok().filter(|nodes| (1..=10_000_000).contains(nodes));
    let nodes = nodes.unwrap_or_else(|| ranks::usage("a number of nodes, from 1 to 10000000"));
    ranks::run(ranks, |world| paths(world, &Shape::Random.generate(nodes)));
}

/// Each rank has the whole graph, as its nodes and edges follow from a formula, and the distances
/// of its own nodes.
fn paths(world: &World, graph: &Graph) {
    let (ranks, start) = (world.size(), Instant::now());
    let own = TArray::new(graph.nodes().div_ceil(ranks as usize), UNREACHED);
    let first = (world.rank() == 0).then_some([Graph::SOURCE, 0]);
    let order = Order::priority(|&[_, distance]: &[u32; 2]| u64::from(distance / WIDTH));
    let mut list = first.into_iter().collect::<Worklist<_>>().order(order);
    let homed = world.plain_worklist(&mut list).home(|[node, _]| u64::from(*node)).run_fold(
        |tx, &[node, distance], out| {
            let at = (node / ranks) as usize;
            let is_shorter = distance < own.get(tx, at)?;
            if is_shorter {
                own.set(tx, at, distance)?;
                let edges = graph.edges_of(node);
                out.extend(edges.map(|(target, length)| [target, distance + length]));
            }
            Ok(is_shorter)
        },
        |shorter: &mut u64, is_shorter| *shorter += u64::from(is_shorter),
        |a, b| a + b,
    );
    let homed = homed.unwrap_or_else(|error| world.abort(&error.to_string()));
    let seconds = start.elapsed().as_secs_f64();
    let parts = world.all_gather(&own.load_all());
    if world.rank() == 0 {
        let distance = |node: usize| parts[node % parts.len()][node / parts.len()];
        let serial = sinew_apps::sssp::serial(graph).0;
        assert!(serial.into_iter().eq((0..graph.nodes()).map(distance)), "other distances");
        println!("{} nodes: as serial; {ranks} ranks, {seconds:.2} s", graph.nodes());
        report(&homed.counts, homed.sum);
    }
}

fn report(counts: &[HomeCounts], shorter: u64) {
    let sum = |part: fn(&HomeCounts) -> u64| counts.iter().map(part).sum::<u64>();
    assert_eq!(sum(|one| one.sent), sum(|one| one.received), "every message has arrived");
    assert_eq!(sum(|one| one.units_given), sum(|one| one.units_taken));
    println!(
        "{} units, of which {shorter} found a shorter path; {} travelled, in {} messages",
        sum(|one| one.run),
        sum(|one| one.units_given),
        sum(|one| one.given),
    );
}
