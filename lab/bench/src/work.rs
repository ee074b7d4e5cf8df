//! Work whose length is known: a chain of dependent operations that no compiler shortens.
//!
//! The rivals in C++ contain the same chain, so a number of steps means the same time everywhere.

use std::time::Instant;

/// `steps` rounds of xorshift on `seed`: each needs the result of the one before.
pub(crate) fn spin(steps: u64, seed: u64) -> u64 {
    let mut x = seed | 1;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// A well-mixed number for `x` (the finaliser of splitmix64).
pub(crate) fn hash(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The number of steps that take `ns` nanoseconds here: the fastest of several tries, because
/// others may be disturbed.
pub(crate) fn steps_for_ns(ns: u64) -> u64 {
    const STEPS: u64 = 200_000;
    let fastest = (0..20).map(|try_number| {
        let start = Instant::now();
        std::hint::black_box(spin(STEPS, std::hint::black_box(try_number)));
        start.elapsed().as_nanos()
    });
    let fastest = u64::try_from(fastest.min().unwrap_or(1).max(1)).unwrap_or(u64::MAX);
    (ns * STEPS / fastest).max(1)
}

#[cfg(test)]
mod tests {
    //! Blind to: a compiler that shortens the chain; the regions' table shows the true
    //! lengths.
    use super::*;

    #[test]
    fn a_longer_time_needs_more_steps() {
        assert!(steps_for_ns(800_000) > steps_for_ns(1_000));
    }

    #[test]
    fn the_chain_is_the_one_that_the_rivals_know() {
        // Computed by hand for one step from 1: 1 ^ 1<<13 = 8193; ^ 8193>>7 = 8257; ^ 8257<<17.
        assert_eq!(spin(1, 1), 8257 ^ (8257 << 17));
    }
}
