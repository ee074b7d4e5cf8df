//! The nodes of an unbalanced tree. A unit is a node, as its 24 bytes.

use sinew_apps::uts::{Found, Node, Search, by_name};
use sinew_console::Failure;
use sinew_dist::World;
use sinew_dist::bag::{BagCounts, Out};

use super::program::{Program, SHOWN_EVERY, units};

struct Uts(Search);

/// The search of a tree: tiny, small, full or a tree's name.
pub(super) fn program(size: &str) -> Result<impl Program<Answer = Found>, Failure> {
    let name = if size == "full" { "T3" } else { size };
    let wanted = || format!("uts has no size `{size}`: use tiny, small, full, T1, T1L, T3 or T3L");
    by_name(name).map(Uts).ok_or_else(|| Failure::Usage(wanted()))
}

/// Nodes, leaves and depth: what travels of [`Found`].
type Sum = (u64, u64, u32);

fn found((nodes, leaves, depth): Sum) -> Found {
    Found { nodes, leaves, depth }
}

fn sum(found: Found) -> Sum {
    (found.nodes, found.leaves, found.depth)
}

impl Program for Uts {
    type Answer = Found;

    fn size(&self) -> String {
        self.0.name.to_owned()
    }

    fn serial(&self) -> Found {
        let tree = self.0.tree;
        let (mut stack, mut all) = (vec![tree.root()], Found::default());
        while let Some(node) = stack.pop() {
            let children = tree.children(&node);
            all = all.and(Found::at(&node, children));
            stack.extend((0..children).map(|child| node.child(child)));
        }
        all
    }

    fn over(&self, world: &World, see: &dyn Fn(&str)) -> (Found, Vec<BagCounts>) {
        let tree = self.0.tree;
        let roots = (world.rank() == 0).then(|| tree.root().to_bytes());
        let unit = |bytes: [u8; 24], out: &mut Out<'_, [u8; 24]>, all: &mut Sum| {
            let node = Node::from_bytes(&bytes);
            let children = tree.children(&node);
            *all = sum(found(*all).and(Found::at(&node, children)));
            out.extend((0..children).map(|child| node.child(child).to_bytes()));
        };
        let bag = world.plain_bag(roots).progress(SHOWN_EVERY, |run| see(&units(run, world)));
        let (all, counts) = bag.run_counted(unit, |a, b| sum(found(a).and(found(b))));
        (found(all), counts)
    }

    fn known(&self) -> Option<Found> {
        self.0.known
    }
}
