//! Items whose borders are found while the loop runs: the parts of a slice between separators, runs
//! of equal elements, the lines of a text.
//!
//! An item starts at a position, of which there are as many as elements or bytes. A range of
//! positions has the items that *start* in it, also if they end behind it. A participant looks for
//! the first start in its range, and then for the end of each item.
//!
//! # Cost
//!
//! An allocation for the items, and a reference count for a piece. Each border is looked for once
//! or twice.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::items::{Items, ReadItems, SliceMut};

/// How a sequence is cut into items.
pub trait Cut: Send + Sync {
    /// The items.
    type Item;

    /// The number of positions.
    fn positions(&self) -> usize;

    /// The first position in `range` at which an item starts.
    fn first(&self, range: Range<usize>) -> Option<usize>;

    /// The item that starts at `start`, and the start of the next one if it is below `end`.
    fn item(&self, start: usize, end: usize) -> (Self::Item, Option<usize>);

    /// Passes the items that start from `start` on and below `end` to `sink`, until that breaks. An
    /// item starts at `start`.
    #[inline]
    fn visit<S>(&self, start: usize, end: usize, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>,
    {
        let mut next = Some(start);
        while let Some(start) = next {
            let (item, after) = self.item(start, end);
            next = after;
            sink(item)?;
        }
        ControlFlow::Continue(())
    }
}

/// The items of a [`Cut`].
pub struct Cuts<C> {
    cut: Arc<C>,
}

impl<C> Clone for Cuts<C> {
    fn clone(&self) -> Self {
        Self { cut: Arc::clone(&self.cut) }
    }
}

impl<C> fmt::Debug for Cuts<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuts").finish_non_exhaustive()
    }
}

impl<C: Cut> Cuts<C> {
    /// The items of `cut`.
    pub fn new(cut: C) -> Self {
        Self { cut: Arc::new(cut) }
    }
}

// SAFETY: pieces are made of shared references to a `Cut`, in safe code.
unsafe impl<C: Cut> Items for Cuts<C> {
    type Item = C::Item;
    type Piece = CutsPiece<C>;

    const EXACT: bool = false;

    #[inline]
    fn length(&self) -> usize {
        self.cut.positions()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> CutsPiece<C> {
        let next = if range.is_empty() { None } else { self.cut.first(range.clone()) };
        CutsPiece { cut: Arc::clone(&self.cut), next, end: range.end }
    }

    #[inline]
    unsafe fn visit<S>(&self, range: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(C::Item) -> ControlFlow<()>,
    {
        let first = if range.is_empty() { None } else { self.cut.first(range.clone()) };
        first.map_or(ControlFlow::Continue(()), |start| self.cut.visit(start, range.end, sink))
    }
}

// SAFETY: as above.
unsafe impl<C: Cut> ReadItems for Cuts<C> {}

/// The items that start in a range of positions.
#[derive(Debug, Clone)]
pub struct CutsPiece<C> {
    cut: Arc<C>,
    next: Option<usize>,
    end: usize,
}

impl<C: Cut> Iterator for CutsPiece<C> {
    type Item = C::Item;

    #[inline]
    fn next(&mut self) -> Option<C::Item> {
        let (item, next) = self.cut.item(self.next?, self.end);
        self.next = next;
        Some(item)
    }
}

/// The parts of a slice between separators.
#[derive(Debug)]
pub struct SplitSlice<'a, T, P> {
    slice: &'a [T],
    is_separator: P,
    /// Whether a part has the separator at its end. An empty part at the end of the slice is none.
    inclusive: bool,
}

impl<'a, T, P: Fn(&T) -> bool> SplitSlice<'a, T, P> {
    /// The parts between elements for which `is_separator` returns true.
    pub fn new(slice: &'a [T], is_separator: P, inclusive: bool) -> Self {
        Self { slice, is_separator, inclusive }
    }
}

impl<'a, T: Sync, P: Fn(&T) -> bool + Send + Sync> Cut for SplitSlice<'a, T, P> {
    type Item = &'a [T];

    #[inline]
    fn positions(&self) -> usize {
        if self.inclusive { self.slice.len() } else { self.slice.len() + 1 }
    }

    #[inline]
    fn first(&self, range: Range<usize>) -> Option<usize> {
        if range.start == 0 {
            return Some(0);
        }
        let before = &self.slice[range.start - 1..range.end - 1];
        Some(range.start + before.iter().position(&self.is_separator)?)
    }

