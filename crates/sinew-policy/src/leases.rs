//! Units that survive the loss of a rank: who has which, and what happens to them.
//!
//! A rank that gives units to another one keeps a copy of them, a *lease*, until the other one
//! reports their result. Units that a rank has got by one lease, and all that running them adds,
//! are one *work*. A work has a result of its own, which its rank reports to the giver once no unit
//! of it is left here and every lease given from it has been reported. So the leases form a tree,
//! whose root is the work of rank 0. When a rank is lost, those that have given leases to it run
//! the copies themselves. Those that have got leases from it drop these works: the rank that gave
//! to the lost one runs the same units again.
//!
//! Source: the tree is that of Dijkstra and Scholten, "Termination Detection for Diffusing
//! Computations", 1980; running a lost subtree again is Blumofe and Lisiecki, "Adaptive and
//! Reliable Parallel Computing on Networks of Workstations", 1997. Differences: results travel with
//! the reports, and works of a lost giver are dropped rather than adopted.
//!
//! # Invariants
//!
//! - E1: a unit of a work is here, or was run here and is in the work's result, or descends from
//!   exactly one lease of the work, or from one whose result was merged.
//! - E2: a lease ends once: by a report, or by the loss of its thief. Later messages with its
//!   number are not used. So a result is merged once, though units may run more than once.
//! - E3: a work whose giver is lost, or has dropped the lease, has no effect on any result.
//! - E4: the root work is finished only when every unit's result is in its own. No wave is needed,
//!   and no lost rank is waited for.
//!
//! # Cost
//!
//! A copy of each batch that was given, until its result is there.
//!
//! # Not handled
//!
//! The loss of rank 0, which has the root.

use crate::lifelines::Rank;

/// The number of a lease, unique among those of its giver.
pub type Lease = u64;

/// The units of one lease, or of the root, on one rank.
#[derive(Debug)]
struct Work<U, A, B> {
    /// The giver and its number of the lease; none for the root.
    from: Option<(Rank, Lease)>,
    units: Vec<U>,
    sum: A,
    given: Vec<Given<B>>,
}

/// A lease that was given and has not ended.
#[derive(Debug)]
struct Given<B> {
    lease: Lease,
    to: Rank,
    copy: B,
    /// Only without E2.
    reported: bool,
}

/// All works of a rank. Units are of type `U`, results of type `A`, copies of type `B`.
#[derive(Debug)]
pub struct Works<U, A, B> {
    works: Vec<Work<U, A, B>>,
    next: Lease,
    once: bool,
}

impl<U, A: Default, B> Works<U, A, B> {
    /// No work. `once` is E2: without it a lease that was reported runs again if its thief is lost,
    /// which tests look for.
    pub fn new(once: bool) -> Self {
        Self { works: Vec::new(), next: 0, once }
    }

    /// Adds the root, which is nobody's lease.
    pub fn add_root(&mut self, units: Vec<U>) {
        self.add(None, units);
    }

    /// Adds a work: units that `giver` has given by its lease.
    pub fn accept(&mut self, giver: Rank, lease: Lease, units: Vec<U>) {
        self.add(Some((giver, lease)), units);
    }

    fn add(&mut self, from: Option<(Rank, Lease)>, units: Vec<U>) {
        self.works.push(Work { from, units, sum: A::default(), given: Vec::new() });
    }

    /// The number of units of the work that runs next; 0 if no work has units here.
    pub fn units(&self) -> usize {
        self.running().map_or(0, |at| self.works[at].units.len())
    }

    /// The newest work with units: the root, and others that wait, are older.
    fn running(&self) -> Option<usize> {
        self.works.iter().rposition(|work| !work.units.is_empty())
    }

    /// Units and result of the work that runs next.
    pub fn current(&mut self) -> Option<(&mut Vec<U>, &mut A)> {
        let at = self.running()?;
        let work = &mut self.works[at];
        Some((&mut work.units, &mut work.sum))
    }

    /// Gives units of the work that runs next to `to`. `take` removes them from the list and
    /// returns a copy. Returns the lease and the copy.
    ///
    /// # Panics
    ///
    /// If no work has units.
    #[track_caller]
    pub fn give(&mut self, to: Rank, take: impl FnOnce(&mut Vec<U>) -> B) -> (Lease, B)
    where
        B: Clone,
    {
        let at = self.running().expect("a rank gives units that it has");
        let copy = take(&mut self.works[at].units);
        (self.lend(at, to, copy.clone()), copy)
    }

    /// Makes a lease of the root for units that `to` has from the start. Returns its number, which
    /// is the next one.
    ///
    /// # Panics
    ///
    /// If there is no root.
    #[track_caller]
    pub fn lend_root(&mut self, to: Rank, copy: B) -> Lease {
        let at = self.works.iter().position(|work| work.from.is_none());
        self.lend(at.expect("the rank that lends roots has the root"), to, copy)
    }

    fn lend(&mut self, at: usize, to: Rank, copy: B) -> Lease {
        let lease = self.next;
        self.next += 1;
        self.works[at].given.push(Given { lease, to, copy, reported: false });
        lease
    }

