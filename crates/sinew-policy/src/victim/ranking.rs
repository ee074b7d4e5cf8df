//! A list of workers by load, in descending order.
//!
//! It keeps the loads from when it was made. If a [`View`] knows the most loaded workers of a large
//! pool, the list contains only those; after them come the others in the thief's own order, which
//! all had no tasks. So a list takes only as much memory as there are attempts at it.
//!
//! # Not handled
//!
//! More than [`SPARE`] of the most loaded workers may have left their worker slots since the list
//! was made. If others had tasks then, too, the list takes these by their present loads.

use super::stride::Stride;
use super::{Heaviest, View};

/// Workers in the list beyond the number of attempts until the next list.
pub(super) const SPARE: usize = 8;

#[derive(Debug, Clone)]
pub(super) enum Ranking {
    /// All workers, with their loads.
    Listed(Vec<(usize, usize)>),
    /// The most loaded of all other workers.
    Top(Top),
}

#[derive(Debug, Clone)]
pub(super) struct Top {
    order: Stride,
    heaviest: Heaviest,
    /// The same workers, ordered by number.
    known: Vec<usize>,
    /// How many of the rest precede which position of the order.
    passed: (usize, usize),
    /// The last result: position and worker.
    last: (usize, usize),
}

impl Default for Ranking {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Ranking {
    /// Fills the list with these workers by their loads in `view`; equals keep their order.
    pub(super) fn write(&mut self, view: &dyn View, workers: impl Iterator<Item = usize>) {
        let mut list = match self {
            Self::Listed(list) => std::mem::take(list),
            Self::Top(_) => Vec::new(),
        };
        list.clear();
        list.extend(workers.map(|worker| (worker, view.load(worker))));
        list.sort_by_key(|&(_, load)| std::cmp::Reverse(load));
        *self = Self::Listed(list);
    }

    /// The `most` most loaded workers, before all others in this order, if the view knows them.
    pub(super) fn top(view: &dyn View, order: Stride, most: usize) -> Option<Self> {
        view.heaviest(&order, most).map(|heaviest| Self::Top(Top::new(order, heaviest)))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Listed(list) => list.len(),
            Self::Top(top) => top.order.others(),
        }
    }

    /// The worker at position `place`, which must be below the length.
    pub(super) fn at(&mut self, place: usize, view: &dyn View) -> usize {
        match self {
            Self::Listed(list) => list[place].0,
            Self::Top(top) => top.at(place, view),
        }
    }

    /// Whether `worker`, the last result, is at position `place`.
    pub(super) fn has(&self, worker: usize, place: usize) -> bool {
        match self {
            Self::Listed(list) => list.get(place).is_some_and(|&(listed, _)| listed == worker),
            Self::Top(top) => top.last == (place, worker),
        }
    }
}

impl Top {
    fn new(order: Stride, heaviest: Heaviest) -> Self {
        let mut known = heaviest.workers.clone();
        known.sort_unstable();
        Self { order, heaviest, known, passed: (0, 0), last: (usize::MAX, 0) }
    }

    fn at(&mut self, place: usize, view: &dyn View) -> usize {
        if self.heaviest.more && place >= self.heaviest.workers.len() {
            *self =
                Self::new(self.order, view.heaviest(&self.order, usize::MAX).unwrap_or_default());
        }
        let worker = match self.heaviest.workers.get(place) {
            Some(&worker) => worker,
            None => self.rest(place - self.heaviest.workers.len()),
        };
        self.last = (place, worker);
        worker
    }

    /// The worker at position `number` of the rest.
    fn rest(&mut self, number: usize) -> usize {
        if number < self.passed.0 {
            self.passed = (0, 0);
        }
        loop {
            let worker = self.order.at(self.passed.1);
            let is_rest = self.known.binary_search(&worker).is_err();
            if is_rest && self.passed.0 == number {
                return worker;
            }
            self.passed = (self.passed.0 + usize::from(is_rest), self.passed.1 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LARGE, Pool, Source};
    use super::*;

    /// Catches: a worker that comes twice or never, after the most loaded or among them; equals in
    /// another order.
    #[test]
    fn the_top_and_the_rest_are_the_whole_list() {
        let mut pool = Pool::of(LARGE, 77);
        for (at, load) in [(3, 9), (1_000, 2), (40, 2), (2_000, 5)] {
            pool.load[at] = load;
        }
        let order = Stride::draw(&pool, &mut Source::new(5).numbers()).begun_at(123);
        let mut whole = Ranking::default();
        whole.write(&pool, (0..order.others()).map(|place| order.at(place)));
        let told = Pool { tells: true, ..pool };
        for most in [0, 1, 3, 4, 50, usize::MAX] {
            let mut top = Ranking::top(&told, order, most).expect("a view that tells");
            assert_eq!(top.len(), whole.len());
            for place in (0..top.len()).chain([7, 5, 0, 6]) {
                let worker = top.at(place, &told);
                assert_eq!(worker, whole.at(place, &told), "place {place} of the {most} heaviest");
                assert!(
                    top.has(worker, place) && !top.has(worker, place + 1) && !top.has(77, place)
                );
            }
        }
    }
}
