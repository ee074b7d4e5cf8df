//! Generated graphs; the same number of nodes gives the same graph.

use fastrand::Rng;

use super::Graph;

/// Edges of a node on average, except in a grid.
pub(super) const DEGREE: usize = 8;

const SEED: u64 = 20;

/// The shape of a generated graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each node has 8 edges to random nodes: few levels, most nodes on two of them.
    Random,
    /// A square grid with edges to the four neighbours, like roads: many levels with few nodes.
    Grid,
    /// 8 edges a node on average, with a power law of degrees (R-MAT: Chakrabarti, Zhan and
    /// Faloutsos, 2004): few nodes have most of the edges, many have none.
    Power,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Random, Self::Grid, Self::Power];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Grid => "grid",
            Self::Power => "power",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// A graph of about `nodes` nodes: exactly so many, except for a grid, whose side is a whole
    /// number.
    pub fn generate(self, nodes: usize) -> Graph {
        let mut rng = Rng::with_seed(SEED);
        let pairs = match self {
            Self::Random => random(nodes, &mut rng),
            Self::Grid => return from_pairs(nodes.isqrt().pow(2), &grid(nodes.isqrt()), &mut rng),
            Self::Power => power(nodes, &mut rng),
        };
        from_pairs(nodes, &pairs, &mut rng)
    }
}

fn random(nodes: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let ends = 0..nodes as u32;
    ends.clone().flat_map(|from| [from; DEGREE]).map(|from| [from, rng.u32(ends.clone())]).collect()
}

fn grid(side: usize) -> Vec<[u32; 2]> {
    let number = |row: usize, column: usize| (row * side + column) as u32;
    let mut pairs = Vec::with_capacity(4 * side * side);
    for row in 0..side {
        for column in 0..side {
            let here = number(row, column);
            if column + 1 < side {
                pairs.extend([[here, here + 1], [here + 1, here]]);
            }
            if row + 1 < side {
                let below = number(row + 1, column);
                pairs.extend([[here, below], [below, here]]);
            }
        }
    }
    pairs
}

/// Each edge lies in one of four quarters of the matrix, with unequal chances, and so on in this
/// quarter.
fn power(nodes: usize, rng: &mut Rng) -> Vec<[u32; 2]> {
    let levels = nodes.next_power_of_two().ilog2();
    let mut edge = || {
        let [mut from, mut to] = [0_u32; 2];
        for _ in 0..levels {
            let [down, right] = match rng.u32(0..100) {
                0..57 => [0, 0],
                57..76 => [0, 1],
                76..95 => [1, 0],
                _ => [1, 1],
            };
            (from, to) = (2 * from + down, 2 * to + right);
        }
        [from, to].map(|end| end % nodes as u32)
    };
    (0..DEGREE * nodes).map(|_| edge()).collect()
}

/// A graph of these edges, with random lengths.
fn from_pairs(nodes: usize, pairs: &[[u32; 2]], rng: &mut Rng) -> Graph {
    let mut starts = vec![0_u32; nodes + 1];
    pairs.iter().for_each(|&[from, _]| starts[from as usize + 1] += 1);
    for node in 0..nodes {
        starts[node + 1] += starts[node];
    }
    let (mut next, mut targets) = (starts.clone(), vec![0; pairs.len()]);
    for &[from, to] in pairs {
        let at = &mut next[from as usize];
        targets[*at as usize] = to;
        *at += 1;
    }
    let lengths = pairs.iter().map(|_| rng.u32(1..=Graph::LONGEST)).collect();
    Graph { starts, targets, lengths }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_the_same_again_and_has_its_degrees() {
        for shape in Shape::ALL {
            let graph = shape.generate(400);
            assert_eq!(graph, shape.generate(400));
            let degrees = (0..graph.nodes() as u32).map(|node| graph.targets(node).len());
            let (least, most) = (degrees.clone().min().unwrap(), degrees.max().unwrap());
            match shape {
                Shape::Random => assert_eq!((least, most), (8, 8)),
                Shape::Grid => assert_eq!((least, most, graph.edges()), (2, 4, 4 * 20 * 19)),
                Shape::Power => assert!(least == 0 && most > 50, "{most}"),
            }
        }
    }
}
