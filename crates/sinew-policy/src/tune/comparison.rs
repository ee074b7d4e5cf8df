//! A paired comparison of two settings: which commits more per second.
//!
//! They run in the order first, second, second, first, and so on, so that a drift of the program
//! affects both alike, and two epochs that count need one change. The first epoch after a change is
//! dropped: workers start and stop in it, and caches fill. Two epochs that count, one of each, are
//! a *pair*, which gives the relative gain of the second. A comparison ends when the mean of its
//! pairs is farther from the margin than its own standard error: after two pairs that agree, later
//! if they do not. After the last pair the median decides, which no single interruption can turn.
//!
//! An epoch with a much worse challenger costs as much as it could gain in many. It is rejected
//! after two such epochs in a row, within a pair; not after one, as that may have been interrupted.
//!
//! # States
//!
//! | side that runs | its next epoch is |
//! |---|---|
//! | incumbent, challenger | dropped, if it is the first after a change, else one half of a pair |
//!
//! # Invariants
//!
//! - D1: a comparison ends after at most [`PAIRS`] pairs.
//! - D2: the challenger wins only after at least two pairs in which it was beyond the margin, and
//!   it is rejected only after two epochs that were not.
//!
//! D2 for the mean: of `n` gains, let one be beyond the margin and the others at it. Then the mean
//! is `1/n` of that one beyond it, and so is the standard error.
//!
//! # Tests
//!
//! Each way to end; a property test for D1 and D2; interruptions of any length.

use super::Counts;

/// Pairs after which the median decides.
pub(super) const PAIRS: usize = 8;
/// The part of the incumbent's throughput that a challenger must reach, if a tie is no reason to
/// change.
pub(super) const GAIN_MARGIN: f64 = 1.01;
/// The same, if the challenger needs less for a tie.
pub(super) const TIE_MARGIN: f64 = 0.98;
/// The part of the incumbent's throughput below which no second pair is needed.
const REJECTED: f64 = 0.8;

/// The side that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Incumbent,
    Challenger,
}

/// A running comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    side: Side,
    margin: f64,
    /// Whether the next epoch begins with a change.
    is_fresh: bool,
    /// The first half of the current pair.
    half: Option<Counts>,
    /// The incumbent's half of the last pair, if it rejects the challenger's.
    rejected_against: Option<Counts>,
    /// The logarithms of the challenger's throughputs divided by the incumbent's.
    gains: [f64; PAIRS],
    pairs: usize,
}

impl Comparison {
    /// The incumbent runs first; `is_fresh`: its settings come into force now. The challenger must
    /// reach `margin` of its throughput.
    pub(super) fn new(margin: f64, is_fresh: bool) -> Self {
        let side = Side::Incumbent;
        Self {
            side,
            margin,
            is_fresh,
            half: None,
            rejected_against: None,
            gains: [0.0; PAIRS],
            pairs: 0,
        }
    }

    /// The side whose settings the next epoch uses.
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// Records an interruption: the next epoch does not count.
    pub(super) fn interrupt(&mut self) {
        self.is_fresh = true;
    }

    /// Ends an epoch under [`side`](Self::side). Returns the winner, if that is decided.
    pub(super) fn record(&mut self, counts: &Counts) -> Option<Side> {
        if std::mem::take(&mut self.is_fresh) {
            return None;
        }
        if self.side == Side::Challenger
            && self.rejected_against.is_some_and(|incumbent| is_rejected(counts, &incumbent))
        {
            return Some(Side::Incumbent);
        }
        match self.half.take() {
            None => {
                self.half = Some(*counts);
                self.change();
                None
            }
            Some(half) => match self.side {
                Side::Incumbent => self.pair(counts, &half),
                Side::Challenger => self.pair(&half, counts),
            },
        }
    }

    fn change(&mut self) {
        self.is_fresh = true;
        self.side = match self.side {
            Side::Incumbent => Side::Challenger,
            Side::Challenger => Side::Incumbent,
        };
    }

    fn pair(&mut self, incumbent: &Counts, challenger: &Counts) -> Option<Side> {
        self.gains[self.pairs] = (challenger.throughput() / incumbent.throughput()).ln();
        self.pairs += 1;
        self.rejected_against = is_rejected(challenger, incumbent).then_some(*incumbent);
        self.verdict()
    }

    fn verdict(&self) -> Option<Side> {
        let (gains, margin) = (&self.gains[..self.pairs], self.margin.ln());
        let winner = |gain: f64| if gain > margin { Side::Challenger } else { Side::Incumbent };
        if self.pairs == PAIRS {
            return Some(winner(median(self.gains)));
        }
        let (mean, error) = mean_and_error(gains)?;
        ((mean - margin).abs() > error).then(|| winner(mean))
    }
}

fn is_rejected(challenger: &Counts, incumbent: &Counts) -> bool {
    challenger.throughput() < REJECTED * incumbent.throughput()
}

/// The lower one of the two in the middle.
fn median(mut gains: [f64; PAIRS]) -> f64 {
    gains.sort_by(f64::total_cmp);
    gains[(PAIRS - 1) / 2]
}

