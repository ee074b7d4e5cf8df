//! The arithmetic of every schedule: how the iterations of a loop are cut into chunks.
//!
//! Small chunks balance well and cost an atomic operation each; large ones are cheap and may leave
//! one worker busy while the others wait.
//! The rules here compute the size of the next chunk from numbers alone. The chunk sources in
//! `sinew-loops` decide which worker takes it.
//!
//! The arithmetic of the other schedules is in [`affinity`](crate::affinity),
//! [`weighted`](crate::weighted) and [`split`](crate::split).
//!
//! Source: guided self-scheduling (Polychronopoulos and Kuck) for [`guided`], factoring (Hummel,
//! Schonberg and Flynn) for [`factoring`], plastic skeletons (Jenkins) for [`tapered`], lazy binary
//! splitting (Tzannes and others) for [`Halving`]. Differences: the length alone fixes factoring's
//! batches, so a chunk follows from the remainder without a record of earlier chunks; halving takes
//! fractions, so the user gives no grain. The source of `tapered` says only how large the first
//! chunk is, and that later ones are smaller.
//!
//! # Invariants
//!
//! - C1: the shares (and the slices of a share) are adjacent, in order, and differ by at most one
//!   in length.
//! - C2: a chunk is never empty and never longer than what remains, unless nothing remains.
//!
//! # Tests
//!
//! Property tests for C1 and C2, and for the limits of each rule.

use crate::schedule::ChunkRule;
use std::ops::Range;

pub use crate::schedule::{Schedule, ScheduleError};

/// `n` iterations divided into `parts` adjacent shares.
///
/// Separate from [`share`] so that a loop divides once, not at every claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    base: usize,
    longer: usize,
}

impl Shares {
    /// `n` iterations in `parts` shares; 0 parts count as 1.
    #[inline]
    pub fn new(n: usize, parts: usize) -> Self {
        let parts = parts.max(1);
        Self { base: n / parts, longer: n % parts }
    }

    /// Share `part`, which must be less than `parts`.
    #[inline]
    pub fn get(&self, part: usize) -> Range<usize> {
        // The first `longer` shares have one iteration more.
        let start = part * self.base + part.min(self.longer);
        start..start + self.base + usize::from(part < self.longer)
    }
}

/// Share `part` of `n` iterations divided into `parts` shares.
#[inline]
pub fn share(n: usize, parts: usize, part: usize) -> Range<usize> {
    Shares::new(n, parts).get(part)
}

/// A worker takes its share in at most this many slices: few enough to cost nothing, enough to let
/// thieves have the rest soon.
pub const SLICES: usize = 8;

/// The number of slices of a share of `length` iterations.
#[inline]
pub fn slices(length: usize) -> usize {
    length.min(SLICES)
}

/// Slice `number` of a share, which must be less than their number.
#[inline]
pub fn slice(whole: &Range<usize>, number: usize) -> Range<usize> {
    let slice = share(whole.len(), slices(whole.len()), number);
    whole.start + slice.start..whole.start + slice.end
}

/// The fraction of guided self-scheduling: a chunk is 1/(`TAPER` · workers) of the remainder.
pub const TAPER: usize = 2;

/// The next chunk with `remaining` iterations left for `workers`: `1/(divisor · workers)` of them,
/// at least `min`.
#[inline]
pub fn guided(remaining: usize, workers: usize, divisor: usize, min: usize) -> usize {
    let part = divisor.saturating_mul(workers).max(1);
    remaining.div_ceil(part).max(min).max(1).min(remaining)
}

/// The next chunk of a loop of `n` iterations, `remaining` of them left, for `workers`.
///
/// Batch `b` takes the remainder from `n >> b` down to `n >> (b + 1)`, in `workers` equal chunks of
/// at least `min`.
#[inline]
pub fn factoring(n: usize, remaining: usize, workers: usize, min: usize) -> usize {
    if remaining == 0 {
        return 0;
    }
    let batch = (n / remaining).max(1).ilog2();
    let next_batch = n >> (batch + 1).min(usize::BITS - 1);
    let chunk = ((n >> batch) - next_batch).div_ceil(workers.max(1));
    // A batch ends with a shorter chunk, not with a chunk that reaches into the next batch, whose
    // chunks are half as long.
    chunk.min(remaining - next_batch.min(remaining - 1)).max(min).max(1).min(remaining)
}

