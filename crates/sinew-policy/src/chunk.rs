//! The arithmetic of every schedule: how the iterations of a loop are cut into chunks.
//!
//! A loop over `n` iterations hands them out as chunks. Small chunks balance well and cost an
//! atomic operation each; large ones are cheap and may leave one worker busy while the others wait.
//! The rules here compute the size of the next chunk from numbers alone. The chunk sources in
//! `sinew-core` decide which worker takes it.
//!
//! Schedules with arithmetic of their own are in [`affinity`](crate::affinity),
//! [`weighted`](crate::weighted) and [`split`](crate::split).
//!
//! Source: guided self-scheduling (Polychronopoulos and Kuck) for [`tapered`], factoring (Hummel,
//! Schonberg and Flynn) for [`factoring`], lazy binary splitting (Tzannes and others) for
//! [`Halving`]. Differences: the length alone fixes factoring's batches, so a chunk follows from
//! the remainder without a record of earlier chunks; halving takes fractions, so the user gives no
//! grain.
//!
//! # Invariants
//!
//! - I1: the shares (and the slices of a share) are adjacent, in order, and differ by at most one
//!   in length.
//! - I2: a chunk is never empty and never longer than what remains, unless nothing remains.
//!
//! # Tests
//!
//! Property tests for I1 and I2, for the limits of each rule, and for schedules that are printed
//! and parsed.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// How a loop hands out its iterations.
///
/// As text: `static`, `dynamic:64`, `tapered:16`, `factoring:16`, `stealing`, `affinity`,
/// `weighted`, `simple:64`, `adaptive:1`, `auto`. The number may be left out and is then 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// One equal share per worker, fixed by the worker's number, so that the next loop over the
    /// same data finds it in the same caches. If a worker does not come for its share, the others
    /// take it.
    Static,
    /// `chunk` iterations at a time, first come, first served.
    Dynamic {
        /// Iterations per chunk, at least 1.
        chunk: usize,
    },
    /// Chunks that shrink with the remainder: large ones first, small ones to balance the end.
    Tapered {
        /// Iterations of the smallest chunk, at least 1.
        min: usize,
    },
    /// Batches of equal chunks, one per worker; each batch is half of the remainder.
    Factoring {
        /// Iterations of the smallest chunk, at least 1.
        min: usize,
    },
    /// One range per worker; an idle worker takes the back half of another's. Suits most loops.
    #[default]
    Stealing,
    /// Each worker begins with the part that it ran last time, from a memory that the caller holds;
    /// an idle worker steals. For loops that run repeatedly over the same data and are not quite
    /// even. Without a memory, or with one for another length, every worker begins with an equal
    /// share.
    Affinity,
    /// Shares proportional to each worker's speed, from a memory that the caller holds; an idle
    /// worker steals. For cores of different speed. Without a memory, or with an empty one, every
    /// worker begins with an equal share. A loop that is switched to it while it runs uses the
    /// speeds so far.
    Weighted,
    /// Recursive halves, down to between half a grain and a grain, offered to thieves as the arms
    /// of a `join`.
    Simple {
        /// Iterations of the largest piece, at least 1.
        grain: usize,
    },
    /// Recursive halves, down to a few pieces per worker. A stolen piece is cut further, since its
    /// thief was idle.
    Adaptive {
        /// A piece of this many iterations is not cut; at least 1.
        grain: usize,
    },
    /// The best schedule found for this call site: the first runs of a millisecond or more try
    /// several, see [`auto`](crate::auto). For loops that run repeatedly.
    Auto,
}

impl Schedule {
    /// Checks the numbers in it.
    ///
    /// # Errors
    ///
    /// [`ScheduleError`] if a chunk is 0; use at least 1.
    pub fn check(self) -> Result<Self, ScheduleError> {
        match self {
            Self::Dynamic { chunk: 0 }
            | Self::Tapered { min: 0 }
            | Self::Factoring { min: 0 }
            | Self::Simple { grain: 0 }
            | Self::Adaptive { grain: 0 } => Err(ScheduleError::Zero(self)),
            _ => Ok(self),
        }
    }

    /// A number for it, other than 0, and the number in it: its form in binary tables.
    pub fn code(self) -> (u8, usize) {
        match self {
            Self::Static => (1, 0),
            Self::Dynamic { chunk } => (2, chunk),
            Self::Tapered { min } => (3, min),
            Self::Factoring { min } => (4, min),
            Self::Stealing => (5, 0),
            Self::Affinity => (6, 0),
            Self::Weighted => (7, 0),
            Self::Simple { grain } => (8, grain),
            Self::Adaptive { grain } => (9, grain),
            Self::Auto => (10, 0),
        }
    }

