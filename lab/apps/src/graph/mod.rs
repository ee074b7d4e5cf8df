//! Graphs for searches: generated from fixed seeds, and the check of a search.
//!
//! | file | contents |
//! |---|---|
//! | `generate` | random graphs, grids and graphs whose degrees follow a power law |
//! | `search` | the worklist and the loops by levels that both applications use |

mod generate;
mod search;

use std::fmt;

use crate::memory::room;
use crate::options::{Error, Size};
use crate::problem::Wrong;

pub use generate::Shape;
pub(crate) use search::{by_levels, worklist};

/// The distance of a node that no path reaches.
pub const UNREACHED: u32 = u32::MAX;

/// A directed graph whose edges have lengths of 1 to [`Graph::LONGEST`].
#[derive(Debug, PartialEq, Eq)]
pub struct Graph {
    /// The first edge of each node, and the number of edges.
    starts: Vec<u32>,
    targets: Vec<u32>,
    lengths: Vec<u32>,
}

impl Graph {
    /// The longest edge.
    pub const LONGEST: u32 = 100;

    /// The node at which searches begin.
    pub const SOURCE: u32 = 0;

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of edges.
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The nodes to which edges lead from `node`.
    #[inline]
    pub fn targets(&self, node: u32) -> &[u32] {
        &self.targets[self.range(node)]
    }

    /// The same with the edges' lengths.
    #[inline]
    pub fn edges_of(&self, node: u32) -> impl Iterator<Item = (u32, u32)> {
        let range = self.range(node);
        self.targets[range.clone()].iter().copied().zip(self.lengths[range].iter().copied())
    }

    #[inline]
    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        self.starts[node] as usize..self.starts[node + 1] as usize
    }
}

/// The distance of each node from the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distances(pub Vec<u32>);

impl Distances {
    /// How many nodes are reached, and the largest distance.
    fn summary(&self) -> (usize, u32) {
        let reached = self.0.iter().filter(|&&distance| distance != UNREACHED);
        (reached.clone().count(), reached.max().copied().unwrap_or(0))
    }

    /// The sum of the distances of all nodes that are reached.
    pub fn sum(&self) -> u64 {
        let reached = self.0.iter().filter(|&&distance| distance != UNREACHED);
        reached.map(|&distance| u64::from(distance)).sum()
    }

    /// Checks the distances without a search: no edge is a shortcut, and each node that is reached
    /// has an edge from a node that is nearer by its length. As lengths are positive, that is so
    /// for the shortest distances only.
    pub(crate) fn check(&self, graph: &Graph, length: impl Fn(u32) -> u32) -> Result<(), Wrong> {
        let Self(distances) = self;
        Wrong::unless(distances.len() == graph.nodes(), || "a node has no distance".to_owned())?;
        let mut explained = vec![false; graph.nodes()];
        explained[Graph::SOURCE as usize] = distances[Graph::SOURCE as usize] == 0;
        for (node, &distance) in (0..).zip(distances).filter(|&(_, &d)| d != UNREACHED) {
            for (target, edge) in graph.edges_of(node) {
                let (through, there) = (distance + length(edge), distances[target as usize]);
                Wrong::unless(there <= through, || {
                    format!("node {target} is nearer by node {node}")
                })?;
                explained[target as usize] |= there == through;
            }
        }
        for (node, explained) in explained.into_iter().enumerate() {
            Wrong::unless(explained || distances[node] == UNREACHED, || {
                format!("no edge explains the distance of node {node}")
            })?;
        }
        Ok(())
    }
}

impl fmt::Display for Distances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reached, largest) = self.summary();
        write!(f, "{reached} nodes reached, the farthest at {largest}, sum {}", self.sum())
    }
}

/// The sizes of both applications, in words.
pub(crate) const SIZES: &str =
    "a shape (random, grid, power) and 2 to 50000000 nodes, such as grid-1000000";

/// A graph as a user describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Description {
    pub(crate) shape: Shape,
    pub(crate) nodes: usize,
}

impl Description {
    /// The graph that a size of `app` stands for.
    pub(crate) fn pick(app: &'static str, size: &Size) -> Result<Self, Error> {
        let text = match size {
            Size::Tiny => "random-500",
            Size::Small => "random-50000",
            Size::Full => "random-1000000",
            Size::Exact(text) => text,
        };
        let picked = Self::parse(text).ok_or_else(|| Error::Size {
            app,
            given: text.to_owned(),
            sizes: SIZES,
        })?;
        // Edges twice while they are sorted, and the distances and units of the versions.
        room(app, picked.nodes as u64 * (4 * 16 * generate::DEGREE as u64 + 64))?;
        Ok(picked)
    }

    fn parse(text: &str) -> Option<Self> {
        let (shape, nodes) = text.split_once('-')?;
        let nodes = nodes.replace('_', "").parse().ok().filter(|n| (2..=50_000_000).contains(n))?;
        Some(Self { shape: Shape::from_name(shape)?, nodes })
    }

    pub(crate) fn generate(self) -> Graph {
        self.shape.generate(self.nodes)
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} nodes", self.shape.name(), self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a check that accepts a distance that is too long, too short, or none.
    #[test]
    fn a_wrong_distance_is_noticed() {
        for shape in Shape::ALL {
            let graph = shape.generate(300);
            let right = crate::sssp::serial(&graph);
            right.check(&graph, |length| length).unwrap();
            let far = right.0.iter().position(|&d| d != 0 && d != UNREACHED).unwrap();
            for wrong in [0, right.0[far] - 1, right.0[far] + 1, UNREACHED] {
                let mut distances = right.clone();
                distances.0[far] = wrong;
                assert!(distances.check(&graph, |length| length).is_err(), "{wrong} at {far}");
            }
        }
    }

    #[test]
    fn sizes_name_a_shape_and_a_number() {
        let picked = |text| Description::parse(text).map(|picked| picked.to_string());
        assert_eq!(picked("grid-1_000").as_deref(), Some("grid, 1000 nodes"));
        assert_eq!([picked("grid"), picked("ring-100"), picked("grid-1")], [None, None, None]);
    }
}
