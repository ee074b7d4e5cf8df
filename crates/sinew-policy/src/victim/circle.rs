//! The other workers in a private random order, walked in a circle: what most rules choose from.
//!
//! The order is drawn once, at the first search, so that thieves do not follow each other around
//! the pool; a start costs one random number, a step none.
//!
//! In the largest pools the order is a [`Stride`], which is not written down.

use super::stride::Stride;
use super::{View, below, is_worth_trying};

/// Pools of more workers have orders that are not written down.
pub(super) const WRITTEN: usize = 2_048;

#[derive(Debug, Clone)]
enum Order {
    /// Any order of some of the others.
    Written(Vec<usize>),
    /// All others.
    Steps(Stride),
}

impl Default for Order {
    fn default() -> Self {
        Self::Written(Vec::new())
    }
}

impl Order {
    fn len(&self) -> usize {
        match self {
            Self::Written(order) => order.len(),
            Self::Steps(stride) => stride.others(),
        }
    }

    #[inline]
    fn at(&self, place: usize) -> usize {
        match self {
            Self::Written(order) => order[place],
            Self::Steps(stride) => stride.at(place),
        }
    }
}

/// Some of the other workers in a circle, and where in it the walk stands.
#[derive(Debug, Default, Clone)]
pub(super) struct Circle {
    order: Order,
    /// The next one.
    at: usize,
    /// How many are left of this turn; after them the walk is where the turn began.
    left: usize,
    /// For how many workers the order was drawn.
    workers: usize,
}

impl Circle {
    /// Draws the order of the other workers for which `belongs`, if that has not been done.
    pub(super) fn draw(
        &mut self,
        view: &dyn View,
        random: &mut dyn FnMut() -> u64,
        belongs: impl Fn(usize) -> bool,
    ) {
        if self.workers != view.workers() {
            self.workers = view.workers();
            self.order = Order::Written(shuffled(view, random, belongs));
        }
    }

    /// Draws the order of all others, if that has not been done. Answers whether it was.
    pub(super) fn draw_all(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> bool {
        if self.workers == view.workers() {
            return false;
        }
        if view.workers() <= WRITTEN {
            self.draw(view, random, |_| true);
        } else {
            self.workers = view.workers();
            self.order = Order::Steps(Stride::draw(view, random));
        }
        true
    }

    /// As [`draw`](Self::draw) where most of the others belong; in the largest pools all of them
    /// are drawn, and the caller passes over those that do not belong.
    pub(super) fn draw_most(
        &mut self,
        view: &dyn View,
        random: &mut dyn FnMut() -> u64,
        belongs: impl Fn(usize) -> bool,
    ) {
        if view.workers() <= WRITTEN {
            self.draw(view, random, belongs);
        } else {
            self.draw_all(view, random);
        }
    }

    /// Begins a turn at a random place.
    pub(super) fn begin(&mut self, random: &mut dyn FnMut() -> u64) {
        self.left = self.order.len();
        if self.left > 1 {
            self.at = below(self.left, random);
        }
    }

    /// Begins a turn where the walk stands.
    pub(super) fn again(&mut self) {
        self.left = self.order.len();
    }

    /// Begins the present turn anew, where it began.
    pub(super) fn rewind(&mut self) {
        let len = self.order.len().max(1);
        self.at = (self.at + self.left) % len;
        self.again();
    }

    /// The next one worth trying in this turn.
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

    /// All of the circle, in its order.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.order.len()).map(|place| self.order.at(place))
    }

    /// All of the circle from `place` on, which is below its length or 0.
    pub(super) fn members_from(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let len = self.order.len();
        (place..place + len).map(move |place| self.order.at(place % len))
    }

    /// How many that are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The order, where it is not written down.
    pub(super) fn stride(&self) -> Option<Stride> {
        match self.order {
            Order::Written(_) => None,
            Order::Steps(stride) => Some(stride),
        }
    }
}

/// The other workers for which `belongs`, shuffled.
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

    /// Catches: a large pool whose thieves write down everybody.
    #[test]
    fn large_pools_have_orders_that_are_not_written_down() {
        for (workers, is_written) in [(WRITTEN, true), (WRITTEN + 1, false)] {
            let mut circle = Circle::default();
            circle.draw_all(&Pool::of(workers, 7), &mut Source::new(1).numbers());
            assert_eq!(
                (circle.stride().is_none(), circle.members().count()),
                (is_written, workers - 1)
            );
        }
    }
}
