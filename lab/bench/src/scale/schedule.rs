//! Which subject is next: pure, so that a test can run it for any machine.
//!
//! All subjects have a first round, in order, then a second one, and so on; a subject of weight 4
//! has one round for four of the others. A block that would take longer than the time that is left
//! is passed over, so short ones fill the end. The number of rounds follows from the time; no cell
//! is left out because there are many threads.

/// A subject, as the schedule sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// An estimate of its next round, in nanoseconds.
    pub(super) cost_ns: u64,
    pub(super) rounds: u32,
    pub(super) weight: u32,
    /// Whether no contender is left.
    pub(super) is_over: bool,
}

/// The number of the block that is next, if one fits into what is left.
pub(super) fn next(blocks: &[Block], left_ns: u64) -> Option<usize> {
    let fits = |block: &Block| !block.is_over && block.cost_ns <= left_ns;
    let (at, _) = blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| fits(block))
        .min_by_key(|(_, block)| u64::from(block.rounds) * u64::from(block.weight))?;
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rounds: u32, weight: u32, cost_ns: u64) -> Block {
        Block { cost_ns, rounds, weight, is_over: false }
    }

    #[test]
    fn a_heavy_subject_has_a_round_for_four_of_the_others() {
        let mut blocks = [block(0, 1, 1), block(0, 4, 1)];
        for _ in 0..15 {
            blocks[next(&blocks, 10).unwrap()].rounds += 1;
        }
        assert_eq!((blocks[0].rounds, blocks[1].rounds), (12, 3));
    }

    #[test]
    fn a_block_that_does_not_fit_is_passed_over() {
        let over = Block { is_over: true, ..block(0, 1, 1) };
        let blocks = [block(0, 1, 100), over, block(7, 1, 10)];
        assert_eq!(next(&blocks, 50), Some(2));
        assert_eq!(next(&blocks, 5), None);
    }
}
