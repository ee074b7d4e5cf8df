//! A chain that a last call has borrowed, to add another adaptor.

use std::ops::{ControlFlow, Range};

use crate::iter::{Positions, Uncontrolled};
use crate::loops::Options;

/// The items of a borrowed chain. The last call that borrowed it runs it with its own options.
#[derive(Debug)]
pub(super) struct ByRef<'p, P>(&'p P);

impl<'p, P> ByRef<'p, P> {
    #[inline]
    pub(super) fn new(chain: &'p P) -> Self {
        Self(chain)
    }
}

// SAFETY: the positions of the chain within. Its borrower requests them once.
unsafe impl<P: Positions> Positions for ByRef<'_, P> {
    type Item = P::Item;
    type Mode = Uncontrolled;

    #[inline]
    fn num_positions(&self) -> usize {
        self.0.num_positions()
    }

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        self.0.opt_len()
    }

    #[inline]
    fn options(&self) -> Options<'_> {
        self.0.options()
    }

    #[inline]
    fn change_options(&mut self, _: impl FnOnce(&mut Options<'_>)) {}

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(P::Item) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.run(positions, sink) }
    }
}
