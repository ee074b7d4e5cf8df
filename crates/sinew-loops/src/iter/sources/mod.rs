//! Sources of chains, and the traits that make them.
//!
//! | file | chains over |
//! |---|---|
//! | `ranges` | ranges of integers and characters |
//! | `slices`, `sorts` | the parts of slices; sorts |
//! | `text` | the characters and parts of texts |
//! | `bridge` | the items of sequential iterators |
//! | `make` | the clones or parts of a value |
//! | `tree` | the nodes of trees |
//! | `collections`, `drain` | the elements of collections; elements that leave a collection |

pub use bridge::{IterBridge, ParallelBridge};
pub use drain::{ParallelDrainFull, ParallelDrainRange};
#[expect(deprecated, reason = "programs may use the old name")]
pub use make::repeatn;
pub use make::{empty, once, repeat, repeat_n, split};
pub use slices::{ParallelSlice, ParallelSliceMut, SplitItems};
pub use text::{ParallelString, TextItems};
pub use tree::{walk_tree, walk_tree_postfix, walk_tree_prefix};

use super::mode::Uncontrolled;
use super::over::Over;
use super::positions::{IntoParallelIterator, Positions};
use crate::data::{IntoItems, Items};

/// Types whose shared references a chain can be made of.
pub trait IntoParallelRefIterator<'data> {
    /// The items.
    type Item: Send + 'data;
    /// The chain.
    type Iter: Positions<Item = Self::Item, Mode = Uncontrolled>;

    /// A chain over references to all items of `self`.
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, T: 'data + ?Sized> IntoParallelRefIterator<'data> for T
where
    &'data T: IntoParallelIterator,
{
    type Item = <&'data T as IntoParallelIterator>::Item;
    type Iter = <&'data T as IntoParallelIterator>::Iter;

    #[inline]
    #[track_caller]
    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// Types whose mutable references a chain can be made of.
pub trait IntoParallelRefMutIterator<'data> {
    /// The items.
    type Item: Send + 'data;
    /// The chain.
    type Iter: Positions<Item = Self::Item, Mode = Uncontrolled>;

    /// A chain over mutable references to all items of `self`.
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, T: 'data + ?Sized> IntoParallelRefMutIterator<'data> for T
where
    &'data mut T: IntoParallelIterator,
{
    type Item = <&'data mut T as IntoParallelIterator>::Item;
    type Iter = <&'data mut T as IntoParallelIterator>::Iter;

    #[inline]
    #[track_caller]
    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

mod bridge;
mod collections;
mod drain;
mod make;
mod ranges;
mod slices;
mod sorts;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod text;
mod tree;

/// Chains over what [`IntoItems`] makes items of.
macro_rules! of_items {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> IntoParallelIterator for $type {
            type Item = <<$type as IntoItems>::Items as Items>::Item;
            type Iter = Over<'static, <$type as IntoItems>::Items>;

            #[inline]
            #[track_caller]
            fn into_par_iter(self) -> Self::Iter {
                Over::new(self.into_items())
            }
        }
    )*};
}
use of_items;

of_items! {
    [T: Send] Vec<T>;
    [T: Send, const N: usize] [T; N];
    ['a, T: Sync] &'a [T];
    ['a, T: Send] &'a mut [T];
    ['a, T: Sync] &'a Vec<T>;
    ['a, T: Send] &'a mut Vec<T>;
    ['a, T: Sync, const N: usize] &'a [T; N];
    ['a, T: Send, const N: usize] &'a mut [T; N];
}