    /// `from` reports the result of a lease. Whether it is merged (E2).
    pub fn reported(
        &mut self,
        from: Rank,
        lease: Lease,
        result: A,
        merge: impl FnOnce(A, A) -> A,
    ) -> bool {
        let known = |given: &Given<B>| given.lease == lease && given.to == from;
        for work in &mut self.works {
            if let Some(at) = work.given.iter().position(known) {
                work.given[at].reported = true;
                if self.once {
                    work.given.swap_remove(at);
                }
                work.sum = merge(std::mem::take(&mut work.sum), result);
                return true;
            }
        }
        false
    }

    /// A finished work, which is removed: the giver, its lease, and the result to report to it.
    pub fn finished(&mut self) -> Option<(Rank, Lease, A)> {
        let at = self.works.iter().position(|work| work.from.is_some() && work.is_finished())?;
        let work = self.works.remove(at);
        work.from.map(|(giver, lease)| (giver, lease, work.sum))
    }

    /// The result of the root, once it is finished (E4). It is there once.
    pub fn finished_root(&mut self) -> Option<A> {
        let at = self.works.iter().position(|work| work.from.is_none() && work.is_finished())?;
        Some(self.works.remove(at).sum)
    }

    /// `rank` is lost. Its leases run again here; `units_of` makes units of a copy. Returns the
    /// leases that others need not run any more.
    pub fn lost(&mut self, rank: Rank, units_of: impl Fn(B) -> Vec<U>) -> Vec<(Rank, Lease)> {
        for work in &mut self.works {
            for given in work.given.extract_if(.., |given| given.to == rank) {
                work.units.extend(units_of(given.copy));
            }
        }
        self.drop_works(|(giver, _)| giver == rank)
    }

    /// The giver `from` has dropped the work to which its lease belongs. Returns the leases that
    /// others need not run any more.
    pub fn dropped(&mut self, from: Rank, lease: Lease) -> Vec<(Rank, Lease)> {
        self.drop_works(|source| source == (from, lease))
    }

    /// E3.
    fn drop_works(&mut self, which: impl Fn((Rank, Lease)) -> bool) -> Vec<(Rank, Lease)> {
        let dropped = self.works.extract_if(.., |work| work.from.is_some_and(&which));
        let given = dropped.flat_map(|work| work.given);
        given.map(|given| (given.to, given.lease)).collect()
    }
}

impl<U, A, B> Work<U, A, B> {
    fn is_finished(&self) -> bool {
        self.units.is_empty() && self.given.iter().all(|given| given.reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sums = Works<u32, u32, Vec<u32>>;

    fn add(a: u32, b: u32) -> u32 {
        a + b
    }

    /// Gives the first unit.
    fn give(works: &mut Sums, to: Rank) -> (Lease, Vec<u32>) {
        works.give(to, |units| units.drain(..1).collect())
    }

    /// Runs all units of a rank; a unit's result is its number.
    fn run(works: &mut Sums) {
        while let Some((units, sum)) = works.current() {
            *sum += units.drain(..).sum::<u32>();
        }
    }

    #[test]
    fn a_work_is_finished_after_its_leases() {
        let mut works = Sums::new(true);
        works.accept(7, 40, vec![1, 2, 4]);
        let (lease, units) = give(&mut works, 3);
        assert_eq!(units, [1]);
        run(&mut works);
        assert_eq!(works.finished(), None);
        assert!(works.reported(3, lease, 1, add));
        assert_eq!(works.finished(), Some((7, 40, 7)));
        assert_eq!(works.finished(), None);
    }

    /// Catches: a result that is merged twice, or after its units ran again here.
    #[test]
    fn a_lease_ends_once() {
        let mut works = Sums::new(true);
        works.add_root(vec![1, 2, 4]);
        let (first, _) = give(&mut works, 3);
        let (second, _) = give(&mut works, 5);
        assert!(works.reported(3, first, 1, add));
        assert!(!works.reported(3, first, 1, add));
        assert!(!works.reported(4, second, 2, add), "not the thief of this lease");
        assert_eq!(works.lost(5, |copy| copy), []);
        assert!(!works.reported(5, second, 2, add));
        run(&mut works);
        assert_eq!(works.finished_root(), Some(7));
    }

    /// Catches: units that run twice with effect, since the lost giver's own giver runs them again.
    #[test]
    fn works_of_a_lost_giver_are_dropped_and_those_below_are_told() {
        let mut works = Sums::new(true);
        works.accept(1, 0, vec![1, 2]);
        let (lease, _) = give(&mut works, 3);
        works.accept(2, 0, vec![4]);
        assert_eq!(works.lost(1, |copy| copy), [(3, lease)]);
        assert!(!works.reported(3, lease, 1, add));
        run(&mut works);
        assert_eq!(works.finished(), Some((2, 0, 4)));
        works.accept(2, 1, vec![8]);
        assert_eq!(works.dropped(2, 1), []);
        assert_eq!((works.units(), works.finished()), (0, None));
    }

    #[test]
    fn roots_of_other_ranks_are_leases_of_the_root() {
        let mut works = Sums::new(true);
        works.add_root(vec![]);
        assert_eq!([works.lend_root(1, vec![1]), works.lend_root(2, vec![2])], [0, 1]);
        assert!(works.reported(1, 0, 1, add));
        assert_eq!(works.finished_root(), None);
        works.lost(2, |copy| copy);
        run(&mut works);
        assert_eq!(works.finished_root(), Some(3));
    }
}
