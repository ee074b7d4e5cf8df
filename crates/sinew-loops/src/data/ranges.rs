//! Ranges of integers and of characters.
//!
//! The implementations are generic, so that a range of integer literals has the type `i32` by
//! default, as elsewhere.

use std::ops::{Range, RangeInclusive};

use super::items::{IntoItems, Items, ReadItems};

/// The types whose ranges are [`Items`]: integers and characters.
///
/// # Safety
///
/// Counts and parts are those of the standard library's iterators over the same ranges.
pub unsafe trait Index: Copy + Send + Sync + 'static {
    /// An iterator over a range.
    type Piece: DoubleEndedIterator<Item = Self> + From<Range<Self>>;
    /// An iterator over an inclusive range.
    type InclusivePiece: DoubleEndedIterator<Item = Self> + From<RangeInclusive<Self>>;

    /// The number of values in `range`. Panics if it is more than `usize::MAX`.
    fn count(range: &Range<Self>) -> usize;
    /// The number of values in `range`. Panics if it is more than `usize::MAX`.
    fn count_inclusive(range: &RangeInclusive<Self>) -> usize;
    /// The part of `range` from its `part.start`-th to its `part.end`-th value.
    fn part(range: &Range<Self>, part: Range<usize>) -> Range<Self>;
    /// The part of `range` from its `part.start`-th to before its `part.end`-th value.
    fn part_inclusive(range: &RangeInclusive<Self>, part: Range<usize>) -> RangeInclusive<Self>;
}

// SAFETY: values are computed, nothing is shared.
unsafe impl<N: Index> Items for Range<N> {
    type Item = N;
    type Piece = N::Piece;

    #[inline]
    fn length(&self) -> usize {
        N::count(self)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        N::part(self, range).into()
    }
}

// SAFETY: as above.
unsafe impl<N: Index> ReadItems for Range<N> {}

// SAFETY: as above.
unsafe impl<N: Index> Items for RangeInclusive<N> {
    type Item = N;
    type Piece = N::InclusivePiece;

    #[inline]
    fn length(&self) -> usize {
        N::count_inclusive(self)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        N::part_inclusive(self, range).into()
    }
}

// SAFETY: as above.
unsafe impl<N: Index> ReadItems for RangeInclusive<N> {}

impl<N: Index> IntoItems for Range<N> {
    type Items = Self;

    #[inline]
    fn into_items(self) -> Self {
        self
    }
}

impl<N: Index> IntoItems for RangeInclusive<N> {
    type Items = Self;

    #[inline]
    fn into_items(self) -> Self {
        self
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        // SAFETY: an integer is its distance from the first one's.
        unsafe impl Index for $integer {
            type Piece = Range<Self>;
            type InclusivePiece = RangeInclusive<Self>;

            #[inline]
            fn count(range: &Range<Self>) -> usize {
                if range.start >= range.end {
                    return 0;
                }
                usize::try_from(range.end.abs_diff(range.start)).unwrap_or_else(|_| {
                    panic!("the range {range:?} is longer than usize::MAX: split it")
                })
            }

            #[inline]
            fn count_inclusive(range: &RangeInclusive<Self>) -> usize {
                if range.is_empty() {
                    return 0;
                }
                let last = usize::try_from(range.end().abs_diff(*range.start())).ok();
                last.and_then(|last| last.checked_add(1)).unwrap_or_else(|| {
                    panic!("the range {range:?} is longer than usize::MAX: split it")
                })
            }

            #[inline]
            fn part(range: &Range<Self>, part: Range<usize>) -> Range<Self> {
                // Both ends lie within `range`, so wrapping arithmetic is exact.
                let at = |index: usize| range.start.wrapping_add(index as $integer);
                at(part.start)..at(part.end)
            }

            #[inline]
            fn part_inclusive(
                range: &RangeInclusive<Self>,
                part: Range<usize>,
            ) -> RangeInclusive<Self> {
                if part.is_empty() {
                    return RangeInclusive::new(1, 0);
                }
                // As in `part`.
                let at = |index: usize| range.start().wrapping_add(index as $integer);
                at(part.start)..=at(part.end - 1)
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, usize, isize);

/// The code points that are no characters.
const SURROGATES: Range<u32> = 0xD800..0xE000;

/// The number of characters before `character`.
#[inline]
fn rank(character: char) -> usize {
    let code = u32::from(character);
    let gap = if code >= SURROGATES.end { SURROGATES.end - SURROGATES.start } else { 0 };
    (code - gap) as usize
}

/// The character with that many characters before it.
///
/// # Panics
///
/// If there is none.
#[inline]
fn ranked(rank: usize) -> char {
    let code = rank as u32;
    let gap = if code >= SURROGATES.start { SURROGATES.end - SURROGATES.start } else { 0 };
    char::from_u32(code + gap).expect("a range of characters ends at a character")
}

// SAFETY: the rank of a character counts the characters before it.
unsafe impl Index for char {
    type Piece = Range<Self>;
    type InclusivePiece = RangeInclusive<Self>;

    #[inline]
    fn count(range: &Range<Self>) -> usize {
        rank(range.end).saturating_sub(rank(range.start))
    }

    #[inline]
    fn count_inclusive(range: &RangeInclusive<Self>) -> usize {
        if range.is_empty() { 0 } else { rank(*range.end()) - rank(*range.start()) + 1 }
    }

    #[inline]
    fn part(range: &Range<Self>, part: Range<usize>) -> Range<Self> {
        let first = rank(range.start);
        // The end of the range is a character, so the ends of its parts are.
        ranked(first + part.start)..ranked(first + part.end)
    }

    #[inline]
    fn part_inclusive(range: &RangeInclusive<Self>, part: Range<usize>) -> RangeInclusive<Self> {
        if part.is_empty() {
            return RangeInclusive::new('1', '0');
        }
        let first = rank(*range.start());
        ranked(first + part.start)..=ranked(first + part.end - 1)
    }
}
