//! Distance and chance: far workers are tried, too, but less often.

use super::circle::Circle;
use super::levels::{LevelOrder, Members, levels};
use super::{Outcome, VictimPolicy, View, is_worth_trying};

/// One round of a search in this many walks past all workers.
const PLAIN_EVERY: u32 = 16;

/// Draws each victim with weight 1/(n·i²), for each of the n workers on the i-th level of distance.
/// So a level as a whole weighs 1/i², however many workers are on it.
///
/// A round has as many draws as there are others. Every 16th round of a search walks past all
/// workers instead, as no single draw is certain.
///
/// Source: C. J. Williams and J. Elliott, "Libfork: Portable Continuation-Stealing With Stackless
/// Coroutines" (2024).
///
/// # Cost
///
/// One random number per attempt.
#[derive(Debug, Clone, Default)]
pub struct DistanceWeighted {
    /// The others by distance.
    levels: Vec<Members>,
    /// The sum of the weights of all levels.
    sum: f64,
    /// The number of workers for which the levels were made.
    workers: usize,
    /// Remaining draws of this round.
    left: usize,
    /// Finished rounds of this search.
    rounds: u32,
    walk: Circle,
}

impl DistanceWeighted {
    /// A rule without levels yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn make_levels(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.workers = view.workers();
        self.levels = levels(view, random, LevelOrder::Distance)
            .into_iter()
            .map(|level| level.members)
            .collect();
        self.sum = (0..self.levels.len()).map(weight).sum();
    }

    fn others(&self) -> usize {
        self.workers.saturating_sub(1)
    }

    /// Draws one victim by weight.
    fn draw(&self, random: &mut dyn FnMut() -> u64) -> usize {
        // An f64 holds 53 bits.
        let mut point = (random() >> 11) as f64 / (1_u64 << 53) as f64 * self.sum;
        let last = self.levels.len() - 1;
        let mut level = 0;
        while level < last && point >= weight(level) {
            point -= weight(level);
            level += 1;
        }
        let members = &self.levels[level];
        let member = (point / weight(level) * members.len() as f64) as usize;
        members.at(member.min(members.len() - 1))
    }

    fn draw_one_worth_trying(
        &mut self,
        view: &dyn View,
        random: &mut dyn FnMut() -> u64,
    ) -> Option<usize> {
        while self.left > 0 {
            self.left -= 1;
            let victim = self.draw(random);
            if is_worth_trying(view, victim) {
                return Some(victim);
            }
        }
        None
    }
}

/// The weight of a level as a whole; the nearest is 0.
fn weight(level: usize) -> f64 {
    let i = (level + 1) as f64;
    1.0 / (i * i)
}

impl VictimPolicy for DistanceWeighted {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        if self.workers != view.workers() {
            self.make_levels(view, random);
            self.walk.draw_all(view, random);
        }
        self.walk.restart();
        (self.left, self.rounds) = (self.others(), 0);
    }

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        let plain = self.rounds % PLAIN_EVERY == PLAIN_EVERY - 1;
        let victim =
            if plain { self.walk.next(view) } else { self.draw_one_worth_trying(view, random) };
        if victim.is_none() {
            self.rounds = self.rounds.wrapping_add(1);
            self.left = self.others();
            self.walk.restart();
        }
        victim
    }

    fn outcome(&mut self, _victim: usize, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source, round};
    use super::*;

    /// Catches: weights without the square, without the number of workers on a level, or that leave
    /// a worker out.
    #[test]
    fn a_level_weighs_one_over_its_square_and_its_workers_share_that_evenly() {
        const DRAWS: u32 = 490_000;
        let pool = Pool::dunnington(7);
        let (mut policy, mut source) = (DistanceWeighted::new(), Source::new(5));
        let mut counts = [0_u32; 24];
        for _ in 0..DRAWS / 10 {
            policy.start(&pool, &mut source.numbers());
            for _ in 0..10 {
                counts[policy.next(&pool, &mut source.numbers()).unwrap()] += 1;
            }
        }
        // 1, 1/4 and 1/9 on 1, 4 and 18 workers: in all 49/36.
        for worker in (0..24).filter(|&worker| worker != 7) {
            let share = match pool.distance(worker) {
                1 => 36.0 / 49.0,
                2 => 9.0 / 49.0 / 4.0,
                _ => 4.0 / 49.0 / 18.0,
            };
            let expected = f64::from(DRAWS) * share;
            // Six standard deviations.
            let tolerance = 6.0 * (expected * (1.0 - share)).sqrt();
            assert!(
                (f64::from(counts[worker]) - expected).abs() < tolerance,
                "{worker}: {counts:?}"
            );
        }
        assert_eq!(counts[7], 0);
    }

    /// Catches: a far worker that is never drawn.
    #[test]
    fn every_sixteenth_round_walks_past_all_workers() {
        let pool = Pool::dunnington(0);
        let (mut policy, mut source) = (DistanceWeighted::new(), Source::new(5));
        policy.start(&pool, &mut source.numbers());
        for number in 1..=32 {
            let mut victims = round(&mut policy, &pool, &mut source);
            assert_eq!(victims.len(), 23);
            victims.sort_unstable();
            victims.dedup();
            assert_eq!(victims.len() == 23, number % 16 == 0, "round {number}");
        }
    }

    /// Catches: more random numbers than attempts.
    #[test]
    fn an_attempt_draws_one_number() {
        let pool = Pool::dunnington(0);
        let mut policy = DistanceWeighted::new();
        policy.start(&pool, &mut Source::new(5).numbers());
        let mut draws = 0;
        let mut random = || {
            draws += 1;
            draws << 58
        };
        for _ in 0..10 {
            policy.next(&pool, &mut random);
        }
        assert_eq!(draws, 10);
    }
}
