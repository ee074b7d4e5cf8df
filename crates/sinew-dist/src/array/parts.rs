//! Which elements each rank has.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::link::Rank;

/// The most blocks of an array.
const BLOCKS: usize = 1 << 12;

/// The elements of an array that each rank has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) length: usize,
    /// Elements of a block; the last one may have fewer.
    pub(super) block: usize,
    /// The first block of each rank, and the number of blocks. Ranks behind have none.
    pub(super) bounds: Vec<usize>,
}

impl Parts {
    pub(super) fn even(length: usize, ranks: u32) -> Self {
        Self::weighted(length, &vec![1.0; ranks as usize])
    }

    /// As many blocks for a rank as its part of the weights.
    pub(super) fn weighted(length: usize, weights: &[f64]) -> Self {
        let block = length.div_ceil(BLOCKS).max(1);
        let blocks = length.div_ceil(block);
        let sum: f64 = weights.iter().sum();
        let mut before = 0.0;
        let mut bounds = vec![0];
        for weight in weights {
            before += weight;
            let bound = (blocks as f64 * (before / sum)).round() as usize;
            bounds.push(bound.min(blocks));
        }
        bounds[weights.len()] = blocks;
        Self { length, block, bounds }
    }

    pub(super) fn blocks_of(&self, rank: Rank) -> Range<usize> {
        self.bound(rank)..self.bound(rank + 1)
    }

    /// The first block of a rank.
    fn bound(&self, rank: Rank) -> usize {
        self.bounds[(rank as usize).min(self.bounds.len() - 1)]
    }

    /// The bounds of so many ranks.
    ///
    /// # Panics
    ///
    /// If others have elements.
    #[track_caller]
    pub(super) fn bounds_of(&self, ranks: u32) -> Vec<usize> {
        let blocks = self.length.div_ceil(self.block);
        assert!(
            self.bound(ranks) == blocks,
            "an array has elements on ranks that rest: use `Dist::spread` before `World::shrink`"
        );
        (0..=ranks).map(|rank| self.bound(rank)).collect()
    }

    pub(super) fn range_of(&self, rank: Rank) -> Range<usize> {
        let blocks = self.blocks_of(rank);
        let at = |block: usize| (block * self.block).min(self.length);
        at(blocks.start)..at(blocks.end)
    }
}
