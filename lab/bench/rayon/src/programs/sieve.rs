//! The sieve of Eratosthenes, segment by segment.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Numbers in a segment: what fits into a core's own cache.
const SEGMENT: usize = 1 << 15;

pub(super) fn program(scale: Scale) -> Box<dyn Work> {
    let serial = |limit: &usize| {
        let flags = small_primes(*limit);
        (0..*limit).filter(|number| flags[*number]).count()
    };
    let parallel = |limit: &usize| {
        let root = limit.isqrt() + 1;
        let flags = small_primes(root);
        let primes: Vec<usize> = (0..root).filter(|number| flags[*number]).collect();
        let mut flags = vec![true; *limit];
        flags
            .par_chunks_mut(SEGMENT)
            .enumerate()
            .map(|(index, segment)| primes_in(index * SEGMENT, segment, &primes))
            .sum()
    };
    work(scale.pick(3_000_000, 100_000), serial, parallel)
}

/// The primes below `limit`.
fn small_primes(limit: usize) -> Vec<bool> {
    let mut flags = vec![true; limit];
    flags[..2.min(limit)].fill(false);
    for number in 2..limit {
        if flags[number] {
            (number * number..limit).step_by(number).for_each(|multiple| flags[multiple] = false);
        }
    }
    flags
}

/// Strikes out the multiples of `primes` in the segment that begins at `start`, and counts what is
/// left.
fn primes_in(start: usize, segment: &mut [bool], primes: &[usize]) -> usize {
    segment[..2usize.saturating_sub(start)].fill(false);
    for prime in primes {
        let first = (prime * prime).max(start.next_multiple_of(*prime));
        (first..start + segment.len())
            .step_by(*prime)
            .for_each(|multiple| segment[multiple - start] = false);
    }
    segment.iter().filter(|flag| **flag).count()
}
