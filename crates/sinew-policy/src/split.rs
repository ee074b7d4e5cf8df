//! Ranges of one or more dimensions: where to cut them in halves, and down to which size.
//!
//! A block is cut across its longest side, measured in grains, so that pieces approach the shape of
//! the grain: neighbours in a piece are neighbours in the data, for any dimension. Two rules limit
//! the depth. *Simple* cuts while a side is longer than its grain. *Adaptive* cuts into a few
//! pieces per worker, and cuts stolen pieces further, since their thief was idle.
//!
//! Source: the simple and the automatic partitioner and the two-dimensional ranges of Intel's
//! Threading Building Blocks, as Robison, Voss and Kukanov describe them ("Optimization via
//! Reflection on Work Stealing in TBB"). Difference: any number of dimensions.
//!
//! # Invariants
//!
//! - B1: the halves of a block are disjoint, not empty, and together are the block.
//! - B2: the blocks of a grid are disjoint, not empty, and together are its ranges.
//!
//! # Tests
//!
//! Property tests for B1 and B2, for the sizes under either rule, and for the shape of pieces.

use crate::schedule::SplitRule;
use std::ops::Range;

/// A part of a space of `N` dimensions: one range per dimension.
pub type Block<const N: usize> = [Range<usize>; N];

/// The number of points of a block; `None` if it overflows.
pub fn volume<const N: usize>(block: &Block<N>) -> Option<usize> {
    // An empty side makes the block empty, however long the others are.
    if block.iter().any(Range::is_empty) {
        return Some(0);
    }
    block.iter().try_fold(1_usize, |volume, side| volume.checked_mul(side.len()))
}

/// The two halves of `block` across its longest side in grains; `None` if no side is longer than
/// its grain (0 counts as 1).
pub fn halves<const N: usize>(
    block: &Block<N>,
    grain: &[usize; N],
) -> Option<(Block<N>, Block<N>)> {
    let grain = |side: usize| grain[side].max(1);
    let longest = (0..N).filter(|&side| block[side].len() > grain(side)).reduce(|a, b| {
        // Compares fractions without a division; takes the first of equals.
        let (length_a, length_b) = (block[a].len() as u128, block[b].len() as u128);
        if length_a * grain(b) as u128 >= length_b * grain(a) as u128 { a } else { b }
    })?;
    let (mut left, mut right) = (block.clone(), block.clone());
    let middle = block[longest].start + block[longest].len() / 2;
    (left[longest].end, right[longest].start) = (middle, middle);
    Some((left, right))
}

/// How deep a block is still cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splitter {
    /// While a side is longer than its grain.
    Simple,
    /// Into at most this many pieces.
    Adaptive {
        /// The number of pieces.
        pieces: usize,
    },
}

impl Splitter {
    /// A few pieces per worker, so that some are left to steal.
    pub const PIECES_PER_WORKER: usize = 4;
    /// The least number of pieces of a stolen block: some workers are idle.
    pub const PIECES_STOLEN: usize = 4;

    /// This rule at the start of a loop on `workers`.
    #[inline]
    pub fn new(rule: SplitRule, workers: usize) -> Self {
        match rule {
            SplitRule::Simple => Self::Simple,
            SplitRule::Adaptive => Self::adaptive(workers),
        }
    }

    /// The adaptive rule at the start of a loop on `workers`.
    #[inline]
    pub fn adaptive(workers: usize) -> Self {
        Self::Adaptive { pieces: workers.saturating_mul(Self::PIECES_PER_WORKER) }
    }

    /// The rule for either half of a block, or `None` if it is not cut.
    #[inline]
    pub fn halved(self) -> Option<Self> {
        match self {
            Self::Simple => Some(self),
            Self::Adaptive { pieces } => {
                (pieces > 1).then_some(Self::Adaptive { pieces: pieces / 2 })
            }
        }
    }

    /// The rule for a stolen block.
    #[inline]
    pub fn stolen(self) -> Self {
        match self {
            Self::Simple => self,
            Self::Adaptive { pieces } => Self::Adaptive { pieces: pieces.max(Self::PIECES_STOLEN) },
        }
    }
}

/// Blocks of one size (those at the far ends may be smaller), numbered so that the last dimension
/// is the fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid<const N: usize> {
    space: Block<N>,
    grain: [usize; N],
    counts: [usize; N],
}

