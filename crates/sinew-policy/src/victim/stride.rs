//! The other workers in the largest pools: an order without a list.
//!
//! A list per thief would take quadratic memory. So each thief walks in steps of its own length,
//! which has no common divisor with the number of other workers. One multiplication gives the
//! worker at a position, or the position of a worker. Source: the order in which the scheduler of
//! the Go language visits its processors.
//!
//! # Tests
//!
//! Every worker once, and each at its position.

use super::{View, below};

/// All workers of a pool but the thief, each a number of steps after the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stride {
    len: usize,
    step: usize,
    /// The step times this is one more than a multiple of the length.
    inverse: usize,
    me: usize,
    /// The index of position 0 in the circle; below the length.
    first: usize,
}

impl Stride {
    /// A random order around the thief of `view`, which is not the only worker.
    pub(super) fn draw(view: &dyn View, random: &mut dyn FnMut() -> u64) -> Self {
        Self::of(view.workers(), view.me(), random)
    }

    /// A random order of `workers` workers, at least 2, around the thief `me`, from one number.
    pub fn of(workers: usize, me: usize, random: &mut dyn FnMut() -> u64) -> Self {
        let len = workers - 1;
        let step = coprime_step(len, random);
        Self { len, step, inverse: inverse(step, len), me, first: 0 }
    }

    /// Whether `worker` is one of them.
    #[inline]
    pub fn has(&self, worker: usize) -> bool {
        worker != self.me
    }

    /// The same circle, starting at `first`, which must be below its length.
    #[cfg(feature = "experiments")]
    pub(super) fn begun_at(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// The number of workers, at least one.
    pub fn others(&self) -> usize {
        self.len
    }

    /// The worker at position `place`, which must be below the length.
    #[inline]
    pub fn at(&self, place: usize) -> usize {
        let other = product(place + self.first, self.step, self.len);
        other + usize::from(other >= self.me)
    }

    /// The position of `worker`, which must not be the thief.
    #[inline]
    pub fn place(&self, worker: usize) -> usize {
        let other = worker - usize::from(worker > self.me);
        let place = product(other, self.inverse, self.len);
        if place < self.first { place + self.len - self.first } else { place - self.first }
    }
}

#[inline]
fn product(a: usize, b: usize, modulus: usize) -> usize {
    (a as u128 * b as u128 % modulus as u128) as usize
}

/// A random step that visits every member of a circle of `len`, at least 1.
pub(super) fn coprime_step(len: usize, random: &mut dyn FnMut() -> u64) -> usize {
    let first = below(len, random);
    // At the latest, 1 has no common divisor with any number.
    (0..len).map(|more| (first + more) % len + 1).find(|&step| gcd(step, len) == 1).unwrap_or(1)
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The inverse of `step` modulo `len`, which has no common divisor with it, by the extended
/// Euclidean algorithm.
fn inverse(step: usize, len: usize) -> usize {
    let (mut old, mut new) = ((step as i128, 1), (len as i128, 0));
    while new.0 != 0 {
        let times = old.0 / new.0;
        (old, new) = (new, (old.0 - times * new.0, old.1 - times * new.1));
    }
    old.1.rem_euclid(len as i128) as usize
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source};
    use super::*;

    /// Catches: an order that leaves a worker out, contains the thief, or is the same for every
    /// thief; a wrong position.
    #[test]
    fn each_worker_comes_once_at_its_position() {
        let mut orders = Vec::new();
        for (workers, me) in
            [(2, 0), (2, 1), (9, 4), (2_049, 0), (2_049, 700), (3_000, 2_999), (4_099, 5)]
        {
            let stride =
                Stride::draw(&Pool::of(workers, me), &mut Source::new(me as u64).numbers());
            for first in [0, stride.others() / 3, stride.others() - 1] {
                let stride = stride.begun_at(first);
                let order: Vec<usize> =
                    (0..stride.others()).map(|place| stride.at(place)).collect();
                assert!(
                    order.iter().enumerate().all(|(place, &worker)| stride.place(worker) == place)
                );
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq((0..workers).filter(|&worker| worker != me)));
                orders.push(order);
            }
        }
        assert_ne!(orders[9], orders[12]);
    }
}
