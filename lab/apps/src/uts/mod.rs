//! Unbalanced tree search: counts the nodes of a tree of unpredictable shape.
//!
//! The tree is not stored: a node's children follow from its state, a SHA-1 value. Subtrees of
//! equal depth differ in size by factors of thousands, so only stealing balances the work. Source:
//! Olivier et al., *UTS: an unbalanced tree search benchmark*, LCPC 2006.
//!
//! The parallel version makes a task of each node that has children; leaves, most of the nodes, are
//! counted by their parent's task. A tree may be far deeper than a thread's stack is (T3L: 17,844
//! levels). So it is explored in layers of `LAYER` levels: the nodes below a layer are gathered
//! on the heap, and the next layer starts there. The workers meet at the end of each layer, which
//! is 70 times in T3L.
//!
//! # Not handled
//!
//! The benchmark's hybrid and balanced types, and the linear, cyclic and exponential shapes of its
//! geometric type.

mod tree;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Options, Size};
use crate::problem::{Problem, Solve, Wrong, problem};
use tree::Kind;
pub use tree::{Node, Tree};

/// Number of levels in one recursion: well within 2 MiB, the smallest default stack of a thread,
/// even without optimisation.
const LAYER: u32 = 256;

/// The most children that one task looks at; more are halved among tasks.
const FEW: usize = 8;

const SIZES: &str = "one of the trees T1, T1L, T3 and T3L";

pub(crate) const APP: App = App {
    name: "uts",
    about: "nodes of an unbalanced tree: only stealing balances it",
    sizes: SIZES,
    demo: "T3",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// A tree with a name, and what its search must find, where that is published.
#[derive(Debug)]
pub struct Search {
    /// The name in the benchmark.
    pub name: &'static str,
    /// The tree.
    pub tree: Tree,
    /// The result of its search.
    pub known: Option<Found>,
}

/// Geometric with a fixed shape, 10 levels.
const T1: Search = Search {
    name: "T1",
    tree: Tree { kind: Kind::Geometric { branching: 4.0, levels: 10 }, seed: 19 },
    known: Some(Found { nodes: 4_130_071, leaves: 3_305_118, depth: 10 }),
};

/// The same shape, 13 levels.
const T1L: Search = Search {
    name: "T1L",
    tree: Tree { kind: Kind::Geometric { branching: 4.0, levels: 13 }, seed: 29 },
    known: Some(Found { nodes: 102_181_082, leaves: 81_746_377, depth: 13 }),
};

/// Binomial, near the point where trees become infinite.
const T3: Search = Search {
    name: "T3",
    tree: Tree { kind: Kind::Binomial { root: 2000, chance: 0.124_875, children: 8 }, seed: 42 },
    known: Some(Found { nodes: 4_112_897, leaves: 3_599_034, depth: 1_572 }),
};

/// Binomial, large and very deep.
const T3L: Search = Search {
    name: "T3L",
    tree: Tree { kind: Kind::Binomial { root: 2000, chance: 0.200_014, children: 5 }, seed: 7 },
    known: Some(Found { nodes: 111_345_631, leaves: 89_076_904, depth: 17_844 }),
};

const SMALL: Search = Search {
    name: "small",
    tree: Tree { kind: Kind::Binomial { root: 500, chance: 0.124, children: 8 }, seed: 42 },
    known: None,
};

const TINY: Search = Search {
    name: "tiny",
    tree: Tree { kind: Kind::Binomial { root: 100, chance: 0.12, children: 8 }, seed: 42 },
    known: None,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let search = match &options.size {
        Size::Tiny => TINY,
        Size::Small => SMALL,
        Size::Full => T3,
        Size::Exact(name) => by_name(name).ok_or_else(|| Error::Size {
            app: APP.name,
            given: name.clone(),
            sizes: SIZES,
        })?,
    };
    Ok(problem(search))
}

/// The tree `name`, one of T1, T1L, T3 and T3L in either case, or `small` or `tiny`.
pub fn by_name(name: &str) -> Option<Search> {
    [T1, T1L, T3, T3L, SMALL, TINY].into_iter().find(|one| one.name.eq_ignore_ascii_case(name))
}

/// The result of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// All nodes.
    pub nodes: u64,
    /// Those without children.
    pub leaves: u64,
    /// The level of the deepest node; the root has level 0.
    pub depth: u32,
}

impl Found {
    /// One node with so many children.
    pub fn at(node: &Node, children: u32) -> Self {
        Self { nodes: 1, leaves: u64::from(children == 0), depth: node.depth }
    }

    /// The results of two parts of a tree together.
    pub fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth: self.depth.max(other.depth),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes, {} levels deep, {} leaves", self.nodes, self.depth, self.leaves)
    }
}

