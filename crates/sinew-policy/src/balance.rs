//! How the parts of an array follow what they cost.
//!
//! Ranks differ by their machines and by what else runs there, and elements differ by their cost.
//! Each rank reports how many elements it has computed and what that took. Whether its elements are
//! costly or it is slow cannot be seen from that, so both are considered:
//!
//! - *elements*: the same elements cost as much on another rank;
//! - *ranks*: other elements cost as much on the same rank.
//!
//! Two kinds of parts are compared: with equal costs if elements differ, and with equal times if
//! ranks do; also steps of a half and a quarter of the way to them. The best is the one whose
//! slowest rank needs the least time, on average of both cases. After a move the times show which
//! case was nearer to the truth; that one counts more from then on. A move that made it worse
//! halves the next steps.
//!
//! Source: adaptive weighted factoring (Banicescu, Velusamy and Devaprasad, "On the Scalability of
//! Dynamic Scheduling Scientific Applications with Adaptive Weighted Factoring", 2003) for weights
//! that are measured while a program runs. Differences: one part a rank; costs of elements; a
//! threshold, since elements move between memories.
//!
//! # Invariants
//!
//! - B1: the parts are adjacent, in the order of the ranks, and cover all.
//! - B2: each rank has a block, if there are as many blocks as ranks. So its speed is measured
//!   again.
//! - B3: parts move only if the slowest rank then needs at most 9/10 of its time, on that average.
//!
//! # Cost
//!
//! Some passes over the ranks for each of the parts compared.

/// Moving pays if the new time is at most this part of the old one.
const PAYS: f64 = 0.9;

/// The parts of the way to equal times that are compared.
const STEPS: [f64; 3] = [1.0, 0.5, 0.25];

/// The work of ranks since their parts have moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    measured: Vec<Measured>,
    /// How much the case counts that ranks differ, from 0 to 1.
    ranks_differ: f64,
    /// For each rank the times that were expected of the last move, if elements differ and if ranks
    /// do.
    expected: Option<Vec<[f64; 2]>>,
    /// The time of the slowest rank by the mean before the last move.
    before: f64,
    /// The longest step, as a part of the way: shorter after a move that made it worse.
    step: f64,
}

/// Elements, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Measured {
    items: f64,
    cost: f64,
}

impl Balance {
    /// Nothing is known.
    pub fn new(ranks: u32) -> Self {
        let measured = vec![Measured::default(); ranks as usize];
        Self { measured, ranks_differ: 0.5, expected: None, before: 0.0, step: 1.0 }
    }

    /// Records that `items` of a rank's elements took `cost`, a time or any other unit that is the
    /// same on all ranks. Earlier records since the last move count half.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    #[track_caller]
    pub fn learn(&mut self, rank: u32, items: usize, cost: u64) {
        let one = &mut self.measured[rank as usize];
        if items > 0 {
            one.items = one.items / 2.0 + items as f64;
            // A cost of nothing would attract all elements.
            one.cost = one.cost / 2.0 + cost.max(1) as f64;
        }
    }

    /// The first block of each rank's part, and the number of blocks, to which the parts that begin
    /// at `begins` should move. `None` if that does not pay.
    ///
    /// ```
    /// use sinew_policy::balance::Balance;
    ///
    /// let mut balance = Balance::new(2);
    /// balance.learn(0, 50, 1_000);
    /// balance.learn(1, 50, 3_000);
    /// // Half of the cost: the first 67 blocks, if blocks differ.
    /// assert_eq!(balance.moved(&[0, 50, 100]), Some(vec![0, 67, 100]));
    /// ```
    ///
    /// # Panics
    ///
    /// If `begins` has not one number a rank and one more.
    #[track_caller]
    pub fn moved(&mut self, begins: &[usize]) -> Option<Vec<usize>> {
        let ranks = self.measured.len();
        assert!(begins.len() == ranks + 1, "{begins:?} are not the parts of {ranks} ranks");
        let costs = self.costs()?;
        self.compare(begins, &costs);
        let now = Parts { begins, costs: &costs, ranks_differ: self.ranks_differ };
        let wanted = [now.by_elements(), now.by_ranks()];
        let steps =
            wanted.iter().flat_map(|to| STEPS.map(|step| now.towards(to, step * self.step)));
        let (time, best) =
            steps.map(|to| (now.time(&to), to)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        if best == begins || time > now.time(begins) * PAYS {
            return None;
        }
        self.measured.fill(Measured::default());
        self.expected = Some(now.times(&best).collect());
        self.before = worst(&now.times(begins).map(|both| both[0]).collect::<Vec<_>>());
        Some(best)
    }

    /// Learns from the times after a move which case was nearer to the truth.
    fn compare(&mut self, begins: &[usize], costs: &[f64]) {
        let Some(expected) = self.expected.take() else { return };
        let parts = begins.windows(2).zip(costs);
        let times: Vec<f64> = parts.map(|(pair, cost)| (pair[1] - pair[0]) as f64 * cost).collect();
        let is_worse = worst(&times) >= self.before;
        self.step = if is_worse { self.step / 2.0 } else { (self.step * 1.2).min(1.0) };
        // Shares of the whole, since passes differ in their work.
        let error = |case: usize| {
            let whole: f64 = expected.iter().map(|both| both[case]).sum();
            let all: f64 = times.iter().sum();
            let pairs = expected.iter().zip(&times);
            pairs.map(|(both, time)| (both[case] / whole - time / all).abs()).sum::<f64>()
        };
        let [elements, ranks] = [error(0), error(1)];
        if elements + ranks > 0.0 {
            self.ranks_differ = elements / (elements + ranks);
        }
    }

    /// The cost of an element of each rank, for those that are not known the mean of the others.
    /// `None` if all are unknown.
    fn costs(&self) -> Option<Vec<f64>> {
        let known = self.measured.iter().filter(|one| one.items > 0.0);
        let known: Vec<f64> = known.map(|one| one.cost / one.items).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let cost = |one: &Measured| if one.items > 0.0 { one.cost / one.items } else { mean };
        (!known.is_empty()).then(|| self.measured.iter().map(cost).collect())
    }
}

/// The longest of some times by their mean.
fn worst(times: &[f64]) -> f64 {
    let longest = times.iter().copied().fold(0.0, f64::max);
    longest * times.len() as f64 / times.iter().sum::<f64>()
}

/// Parts, and the cost of a block in each of them.
struct Parts<'b> {
    begins: &'b [usize],
    costs: &'b [f64],
    ranks_differ: f64,
}

