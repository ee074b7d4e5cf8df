//! Adaptors: chains made of other chains.
//!
//! An adaptor forwards positions and options, and wraps the sink. An adaptor with one item for each
//! of the chain within also wraps its pieces.

/// The methods that an adaptor takes from the chain `$base`.
macro_rules! forward_to {
    ($base:ident) => {
        type Mode = B::Mode;

        #[inline]
        fn positions(&self) -> usize {
            self.$base.positions()
        }

        #[inline]
        fn options(&self) -> $crate::loops::Options<'_> {
            self.$base.options()
        }

        #[inline]
        fn change_options(&mut self, change: impl FnOnce(&mut $crate::loops::Options<'_>)) {
            self.$base.change_options(change);
        }
    };
}

mod elements;

pub use elements::{Filter, FilterMap, FlatMapIter, Inspect, Map};