/// The next chunk of a loop of `n` iterations, `remaining` of them left: the first one has `first`,
/// and the others shrink with what remains.
#[inline]
pub fn tapered(n: usize, remaining: usize, first: usize) -> usize {
    let (n, first) = (n.max(1), first.clamp(1, n.max(1)));
    let part = match first.checked_mul(remaining) {
        Some(product) => product / n,
        // No more than `remaining`, since `first` is no more than `n`.
        None => (first as u128 * remaining as u128 / n as u128) as usize,
    };
    // Rounded down, so that something is left for the next chunk until one iteration is.
    part.max(1).min(remaining)
}

/// The next chunk by a rule, for a loop of `n` iterations with `remaining` left and `workers`
/// workers.
#[inline]
pub fn next_chunk(rule: ChunkRule, n: usize, remaining: usize, workers: usize) -> usize {
    match rule {
        ChunkRule::Fixed(chunk) => chunk.max(1).min(remaining),
        ChunkRule::Guided(min) => guided(remaining, workers, TAPER, min),
        ChunkRule::Factoring(min) => factoring(n, remaining, workers, min),
        ChunkRule::Tapered(first) => tapered(n, remaining, first),
    }
}

/// Sizes of lazy halving: the piece that an owner takes from the front of its range, and the part
/// that a thief takes from the back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halving {
    min: usize,
    max: usize,
    /// A range or piece of a loop longer than this never becomes shorter than half of it.
    grain: usize,
    /// No piece is longer than this, however little it costs.
    longest: usize,
}

impl Halving {
    /// The owner takes an eighth of its range, so thieves find most of it. A piece that is taken
    /// cannot be stolen, so larger pieces balance worse if heavy iterations are adjacent; smaller
    /// ones cost more claims.
    const FRACTION: usize = 8;
    /// No piece is smaller than 1/64 of a worker's even share: below that, cheap bodies would pay
    /// for balance without a benefit.
    const FINEST: usize = 64;
    /// The rough cost of a steal for both sides: a few cache lines that move between cores.
    const STEAL_NS: u64 = 500;

    /// The sizes for `n` iterations and `workers`.
    #[inline]
    pub fn new(n: usize, workers: usize) -> Self {
        let share = n / workers.max(1);
        let (min, max) = ((share / Self::FINEST).max(1), (share / Self::FRACTION).max(1));
        Self { min, max, grain: 1, longest: usize::MAX }
    }

    /// Pieces of half a grain to a grain, for any loop.
    #[inline]
    pub fn with_grain(grain: usize) -> Self {
        let grain = grain.max(1);
        Self { min: grain, max: grain, grain, longest: grain }
    }

    /// The size of the next piece of an owner with `remaining` iterations.
    #[inline]
    pub fn piece(&self, remaining: usize) -> usize {
        let piece = (remaining / Self::FRACTION).clamp(self.min, self.max).min(remaining);
        let rest = remaining - piece;
        if rest > 0 && rest < self.grain / 2 { remaining.div_ceil(2) } else { piece }
    }

    /// The size of the next piece of an owner that knows the cost of its iterations: `least`
    /// [are not worth a steal](Self::not_worth_stealing).
    #[inline]
    pub fn piece_at_least(&self, remaining: usize, least: usize) -> usize {
        self.piece(remaining).max(least.min(self.longest).min(remaining))
    }

    /// How many iterations an owner takes at once because a steal costs more than they do, if its
    /// last piece of `done` iterations took `elapsed_ns`.
    ///
    /// At most twice as many as in that piece: a cheap iteration says little about the next ones,
    /// which nobody can steal once they are taken.
    #[inline]
    pub fn not_worth_stealing(done: usize, elapsed_ns: u64) -> usize {
        let fitting = (done as u64).saturating_mul(Self::STEAL_NS) / elapsed_ns.max(1);
        usize::try_from(fitting).unwrap_or(usize::MAX).min(done.saturating_mul(2))
    }

