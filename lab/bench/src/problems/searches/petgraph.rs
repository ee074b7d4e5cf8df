//! The searches on petgraph, with one thread: its breadth-first walk and its Dijkstra.

use ::petgraph::Graph as Petgraph;
use ::petgraph::algo::dijkstra;
use ::petgraph::graph::NodeIndex;
use ::petgraph::visit::Bfs;
use sinew_apps::graph::{Graph, UNREACHED};

use super::graphs::{Kept, graph};
use crate::problem::{Case, Form};

static GRAPHS: Kept<Petgraph<(), u32>> = Kept::new();

fn source() -> NodeIndex {
    NodeIndex::new(Graph::SOURCE as usize)
}

/// The same graph for petgraph.
fn petgraph(case: &Case) -> &'static Petgraph<(), u32> {
    GRAPHS.get(case, || {
        let graph = graph(case);
        let edges = (0..graph.nodes() as u32)
            .flat_map(|node| graph.edges_of(node).map(move |(to, length)| (node, to, length)));
        let mut petgraph = Petgraph::with_capacity(graph.nodes(), graph.edges());
        for _ in 0..graph.nodes() {
            petgraph.add_node(());
        }
        petgraph.extend_with_edges(edges);
        petgraph
    })
}

pub(super) fn bfs() -> Form {
    Form::serial("petgraph", |case| {
        let graph = petgraph(case);
        // The walk has no distances: the first node with an edge to another one gives it its own.
        let mut distances = vec![UNREACHED; graph.node_count()];
        distances[source().index()] = 0;
        let (mut walk, mut sum) = (Bfs::new(graph, source()), 0);
        while let Some(node) = walk.next(graph) {
            let distance = distances[node.index()];
            sum += u64::from(distance);
            for target in graph.neighbors(node) {
                let there = &mut distances[target.index()];
                *there = (*there).min(distance + 1);
            }
        }
        sum
    })
}

pub(super) fn sssp() -> Form {
    Form::serial("petgraph", |case| {
        let distances = dijkstra(petgraph(case), source(), None, |edge| *edge.weight());
        distances.into_values().map(u64::from).sum()
    })
}