    #[inline]
    fn item(&self, start: usize, end: usize) -> (&'a [T], Option<usize>) {
        let rest = &self.slice[start..];
        match rest.iter().position(&self.is_separator) {
            Some(at) => {
                let next = start + at + 1;
                let item = &rest[..at + usize::from(self.inclusive)];
                (item, (next < end).then_some(next))
            }
            None => (rest, None),
        }
    }
}

/// Runs of adjacent elements that belong together.
#[derive(Debug)]
pub struct SliceRuns<'a, T, P> {
    slice: &'a [T],
    is_same: P,
}

impl<'a, T, P: Fn(&T, &T) -> bool> SliceRuns<'a, T, P> {
    /// The longest runs in which `is_same` returns true for each two neighbours.
    pub fn new(slice: &'a [T], is_same: P) -> Self {
        Self { slice, is_same }
    }

    /// The first position in `range`, which does not begin at 0, where a run starts.
    #[inline]
    fn border(&self, range: Range<usize>) -> Option<usize> {
        let pairs = self.slice[range.start - 1..range.end].windows(2);
        let mut pairs = pairs.map(|pair| (self.is_same)(&pair[0], &pair[1]));
        Some(range.start + pairs.position(|same| !same)?)
    }
}

impl<'a, T: Sync, P: Fn(&T, &T) -> bool + Send + Sync> Cut for SliceRuns<'a, T, P> {
    type Item = &'a [T];

    #[inline]
    fn positions(&self) -> usize {
        self.slice.len()
    }

    #[inline]
    fn first(&self, range: Range<usize>) -> Option<usize> {
        if range.start == 0 { Some(0) } else { self.border(range) }
    }

    #[inline]
    fn item(&self, start: usize, end: usize) -> (&'a [T], Option<usize>) {
        match self.border(start + 1..self.slice.len()) {
            Some(next) => (&self.slice[start..next], (next < end).then_some(next)),
            None => (&self.slice[start..], None),
        }
    }
}

/// Parts of a mutable slice, whose borders are known.
#[derive(Debug)]
pub struct PartsMut<'a, T> {
    slice: SliceMut<'a, T>,
    parts: Arc<[Range<usize>]>,
}

impl<'a, T> PartsMut<'a, T> {
    /// The parts that `parts` returns for the slice.
    ///
    /// # Panics
    ///
    /// If the parts are not ascending, overlap or do not lie in the slice.
    #[track_caller]
    pub fn new(slice: &'a mut [T], parts: impl FnOnce(&[T]) -> Vec<Range<usize>>) -> Self {
        let parts = parts(slice);
        let mut end = 0;
        for part in &parts {
            assert!(end <= part.start && part.start <= part.end, "parts overlap");
            end = part.end;
        }
        assert!(end <= slice.len(), "a part ends at {end}, beyond the slice of {}", slice.len());
        Self { slice: SliceMut::new(slice), parts: parts.into() }
    }
}

// SAFETY: the parts are disjoint and lie in the slice, as `new` has seen.
unsafe impl<'a, T: Send> Items for PartsMut<'a, T> {
    type Item = &'a mut [T];
    type Piece = PartsMutPiece<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        self.parts.len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        let elements = match &self.parts[range.clone()] {
            [] => 0..0,
            [first, .., last] => first.start..last.end,
            [only] => only.clone(),
        };
        // SAFETY: each part is requested once. Elements between two of these parts belong to no
        // other part.
        let slice = unsafe { self.slice.slice(elements.clone()) };
        PartsMutPiece { slice, start: elements.start, parts: Arc::clone(&self.parts), left: range }
    }
}

/// Some parts of a mutable slice.
#[derive(Debug)]
pub struct PartsMutPiece<'a, T> {
    /// The elements that no part has given away.
    slice: &'a mut [T],
    /// The index of its first element.
    start: usize,
    parts: Arc<[Range<usize>]>,
    /// The numbers of the parts that are left.
    left: Range<usize>,
}

impl<'a, T> Iterator for PartsMutPiece<'a, T> {
    type Item = &'a mut [T];

    #[inline]
    fn next(&mut self) -> Option<&'a mut [T]> {
        let part = self.parts[self.left.next()?].clone();
        let (head, rest) = std::mem::take(&mut self.slice).split_at_mut(part.end - self.start);
        let head = &mut head[part.start - self.start..];
        (self.slice, self.start) = (rest, part.end);
        Some(head)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<'a, T> DoubleEndedIterator for PartsMutPiece<'a, T> {
    #[inline]
    fn next_back(&mut self) -> Option<&'a mut [T]> {
        let part = self.parts[self.left.next_back()?].clone();
        let (rest, tail) = std::mem::take(&mut self.slice).split_at_mut(part.start - self.start);
        self.slice = rest;
        Some(&mut tail[..part.end - part.start])
    }
}
