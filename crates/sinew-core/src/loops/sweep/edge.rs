//! What lies beyond the edges of a grid, and how one row of it is swept.

use crate::data::{Around, Stretch, strides};
use std::ops::Range;

/// What a stencil finds beyond an edge of its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Edge<T> {
    /// The opposite side: the grid is a ring along that dimension.
    Periodic,
    /// The nearest element of the grid, again and again.
    #[default]
    Nearest,
    /// This value.
    Constant(T),
    /// Nothing: elements from which the stencil would reach beyond the edge keep their values.
    Keep,
}

/// Where something beyond an edge comes from.
enum From<T> {
    Index(usize),
    Value(T),
}

impl<T: Copy> Edge<T> {
    /// What is at `index` along a dimension of `length` elements.
    fn at(&self, index: isize, length: usize) -> From<T> {
        if index >= 0 && (index as usize) < length {
            return From::Index(index as usize);
        }
        match self {
            Self::Periodic => From::Index(index.rem_euclid(length as isize) as usize),
            Self::Constant(value) => From::Value(*value),
            // Nobody looks beyond an edge that is kept.
            Self::Nearest | Self::Keep => From::Index(index.clamp(0, length as isize - 1) as usize),
        }
    }

    fn keeps(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

/// A grid that is read.
#[derive(Clone, Copy)]
pub(super) struct Field<'a, T, const N: usize> {
    pub(super) cells: &'a [T],
    pub(super) shape: [usize; N],
    pub(super) edges: &'a [Edge<T>; N],
}

/// The surroundings of some elements near an edge; kept only for its memory.
pub(super) struct Scratch<T>(Vec<T>);

impl<T> Scratch<T> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy, const N: usize> Field<'_, T, N> {
    /// Writes to `out` what becomes of the elements of `row` from column `first` on.
    #[inline]
    pub(super) fn row<const R: usize>(
        &self,
        row: usize,
        first: usize,
        out: &mut [T],
        scratch: &mut Scratch<T>,
        f: &impl Fn(Around<'_, T, N, R>) -> T,
    ) {
        let mut point = self.row_at(row);
        let columns = first..first + out.len();
        let middle = middle::<R>(self.shape[N - 1]);
        let (inside, kept) = self.place::<R>(&point);
        if kept {
            return;
        }
        let keeps = self.edges[N - 1].keeps();
        let parts = [0..middle.start, middle.clone(), middle.end..self.shape[N - 1]];
        for (number, part) in parts.into_iter().enumerate() {
            let part = part.start.max(columns.start)..part.end.min(columns.end);
            let is_middle = number == 1;
            if part.is_empty() || (keeps && !is_middle) {
                continue;
            }
            point[N - 1] = part.start;
            let out = &mut out[part.start - first..part.end - first];
            if is_middle && inside {
                Stretch::<T, N, R>::new(self.cells, self.shape, point, part.len(), point).map_into(out, f);
            } else {
                self.gathered::<R>(point, out, scratch, f);
            }
        }
    }

    /// Where `row` begins.
    fn row_at(&self, row: usize) -> [usize; N] {
        let (mut point, mut rest) = ([0; N], row);
        for side in (0..N - 1).rev() {
            (point[side], rest) = (rest % self.shape[side], rest / self.shape[side]);
        }
        point
    }

    /// Whether a row is in the middle along all other dimensions, and whether its elements are kept because it is not.
    fn place<const R: usize>(&self, point: &[usize; N]) -> (bool, bool) {
        let outside = |side: &usize| !middle::<R>(self.shape[*side]).contains(&point[*side]);
        let inside = !(0..N - 1).any(|side| outside(&side));
        (inside, (0..N - 1).any(|side| outside(&side) && self.edges[side].keeps()))
    }

    /// Writes what becomes of the elements from `point` on, near an edge.
    #[inline(never)]
    fn gathered<const R: usize>(
        &self,
        point: [usize; N],
        out: &mut [T],
        Scratch(scratch): &mut Scratch<T>,
        f: &impl Fn(Around<'_, T, N, R>) -> T,
    ) {
        let width = 2 * R + 1;
        let mut shape = [width; N];
        shape[N - 1] = out.len() + 2 * R;
        scratch.clear();
        for number in 0..width.pow(N as u32 - 1) {
            self.gather_row::<R>(number, point, shape[N - 1], scratch);
        }
        Stretch::<T, N, R>::new(scratch, shape, [R; N], out.len(), point).map_into(out, f);
    }

    /// Adds `length` elements of the row that is the `number`th of those around `point`.
    fn gather_row<const R: usize>(
        &self,
        number: usize,
        point: [usize; N],
        length: usize,
        scratch: &mut Vec<T>,
    ) {
        let (width, mut rest, mut offset) = (2 * R + 1, number, 0);
        let strides = strides(self.shape);
        for side in (0..N - 1).rev() {
            let index = (point[side] + rest % width) as isize - R as isize;
            rest /= width;
            match self.edges[side].at(index, self.shape[side]) {
                From::Index(index) => offset += index * strides[side],
                From::Value(value) => return scratch.extend(std::iter::repeat_n(value, length)),
            }
        }
        let columns = self.shape[N - 1];
        let row = &self.cells[offset..offset + columns];
        let first = point[N - 1] as isize - R as isize;
        let beyond = |index: isize| match self.edges[N - 1].at(index, columns) {
            From::Index(index) => row[index],
            From::Value(value) => value,
        };
        let last = first + length as isize;
        let within = first.clamp(0, columns as isize)..last.clamp(0, columns as isize);
        scratch.extend((first..within.start).map(beyond));
        scratch.extend_from_slice(&row[within.start as usize..within.end as usize]);
        scratch.extend((within.end..last).map(beyond));
    }
}

/// The indices along a dimension from which `R` steps either way lead to others.
fn middle<const R: usize>(length: usize) -> Range<usize> {
    let start = R.min(length);
    start..length.saturating_sub(R).max(start)
}
