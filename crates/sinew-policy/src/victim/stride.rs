//! The others in the largest pools: an order that nobody writes down.
//!
//! An order for each thief would take a square of memory. So there each thief goes around in steps
//! of its own length, which has no common divisor with the number of the others; which worker comes
//! at which place, and at which place a worker comes, are a multiplication each. Source: the order
//! in which the scheduler of the Go language visits its processors.
//!
//! # Tests
//!
//! Everybody once, and each at the place that is said.

use super::{View, below};

/// All workers of a pool but one, the thief, each a number of steps behind the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stride {
    len: usize,
    step: usize,
    /// The step times this is one more than a multiple of the length.
    inverse: usize,
    me: usize,
    /// Where in the circle place 0 is; below the length.
    first: usize,
}

impl Stride {
    /// A random one around the thief of `view`, which is not alone.
    pub(super) fn draw(view: &dyn View, random: &mut dyn FnMut() -> u64) -> Self {
        Self::of(view.workers(), view.me(), random)
    }

    /// A random one of `workers` workers, at least 2, around the thief `me`, from one number.
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

    /// The same circle, begun at `first`, which is below its length.
    pub(super) fn begun_at(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// How many they are, at least one.
    pub fn others(&self) -> usize {
        self.len
    }

    /// The worker at `place`, which is below the length.
    #[inline]
    pub fn at(&self, place: usize) -> usize {
        let other = product(place + self.first, self.step, self.len);
        other + usize::from(other >= self.me)
    }

    /// The place of `worker`, which is not the thief.
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

/// A random step by which a circle of `len`, at least 1, is walked without leaving anybody out.
pub(super) fn coprime_step(len: usize, random: &mut dyn FnMut() -> u64) -> usize {
    let first = below(len, random);
    // At the latest 1 has no common divisor with any number.
    (0..len).map(|more| (first + more) % len + 1).find(|&step| gcd(step, len) == 1).unwrap_or(1)
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What `step` is to be multiplied with to get 1, around a circle of `len`; they have no common
/// divisor. Euclid's way, extended.
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

    /// Catches: an order that leaves somebody out, names the thief, or is every thief's; a place
    /// that is another one's.
    #[test]
    fn everybody_comes_once_and_has_the_place_at_which_they_come() {
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