impl Parts<'_> {
    fn blocks(&self) -> usize {
        self.begins[self.costs.len()]
    }

    /// The time of the slowest rank with other parts, on average of both cases.
    fn time(&self, begins: &[usize]) -> f64 {
        let slowest = |case: usize| self.times(begins).map(|both| both[case]).fold(0.0, f64::max);
        self.ranks_differ * slowest(1) + (1.0 - self.ranks_differ) * slowest(0)
    }

    /// The time of each rank with other parts, if elements differ and if ranks do.
    fn times(&self, begins: &[usize]) -> impl Iterator<Item = [f64; 2]> {
        let parts = begins.windows(2).zip(self.costs);
        parts.map(|(part, cost)| {
            let elements = self.before(part[1]) - self.before(part[0]);
            [elements, (part[1] - part[0]) as f64 * cost]
        })
    }

    /// The cost of all blocks before this one, if blocks differ.
    fn before(&self, block: usize) -> f64 {
        let parts = self.begins.windows(2).zip(self.costs);
        parts.map(|(part, cost)| (block.clamp(part[0], part[1]) - part[0]) as f64 * cost).sum()
    }

    /// Parts of equal costs, if blocks differ.
    fn by_elements(&self) -> Vec<f64> {
        let all = self.before(self.blocks());
        let bound = |rank: usize| {
            let (mut left, ranks) = (all * rank as f64 / self.costs.len() as f64, self.costs);
            for (part, cost) in self.begins.windows(2).zip(ranks) {
                let whole = (part[1] - part[0]) as f64 * cost;
                if left <= whole && whole > 0.0 {
                    return part[0] as f64 + left / cost;
                }
                left -= whole;
            }
            self.blocks() as f64
        };
        (0..=self.costs.len()).map(bound).collect()
    }

    /// Parts of equal times, if ranks differ.
    fn by_ranks(&self) -> Vec<f64> {
        let all: f64 = self.costs.iter().map(|cost| 1.0 / cost).sum();
        let mut bounds = vec![0.0];
        for cost in self.costs {
            let last = bounds[bounds.len() - 1];
            bounds.push(last + self.blocks() as f64 / cost / all);
        }
        bounds
    }

    /// A part of the way to other bounds, in whole blocks (B1, B2).
    fn towards(&self, bounds: &[f64], step: f64) -> Vec<usize> {
        let (blocks, ranks) = (self.blocks(), self.costs.len());
        let least = usize::from(blocks >= ranks);
        let mut begins = vec![0];
        for rank in 1..ranks {
            let (from, to) = (self.begins[rank] as f64, bounds[rank]);
            let begin = (from + step * (to - from)).round() as usize;
            let first = begins[rank - 1] + least;
            begins.push(begin.clamp(first, (blocks - least * (ranks - rank)).max(first)));
        }
        begins.push(blocks);
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parts of an array, measured and moved for some rounds, and in which of them they moved.
    /// `cost` is that of a block, by its number, the rank and the round.
    fn settle(
        ranks: usize,
        blocks: usize,
        rounds: usize,
        cost: impl Fn(usize, usize, usize) -> u64,
    ) -> (Vec<usize>, Vec<usize>) {
        let mut begins: Vec<usize> = (0..=ranks).map(|rank| blocks * rank / ranks).collect();
        let (mut balance, mut moves) = (Balance::new(ranks as u32), Vec::new());
        for round in 0..rounds {
            for rank in 0..ranks {
                let part = begins[rank]..begins[rank + 1];
                let items = part.len();
                let cost = part.map(|block| cost(block, rank, round)).sum();
                balance.learn(rank as u32, items, cost);
            }
            if let Some(moved) = balance.moved(&begins) {
                begins = moved;
                moves.push(round);
            }
        }
        (begins, moves)
    }

    proptest! {
        /// Catches: parts that do not follow the speeds, parts that move for ever, and a lost block
        /// (B1, B2).
        #[test]
        fn parts_of_slow_and_fast_ranks_settle_at_about_equal_times(
            times in prop::collection::vec(1_000..9_000_u64, 1..9),
            blocks in 400..3_000_usize,
        ) {
            let (begins, moves) = settle(times.len(), blocks, 30, |_, rank, _| times[rank]);
            prop_assert!(moves.iter().all(|round| *round < 15), "{:?}", moves);
            prop_assert!(begins[0] == 0 && begins[times.len()] == blocks);
            prop_assert!(begins.windows(2).all(|pair| pair[0] < pair[1]));
            let speed: f64 = times.iter().map(|time| 1.0 / *time as f64).sum();
            let parts = begins.windows(2).map(|pair| (pair[1] - pair[0]) as u64);
            let slowest = parts.zip(&times).map(|(part, time)| part * time).max().unwrap_or(0);
            let ideal = blocks as f64 / speed;
            prop_assert!(slowest as f64 <= 1.25 * ideal, "{} of {}", slowest, ideal);
        }

        /// Catches: the same where elements differ.
        #[test]
        fn parts_of_uneven_elements_settle_at_about_equal_costs(
            heights in prop::collection::vec(1..30_u64, 1..6),
            ranks in 1..9_usize,
            blocks in 400..3_000_usize,
        ) {
            let cost = |block: usize| heights[block * heights.len() / blocks] * 100;
            let (begins, moves) = settle(ranks, blocks, 30, |block, _, _| cost(block));
            prop_assert!(moves.iter().all(|round| *round < 15), "{:?}", moves);
            let of = |pair: &[usize]| (pair[0]..pair[1]).map(cost).sum::<u64>();
            let slowest = begins.windows(2).map(of).max().unwrap_or(0);
            let ideal = (0..blocks).map(cost).sum::<u64>() as f64 / ranks as f64;
            prop_assert!(slowest as f64 <= 1.4 * ideal + 3_000.0, "{} of {}", slowest, ideal);
        }

        /// Catches: a number that is none, for any measurement; a move that does not pay (B3).
        #[test]
        fn any_measurement_leads_to_parts(
            measured in prop::collection::vec((0..7_u32, any::<usize>(), any::<u64>()), 0..20),
            cuts in prop::collection::vec(0..5_000_usize, 8),
        ) {
            let mut balance = Balance::new(7);
            for (rank, items, cost) in measured {
                balance.learn(rank, items, cost);
            }
            let mut begins = cuts;
            begins.sort_unstable();
            begins[0] = 0;
            let costs = balance.costs();
            if let Some(moved) = balance.moved(&begins) {
                prop_assert!(moved.is_sorted() && moved[0] == 0 && moved[7] == begins[7]);
                let costs = costs.unwrap();
                let now = Parts { begins: &begins, costs: &costs, ranks_differ: 0.5 };
                prop_assert!(now.time(&moved) < now.time(&begins));
            }
        }
    }

    /// Catches: elements that travel because of noise.
    #[test]
    fn parts_that_are_nearly_right_stay() {
        let noise = |round: usize, rank: usize| 97 + ((round * 7 + rank * 5) % 7) as u64;
        let (_, moves) = settle(4, 400, 50, |_, rank, round| noise(round, rank));
        assert_eq!(moves, []);
        let slow = |_, rank, round| noise(round, rank) * [10, 30, 10, 15][rank];
        let (_, moves) = settle(4, 400, 50, slow);
        assert!(moves.iter().all(|round| *round < 10), "{moves:?}");
    }

    /// Catches: a rank that was slow once and never gets a part again.
    #[test]
    fn a_rank_that_recovers_gets_its_part_back() {
        let time = |_, rank, round| if rank == 1 && round < 20 { 90_000 } else { 1_000 };
        let (begins, _) = settle(2, 100, 20, time);
        assert!(begins[1] >= 97, "{begins:?}");
        let (begins, _) = settle(2, 100, 40, time);
        assert!((45..=55).contains(&begins[1]), "{begins:?}");
    }

    /// Catches: parts for ranks that have no block to begin with.
    #[test]
    fn fewer_blocks_than_ranks_are_dealt_as_well() {
        let mut balance = Balance::new(3);
        assert_eq!(balance.moved(&[0, 2, 2, 2]), None);
        balance.learn(0, 2, 200);
        balance.learn(2, 2, 2);
        let moved = balance.moved(&[0, 2, 2, 2]).unwrap();
        assert_eq!((moved[0], moved[3]), (0, 2));
        assert_eq!(balance.moved(&[0, 0, 0, 0]), None);
    }
}
