//! Load: a list of workers by load, in descending order.

use super::circle::Circle;
use super::ranking::{Ranking, SPARE};
use super::stride::Stride;
use super::{Outcome, Reach, VictimPolicy, View, is_near, is_worth_trying};

/// The workers in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadScope {
    /// All workers.
    Machine,
    /// The workers of the thief's package; for the master of a package, all workers.
    Package,
    /// The workers of the thief's package, for its master as well.
    StrictlyPackage,
}

/// Where a thief continues after a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterSuccess {
    /// With the same victim, until it fails, or the list ends or is made again.
    Stay,
    /// At the top.
    Restart,
}

/// The parameters of [`SortedLoads`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loads {
    /// Attempts between two refreshes of the list; at least 1.
    pub refresh: u32,
    /// The workers in it.
    pub scope: LoadScope,
    /// The effect of a success.
    pub after_success: AfterSuccess,
}

/// Walks a list of workers by load, in descending order. A refresh, once in `refresh` attempts,
/// returns to the top; a failure moves on, and from the end to the top; [`AfterSuccess`] decides
/// about a success.
///
/// A round has as many attempts as the list has workers.
///
/// Source: A.-A. Chasapis, "Optimization Techniques for Task-based Parallel Programming Models"
/// (2014), section 3.3.2.2, with a refresh every 5 or 10 attempts; `Stay` and `Restart` are its
/// policies 1 and 2. It describes the local form twice: [`LoadScope::Package`] is the one with
/// masters, [`LoadScope::StrictlyPackage`] the one without. Differences: equals change places from
/// refresh to refresh, as otherwise a list longer than `refresh` would never reach its end; and a
/// failed round is followed by one through the whole list.
///
/// # Cost
///
/// A refresh reads one line of each worker of the list, and sorts, unless the [`View`] knows the
/// most loaded workers. In the largest pools the list then contains only the workers that are tried
/// before the next refresh.
#[derive(Debug, Clone)]
pub struct SortedLoads {
    rule: Loads,
    /// All others, in a private order that decides between equals.
    others: Circle,
    /// The position in it at which a refresh begins.
    turn: usize,
    list: Ranking,
    /// In the largest pools, the others of the thief's package; empty until they are used.
    near: Vec<usize>,
    /// Whether the list contains only the thief's package.
    confined: bool,
    at: usize,
    /// Attempts since the last refresh.
    attempts: u32,
    /// Attempts in this round.
    tried: usize,
    /// Whether this round goes through the whole list.
    whole: bool,
}

impl SortedLoads {
    /// A rule without a list yet.
    pub fn new(rule: Loads) -> Self {
        Self {
            rule: Loads { refresh: rule.refresh.max(1), ..rule },
            others: Circle::default(),
            turn: 0,
            list: Ranking::default(),
            near: Vec::new(),
            confined: false,
            at: 0,
            attempts: 0,
            tried: 0,
            whole: false,
        }
    }

    fn is_confined(&self, view: &dyn View) -> bool {
        match self.rule.scope {
            LoadScope::Machine => false,
            LoadScope::Package => view.reach() == Reach::Package,
            LoadScope::StrictlyPackage => view.reach() != Reach::Everywhere,
        }
    }

    fn refresh(&mut self, view: &dyn View, confined: bool) {
        self.turn = (self.turn + self.attempts as usize) % self.others.len().max(1);
        match self.others.stride().map(|order| order.begun_at(self.turn)) {
            Some(order) if confined => self.list_near(view, order),
            Some(order) => match Ranking::top(view, order, self.wanted()) {
                Some(list) => self.list = list,
                None => self.list_all(view, false),
            },
            None => self.list_all(view, confined),
        }
        (self.at, self.attempts, self.confined) = (0, 0, confined);
    }

    fn list_all(&mut self, view: &dyn View, confined: bool) {
        let members = self.others.members_from(self.turn);
        self.list.write(view, members.filter(|&worker| !confined || is_near(view, worker)));
    }

    /// How many workers of the list may be tried before the next list.
    fn wanted(&self) -> usize {
        if self.whole { usize::MAX } else { self.rule.refresh as usize + SPARE }
    }

    /// The same for the thief's package, without reading each worker's package.
    fn list_near(&mut self, view: &dyn View, order: Stride) {
        if self.near.is_empty() {
            let near = view.neighbours().into_iter().filter(|run| run.near);
            self.near = near.flat_map(|run| run.first..run.end).collect();
        }
        self.near.sort_unstable_by_key(|&worker| order.place(worker));
        self.list.write(view, self.near.iter().copied());
    }

    /// The next worker that is worth trying from the present position, at most once around.
    fn find(&mut self, view: &dyn View) -> Option<usize> {
        for _ in 0..self.list.len() {
            if self.at >= self.list.len() {
                self.at = 0;
            }
            let victim = self.list.at(self.at, view);
            if is_worth_trying(view, victim) {
                return Some(victim);
            }
            self.at += 1;
        }
        None
    }