/// The mean of some values and its standard error; `None` for less than two values.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (count >= 2.0).then(|| (mean, (squares / (count - 1.0) / count).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(commits: u64) -> Counts {
        Counts { commits, elapsed_ns: 1_000, ..Counts::default() }
    }

    /// Runs a comparison in which the incumbent commits 100 per epoch and each pair's challenger
    /// the given number. Each dropped epoch has the opposite result.
    fn compared(challengers: &[u64]) -> (Option<Side>, usize) {
        let mut comparison = Comparison::new(GAIN_MARGIN, false);
        for (pair, &commits) in challengers.iter().enumerate() {
            let mut halves = 0;
            while halves < 2 {
                let (dropped, side) = (comparison.is_fresh, comparison.side());
                let counted = if side == Side::Incumbent { 100 } else { commits };
                let ended =
                    comparison.record(&at(if dropped { 10_000 / counted.max(1) } else { counted }));
                halves += usize::from(!dropped);
                if ended.is_some() {
                    return (ended, pair + 1);
                }
            }
        }
        (None, challengers.len())
    }

    /// Catches: an epoch that counts while workers are still starting, a win by one pair, and a win
    /// by less than the margin.
    #[test]
    fn pairs_that_agree_decide() {
        assert_eq!(compared(&[110]), (None, 1));
        assert_eq!(compared(&[110, 110]), (Some(Side::Challenger), 2));
        assert_eq!(compared(&[110, 105, 107]), (Some(Side::Challenger), 2));
        assert_eq!(compared(&[100, 100]), (Some(Side::Incumbent), 2));
    }

    /// Catches: a decision while pairs contradict each other, and outliers that decide.
    #[test]
    fn pairs_that_disagree_are_followed_by_more() {
        assert_eq!(compared(&[110, 95]), (None, 2));
        assert_eq!(compared(&[110, 95, 110, 110]), (Some(Side::Challenger), 4));
        assert_eq!(compared(&[110, 95, 95, 95, 95]), (Some(Side::Incumbent), 5));
    }

    /// Catches: more than two epochs under much worse settings, and one interruption that decides.
    #[test]
    fn a_much_worse_challenger_is_rejected_within_a_pair() {
        assert_eq!(compared(&[79, 79, 200]), (Some(Side::Incumbent), 2));
        assert_eq!(compared(&[0, 0]), (Some(Side::Incumbent), 2));
        assert_eq!(compared(&[10, 110]), (None, 2));
        let mut comparison = Comparison::new(GAIN_MARGIN, false);
        let epochs = [100, 0, 50, 50].map(|commits| comparison.record(&at(commits)));
        assert_eq!(epochs, [None, None, None, Some(Side::Incumbent)]);
    }

    /// Catches: a comparison that one interruption turns, of any length, on either side.
    #[test]
    fn one_interruption_does_not_turn_a_comparison() {
        for hit in [0, 1, 1_000_000] {
            for pair in 0..PAIRS {
                for (others, winner) in [(110, Side::Challenger), (95, Side::Incumbent)] {
                    let mut challengers = [others; PAIRS];
                    challengers[pair] = hit;
                    assert_eq!(
                        compared(&challengers).0,
                        Some(winner),
                        "{hit} in pair {pair} of {others}"
                    );
                }
            }
        }
    }

    /// Catches: an epoch that counts although the list became empty in it.
    #[test]
    fn the_epoch_after_an_interruption_is_dropped() {
        let mut comparison = Comparison::new(GAIN_MARGIN, false);
        comparison.interrupt();
        assert_eq!((comparison.record(&at(9)), comparison.side()), (None, Side::Incumbent));
        assert_eq!((comparison.record(&at(100)), comparison.side()), (None, Side::Challenger));
    }

    /// Catches: an incumbent that never runs again after the challenger has, so that a drift looks
    /// like a gain.
    #[test]
    fn sides_take_turns() {
        let mut comparison = Comparison::new(GAIN_MARGIN, false);
        let sides: Vec<_> = (0..8)
            .map(|epoch| {
                (comparison.side(), comparison.record(&at(100 + 10 * (epoch % 3))).is_some()).0
            })
            .collect();
        assert_eq!(sides[..3], [Side::Incumbent, Side::Challenger, Side::Challenger]);
        assert_eq!(sides[3..6], [Side::Challenger, Side::Incumbent, Side::Incumbent]);
    }

    proptest! {
        /// Catches: a comparison without an end, a win without two better pairs, and a defeat after
        /// one worse epoch (D1, D2).
        #[test]
        fn comparisons_end_and_take_two_of_a_kind(
            challengers in proptest::collection::vec(30..75_u64, PAIRS),
        ) {
            // Even numbers, so that none is at the margin.
            let challengers: Vec<u64> = challengers.iter().map(|half| 2 * half).collect();
            let (ended, pairs) = compared(&challengers);
            prop_assert!(ended.is_some());
            let better = challengers[..pairs].iter().filter(|&&commits| commits > 101).count();
            match ended {
                Some(Side::Challenger) => prop_assert!(better >= 2),
                _ => prop_assert!(pairs - better >= 2),
            }
        }
    }
}