impl<const N: usize> Grid<N> {
    /// Blocks with sides of `grain` (0 counts as 1) that cover `space`; `None` if their number
    /// overflows.
    pub fn new(space: Block<N>, grain: [usize; N]) -> Option<Self> {
        let grain = grain.map(|side| side.max(1));
        let counts = std::array::from_fn(|side| space[side].len().div_ceil(grain[side]));
        volume(&counts.map(|count| 0..count))?;
        Some(Self { space, grain, counts })
    }

    /// The number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        volume(&self.counts.map(|count| 0..count)).unwrap_or(usize::MAX)
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.counts.contains(&0)
    }

    /// Block `number`, which must be less than the number of blocks.
    #[inline]
    pub fn block(&self, mut number: usize) -> Block<N> {
        let mut block = self.space.clone();
        for side in (0..N).rev() {
            // The slowest dimension needs no remainder.
            let at = if side == 0 { number } else { number % self.counts[side] };
            number = if side == 0 { 0 } else { number / self.counts[side] };
            let Range { start, end } = self.space[side];
            let begin = start + at * self.grain[side];
            block[side] = begin..begin.saturating_add(self.grain[side]).min(end);
        }
        block
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "blocks of one dimension")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pieces of a block; `stolen` gives for the right half of each cut whether a thief took
    /// it.
    fn pieces<const N: usize>(
        block: Block<N>,
        grain: &[usize; N],
        splitter: Splitter,
        stolen: &mut impl FnMut() -> bool,
    ) -> Vec<Block<N>> {
        match splitter.halved().zip(halves(&block, grain)) {
            None => vec![block],
            Some((splitter, (left, right))) => {
                let right_splitter = if stolen() { splitter.stolen() } else { splitter };
                let mut all = pieces(left, grain, splitter, stolen);
                all.extend(pieces(right, grain, right_splitter, stolen));
                all
            }
        }
    }

    fn assert_tiles(space: &Block<2>, blocks: &[Block<2>]) {
        let mut seen = std::collections::BTreeSet::new();
        for block in blocks {
            for i in block[0].clone() {
                for j in block[1].clone() {
                    assert!(seen.insert((i, j)), "({i}, {j}) comes twice");
                    assert!(
                        space[0].contains(&i) && space[1].contains(&j),
                        "({i}, {j}) is outside"
                    );
                }
            }
        }
        assert_eq!(seen.len(), volume(space).unwrap());
    }

    proptest! {
        /// Catches: a piece above the grain, one below half of it, a gap, and pieces out of
        /// order.
        #[test]
        fn simple_pieces_are_half_a_grain_to_a_grain(n in 1..5_000_usize, grain in 1..100_usize) {
            let pieces = pieces([0..n], &[grain], Splitter::Simple, &mut || false);
            let mut next = 0;
            for [piece] in pieces {
                prop_assert_eq!(piece.start, next);
                prop_assert!(
                    piece.len() <= grain && (piece.len() >= grain / 2 || piece.len() == n)
                );
                next = piece.end;
            }
            prop_assert_eq!(next, n);
        }

        /// Catches: more pieces than specified, too few of them, and pieces of unequal length.
        #[test]
        fn adaptive_makes_a_few_pieces_a_worker(n in 1_000..50_000_usize, workers in 1..20_usize) {
            let pieces = pieces([0..n], &[1], Splitter::adaptive(workers), &mut || false);
            let most = workers * Splitter::PIECES_PER_WORKER;
            prop_assert!(pieces.len() <= most && 2 * pieces.len() > most);
            let lengths = || pieces.iter().map(|[piece]| piece.len());
            prop_assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
        }

        /// Catches: a gap or an overlap, for any steals, and an adaptive cut that never ends.
        #[test]
        fn blocks_are_cut_exactly(
            rows in 0..40_usize,
            columns in 0..40_usize,
            grain in [0..9_usize, 0..9],
            thefts in any::<u64>(),
            simple in any::<bool>(),
        ) {
            let mut bits = thefts;
            let mut stolen = || { bits = bits.rotate_left(1); bits & 1 == 1 };
            let splitter = if simple { Splitter::Simple } else { Splitter::adaptive(3) };
            let space = [5..5 + rows, 7..7 + columns];
            let blocks = pieces(space.clone(), &grain, splitter, &mut stolen);
            assert_tiles(&space, &blocks);
            if simple {
                prop_assert!(
                    blocks
                        .iter()
                        .all(|block| (0..2).all(|side| block[side].len() <= grain[side].max(1)))
                );
            }
            let grid = Grid::new(space.clone(), grain).unwrap();
            assert_tiles(
                &space,
                &(0..grid.len()).map(|number| grid.block(number)).collect::<Vec<_>>(),
            );
            prop_assert_eq!(grid.is_empty(), volume(&space) == Some(0));
        }

        /// Catches: an edge of a block that wraps, and halves of a huge side that overlap.
        #[test]
        fn blocks_of_a_huge_space_lie_within_it(
            start in any::<usize>(),
            length in any::<usize>(),
            grain in 0..usize::MAX,
            at in any::<prop::sample::Index>(),
        ) {
            let space = [start..start.saturating_add(length), 0..3];
            if let Some((left, right)) = halves(&space, &[grain, 3]) {
                prop_assert!(
                    left[0].start == space[0].start
                        && left[0].end == right[0].start
                        && right[0].end == space[0].end
                );
                prop_assert!(!left[0].is_empty() && right[0].len() - left[0].len() <= 1);
            }
            let grid = Grid::new(space.clone(), [grain, 3]).expect("one block across");
            if !grid.is_empty() {
                let number = at.index(grid.len());
                let [block, across] = grid.block(number);
                prop_assert!(
                    !block.is_empty()
                        && block.start >= space[0].start
                        && block.end <= space[0].end
                        && across == space[1]
                );
                prop_assert_eq!(block.start - space[0].start, number * grain.max(1));
                prop_assert!(block.len() == grain.max(1) || block.end == space[0].end);
            }
        }

        /// Catches: a cut across the shorter side, and one that ignores the shape of the grain.
        #[test]
        fn halves_tend_to_the_shape_of_the_grain(
            sides in [1..5_000_usize, 1..5_000, 1..5_000],
            grain in [1..50_usize, 1..50, 1..50],
        ) {
            let block = sides.map(|side| 0..side);
            let in_grains =
                |block: &Block<3>, side: usize| block[side].len() as f64 / grain[side] as f64;
            match halves(&block, &grain) {
                None => prop_assert!((0..3).all(|side| sides[side] <= grain[side])),
                Some((left, right)) => {
                    let cut = (0..3).find(|&side| left[side] != block[side]).unwrap();
                    prop_assert!(
                        (0..3).all(|side| in_grains(&block, side) <= in_grains(&block, cut))
                    );
                    prop_assert_eq!(left[cut].len() + right[cut].len(), sides[cut]);
                    prop_assert!(!left[cut].is_empty() && right[cut].len() - left[cut].len() <= 1);
                }
            }
        }
    }

    /// Catches: a stolen piece that stays whole, and an unstolen one that is cut.
    #[test]
    fn a_stolen_piece_is_cut_into_four() {
        let last = Splitter::Adaptive { pieces: 1 };
        assert_eq!(pieces([0..100], &[1], last, &mut || false).len(), 1);
        assert_eq!(
            pieces([0..100], &[1], last.stolen(), &mut || false).len(),
            Splitter::PIECES_STOLEN
        );
        assert_eq!(Splitter::Adaptive { pieces: 9 }.stolen(), Splitter::Adaptive { pieces: 9 });
        assert_eq!(Splitter::Simple.stolen(), Splitter::Simple);
    }

    /// Catches: an overflow for a space with too many points, and an empty space that counts as
    /// large.
    #[test]
    fn spaces_beyond_counting_are_known() {
        let long = 0..usize::MAX;
        assert_eq!(Grid::new([long.clone(), long.clone()], [1, 1]), None);
        assert_eq!(
            Grid::new([long.clone(), long.clone()], [usize::MAX, 1]).unwrap().len(),
            usize::MAX
        );
        assert_eq!(Grid::new([long.clone(), long.clone(), 3..3], [1, 1, 1]).unwrap().len(), 0);
        assert_eq!(volume(&[long, 0..2]), None);
    }
}
