//! Two settings, and which of them commits more a second.
//!
//! They run in turn, first, second, second, first, and so on, so that a drift of the program meets both alike, and there is one change for two epochs that count.
//! The first epoch after a change is dropped: workers come and go meanwhile, and caches fill. One *pair* of epochs is enough for a challenger that is
//! clearly worse, as each further epoch would cost as much again; to win it takes two pairs in a row, as one may have met an interruption.
//!
//! # States
//!
//! | side that runs | what its next epoch is |
//! |---|---|
//! | holder, challenger | dropped, if it is the first after a change, else one half of a pair |
//!
//! # Invariants
//!
//! - D1: a duel ends after at most [`PAIRS`] pairs, for the holder if nothing else was decided.
//! - D2: the challenger wins only after two pairs in a row in each of which it was beyond the margin.
//!
//! # Tests
//!
//! Each way to end; a property test for D1 and D2.

use super::Counts;
use super::confirm::Confirm;

/// Pairs after which the holder stays.
pub(super) const PAIRS: u32 = 6;
/// What a challenger has to reach of the holder's throughput: more, where a tie is no reason to change...
pub(super) const TO_GAIN: f64 = 1.02;
/// ...or about as much, where it needs less for it.
pub(super) const TO_TIE: f64 = 0.98;
/// What part of the holder's throughput is so little that no second pair is needed.
const HOPELESS: f64 = 0.8;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Holder,
    Challenger,
}

/// A comparison under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Duel {
    side: Side,
    margin: f64,
    /// Whether the next epoch begins with a change.
    is_fresh: bool,
    /// The half of the pair that is there.
    half: Option<Counts>,
    pairs: u32,
    confirm: Confirm,
}

impl Duel {
    /// The holder's turn is first; `is_fresh` says whether its settings come into force only now. The challenger has to reach `margin` of its throughput.
    pub(super) fn new(margin: f64, is_fresh: bool) -> Self {
        Self { side: Side::Holder, margin, is_fresh, half: None, pairs: 0, confirm: Confirm::default() }
    }

    /// Whose settings the next epoch is to run under.
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// An epoch under [`side`](Self::side) is over. Answers who has won, if that is decided.
    pub(super) fn hear(&mut self, counts: &Counts) -> Option<Side> {
        if std::mem::take(&mut self.is_fresh) {
            return None;
        }
        match self.half.take() {
            None => {
                self.half = Some(*counts);
                self.change();
                None
            }
            Some(half) => match self.side {
                Side::Holder => self.pair(counts, &half),
                Side::Challenger => self.pair(&half, counts),
            },
        }
    }

    fn change(&mut self) {
        self.is_fresh = true;
        self.side = match self.side {
            Side::Holder => Side::Challenger,
            Side::Challenger => Side::Holder,
        };
    }

    fn pair(&mut self, holder: &Counts, challenger: &Counts) -> Option<Side> {
        self.pairs += 1;
        let gain = challenger.throughput() / holder.throughput();
        match self.confirm.hear(gain > self.margin) {
            _ if gain < HOPELESS => Some(Side::Holder),
            None if self.pairs >= PAIRS => Some(Side::Holder),
            None => None,
            Some(true) => Some(Side::Challenger),
            Some(false) => Some(Side::Holder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(commits: u64) -> Counts {
        Counts { commits, elapsed_ns: 1_000, ..Counts::default() }
    }

    /// Runs a duel in which each pair's challenger commits so many where the holder commits 100, and each dropped epoch says the contrary.
    fn fight(challengers: &[u64]) -> (Option<Side>, usize) {
        let mut duel = Duel::new(TO_GAIN, false);
        for (pair, &commits) in challengers.iter().enumerate() {
            let mut halves = 0;
            while halves < 2 {
                let (dropped, side) = (duel.is_fresh, duel.side());
                let counted = if side == Side::Holder { 100 } else { commits };
                let ended = duel.hear(&at(if dropped { 10_000 / counted.max(1) } else { counted }));
                halves += usize::from(!dropped);
                if ended.is_some() {
                    return (ended, pair + 1);
                }
            }
        }
        (None, challengers.len())
    }

    /// Would miss: an epoch that counts although workers were still coming, a win by one pair, and by less than the margin.
    #[test]
    fn a_challenger_wins_by_two_pairs_in_a_row() {
        assert_eq!(fight(&[110]), (None, 1));
        assert_eq!(fight(&[110, 110]), (Some(Side::Challenger), 2));
        assert_eq!(fight(&[110, 90, 110, 110]), (Some(Side::Challenger), 4));
        assert_eq!(fight(&[101, 101]), (Some(Side::Holder), 2));
    }

    /// Would miss: more epochs than one under settings that are plainly worse.
    #[test]
    fn a_hopeless_challenger_is_sent_away_at_once() {
        assert_eq!(fight(&[79, 200, 200]), (Some(Side::Holder), 1));
        assert_eq!(fight(&[90, 79]), (Some(Side::Holder), 2));
        assert_eq!(fight(&[0, 200]), (Some(Side::Holder), 1));
    }

    /// Would miss: a holder that never runs again once the challenger has, so that a drift looks like a gain.
    #[test]
    fn sides_take_turns() {
        let mut duel = Duel::new(TO_GAIN, false);
        let sides: Vec<_> =
            (0..8).map(|epoch| (duel.side(), duel.hear(&at(100 + 10 * (epoch % 3))).is_some()).0).collect();
        assert_eq!(sides[..3], [Side::Holder, Side::Challenger, Side::Challenger]);
        assert_eq!(sides[3..6], [Side::Challenger, Side::Holder, Side::Holder]);
    }

    proptest! {
        /// Would miss: a duel without an end, and a win without two better pairs in a row (D1, D2).
        #[test]
        fn duels_end_and_are_won_by_two_pairs(challengers in proptest::collection::vec(80..130_u64, PAIRS as usize)) {
            let (ended, pairs) = fight(&challengers);
            prop_assert!(ended.is_some());
            let wins = ended == Some(Side::Challenger);
            prop_assert!(!wins || challengers[pairs - 2..pairs].iter().all(|&commits| commits > 102));
        }
    }
}
