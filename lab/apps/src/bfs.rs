//! Breadth-first search: on how few edges each node of a graph is reached from the first one.
//!
//! The parallel version is a worklist without transactions. A unit is a node that was reached on
//! fewer edges than before; the oldest unit runs first, as in a queue. A unit that runs too early
//! costs a repetition, so the order decides the time: with the worklist's default order, a search
//! first follows the longest paths. With priorities, few units run too early, but each costs more.

use std::collections::VecDeque;

use sinew::Worker;
use sinew::worklist::Order;

use crate::app::App;
use crate::graph::{self, Description, Distances, Graph, UNREACHED};
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

pub(crate) const APP: App = App {
    name: "bfs",
    about: "breadth-first search of a graph: a worklist in FIFO order",
    sizes: graph::SIZES,
    demo: "random-200000",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let description = Description::pick(APP.name, &options.size)?;
    Ok(problem(Search { description, graph: description.generate() }))
}

struct Search {
    description: Description,
    graph: Graph,
}

/// The search with a queue.
pub fn serial(graph: &Graph) -> Distances {
    let mut distances = vec![UNREACHED; graph.nodes()];
    distances[Graph::SOURCE as usize] = 0;
    let mut queue = VecDeque::from([Graph::SOURCE]);
    while let Some(node) = queue.pop_front() {
        let next = distances[node as usize] + 1;
        for &target in graph.targets(node) {
            if distances[target as usize] == UNREACHED {
                distances[target as usize] = next;
                queue.push_back(target);
            }
        }
    }
    Distances(distances)
}

/// The search by levels in the current pool: a loop for each number of edges.
pub fn by_levels(graph: &Graph) -> Distances {
    graph::by_levels(graph, |node| graph.targets(node).iter().map(|&target| (target, 1)))
}

/// The search by a worklist in the order in which units were added.
pub fn fifo(graph: &Graph) -> Distances {
    worklist(graph, Order::Fifo)
}

/// The search by a worklist, of which the units with the fewest edges run first.
pub fn priority(graph: &Graph) -> Distances {
    worklist(graph, Order::priority(|&(_, distance)| u64::from(distance)))
}

fn worklist(graph: &Graph, order: Order<(u32, u32)>) -> Distances {
    graph::worklist(graph, order, |node| graph.targets(node).iter().map(|&target| (target, 1)))
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
        fifo(&self.graph)
    }

    fn check(&self, distances: &Distances) -> Result<(), Wrong> {
        distances.check(&self.graph, |_| 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Shape;
    use sinew::Pool;

    #[test]
    fn every_way_finds_the_fewest_edges() {
        let pool = Pool::builder().threads(3).build().unwrap();
        for shape in Shape::ALL {
            let graph = shape.generate(3_000);
            let right = serial(&graph);
            right.check(&graph, |_| 1).unwrap();
            for (name, search) in
                [("levels", by_levels as fn(&Graph) -> _), ("fifo", fifo), ("priority", priority)]
            {
                assert_eq!(pool.run(|_| search(&graph)), right, "{name}, {shape:?}");
            }
        }
    }
}
