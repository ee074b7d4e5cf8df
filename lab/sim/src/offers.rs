//! Loads of all workers, for policies that compare all workers.
//!
//! In a large pool, sampling every worker would be one step for each. Here workers are listed by
//! load, and the heaviest are found from the top. The thief pays as if it had sampled all workers,
//! as it does in the runtime.
//!
//! # Invariants
//!
//! - O1: a worker with waiting tasks is in the list for their number, exactly once; other workers
//!   are in no list.
//!
//! # Cost
//!
//! A change: two moves in lists. A query: of the workers with equal load either all, or as many
//! places of the thief's order as needed to meet enough of them, whichever is less.

use std::cell::Cell;

use sinew_policy::victim::{Heaviest, Stride};

/// The loads of all workers.
#[derive(Debug)]
pub(crate) struct Offers {
    /// Workers with one task, with two, and so on.
    by_load: Vec<Vec<u32>>,
    /// Each worker's load, and its index in the list.
    of: Vec<(u32, u32)>,
    /// For each worker, the sum of the factors for its distances from all others; NaN until first
    /// needed.
    factors: Vec<Cell<f64>>,
}

impl Offers {
    pub(crate) fn new(workers: usize) -> Self {
        let factors = vec![Cell::new(f64::NAN); workers];
        Self { by_load: Vec::new(), of: vec![(0, 0); workers], factors }
    }

    /// Sets the load of `worker`.
    #[inline]
    pub(crate) fn set(&mut self, worker: usize, load: usize) {
        if self.of[worker].0 as usize != load {
            self.remove(worker);
            self.add(worker, load);
        }
    }

    fn remove(&mut self, worker: usize) {
        let (load, place) = self.of[worker];
        if load == 0 {
            return;
        }
        let list = &mut self.by_load[load as usize - 1];
        list.swap_remove(place as usize);
        if let Some(&moved) = list.get(place as usize) {
            self.of[moved as usize].1 = place;
        }
        self.of[worker] = (0, 0);
    }

    fn add(&mut self, worker: usize, load: usize) {
        if load == 0 {
            return;
        }
        if self.by_load.len() < load {
            self.by_load.resize(load, Vec::new());
        }
        let list = &mut self.by_load[load - 1];
        self.of[worker] = (load as u32, list.len() as u32);
        list.push(worker as u32);
    }

    /// The sum of the factors for the distances of `worker` from all others; `sum` computes it.
    pub(crate) fn factors(&self, worker: usize, sum: impl FnOnce() -> f64) -> f64 {
        let known = &self.factors[worker];
        if known.get().is_nan() {
            known.set(sum());
        }
        known.get()
    }

    /// The `most` heaviest workers whose tasks the thief may run; equals in the thief's order.
    pub(crate) fn heaviest(
        &self,
        order: &Stride,
        most: usize,
        may_run: impl Fn(usize) -> bool,
    ) -> Heaviest {
        // One more than wanted tells whether there are more.
        let wanted = most.saturating_add(1);
        let mut workers = Vec::new();
        for load in (1..=self.by_load.len()).rev() {
            if workers.len() == wanted {
                break;
            }
            self.add_equals(&mut workers, load, wanted, order, &may_run);
        }
        let more = workers.len() > most;
        workers.truncate(most);
        Heaviest { workers, more }
    }

    /// Adds workers with load `load` until there are `wanted`.
    fn add_equals(
        &self,
        workers: &mut Vec<usize>,
        load: usize,
        wanted: usize,
        order: &Stride,
        may_run: &impl Fn(usize) -> bool,
    ) {
        let equals = &self.by_load[load - 1];
        let before = workers.len();
        let is_equal = |worker: usize| self.of[worker].0 as usize == load && may_run(worker);
        // The expected number of places to visit for this many; unlucky thieves give up and use the
        // list.
        let expected = (wanted - before).saturating_mul(order.others()) / equals.len().max(1);
        if expected < equals.len() {
            let met = (0..equals.len().min(order.others())).map(|place| order.at(place));
            workers.extend(met.filter(|&worker| is_equal(worker)).take(wanted - before));
            if workers.len() == wanted {
                return;
            }
            workers.truncate(before);
        }
        let mut places: Vec<usize> = equals
            .iter()
            .filter(|&&worker| order.has(worker as usize) && is_equal(worker as usize))
            .map(|&worker| order.place(worker as usize))
            .collect();
        if places.len() > wanted - before {
            places.select_nth_unstable(wanted - before - 1);
            places.truncate(wanted - before);
        }
        places.sort_unstable();
        workers.extend(places.into_iter().map(|place| order.at(place)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Catches: a worker that is lost or duplicated when its load changes, a wrong order of
        /// loads or of equals, a wrong number of results (O1).
        #[test]
        fn the_heaviest_are_those_that_sorting_finds(
            workers in 2..400_usize,
            changes in proptest::collection::vec(
                (any::<prop::sample::Index>(), 0..4_usize),
                1..600,
            ),
            most in prop_oneof![0..9_usize, Just(usize::MAX)],
            seed in any::<u64>(),
            odd in any::<bool>(),
        ) {
            let mut chance = fastrand::Rng::with_seed(seed);
            let order = Stride::of(workers, chance.usize(..workers), &mut || chance.u64(..));
            let (mut offers, mut loads) = (Offers::new(workers), vec![0; workers]);
            for (worker, load) in changes {
                let worker = worker.index(workers);
                offers.set(worker, load);
                loads[worker] = load;
            }
            let may_run = |worker: usize| !odd || worker % 2 == 1;
            let mut all: Vec<usize> = (0..order.others()).map(|place| order.at(place)).collect();
            all.retain(|&worker| loads[worker] > 0 && may_run(worker));
            all.sort_by_key(|&worker| std::cmp::Reverse(loads[worker]));
            let more = all.len() > most;
            all.truncate(most);
            let heaviest = offers.heaviest(&order, most, may_run);
            prop_assert_eq!(heaviest, Heaviest { workers: all, more });
        }
    }
}