    fn end_round(&mut self) {
        self.tried = 0;
        self.whole = !self.whole;
        // Each kind of round begins with a new list.
        self.attempts = self.attempts.max(self.rule.refresh);
    }
}

impl VictimPolicy for SortedLoads {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        if self.others.draw_all(view, random) {
            self.turn = 0;
            self.refresh(view, self.is_confined(view));
        }
        (self.tried, self.whole) = (0, false);
    }

    fn next(&mut self, view: &dyn View, _random: &mut dyn FnMut() -> u64) -> Option<usize> {
        let confined = self.is_confined(view);
        if self.tried >= self.list.len().max(1) {
            self.end_round();
            return None;
        }
        let due = self.attempts >= self.rule.refresh && (!self.whole || self.tried == 0);
        if due || confined != self.confined {
            self.refresh(view, confined);
        }
        let Some(victim) = self.find(view) else {
            self.end_round();
            return None;
        };
        self.attempts += 1;
        self.tried += 1;
        Some(victim)
    }

    fn outcome(&mut self, victim: usize, outcome: Outcome) {
        if outcome != Outcome::Stolen {
            // After a refresh in between, the position is already new.
            self.at += usize::from(self.list.has(victim, self.at));
        } else if self.rule.after_success == AfterSuccess::Restart {
            self.at = 0;
        }
    }

    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        !self.is_confined(view) || is_near(view, victim)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LARGE, Pool, Source, round, same_victims};
    use super::*;
    use Outcome::{Lost, Stolen};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Catches: a list of the most loaded workers that leads to another victim than the full
        /// list, in the machine or in a package.
        #[test]
        fn a_known_list_leads_to_the_same_victims_as_a_scan(
            steps in proptest::collection::vec((0..LARGE, 0..5_usize, any::<bool>()), 1..40),
            refresh in 1..6_u32,
            scope in prop_oneof![
                Just(LoadScope::Machine),
                Just(LoadScope::Package),
                Just(LoadScope::StrictlyPackage),
            ],
            stays in any::<bool>(),
        ) {
            let after_success = if stays { AfterSuccess::Stay } else { AfterSuccess::Restart };
            same_victims(
                &|| Box::new(SortedLoads::new(rule(refresh, scope, after_success))),
                &steps,
            )?;
        }
    }

    fn rule(refresh: u32, scope: LoadScope, after_success: AfterSuccess) -> Loads {
        Loads { refresh, scope, after_success }
    }

    /// Worker 0 is the thief; 1 has most tasks, 23 fewest.
    fn falling(workers: usize) -> Pool {
        let mut pool = Pool { shape: (2, 3), ..Pool::of(workers, 0) };
        pool.load = (0..workers).map(|worker| 100 - worker).collect();
        pool
    }

    /// Makes attempts with these outcomes; returns the victims.
    fn attempts(policy: &mut SortedLoads, pool: &Pool, outcomes: &[Outcome]) -> Vec<usize> {
        let mut source = Source::new(0);
        let attempt = |&outcome| {
            let victim = policy.next(pool, &mut source.numbers()).unwrap();
            policy.outcome(victim, outcome);
            victim
        };
        outcomes.iter().map(attempt).collect()
    }

    fn started(rule: Loads, pool: &Pool) -> SortedLoads {
        let mut policy = SortedLoads::new(rule);
        policy.start(pool, &mut Source::new(2).numbers());
        policy
    }

    /// Catches: an order that is not by load, a failure that does not move on, a refresh that is
    /// late, early or not at the top.
    #[test]
    fn failures_move_down_the_list_until_the_refresh() {
        let pool = falling(24);
        for refresh in [5, 10] {
            let mut policy = started(rule(refresh, LoadScope::Machine, AfterSuccess::Stay), &pool);
            let expected: Vec<usize> = (1..=refresh as usize).collect();
            assert_eq!(attempts(&mut policy, &pool, &vec![Lost; refresh as usize]), expected);
            assert_eq!(attempts(&mut policy, &pool, &[Lost; 2]), [1, 2]);
        }
    }

    /// Catches: loads that are read only once.
    #[test]
    fn a_refresh_reads_the_loads_again() {
        let mut pool = falling(24);
        let mut policy = started(rule(3, LoadScope::Machine, AfterSuccess::Stay), &pool);
        pool.load[17] = 1000;
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 5]), [1, 2, 3, 17, 1]);
    }

    /// Catches: policy 1 that leaves a good victim, stays with it after a failure or past a
    /// refresh, or forgets it between searches.
    #[test]
    fn policy_1_stays_with_a_good_victim() {
        let pool = falling(24);
        let mut policy = started(rule(10, LoadScope::Machine, AfterSuccess::Stay), &pool);
        let outcomes = [Lost, Lost, Stolen, Stolen];
        assert_eq!(attempts(&mut policy, &pool, &outcomes), [1, 2, 3, 3]);
        policy.start(&pool, &mut Source::new(2).numbers());
        assert_eq!(attempts(&mut policy, &pool, &[Lost, Lost, Stolen]), [3, 4, 5]);
        assert_eq!(attempts(&mut policy, &pool, &[Stolen; 5]), [5, 5, 5, 1, 1]);
    }

    /// Catches: policy 2 that continues at the same position after a success.
    #[test]
    fn policy_2_restarts_at_the_top_after_every_success() {
        let pool = falling(24);
        let mut policy = started(rule(10, LoadScope::Machine, AfterSuccess::Restart), &pool);
        let outcomes = [Lost, Lost, Stolen, Lost, Stolen, Stolen];
        assert_eq!(attempts(&mut policy, &pool, &outcomes), [1, 2, 3, 1, 2, 1]);
    }

    /// Catches: a list without an end.
    #[test]
    fn the_end_of_the_list_leads_to_the_top() {
        let pool = falling(4);
        let mut policy = started(rule(10, LoadScope::Machine, AfterSuccess::Stay), &pool);
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 3]), [1, 2, 3]);
        policy.start(&pool, &mut Source::new(2).numbers());
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 2]), [1, 2]);
    }

    /// Catches: a list of the machine without mastership, a master's list of its package alone, a
    /// strict rule that leaves the package, and work that no worker may take.
    #[test]
    fn the_local_list_is_of_the_package_for_all_but_masters() {
        for (scope, reach, members) in [
            (LoadScope::Machine, Reach::Package, 23),
            (LoadScope::Package, Reach::Package, 5),
            (LoadScope::Package, Reach::Machine, 23),
            (LoadScope::Package, Reach::Everywhere, 23),
            (LoadScope::StrictlyPackage, Reach::Package, 5),
            (LoadScope::StrictlyPackage, Reach::Machine, 5),
            (LoadScope::StrictlyPackage, Reach::Everywhere, 23),
        ] {
            let pool = Pool { reach, ..falling(24) };
            let mut policy = started(rule(100, scope, AfterSuccess::Stay), &pool);
            let expected: Vec<usize> = (1..=members).collect();
            assert_eq!(attempts(&mut policy, &pool, &vec![Lost; members]), expected);
            assert!((1..24).all(|victim| policy.allows(&pool, victim) == (victim <= members)));
        }
    }

    /// Catches: a former master that continues with the rest of its list.
    #[test]
    fn a_former_master_makes_a_new_list_at_once() {
        let mut pool = falling(24);
        let mut policy = started(rule(100, LoadScope::Package, AfterSuccess::Stay), &pool);
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 8]), [1, 2, 3, 4, 5, 6, 7, 8]);
        pool.reach = Reach::Package;
        policy.start(&pool, &mut Source::new(2).numbers());
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 5]), [1, 2, 3, 4, 5]);
    }

    /// Catches: workers without tasks that are never tried, because the list is longer than
    /// a refresh permits.
    #[test]
    fn equals_take_turns_and_a_failed_round_is_followed_by_the_whole_list() {
        let pool = Pool::of(24, 0);
        let mut policy = started(rule(5, LoadScope::Machine, AfterSuccess::Stay), &pool);
        let mut first = attempts(&mut policy, &pool, &[Lost; 23]);
        first.sort_unstable();
        first.dedup();
        assert!(first.len() >= 20, "{first:?}");
        assert_eq!(policy.next(&pool, &mut Source::new(0).numbers()), None);
        let pool = falling(24);
        let mut policy = started(rule(5, LoadScope::Machine, AfterSuccess::Stay), &pool);
        assert!(attempts(&mut policy, &pool, &[Lost; 23]).iter().all(|&victim| victim <= 5));
        assert_eq!(policy.next(&pool, &mut Source::new(0).numbers()), None);
        let expected: Vec<usize> = (1..24).collect();
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 23]), expected);
    }

    /// Catches: attempts at empty worker slots, or an endless search for an active one.
    #[test]
    fn slots_without_a_thread_are_skipped() {
        let mut pool = falling(5);
        pool.load = vec![0; 5];
        pool.active = vec![true, false, true, false, false];
        let mut policy = started(rule(5, LoadScope::Machine, AfterSuccess::Stay), &pool);
        assert_eq!(attempts(&mut policy, &pool, &[Lost; 3]), [2, 2, 2]);
        pool.active[2] = false;
        policy.start(&pool, &mut Source::new(2).numbers());
        assert_eq!(round(&mut policy, &pool, &mut Source::new(2)), [0; 0]);
    }
}