impl Tree {
    /// Depth first, with the stack on the heap.
    fn search(&self) -> Found {
        let mut found = Found::default();
        let mut stack = vec![self.root()];
        while let Some(node) = stack.pop() {
            let children = self.children(&node);
            found = found.and(Found::at(&node, children));
            stack.extend((0..children).map(|child| node.child(child)));
        }
        found
    }

    fn search_in(&self, worker: &Worker) -> Found {
        let mut found = Found::default();
        let mut nodes = vec![self.root()];
        while let Some(first) = nodes.first() {
            let layer = Layer { tree: self, end: first.depth + LAYER, below: Mutex::default() };
            found = found.and(layer.visit_each(worker, &nodes));
            nodes = layer.below.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        found
    }
}

/// The levels before `end`, and the nodes found at that level. Few tasks get that far, so they
/// share one list.
struct Layer<'t> {
    tree: &'t Tree,
    end: u32,
    below: Mutex<Vec<Node>>,
}

impl Layer<'_> {
    fn visit_each(&self, worker: &Worker, nodes: &[Node]) -> Found {
        match nodes {
            [] => Found::default(),
            [node] => self.visit(worker, node),
            _ => {
                let (left, right) = nodes.split_at(nodes.len() / 2);
                let (a, b) =
                    worker.join(|w| self.visit_each(w, left), |w| self.visit_each(w, right));
                a.and(b)
            }
        }
    }

    fn visit(&self, worker: &Worker, node: &Node) -> Found {
        let children = self.tree.children(node);
        self.visit_children(worker, node, 0, children).and(Found::at(node, children))
    }

    fn visit_children(&self, worker: &Worker, parent: &Node, from: u32, to: u32) -> Found {
        if to - from > FEW as u32 {
            let middle = from + (to - from) / 2;
            let (a, b) = worker.join(
                |w| self.visit_children(w, parent, from, middle),
                |w| self.visit_children(w, parent, middle, to),
            );
            return a.and(b);
        }
        // All hashes come before the first look at one: the processor computes two at a time,
        // unless it has to guess from one where to go next.
        let mut children = [*parent; FEW];
        for (child, number) in children.iter_mut().zip(from..to) {
            *child = parent.child(number);
        }
        let inner = self.keep_inner(&mut children[..(to - from) as usize]);
        let leaves = u64::from(to - from) - inner.len() as u64;
        let found = Found { nodes: leaves, leaves, depth: parent.depth + (to - from).min(1) };
        if parent.depth + 1 == self.end {
            self.leave(inner);
            return found;
        }
        found.and(self.visit_each(worker, inner))
    }

    /// Those that have children themselves, without an unpredictable branch.
    fn keep_inner<'n>(&self, nodes: &'n mut [Node]) -> &'n [Node] {
        let mut count = 0;
        for at in 0..nodes.len() {
            let node = nodes[at];
            nodes[count] = node;
            count += usize::from(self.tree.children(&node) > 0);
        }
        &nodes[..count]
    }

    #[cold]
    fn leave(&self, nodes: &[Node]) {
        self.below.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(nodes);
    }
}

impl Solve for Search {
    type Input = ();
    type Answer = Found;

    fn size(&self) -> String {
        self.name.to_owned()
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Found {
        self.tree.search()
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Found {
        self.tree.search_in(worker)
    }

    /// Of trees without published values only what every such tree has: a root with its children,
    /// and a number of nodes and leaves that fit together.
    fn check(&self, answer: &Found) -> Result<(), Wrong> {
        if let Some(known) = self.known {
            return Wrong::unless(*answer == known, || {
                format!("{} has {known}, not {answer}", self.name)
            });
        }
        let possible = self.tree.could_have(answer.nodes, answer.leaves);
        Wrong::unless(possible, || format!("no tree of this kind has {answer}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_geometric_tree_has_its_published_counts() {
        assert_eq!(Some(T1.tree.search()), T1.known);
    }

    #[test]
    fn the_binomial_tree_has_its_published_counts() {
        assert_eq!(Some(T3.tree.search()), T3.known);
    }

    #[test]
    fn trees_are_found_by_name_in_either_case() {
        assert_eq!(by_name("t3l").unwrap().name, "T3L");
        assert!(by_name("T9").is_none());
    }

    #[test]
    fn a_wrong_count_is_noticed() {
        let mut found = T3.known.unwrap();
        found.depth -= 1;
        assert!(T3.check(&found).is_err());
        let right = TINY.tree.search();
        TINY.check(&right).unwrap();
        assert!(TINY.check(&Found { nodes: right.nodes + 1, ..right }).is_err());
    }
}
