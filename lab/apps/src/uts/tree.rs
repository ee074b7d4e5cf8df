//! The trees of the benchmark: a node is its SHA-1 state, and its number of children is drawn from
//! that.
//!
//! The root's state is the hash of 16 zero bytes and the seed; a child's is the hash of its
//! parent's state and its own index. Numbers are 4 bytes, the most significant first. A node's
//! random value is its last 4 bytes, without the sign bit.
//!
//! # Cost
//!
//! One SHA-1 block per node: 60 ns on processors with instructions for it, around 200 ns on others.

use sha1::digest::core_api::Block;
use sha1::{Digest, Sha1, Sha1Core, compress};

/// The initial state of SHA-1.
const INITIAL: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// The most children a node of a geometric tree has.
const MAX_CHILDREN: u32 = 100;

/// A tree, which follows from its shape and its seed.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    pub(crate) kind: Kind,
    pub(crate) seed: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// The root has `root` children; every other node has `children` with probability `chance`,
    /// otherwise none.
    Binomial { root: u32, chance: f64, children: u32 },
    /// Above level `levels` the number of children is drawn from a geometric distribution with mean
    /// `branching`.
    Geometric { branching: f64, levels: u32 },
}

/// A node, which is all that is needed to find its children.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    state: [u8; 20],
    pub(crate) depth: u32,
}

impl Node {
    /// The bytes that [`from_bytes`](Self::from_bytes) makes a node of.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..20].copy_from_slice(&self.state);
        bytes[20..].copy_from_slice(&self.depth.to_be_bytes());
        bytes
    }

    /// The node of these bytes.
    pub fn from_bytes(bytes: &[u8; 24]) -> Self {
        let [state @ .., a, b, c, d] = *bytes;
        Self { state, depth: u32::from_be_bytes([a, b, c, d]) }
    }

    /// The child with this number, below the number of [children](Tree::children).
    pub fn child(&self, index: u32) -> Self {
        Self { state: hash(&self.state, index), depth: self.depth + 1 }
    }

    /// In [0, 1).
    fn draw(&self) -> f64 {
        let [.., a, b, c, d] = self.state;
        f64::from(u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff) / 2_147_483_648.0
    }
}

/// The SHA-1 value of a state and a number, whose 24 bytes are one block: they are followed by a
/// bit, zeros, and their length.
///
/// The block is written in two pieces of 16 bytes, the size in which the processor reads it right
/// away: store forwarding cannot join smaller pieces before they are in the cache.
fn hash(state: &[u8; 20], number: u32) -> [u8; 20] {
    let [head @ .., a, b, c, d] = *state;
    let tail =
        u128::from(u32::from_be_bytes([a, b, c, d])) << 96 | u128::from(number) << 64 | 1 << 63;
    let mut block = Block::<Sha1Core>::default();
    block[..16].copy_from_slice(&head);
    block[16..32].copy_from_slice(&tail.to_be_bytes());
    block[56..].copy_from_slice(&(8 * 24_u64).to_be_bytes());
    let mut words = INITIAL;
    compress(&mut words, &[block]);
    let mut value = [0; 20];
    for (bytes, word) in value.chunks_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    value
}

impl Tree {
    /// The node at level 0.
    pub fn root(&self) -> Node {
        let seed = Sha1::new().chain_update([0; 16]).chain_update(self.seed.to_be_bytes());
        Node { state: seed.finalize().into(), depth: 0 }
    }

    /// How many children `node` has.
    pub fn children(&self, node: &Node) -> u32 {
        match self.kind {
            Kind::Binomial { root, .. } if node.depth == 0 => root,
            Kind::Binomial { chance, children, .. } => {
                if node.draw() < chance {
                    children
                } else {
                    0
                }
            }
            Kind::Geometric { branching, levels } if node.depth < levels => {
                let stop = 1.0 / (1.0 + branching);
                let drawn = ((1.0 - node.draw()).ln() / (1.0 - stop).ln()).floor();
                (drawn as u32).min(MAX_CHILDREN)
            }
            Kind::Geometric { .. } => 0,
        }
    }

    /// Whether a tree of this kind can have that many nodes, and leaves among them.
    pub(crate) fn could_have(&self, nodes: u64, leaves: u64) -> bool {
        match self.kind {
            Kind::Binomial { root, children, .. } => {
                let below = nodes.checked_sub(1 + u64::from(root));
                let inner = nodes.checked_sub(1 + leaves);
                below.zip(inner).is_some_and(|(below, inner)| below == inner * u64::from(children))
            }
            Kind::Geometric { .. } => (1..=nodes).contains(&leaves),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_sha1_values_of_parent_and_index() {
        // The digest of 16 zero bytes and 00 00 00 00, that is, of 20 zero bytes.
        let root = Tree { kind: Kind::Geometric { branching: 1.0, levels: 1 }, seed: 0 }.root();
        let hex: String = root.state.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "6768033e216468247bd031a0a2d9876d79818f8f");
    }

    /// Catches: a block that is padded wrongly, for states and numbers the published trees do
    /// not have.
    #[test]
    fn a_hash_is_that_of_its_bytes_one_behind_the_other() {
        let mut state = [0; 20];
        for number in [0, 1, 7, 0x1234_5678, u32::MAX] {
            let plain: [u8; 20] = Sha1::new()
                .chain_update(state)
                .chain_update(number.to_be_bytes())
                .finalize()
                .into();
            state = hash(&state, number);
            assert_eq!(state, plain);
        }
    }

    #[test]
    fn a_node_is_its_bytes() {
        let node = Tree { kind: Kind::Geometric { branching: 4.0, levels: 9 }, seed: 3 }.root();
        let node = node.child(2).child(1);
        let same = Node::from_bytes(&node.to_bytes());
        assert_eq!((same.state, same.depth), (node.state, 2));
    }

    #[test]
    fn the_root_of_a_binomial_tree_has_its_own_number_of_children() {
        let tree = Tree { kind: Kind::Binomial { root: 7, chance: 0.0, children: 3 }, seed: 1 };
        let root = tree.root();
        assert_eq!(tree.children(&root), 7);
        assert_eq!(tree.children(&root.child(0)), 0);
    }

    #[test]
    fn a_geometric_tree_ends_at_its_last_level() {
        let tree = Tree { kind: Kind::Geometric { branching: 50.0, levels: 1 }, seed: 19 };
        let root = tree.root();
        assert!((1..=100).contains(&tree.children(&root)));
        assert_eq!(tree.children(&root.child(0)), 0);
    }
}