    /// How long a thief waits before it steals from an owner with `remaining` iterations, in
    /// nanoseconds.
    ///
    /// Near the end of a loop of cheap bodies, workers that steal ever smaller halves from each
    /// other spend more on moving cache lines than on iterations. So the thief estimates the
    /// owner's remaining time from the known cost (`done` iterations took `elapsed_ns`). If that is
    /// less than a steal costs, the thief waits as long. If iterations are left then, they cost
    /// more than expected, and it steals.
    pub fn steal_delay_ns(remaining: usize, done: usize, elapsed_ns: u64) -> u64 {
        let expected_ns = u128::from(elapsed_ns) * remaining as u128 / done.max(1) as u128;
        if done == 0 || expected_ns >= u128::from(Self::STEAL_NS) { 0 } else { expected_ns as u64 }
    }

    /// How many of `remaining` iterations a thief takes: the larger half, so that it can take a
    /// single one.
    #[inline]
    pub fn stolen(&self, remaining: usize) -> usize {
        if remaining <= self.grain { remaining } else { remaining.div_ceil(2) }
    }
}

/// A thief compares up to this many ranges and steals from the longest.
const CANDIDATES: usize = 4;

/// The range from which a thief steals, of these with their lengths in the order of the workers
/// after the thief: the longest of the first few that are not empty.
#[inline]
pub fn victim<R>(ranges: impl Iterator<Item = (R, usize)>) -> Option<(R, usize)> {
    ranges.filter(|&(_, length)| length > 0).take(CANDIDATES).max_by_key(|&(_, length)| length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lengths near the limits of a word and of half a word, and any others but 0.
    fn huge() -> impl Strategy<Value = usize> {
        prop_oneof![
            (0..200_usize).prop_map(|less| usize::MAX - less),
            (0..200_usize).prop_map(|more| (usize::MAX >> 1) - 100 + more),
            1..=usize::MAX,
        ]
    }

    proptest! {
        /// Catches: a gap, an overlap, or a share that is two longer than another.
        #[test]
        fn shares_are_adjacent_and_differ_by_at_most_one(
            n in 0..100_000_usize,
            parts in 1..200_usize,
        ) {
            let mut next = 0;
            for part in 0..parts {
                let share = share(n, parts, part);
                prop_assert_eq!(share.start, next);
                prop_assert!(share.len() == n / parts || share.len() == n.div_ceil(parts));
                next = share.end;
            }
            prop_assert_eq!(next, n);
        }

        /// Catches: an overflow at lengths that only a loop with an early end can have.
        #[test]
        fn shares_of_huge_ranges_do_not_overflow(cut in 0..1000_usize, parts in 1..200_usize) {
            let n = usize::MAX - cut;
            prop_assert_eq!(share(n, parts, parts - 1).end, n);
        }

        /// Catches: an empty chunk (an endless loop), one beyond the end, one below the minimum,
        /// one that grows.
        #[test]
        fn guided_chunks_shrink_and_end(
            n in 0..100_000_usize,
            workers in 1..70_usize,
            min in 1..50_usize,
        ) {
            let (mut remaining, mut last) = (n, usize::MAX);
            while remaining > 0 {
                let chunk = guided(remaining, workers, TAPER, min);
                prop_assert!(chunk >= 1 && chunk <= remaining && chunk <= last);
                prop_assert!(chunk >= min || chunk == remaining);
                prop_assert!(chunk <= min.max(remaining.div_ceil(TAPER * workers)));
                (remaining, last) = (remaining - chunk, chunk);
            }
        }

        /// Catches: a first chunk of another size than the user's, one that grows, an empty one (an
        /// endless loop), and an end of large chunks.
        #[test]
        fn tapered_chunks_begin_with_the_first_and_shrink_to_one(
            n in prop_oneof![1..2_000_usize, 1..100_000_usize],
            first in prop_oneof![1..1_000_usize, huge()],
        ) {
            let mut remaining = n;
            let (mut last, mut chunks) = (first.min(n), 0);
            prop_assert_eq!(tapered(n, n, first), last);
            while remaining > 0 {
                let chunk = tapered(n, remaining, first);
                prop_assert!(chunk >= 1 && chunk <= remaining && chunk <= last);
                (remaining, last, chunks) = (remaining - chunk, chunk, chunks + 1);
            }
            prop_assert!(last == 1 || chunks == 1, "the last one has {last}");
        }

        /// Catches: batches that are not half of the rest, unequal chunks in a batch, and
        /// endless loops.
        #[test]
        fn factoring_halves_the_rest_in_batches_of_equal_chunks(
            n in 1..100_000_usize,
            workers in 1..70_usize,
        ) {
            let mut remaining = n;
            for batch in 0..=n.ilog2() {
                let (from, to) = (n >> batch, n >> (batch + 1));
                prop_assert_eq!(remaining, from);
                let even = (from - to).div_ceil(workers);
                while remaining > to {
                    let chunk = factoring(n, remaining, workers, 1);
                    prop_assert!(chunk == even || chunk == remaining - to);
                    remaining -= chunk;
                }
            }
            prop_assert_eq!(remaining, 0);
        }

        /// Catches: a chunk below the minimum before the end, and a minimum that prevents the end.
        #[test]
        fn factoring_respects_its_minimum(
            n in 0..100_000_usize,
            workers in 1..70_usize,
            min in 1..50_usize,
        ) {
            let mut remaining = n;
            while remaining > 0 {
                let chunk = factoring(n, remaining, workers, min);
                prop_assert!(chunk <= remaining && (chunk >= min || chunk == remaining));
                remaining -= chunk;
            }
        }

        /// Catches: an empty piece, too many claims for one range, and a piece that leaves too
        /// little to thieves.
        #[test]
        fn halving_takes_small_pieces_but_not_many(
            n in 1..1_000_000_usize,
            workers in 1..70_usize,
        ) {
            let sizes = Halving::new(n, workers);
            let share = n.div_ceil(workers);
            let (mut remaining, mut claims) = (share, 0);
            while remaining > 0 {
                let piece = sizes.piece(remaining);
                prop_assert!(piece >= 1 && piece <= remaining);
                prop_assert!(piece <= (remaining / 4).max(share / 64).max(1));
                (remaining, claims) = (remaining - piece, claims + 1);
            }
            // 33 where the even share is 127 and this one is 128.
            prop_assert!(claims <= 33, "{} claims", claims);
            prop_assert!(sizes.stolen(share) >= share - sizes.stolen(share));
        }

        /// Catches: a piece above the grain or below half of it, for any ranges that owners and
        /// thieves make.
        #[test]
        fn pieces_with_a_grain_are_half_a_grain_to_a_grain(
            n in 1..10_000_usize,
            grain in 1..200_usize,
            steals in any::<u64>(),
        ) {
            let sizes = Halving::with_grain(grain);
            let (mut ranges, mut bits) = (vec![n], steals);
            while let Some(remaining) = ranges.pop() {
                bits = bits.rotate_left(1);
                let is_owner = bits & 1 == 0;
                let taken = if is_owner { sizes.piece(remaining) } else { sizes.stolen(remaining) };
                prop_assert!(taken >= 1 && taken <= remaining);
                if is_owner {
                    let is_in_bounds = taken <= grain && (taken >= grain / 2 || taken == n);
                    prop_assert!(is_in_bounds, "{taken} of {remaining}");
                } else {
                    ranges.push(taken);
                }
                ranges.extend((taken < remaining).then(|| remaining - taken));
            }
        }

        /// Catches: a size that wraps at lengths, numbers of workers and grains that only few loops
        /// have: an empty piece, one beyond the rest.
        #[test]
        fn pieces_of_huge_loops_are_never_empty_nor_too_long(
            n in huge(),
            remaining in huge(),
            workers in prop_oneof![0..70_usize, huge()],
            min in prop_oneof![0..70_usize, huge()],
        ) {
            let (n, remaining) = (n.max(remaining), n.min(remaining));
            let sizes = [Halving::new(n, workers), Halving::with_grain(min)];
            let chunks = [
                guided(remaining, workers, TAPER, min),
                factoring(n, remaining, workers, min),
                tapered(n, remaining, min),
            ];
            let of_halving = |sizes: Halving| [sizes.piece(remaining), sizes.stolen(remaining)];
            let pieces = chunks.into_iter().chain(sizes.into_iter().flat_map(of_halving));
            for (number, piece) in pieces.enumerate() {
                let is_in_bounds = (1..=remaining).contains(&piece);
                prop_assert!(is_in_bounds, "{number} is {piece} of {remaining}");
            }
            let (parts, shares) = (workers.max(1), Shares::new(n, workers));
            for part in [0, parts / 2, parts - 1] {
                let share = shares.get(part);
                prop_assert!(share.start <= share.end && share.end <= n);
                prop_assert!(share.len().abs_diff(n / parts) <= 1);
            }
            prop_assert_eq!(shares.get(parts - 1).end, n);
        }
    }

    /// Catches: a piece beyond the grain or the range, an empty one, single iterations that are
    /// claimed one by one although a steal costs more, and many that are taken because one was
    /// cheap.
    #[test]
    fn cheap_iterations_are_not_left_to_thieves_one_by_one() {
        assert_eq!(Halving::not_worth_stealing(3, 1_500), 1);
        assert_eq!(Halving::not_worth_stealing(3, 30), 6);
        assert_eq!(Halving::not_worth_stealing(1, 0), 2);
        assert_eq!(Halving::not_worth_stealing(1, 10_000), 0);
        assert!(Halving::not_worth_stealing(usize::MAX, 0) > 0);
        let sizes = Halving::new(10, 2);
        for (least, piece) in [(0, 1), (1, 1), (4, 4), (usize::MAX, 10)] {
            assert_eq!(sizes.piece_at_least(10, least), piece);
        }
        assert_eq!(Halving::with_grain(3).piece_at_least(10, 5), 3);
        assert_eq!(Halving::new(1 << 20, 2).piece_at_least(1 << 20, 5), 1 << 16);
    }

    /// Catches: thieves that fight over the last iterations, and thieves that never return to
    /// expensive ones.
    #[test]
    fn thieves_wait_for_ranges_that_end_before_a_steal_pays() {
        assert_eq!(Halving::steal_delay_ns(10, 1_000, 1_000), 10);
        assert_eq!(Halving::steal_delay_ns(499, 1_000, 1_000), 499);
        assert_eq!(Halving::steal_delay_ns(500, 1_000, 1_000), 0);
        assert_eq!(Halving::steal_delay_ns(1, 1, 1_000_000), 0);
        assert_eq!(Halving::steal_delay_ns(1, 0, 0), 0);
        assert_eq!(Halving::steal_delay_ns(usize::MAX, 1, u64::MAX), 0);
    }

    /// Catches: a thief that takes an empty range, compares all of them, or counts empty ones among
    /// the few.
    #[test]
    fn a_thief_steals_from_the_longest_of_the_first_few() {
        let victim = |lengths: &[usize]| victim(lengths.iter().copied().enumerate());
        assert_eq!(victim(&[0, 3, 0, 7, 5, 0, 6, 9]), Some((3, 7)));
        assert_eq!(victim(&[0, 0, 0, 0, 0, 2]), Some((5, 2)));
        assert_eq!(victim(&[0, 0]), None);
    }

    /// Catches: a shift by the whole width in the last batch of a huge loop.
    #[test]
    fn factoring_survives_the_longest_loop() {
        assert_eq!(factoring(usize::MAX, usize::MAX, 1, 1), usize::MAX - usize::MAX / 2);
        assert_eq!(factoring(usize::MAX, 1, 4, 1), 1);
        assert_eq!(factoring(7, 0, 4, 1), 0);
    }
}