    /// The schedule of a [`code`](Self::code); `None` if there is none.
    pub fn from_code(code: u8, number: usize) -> Option<Self> {
        let schedule = match code {
            1 => Self::Static,
            2 => Self::Dynamic { chunk: number },
            3 => Self::Tapered { min: number },
            4 => Self::Factoring { min: number },
            5 => Self::Stealing,
            6 => Self::Affinity,
            7 => Self::Weighted,
            8 => Self::Simple { grain: number },
            9 => Self::Adaptive { grain: number },
            10 => Self::Auto,
            _ => return None,
        };
        schedule.check().ok()
    }

    /// The bit of a [word](Self::to_word) that the caller may use for another fact.
    pub const FREE_BIT: u64 = 1 << 63;

    /// The [`code`](Self::code) in one word, never 0. A number that is too large for the word
    /// becomes the largest that fits.
    pub fn to_word(self) -> u64 {
        let (code, number) = self.code();
        u64::from(code) | (number as u64).min((Self::FREE_BIT - 1) >> u8::BITS) << u8::BITS
    }

    /// The schedule of a [word](Self::to_word); ignores the free bit.
    pub fn from_word(word: u64) -> Option<Self> {
        let number = (word & !Self::FREE_BIT) >> u8::BITS;
        Self::from_code(word as u8, usize::try_from(number).ok()?)
    }

    fn with_number(name: &str, number: usize) -> Option<Self> {
        match name {
            "dynamic" => Some(Self::Dynamic { chunk: number }),
            "tapered" => Some(Self::Tapered { min: number }),
            "factoring" => Some(Self::Factoring { min: number }),
            "simple" => Some(Self::Simple { grain: number }),
            "adaptive" => Some(Self::Adaptive { grain: number }),
            _ => None,
        }
    }

    fn without_number(name: &str) -> Option<Self> {
        match name {
            "static" => Some(Self::Static),
            "stealing" => Some(Self::Stealing),
            "affinity" => Some(Self::Affinity),
            "weighted" => Some(Self::Weighted),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static => f.write_str("static"),
            Self::Dynamic { chunk } => write!(f, "dynamic:{chunk}"),
            Self::Tapered { min } => write!(f, "tapered:{min}"),
            Self::Factoring { min } => write!(f, "factoring:{min}"),
            Self::Stealing => f.write_str("stealing"),
            Self::Affinity => f.write_str("affinity"),
            Self::Weighted => f.write_str("weighted"),
            Self::Auto => f.write_str("auto"),
            Self::Simple { grain } => write!(f, "simple:{grain}"),
            Self::Adaptive { grain } => write!(f, "adaptive:{grain}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.trim().to_ascii_lowercase();
        let (name, number) = match lower.split_once(':') {
            None => (lower.as_str(), None),
            Some((name, number)) => (name, Some(number)),
        };
        match (Self::without_number(name), number) {
            (Some(schedule), None) => return Ok(schedule),
            (Some(_), Some(_)) => return Err(ScheduleError::TakesNoNumber(text.to_owned())),
            (None, _) => {}
        }
        let schedule = Self::with_number(name, 1)
            .ok_or_else(|| ScheduleError::UnknownName(text.to_owned()))?;
        match number.map(|digits| digits.trim().parse()) {
            None => Ok(schedule),
            Some(Ok(number)) => Self::with_number(name, number).unwrap_or(schedule).check(),
            Some(Err(_)) => Err(ScheduleError::NotANumber(text.to_owned())),
        }
    }
}

/// Why a schedule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// No schedule has this name.
    UnknownName(String),
    /// The text after the colon is not a whole number.
    NotANumber(String),
    /// This schedule has no number.
    TakesNoNumber(String),
    /// A chunk of no iterations would never end.
    Zero(Schedule),
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName(text) => write!(
                f,
                "`{text}` is not a schedule: write static, dynamic:CHUNK, tapered:MIN, factoring:MIN, stealing, affinity, weighted, \
                 simple:GRAIN, adaptive:GRAIN or auto"
            ),
            Self::NotANumber(text) => {
                write!(
                    f,
                    "the number in schedule `{text}` is not a whole number: write for example dynamic:64"
                )
            }
            Self::TakesNoNumber(text) => {
                write!(f, "schedule `{text}` takes no number: leave out the colon and what follows")
            }
            Self::Zero(schedule) => {
                write!(f, "schedule `{schedule}` has chunks of 0 iterations: use at least 1")
            }
        }
    }
}

