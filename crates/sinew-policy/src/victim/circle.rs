//! The other workers in a private random order, walked in a circle: the basis of most rules.
//!
//! The order is drawn once, at the first search, so that thieves do not follow each other around
//! the pool. A start costs one random number, a step none. The order is a list; in the largest
//! pools it is a [`Stride`], which needs none.

use super::stride::Stride;
use super::{View, below, is_worth_trying};

/// Pools with more workers have orders without a list.
pub(super) const LONGEST_LIST: usize = 2_048;

#[derive(Debug, Clone)]
enum Order {
    /// Any order of some of the others.
    Listed(Vec<usize>),
    /// All others.
    Strided(Stride),
}

impl Default for Order {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Order {
    fn len(&self) -> usize {
        match self {
            Self::Listed(order) => order.len(),
            Self::Strided(stride) => stride.others(),
        }
    }

    #[inline]
    fn at(&self, place: usize) -> usize {
        match self {
            Self::Listed(order) => order[place],
            Self::Strided(stride) => stride.at(place),
        }
    }
}

/// Some of the other workers in a circle, and the position of the walk.
#[derive(Debug, Default, Clone)]
pub(super) struct Circle {
    order: Order,
    /// The position of the next one.
    at: usize,
    /// How many are left of this turn; after them the walk is at its start again.
    left: usize,
    /// The number of workers for which the order was drawn.
    workers: usize,
}

impl Circle {
    /// Draws the order of the other workers with `belongs`, if it has no order yet.
    pub(super) fn draw(
        &mut self,
        view: &dyn View,
        random: &mut dyn FnMut() -> u64,
        belongs: impl Fn(usize) -> bool,
    ) {
        if self.workers != view.workers() {
            self.workers = view.workers();
            self.order = Order::Listed(shuffled(view, random, belongs));
        }
    }

    /// Draws the order of all others, if it has no order yet. Returns whether it did.
    pub(super) fn draw_all(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> bool {
        if self.workers == view.workers() {
            return false;
        }
        if view.workers() <= LONGEST_LIST {
            self.draw(view, random, |_| true);
        } else {
            self.workers = view.workers();
            self.order = Order::Strided(Stride::draw(view, random));
        }
        true
    }

    /// Begins a turn at a random position.
    pub(super) fn begin(&mut self, random: &mut dyn FnMut() -> u64) {
        self.left = self.order.len();
        if self.left > 1 {
            self.at = below(self.left, random);
        }
    }

    /// Begins a turn at the present position.
    pub(super) fn restart(&mut self) {
        self.left = self.order.len();
    }

    /// The next worker of this turn that is worth trying.
    #[inline]
    pub(super) fn next(&mut self, view: &dyn View) -> Option<usize> {
        while self.left > 0 {
            self.left -= 1;
            let worker = self.order.at(self.at);
            self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
            if is_worth_trying(view, worker) {
                return Some(worker);
            }
        }
        None
    }
}

/// For the rules of experiments.
#[cfg(feature = "experiments")]
impl Circle {
    /// As [`draw`](Self::draw), if most of the others belong. In the largest pools it draws all of
    /// them, and the caller skips those that do not belong.
    pub(super) fn draw_most(
        &mut self,
        view: &dyn View,
        random: &mut dyn FnMut() -> u64,
        belongs: impl Fn(usize) -> bool,
    ) {
        if view.workers() <= LONGEST_LIST {
            self.draw(view, random, belongs);
        } else {
            self.draw_all(view, random);
        }
    }

    /// Begins the present turn again, at its start.
    pub(super) fn rewind(&mut self) {
        let len = self.order.len().max(1);
        self.at = (self.at + self.left) % len;
        self.restart();
    }

    /// All members, in order.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.order.len()).map(|place| self.order.at(place))
    }

    /// All members from position `place` on, which must be 0 or below the length.
    pub(super) fn members_from(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let len = self.order.len();
        (place..place + len).map(move |place| self.order.at(place % len))
    }

    /// The number of members.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The order, if it has no list.
    pub(super) fn stride(&self) -> Option<Stride> {
        match self.order {
            Order::Listed(_) => None,
            Order::Strided(stride) => Some(stride),
        }
    }
}

/// The other workers with `belongs`, shuffled.
pub(super) fn shuffled(
    view: &dyn View,
    random: &mut dyn FnMut() -> u64,
    belongs: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let me = view.me();
    let mut order: Vec<usize> = (0..view.workers()).filter(|&w| w != me && belongs(w)).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, below(last + 1, random));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source};
    use super::*;

    /// Catches: a large pool in which each thief has a list of all workers.
    #[test]
    fn large_pools_have_orders_that_are_not_written_down() {
        for (workers, is_written) in [(LONGEST_LIST, true), (LONGEST_LIST + 1, false)] {
            let mut circle = Circle::default();
            circle.draw_all(&Pool::of(workers, 7), &mut Source::new(1).numbers());
            assert_eq!(
                (circle.stride().is_none(), circle.members().count()),
                (is_written, workers - 1)
            );
        }
    }
}
