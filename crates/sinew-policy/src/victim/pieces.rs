//! A large piece of the computation for each package.

use super::circle::Circle;
use super::{Nearest, Outcome, Reach, VictimPolicy, View, is_near};

/// Gives each package a large piece of the computation, and stays inside the package from then on.
///
/// Until its package has a piece of the present root task, the package's master begins every round
/// with one worker of another package: the one whose oldest task is nearest the root. So of a tree
/// that splits in two the first package gets a half, the next two a quarter each, and so on.
/// Everything else is [`Nearest`].
///
/// Source: the future work of A.-A. Chasapis, "Optimization Techniques for Task-based Parallel
/// Programming Models" (2014). Difference: the pieces are fetched, not sent: they exist only after
/// the root has made them.
#[derive(Debug, Clone, Default)]
pub struct PiecePerPackage {
    nearest: Nearest,
    others: Circle,
    /// Whether this round has tried to get the piece.
    tried: bool,
}

impl PiecePerPackage {
    /// A rule without an order yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn piece(&self, view: &dyn View) -> Option<usize> {
        let far = self.others.members().filter(|&worker| !is_near(view, worker));
        let offers = far.filter_map(|worker| Some((view.oldest_depth(worker)?, worker)));
        offers.min_by_key(|&(depth, _)| depth).map(|(_, worker)| worker)
    }
}

impl VictimPolicy for PiecePerPackage {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.others.draw_all(view, random);
        self.nearest.start(view, random);
        self.tried = false;
    }

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        if !self.tried && view.wants_piece() && view.reach() != Reach::Package {
            self.tried = true;
            if let Some(victim) = self.piece(view) {
                return Some(victim);
            }
        }
        let victim = self.nearest.next(view, random);
        self.tried &= victim.is_some();
        victim
    }

    fn outcome(&mut self, victim: usize, outcome: Outcome) {
        self.nearest.outcome(victim, outcome);
    }

    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        self.nearest.allows(view, victim)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source, round};
    use super::*;

    fn started(pool: &Pool) -> (PiecePerPackage, Source) {
        let (mut policy, mut source) = (PiecePerPackage::new(), Source::new(3));
        policy.start(pool, &mut source.numbers());
        (policy, source)
    }

    /// Worker 0 of four packages; tasks in all of them, and the one nearest the root at 13.
    fn running() -> Pool {
        let mut pool = Pool { wants_piece: true, ..Pool::dunnington(0) };
        for (worker, depth) in [(2, 1), (7, 5), (13, 2), (20, 3)] {
            (pool.load[worker], pool.depth[worker]) = (1, depth);
        }
        pool
    }

    /// Catches: a first piece from the own package, or a small one; a second try in the same round.
    #[test]
    fn a_package_without_a_piece_tries_the_foreign_task_nearest_the_root() {
        let pool = running();
        let (mut policy, mut source) = started(&pool);
        for _ in 0..2 {
            let victims = round(&mut policy, &pool, &mut source);
            assert_eq!(victims[..2], [13, 1]);
            assert_eq!(victims.len(), 1 + 50 + 12 + 18);
        }
    }

    /// Catches: pieces fetched by workers that are not masters, or by packages that have one.
    #[test]
    fn other_workers_and_packages_with_a_piece_steal_from_the_nearest() {
        let confined = Pool { reach: Reach::Package, ..running() };
        let (mut policy, mut source) = started(&confined);
        assert!(round(&mut policy, &confined, &mut source).iter().all(|&victim| victim < 6));
        let served = Pool { wants_piece: false, ..running() };
        let (mut policy, mut source) = started(&served);
        assert_eq!(policy.next(&served, &mut source.numbers()), Some(1));
    }

    /// Catches: a round that ends early because no piece exists yet.
    #[test]
    fn without_a_piece_yet_the_round_is_the_usual_one() {
        let pool = Pool { wants_piece: true, ..Pool::dunnington(0) };
        let (mut policy, mut source) = started(&pool);
        assert_eq!(round(&mut policy, &pool, &mut source).len(), 50 + 12 + 18);
    }
}
