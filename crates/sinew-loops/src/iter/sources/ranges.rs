//! Chains over ranges of integers and characters.
//!
//! A range of more than `usize::MAX` integers panics at the last call of its chain.
//!
//! ```
//! use sinew_loops::iter::*;
//!
//! assert_eq!((0..10).into_par_iter().map(|i| i * i).sum::<i32>(), 285);
//! assert_eq!((1..=4).into_par_iter().product::<u64>(), 24);
//! assert_eq!(('a'..='e').into_par_iter().collect::<Vec<_>>(), ['a', 'b', 'c', 'd', 'e']);
//! ```

use std::ops::{Range, RangeInclusive};

use crate::data::Index;
use crate::iter::Over;
use crate::iter::positions::IntoParallelIterator;

// Not by `of_items`, whose items are projections: the compiler would not know the type of a
// closure's parameter when a range has integer literals only.
impl<N: Index> IntoParallelIterator for Range<N> {
    type Item = N;
    type Iter = Over<'static, Self>;

    #[inline]
    #[track_caller]
    fn into_par_iter(self) -> Self::Iter {
        Over::new(self)
    }
}

impl<N: Index> IntoParallelIterator for RangeInclusive<N> {
    type Item = N;
    type Iter = Over<'static, Self>;

    #[inline]
    #[track_caller]
    fn into_par_iter(self) -> Self::Iter {
        Over::new(self)
    }
}
