//! Answers: what a program computed, as one number that any two runs must agree on.

use std::collections::{HashMap, LinkedList};
use std::hash::BuildHasher;

/// Something that a program computes.
pub(crate) trait Answer {
    /// One number that stands for all of it.
    fn digest(&self) -> u64;
}

/// Scatters the bits of `x` (the finaliser of splitmix64).
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Digests a sequence; order counts.
fn sequence<'a, T: Answer + 'a>(items: impl Iterator<Item = &'a T>) -> u64 {
    items.fold(0, |digest, item| mix(digest.wrapping_add(item.digest()).wrapping_add(1)))
}

impl Answer for u64 {
    fn digest(&self) -> u64 {
        *self
    }
}

impl Answer for u32 {
    fn digest(&self) -> u64 {
        u64::from(*self)
    }
}

impl Answer for u8 {
    fn digest(&self) -> u64 {
        u64::from(*self)
    }
}

impl Answer for usize {
    fn digest(&self) -> u64 {
        *self as u64
    }
}

impl Answer for i64 {
    fn digest(&self) -> u64 {
        self.cast_unsigned()
    }
}

impl Answer for f32 {
    fn digest(&self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Answer for f64 {
    fn digest(&self) -> u64 {
        self.to_bits()
    }
}

impl Answer for String {
    fn digest(&self) -> u64 {
        sequence(self.as_bytes().iter())
    }
}

impl<T: Answer> Answer for Option<T> {
    fn digest(&self) -> u64 {
        self.as_ref().map_or(u64::MAX, Answer::digest)
    }
}

impl<A: Answer, B: Answer> Answer for (A, B) {
    fn digest(&self) -> u64 {
        mix(self.0.digest()).wrapping_mul(3).wrapping_add(mix(self.1.digest()))
    }
}

impl<T: Answer, const N: usize> Answer for [T; N] {
    fn digest(&self) -> u64 {
        sequence(self.iter())
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn digest(&self) -> u64 {
        sequence(self.iter())
    }
}

impl<T: Answer> Answer for LinkedList<T> {
    fn digest(&self) -> u64 {
        sequence(self.iter())
    }
}

/// A map has no order: its entries are added up.
impl<K: Answer, V: Answer, S: BuildHasher> Answer for HashMap<K, V, S> {
    fn digest(&self) -> u64 {
        self.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(mix(mix(key.digest()).wrapping_mul(3).wrapping_add(value.digest())))
        })
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: two different answers with one digest, which chance alone may bring.
    use super::*;

    #[test]
    fn the_order_of_a_sequence_counts_and_that_of_a_map_does_not() {
        assert_ne!(vec![1u64, 2].digest(), vec![2u64, 1].digest());
        let pairs = [(1u64, 5u64), (2, 6), (3, 7)];
        let there: HashMap<u64, u64> = pairs.into_iter().collect();
        let back: HashMap<u64, u64> = pairs.into_iter().rev().collect();
        assert_eq!(there.digest(), back.digest());
    }

    #[test]
    fn lengths_count() {
        assert_ne!(vec![0u64].digest(), vec![0u64, 0].digest());
    }
}
