//! Shortest paths: the distance of each node of a graph from the first one, where edges have
//! lengths.
//!
//! The serial version is Dijkstra's algorithm with a heap. The parallel version is a worklist
//! without transactions. A unit is a node that was reached on a shorter path than before; buckets
//! of distances run one after the other, as in delta-stepping (Meyer and Sanders, 2003), without a
//! barrier between them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sinew::Worker;
use sinew::worklist::Order;

use crate::app::App;
use crate::graph::{self, Description, Distances, Graph, UNREACHED};
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

pub(crate) const APP: App = App {
    name: "sssp",
    about: "shortest paths in a graph: a worklist with priorities",
    sizes: graph::SIZES,
    demo: "random-100000",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// The width of a bucket of distances.
const WIDTH: u32 = 32;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let description = Description::pick(APP.name, &options.size)?;
    Ok(problem(Search { description, graph: description.generate() }))
}

struct Search {
    description: Description,
    graph: Graph,
}

/// Dijkstra's algorithm.
pub fn serial(graph: &Graph) -> Distances {
    let mut distances = vec![UNREACHED; graph.nodes()];
    distances[Graph::SOURCE as usize] = 0;
    let mut heap = BinaryHeap::from([Reverse((0, Graph::SOURCE))]);
    while let Some(Reverse((distance, node))) = heap.pop() {
        if distances[node as usize] < distance {
            continue;
        }
        for (target, length) in graph.edges_of(node) {
            let through = distance + length;
            if through < distances[target as usize] {
                distances[target as usize] = through;
                heap.push(Reverse((through, target)));
            }
        }
    }
    Distances(distances)
}

/// The search by levels in the current pool: a loop over all nodes whose distances have fallen.
pub fn by_levels(graph: &Graph) -> Distances {
    graph::by_levels(graph, |node| graph.edges_of(node))
}

/// The search by a worklist in the order in which units were added.
pub fn fifo(graph: &Graph) -> Distances {
    graph::worklist(graph, Order::Fifo, |node| graph.edges_of(node))
}

/// The search by a worklist, of which the units with short distances run first.
pub fn priority(graph: &Graph) -> Distances {
    let order = Order::priority(|&(_, distance)| u64::from(distance / WIDTH));
    graph::worklist(graph, order, |node| graph.edges_of(node))
}

impl Solve for Search {
    type Input = ();
    type Answer = Distances;

    fn size(&self) -> String {
        self.description.to_string()
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Distances {
        serial(&self.graph)
    }

    fn parallel(&self, _: &Worker, (): ()) -> Distances {
        priority(&self.graph)
    }

    fn check(&self, distances: &Distances) -> Result<(), Wrong> {
        distances.check(&self.graph, |length| length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Shape;
    use sinew::Pool;

    #[test]
    fn every_way_finds_the_shortest_paths() {
        let pool = Pool::builder().threads(3).build().unwrap();
        for shape in Shape::ALL {
            let graph = shape.generate(3_000);
            let right = serial(&graph);
            right.check(&graph, |length| length).unwrap();
            for (name, search) in
                [("levels", by_levels as fn(&Graph) -> _), ("fifo", fifo), ("priority", priority)]
            {
                assert_eq!(pool.run(|_| search(&graph)), right, "{name}, {shape:?}");
            }
        }
    }
}
