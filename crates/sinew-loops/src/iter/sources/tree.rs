//! The nodes of trees whose children a function computes.
//!
//! The tree is expanded into parts, single nodes and whole subtrees, in the order of its nodes. The
//! chain visits the nodes of each part one after the other.

use std::sync::Arc;

use crate::data::Owned;
use crate::iter::adapt::FlatMapIter;
use crate::iter::{Over, Positions, Uncontrolled};

/// Subtrees for each thread of the pool; they may differ much in size.
const TREES_PER_THREAD: usize = 64;
/// The most levels that are expanded in advance: a tree without branches has one subtree on each.
const LEVELS: usize = 32;

/// When a node comes: before or after those below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Prefix,
    Postfix,
}

/// A part of a tree.
#[derive(Debug, Clone)]
struct Subtree<S> {
    root: S,
    /// Whether the part is the root alone.
    is_node: bool,
}

impl<S> Subtree<S> {
    fn tree(root: S) -> Self {
        Self { root, is_node: false }
    }
}

/// The nodes of a part of a tree, in order.
#[derive(Debug)]
struct SubtreeNodes<S, B> {
    /// From the last to the next one. The nodes below a single node were visited, or are visited
    /// later.
    stack: Vec<Subtree<S>>,
    children_of: Arc<B>,
    order: Order,
}

/// The parts that a tree becomes when its root is taken apart, in order.
fn expand<S, B, I>(
    root: S,
    children_of: &B,
    order: Order,
) -> impl DoubleEndedIterator<Item = Subtree<S>>
where
    B: Fn(&S) -> I,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    let children = children_of(&root).into_iter().map(Subtree::tree);
    let node = Subtree { root, is_node: true };
    let (before, after) = match order {
        Order::Prefix => (Some(node), None),
        Order::Postfix => (None, Some(node)),
    };
    before.into_iter().chain(children).chain(after)
}

impl<S, B, I> Iterator for SubtreeNodes<S, B>
where
    B: Fn(&S) -> I,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;

    fn next(&mut self) -> Option<S> {
        loop {
            let part = self.stack.pop()?;
            if part.is_node {
                return Some(part.root);
            }
            self.stack.extend(expand(part.root, &*self.children_of, self.order).rev());
        }
    }
}

#[track_caller]
fn walk<S, B, I>(
    root: S,
    children_of: B,
    order: Order,
) -> impl Positions<Item = S, Mode = Uncontrolled>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    let enough = TREES_PER_THREAD * sinew_core::run(|w| w.max_threads());
    let mut parts = vec![Subtree::tree(root)];
    for _ in 0..LEVELS {
        let trees = parts.iter().filter(|part| !part.is_node).count();
        if trees == 0 || trees >= enough {
            break;
        }
        let mut expanded = Vec::with_capacity(2 * parts.len());
        for part in parts {
            if part.is_node {
                expanded.push(part);
            } else {
                expanded.extend(expand(part.root, &children_of, order));
            }
        }
        parts = expanded;
    }
    let children_of = Arc::new(children_of);
    let nodes = move |part| SubtreeNodes {
        stack: vec![part],
        children_of: Arc::clone(&children_of),
        order,
    };
    FlatMapIter::new(Over::new(Owned::from(parts)), nodes)
}

/// A chain over the nodes of a tree, each before those below it, and these in the order of
/// `children_of`.
///
/// This call expands the tree until it has 64 subtrees or more for each thread of the current pool,
/// or for 32 levels.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let halves = |range: &std::ops::Range<u32>| {
///     let middle = range.start.midpoint(range.end);
///     let is_inner = range.end - range.start > 1;
///     [range.start..middle, middle..range.end].into_iter().filter(move |_| is_inner)
/// };
/// let first = walk_tree_prefix(0..4, halves).collect::<Vec<_>>();
/// assert_eq!(first, [0..4, 0..2, 0..1, 1..2, 2..4, 2..3, 3..4]);
/// ```
#[track_caller]
pub fn walk_tree_prefix<S, B, I>(
    root: S,
    children_of: B,
) -> impl Positions<Item = S, Mode = Uncontrolled>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    walk(root, children_of, Order::Prefix)
}

/// As [`walk_tree_prefix`], but each node comes after those below it.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let below = |n: &u32| (1..*n).rev().take(1);
/// assert_eq!(walk_tree_postfix(3, below).collect::<Vec<_>>(), [1, 2, 3]);
/// ```
#[track_caller]
pub fn walk_tree_postfix<S, B, I>(
    root: S,
    children_of: B,
) -> impl Positions<Item = S, Mode = Uncontrolled>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    walk(root, children_of, Order::Postfix)
}

/// A chain over the nodes of a tree, in an order that may change between versions; see
/// [`walk_tree_prefix`].
///
/// ```
/// use sinew_loops::iter::*;
///
/// let digits = |n: &u32| if *n < 100 { 10 * n..10 * n + 3 } else { 0..0 };
/// assert_eq!(walk_tree(1, digits).count(), 1 + 3 + 9);
/// ```
#[track_caller]
pub fn walk_tree<S, B, I>(root: S, children_of: B) -> impl Positions<Item = S, Mode = Uncontrolled>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    walk(root, children_of, Order::Prefix)
}