impl std::error::Error for ScheduleError {}

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

/// The most slices in which a share is taken: few enough to cost nothing, enough to release the
/// rest of a share soon.
pub const SLICES: usize = 8;

/// The number of slices in which a share of `length` iterations is taken.
#[inline]
pub fn slices(length: usize) -> usize {
    length.min(SLICES)
}

/// The fraction of guided self-scheduling: a chunk is 1/(`TAPER` · workers) of the remainder.
pub const TAPER: usize = 2;

/// The next chunk with `remaining` iterations left for `workers`: `1/(divisor · workers)` of them,
/// at least `min`.
#[inline]
pub fn tapered(remaining: usize, workers: usize, divisor: usize, min: usize) -> usize {
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

/// Sizes of lazy halving: the piece that an owner takes from the front of its range, and the part
/// that a thief takes from the back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halving {
    min: usize,
    max: usize,
    /// A range or piece of a loop longer than this never becomes shorter than half of it.
    grain: usize,
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
        Self { min: (share / Self::FINEST).max(1), max: (share / Self::FRACTION).max(1), grain: 1 }
    }

    /// Pieces of half a grain to a grain, for any loop.
    #[inline]
    pub fn with_grain(grain: usize) -> Self {
        let grain = grain.max(1);
        Self { min: grain, max: grain, grain }
    }

    /// The size of the next piece of an owner with `remaining` iterations.
    #[inline]
    pub fn piece(&self, remaining: usize) -> usize {
        let piece = (remaining / Self::FRACTION).clamp(self.min, self.max).min(remaining);
        let rest = remaining - piece;
        if rest > 0 && rest < self.grain / 2 { remaining.div_ceil(2) } else { piece }
    }

    /// How long a thief waits before it steals from an owner with `remaining` iterations, in
    /// nanoseconds.
    ///
    /// Near the end of a loop of cheap bodies, workers that steal ever smaller halves from each
    /// other spend more on moving cache lines than on iterations. So the thief estimates the rest
    /// from the known cost (`done` iterations took `elapsed_ns`). If the rest will be over before a
    /// steal pays, the thief waits that long. If iterations are left then, they cost more than
    /// expected, and it steals.
    pub fn patience_ns(remaining: usize, done: usize, elapsed_ns: u64) -> u64 {
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
        fn shares_are_adjacent_and_differ_by_at_most_one(n in 0..100_000_usize, parts in 1..200_usize) {
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
        fn tapered_chunks_shrink_and_end(n in 0..100_000_usize, workers in 1..70_usize, min in 1..50_usize) {
            let (mut remaining, mut last) = (n, usize::MAX);
            while remaining > 0 {
                let chunk = tapered(remaining, workers, TAPER, min);
                prop_assert!(chunk >= 1 && chunk <= remaining && chunk <= last);
                prop_assert!(chunk >= min || chunk == remaining);
                prop_assert!(chunk <= min.max(remaining.div_ceil(TAPER * workers)));
                (remaining, last) = (remaining - chunk, chunk);
            }
        }

        /// Catches: batches that are not half of the rest, unequal chunks in a batch, and
        /// endless loops.
        #[test]
        fn factoring_halves_the_rest_in_batches_of_equal_chunks(n in 1..100_000_usize, workers in 1..70_usize) {
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
        fn factoring_respects_its_minimum(n in 0..100_000_usize, workers in 1..70_usize, min in 1..50_usize) {
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
        fn halving_takes_small_pieces_but_not_many(n in 1..1_000_000_usize, workers in 1..70_usize) {
            let sizes = Halving::new(n, workers);
            let share = n.div_ceil(workers);
            let (mut remaining, mut claims) = (share, 0);
            while remaining > 0 {
                let piece = sizes.piece(remaining);
                prop_assert!(piece >= 1 && piece <= remaining);
                prop_assert!(piece <= (remaining / 4).max(share / 64).max(1));
                (remaining, claims) = (remaining - piece, claims + 1);
            }
            prop_assert!(claims <= 32, "{} claims", claims);
            prop_assert!(sizes.stolen(share) >= share - sizes.stolen(share));
        }

        /// Catches: a piece above the grain or below half of it, for any ranges that owners and
        /// thieves make.
        #[test]
        fn pieces_with_a_grain_are_half_a_grain_to_a_grain(n in 1..10_000_usize, grain in 1..200_usize, thefts in any::<u64>()) {
            let sizes = Halving::with_grain(grain);
            let (mut ranges, mut bits) = (vec![n], thefts);
            while let Some(remaining) = ranges.pop() {
                bits = bits.rotate_left(1);
                let taken = if bits & 1 == 0 { sizes.piece(remaining) } else { sizes.stolen(remaining) };
                prop_assert!(taken >= 1 && taken <= remaining);
                if bits & 1 == 0 {
                    prop_assert!(taken <= grain && (taken >= grain / 2 || taken == n), "{} of {}", taken, remaining);
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
            n in huge(), remaining in huge(), workers in prop_oneof![0..70_usize, huge()], min in prop_oneof![0..70_usize, huge()],
        ) {
            let (n, remaining) = (n.max(remaining), n.min(remaining));
            let sizes = [Halving::new(n, workers), Halving::with_grain(min)];
            let pieces = [tapered(remaining, workers, TAPER, min), factoring(n, remaining, workers, min)]
                .into_iter()
                .chain(sizes.iter().flat_map(|sizes| [sizes.piece(remaining), sizes.stolen(remaining)]));
            for (number, piece) in pieces.enumerate() {
                prop_assert!((1..=remaining).contains(&piece), "{} is {} of {}", number, piece, remaining);
            }
            let (parts, shares) = (workers.max(1), Shares::new(n, workers));
            for part in [0, parts / 2, parts - 1] {
                let share = shares.get(part);
                prop_assert!(share.start <= share.end && share.end <= n && share.len().abs_diff(n / parts) <= 1);
            }
            prop_assert_eq!(shares.get(parts - 1).end, n);
        }

        /// Catches: a schedule that a program prints and cannot parse, and a word that is read as
        /// another schedule.
        #[test]
        fn schedules_are_read_as_they_are_written(number in 1..usize::MAX, which in 0..10_usize) {
            let schedule = [
                Schedule::Static,
                Schedule::Dynamic { chunk: number },
                Schedule::Tapered { min: number },
                Schedule::Factoring { min: number },
                Schedule::Stealing,
                Schedule::Affinity,
                Schedule::Weighted,
                Schedule::Simple { grain: number },
                Schedule::Adaptive { grain: number },
                Schedule::Auto,
            ][which];
            prop_assert_eq!(schedule.to_string().parse(), Ok(schedule));
            let (code, inner) = schedule.code();
            prop_assert_eq!(Schedule::from_code(code, inner), Some(schedule));
            prop_assert!(code != 0 && Schedule::from_code(0, inner).is_none() && Schedule::from_code(2, 0).is_none());
        }
    }

    /// Catches: thieves that fight over the last iterations, and thieves that never return to
    /// expensive ones.
    #[test]
    fn patience_is_for_ranges_that_are_over_before_a_steal_pays() {
        assert_eq!(Halving::patience_ns(10, 1_000, 1_000), 10);
        assert_eq!(Halving::patience_ns(499, 1_000, 1_000), 499);
        assert_eq!(Halving::patience_ns(500, 1_000, 1_000), 0);
        assert_eq!(Halving::patience_ns(1, 1, 1_000_000), 0);
        assert_eq!(Halving::patience_ns(1, 0, 0), 0);
        assert_eq!(Halving::patience_ns(usize::MAX, 1, u64::MAX), 0);
    }

    /// Catches: a shift by the whole width in the last batch of a huge loop.
    #[test]
    fn factoring_survives_the_longest_loop() {
        assert_eq!(factoring(usize::MAX, usize::MAX, 1, 1), usize::MAX - usize::MAX / 2);
        assert_eq!(factoring(usize::MAX, 1, 4, 1), 1);
        assert_eq!(factoring(7, 0, 4, 1), 0);
    }

    /// Catches: an error that does not name the value, and a number that is silently dropped.
    #[test]
    fn what_cannot_be_a_schedule_is_named() {
        let error = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert!(error("dynamic:0").contains("`dynamic:0` has chunks of 0"));
        assert!(error("gided").contains("`gided` is not a schedule"));
        assert!(error("tapered:x").contains("`tapered:x`"));
        assert!(error("static:4").contains("`static:4` takes no number"));
        assert!(error("").contains("`` is not a schedule"));
        assert_eq!("Tapered".parse(), Ok(Schedule::Tapered { min: 1 }));
        assert!(Schedule::Factoring { min: 0 }.check().is_err());
    }
}
