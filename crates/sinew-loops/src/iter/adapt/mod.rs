//! Adaptors: chains made of other chains.
//!
//! An adaptor forwards positions and options, and wraps the sink. An adaptor with one item for each
//! of the chain within also wraps its pieces.
//!
//! | file | contents |
//! |---|---|
//! | `elements` | a function for each item: `map`, `filter` and the like |
//! | `flatten` | several items for each |
//! | `state` | functions with a state |
//! | `fold` | one value for each range |
//! | `some` | some of the items: `take_any` and the like |
//! | `join` | two chains as one: `zip`, `chain`, `interleave` |
//! | `tuples` | tuples of chains as one |
//! | `either` | one of two chains |
//! | `place` | other positions: `rev`, `skip`, `step_by` and the like; numbers of items |
//! | `chunks`, `intersperse` | several items as one; separators between items |

/// Declares an adaptor of a chain and other fields.
macro_rules! adaptors {
    ($(
        $(#[$doc:meta])*
        $name:ident<B $(, $generic:ident)*> { $($field:ident: $type:ty),* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "nothing runs before a last call, for example `for_each`"]
        pub struct $name<B $(, $generic)*> {
            base: B,
            $($field: $type,)*
        }

        impl<B: ::std::fmt::Debug $(, $generic)*> ::std::fmt::Debug for $name<B $(, $generic)*> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name)).field("base", &self.base).finish_non_exhaustive()
            }
        }

        impl<B $(, $generic)*> $name<B $(, $generic)*> {
            #[inline]
            pub(crate) fn new(base: B $(, $field: $type)*) -> Self {
                Self { base $(, $field)* }
            }
        }
    )*};
}

/// The methods that an adaptor takes from the chain `base`. With `positions`, also those; with
/// `len`, also the number of items.
macro_rules! forward_to_base {
    () => {
        type Mode = B::Mode;

        #[inline]
        fn options(&self) -> $crate::loops::Options<'_> {
            self.base.options()
        }

        #[inline]
        fn change_options(&mut self, change: impl FnOnce(&mut $crate::loops::Options<'_>)) {
            self.base.change_options(change);
        }
    };
    (positions) => {
        forward_to_base!();

        #[inline]
        fn num_positions(&self) -> usize {
            self.base.num_positions()
        }
    };
    (len) => {
        forward_to_base!(positions);

        #[inline]
        fn opt_len(&self) -> Option<usize> {
            self.base.opt_len()
        }
    };
    // The items come from `piece`.
    (indexed) => {
        forward_to_base!();

        #[inline]
        fn opt_len(&self) -> Option<usize> {
            Some(self.num_positions())
        }

        #[inline]
        unsafe fn run<S>(
            &self,
            positions: ::std::ops::Range<usize>,
            mut sink: S,
        ) -> ::std::ops::ControlFlow<()>
        where
            S: FnMut(Self::Item) -> ::std::ops::ControlFlow<()>,
        {
            // SAFETY: the caller's promise is the same.
            unsafe { $crate::iter::positions::IndexedPositions::piece(self, positions) }
                .try_for_each(&mut sink)
        }
    };
}

mod chunks;
mod either;
mod elements;
mod flatten;
mod fold;
mod intersperse;
mod join;
mod place;
mod some;
mod state;
mod tuples;

pub use chunks::{Chunks, Collected, Folded};
pub use either::Either;
pub use elements::{Cloned, Copied, Filter, FilterMap, Inspect, Map, Update};
pub use flatten::{FlatMap, FlatMapIter, Flatten, FlattenIter};
pub use fold::{Fold, TryFold};
pub(super) use intersperse::Anchor;
pub use intersperse::Intersperse;
pub use join::{Chain, Interleave, Zip};
pub use place::{Enumerate, Numbers, Rev, Skip, StepBy, Take};
pub(super) use some::{Count, Flag};
pub use some::{SkipAny, SkipAnyWhile, TakeAny, TakeAnyWhile, WhileSome};
pub(super) use state::clones;
pub use state::{MapInit, MapState, WithState};
pub use tuples::{MultiZip, Together};
