//! The pool as a victim policy sees it, and the costs of sampling.
//!
//! The trait is the runtime's own, so the policies run unchanged. Each sample of a worker's load is
//! counted, and the thief pays for it.

use std::cell::Cell;

use sinew_policy::victim::{Heaviest, Neighbours, Reach, Stride, View};

use crate::costs::Costs;
use crate::offers::Offers;
use crate::places::{Packages, Places};
use crate::worker::{State, Worker};

/// The view of one thief.
pub(crate) struct Sight<'a, N> {
    pub(crate) workers: &'a [Worker<N>],
    pub(crate) places: &'a Places,
    pub(crate) packages: &'a Packages,
    pub(crate) costs: &'a Costs,
    pub(crate) me: usize,
    /// Tasks at this depth or above are not offered to it.
    pub(crate) above: Option<u32>,
    pub(crate) boundary: Option<u32>,
    pub(crate) stranded: bool,
    /// The list of loads, if one is kept.
    pub(crate) offers: Option<&'a Offers>,
    /// Number of samples, and the sum of the factors for their distances.
    pub(crate) looks: Cell<(u32, f64)>,
}

impl<N: Copy> Sight<'_, N> {
    fn look(&self, worker: usize) -> &Worker<N> {
        let (looks, factors) = self.looks.get();
        let factor = match self.costs.know_distance() {
            true => self.costs.factor(self.places.distance(self.me, worker)),
            false => 1.0,
        };
        self.looks.set((looks + 1, factors + factor));
        &self.workers[worker]
    }

    /// The sum of the factors for all distances.
    fn all_factors(&self) -> f64 {
        let runs = match self.costs.know_distance() {
            true => self.places.neighbours(self.me),
            false => return (self.workers.len() - 1) as f64,
        };
        runs.iter().map(|run| (run.end - run.first) as f64 * self.costs.factor(run.distance)).sum()
    }

    fn may_run(&self, depth: u32) -> bool {
        self.above.is_none_or(|above| depth > above)
    }
}

impl<N: Copy> View for Sight<'_, N> {
    fn workers(&self) -> usize {
        self.workers.len()
    }

    fn me(&self) -> usize {
        self.me
    }

    fn is_active(&self, worker: usize) -> bool {
        self.workers[worker].state != State::Gone
    }

    fn load(&self, worker: usize) -> usize {
        let tasks = &self.look(worker).tasks;
        if tasks.oldest_depth().is_some_and(|depth| self.may_run(depth)) { tasks.load() } else { 0 }
    }

    fn oldest_depth(&self, worker: usize) -> Option<u32> {
        self.look(worker).tasks.oldest_depth().filter(|&depth| self.may_run(depth))
    }

    fn heaviest(&self, order: &Stride, most: usize) -> Option<Heaviest> {
        let offers = self.offers?;
        let (looks, factors) = self.looks.get();
        let all = offers.factors(self.me, || self.all_factors());
        self.looks.set((looks + order.others() as u32, factors + all));
        let may_run = |worker: usize| {
            let oldest = self.workers[worker].tasks.oldest_depth();
            oldest.is_some_and(|depth| self.may_run(depth))
        };
        Some(offers.heaviest(order, most, may_run))
    }

    fn distance(&self, worker: usize) -> u8 {
        self.places.distance(self.me, worker)
    }

    fn neighbours(&self) -> Vec<Neighbours> {
        self.places.neighbours(self.me)
    }

    fn package(&self, worker: usize) -> usize {
        self.places.package(worker)
    }

    fn last_level(&self) -> u8 {
        self.places.last_level()
    }

    fn reach(&self) -> Reach {
        match self.packages.master(self.places.package(self.me)) {
            _ if self.stranded => Reach::Everywhere,
            Some(master) if master == self.me => Reach::Machine,
            _ => Reach::Package,
        }
    }

    fn boundary(&self) -> Option<u32> {
        self.boundary
    }

    fn wants_piece(&self) -> bool {
        self.packages.wants_piece(self.places.package(self.me))
    }
}
