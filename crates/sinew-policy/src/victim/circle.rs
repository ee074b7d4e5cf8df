//! The other workers in a private random order, walked in a circle: what most rules choose from.
//!
//! The order is drawn once, at the first search, so that thieves do not follow each other around the pool; a start costs one
//! random number, a step none.

use super::{View, below, is_worth_trying};

/// Some of the other workers in a circle, and where in it the walk stands.
#[derive(Debug, Default, Clone)]
pub(super) struct Circle {
    order: Vec<usize>,
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
            self.order = shuffled(view, random, belongs);
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
            let worker = self.order[self.at];
            self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
            if is_worth_trying(view, worker) {
                return Some(worker);
            }
        }
        None
    }

    /// All of the circle, in its order.
    pub(super) fn members(&self) -> &[usize] {
        &self.order
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
