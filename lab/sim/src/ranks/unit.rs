//! The units of a bag. The number of nodes below each is known, so that the work of a bag is; its
//! shape follows from a seed.

use crate::random::{mix, unit};

/// How units divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Each unit divides its nodes at random among three children, as geometric trees do: a rank
    /// soon has many units.
    #[default]
    Wide,
    /// A unit is a binomial tree that hardly ends. Below its first nodes are two parts, the smaller
    /// one by the law k^-1.5 of the sizes of such subtrees: most are small, paths are long.
    Critical,
    /// Independent units of a grain each, all at rank 0.
    Flat,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Critical, Self::Flat];

    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Critical => "critical",
            Self::Flat => "flat",
        }
    }

    /// The units with which a bag begins.
    pub(super) fn roots(self, nodes: u64, grain: u64, seed: u64) -> Vec<Unit> {
        let grain = grain.max(1);
        let rest = nodes % grain;
        match self {
            Self::Flat => {
                let whole = (0..nodes / grain).map(|at| Unit { nodes: grain, state: at });
                let last = (rest > 0).then_some(Unit { nodes: rest, state: seed });
                whole.chain(last).collect()
            }
            Self::Wide | Self::Critical => vec![Unit { nodes, state: seed }],
        }
    }
}

/// A subtree: its number of nodes, and what its shape follows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) nodes: u64,
    state: u64,
}

impl Unit {
    /// Runs it and adds its children. Returns the number of nodes that ran.
    pub(super) fn run(self, shape: Shape, grain: u64, units: &mut Vec<Self>) -> u64 {
        let grain = grain.max(1);
        if self.nodes <= grain {
            return self.nodes;
        }
        match shape {
            Shape::Critical => self.peel(grain, units),
            Shape::Wide | Shape::Flat => self.divide(units),
        }
    }

    /// The first child gets any part, the second any part of the rest, the third what is left.
    fn divide(self, units: &mut Vec<Self>) -> u64 {
        let mut rest = self.nodes - 1;
        for child in 0..3 {
            let state = self.child(child);
            let part = ((u128::from(state) * u128::from(rest + 1)) >> 64) as u64;
            let nodes = if child == 2 { rest } else { part };
            if nodes > 0 {
                units.push(Self { nodes, state });
            }
            rest -= nodes;
        }
        1
    }

    /// A path through the tree, down to the first node both of whose sides have a grain: the path
    /// runs, the small subtrees beside it are one unit, and the two sides follow.
    fn peel(self, grain: u64, units: &mut Vec<Self>) -> u64 {
        let (path, rest) = (grain.isqrt(), self.nodes - grain);
        let mut add = |number, nodes| {
            if nodes > 0 {
                units.push(Self { nodes, state: self.child(number) });
            }
        };
        add(0, grain - path);
        if rest < 2 * grain {
            add(1, rest);
            return path;
        }
        let state = self.child(3);
        let least = (2.0 * grain as f64 / rest as f64).sqrt();
        let below = 1.0 - unit(state) * (1.0 - least);
        let small = ((grain as f64 / (below * below)) as u64).clamp(grain, rest / 2);
        let (first, second) =
            if state & 1 == 0 { (small, rest - small) } else { (rest - small, small) };
        add(1, first);
        add(2, second);
        path
    }

    fn child(self, number: u64) -> u64 {
        mix(self.state.wrapping_mul(3).wrapping_add(number))
    }
}
