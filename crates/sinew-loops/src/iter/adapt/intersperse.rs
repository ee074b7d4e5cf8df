//! Separators between items.

use std::iter::Rev;
use std::ops::{ControlFlow, Range};

use sinew_sync::atomic::{AtomicUsize, Ordering};

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`intersperse`](crate::iter::ParIter::intersperse).
    Intersperse<B, T> { separator: T, anchor: Anchor }
}

/// The range with the item that has no separator of its own, in chains without known places.
///
/// It is the first range in which a worker meets an item. Later items have their separator before
/// them, and earlier ones behind them, so there is one between any two, whichever range it is.
///
/// `Relaxed`: it publishes nothing, and is set once.
#[derive(Debug)]
pub(crate) struct Anchor(AtomicUsize);

/// No range begins here.
const NONE: usize = usize::MAX;

impl Default for Anchor {
    fn default() -> Self {
        Self(AtomicUsize::new(NONE))
    }
}

impl Clone for Anchor {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Anchor {
    /// Where the separators of the range from `start` on are, which has an item.
    fn side(&self, start: usize) -> Side {
        match self.0.compare_exchange(NONE, start, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Side::Between,
            Err(anchor) if anchor < start => Side::Before,
            Err(_) => Side::Behind,
        }
    }
}

/// Where the separators of a range are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Before each item.
    Before,
    /// Before each item but the first.
    Between,
    /// Behind each item.
    Behind,
}

/// The positions of the items: those of separators are odd.
#[inline]
fn within(positions: &Range<usize>) -> Range<usize> {
    positions.start.div_ceil(2)..positions.end.div_ceil(2)
}

impl<B: Positions<Item = T>, T: Clone + Send + Sync> Intersperse<B, T> {
    /// `run` of a chain within that has an item at each position.
    ///
    /// # Safety
    ///
    /// As for [`Positions::run`].
    #[inline]
    unsafe fn run_known<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        let mut position = positions.start;
        let each = |item| {
            if !position.is_multiple_of(2) {
                sink(self.separator.clone())?;
                position += 1;
            }
            position += 1;
            sink(item)
        };
        // SAFETY: the range lies below the positions within; the caller's promise is the same.
        unsafe { self.base.run(within(&positions), each) }?;
        // The range ends with a separator.
        if position < positions.end {
            sink(self.separator.clone())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// `run` of a chain within that has any number of items at a position.
    ///
    /// # Safety
    ///
    /// As for [`Positions::run`].
    #[inline]
    unsafe fn run_unknown<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        let (start, mut side) = (positions.start, None);
        let each = |item| match *side.get_or_insert_with(|| self.anchor.side(start)) {
            Side::Before => {
                sink(self.separator.clone())?;
                sink(item)
            }
            Side::Between => {
                side = Some(Side::Before);
                sink(item)
            }
            Side::Behind => {
                sink(item)?;
                sink(self.separator.clone())
            }
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, each) }
    }
}

// SAFETY: different positions stand for different ones of the chain within, or for separators.
unsafe impl<B: Positions<Item = T>, T: Clone + Send + Sync> Positions for Intersperse<B, T> {
    type Item = T;
    forward_to_base!();

    #[inline]
    fn num_positions(&self) -> usize {
        // Chains without an end have the most positions.
        let known = self.base.opt_len().map(|len| len.saturating_mul(2).saturating_sub(1));
        known.unwrap_or_else(|| self.base.num_positions())
    }

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len().map(|_| self.num_positions())
    }

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        match self.base.opt_len() {
            // SAFETY: the caller's promise is the same.
            Some(_) => unsafe { self.run_known(positions, sink) },
            // SAFETY: as above.
            None => unsafe { self.run_unknown(positions, sink) },
        }
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions<Item = T>, T: Clone + Send + Sync> IndexedPositions
    for Intersperse<B, T>
{
    type Piece<'p>
        = Interspersed<'p, B::Piece<'p>, T, Range<usize>>
    where
        Self: 'p;
    type Backward<'p>
        = Interspersed<'p, B::Backward<'p>, T, Rev<Range<usize>>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the range lies below the positions within; the caller's promise is the same.
        let items = unsafe { self.base.piece(within(&positions)) };
        Interspersed { items, positions, separator: &self.separator }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: as in `piece`.
        let items = unsafe { self.base.backward(within(&positions)) };
        Interspersed { items, positions: positions.rev(), separator: &self.separator }
    }
}

/// The items and separators of a range.
#[derive(Debug)]
pub struct Interspersed<'p, I, T, P> {
    items: I,
    positions: P,
    separator: &'p T,
}

impl<I, T, P> Iterator for Interspersed<'_, I, T, P>
where
    I: Iterator<Item = T>,
    T: Clone,
    P: Iterator<Item = usize>,
{
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let is_item = self.positions.next()?.is_multiple_of(2);
        if is_item { self.items.next() } else { Some(self.separator.clone()) }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}
