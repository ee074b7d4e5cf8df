//! What lies beyond the edges of a grid, and how a tile of it is swept.

use crate::data::{Around, Block, Extent, TileMut, Way, strides};
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

impl<T: Copy, const N: usize> Field<'_, T, N> {
    /// Writes to `tile` what becomes of its elements.
    #[inline]
    pub(super) fn tile<const R: usize>(
        &self,
        tile: &mut TileMut<'_, T>,
        f: &impl Fn(Around<'_, T, N, R>) -> T,
    ) {
        let (mut scratch, mut rows) = (Vec::new(), tile.rows());
        while !rows.is_empty() {
            let point = self.row_at(rows.start);
            let alike = rows.start..rows.start + self.alike::<R>(&point).min(rows.len());
            rows.start = alike.end;
            if !self.is_kept::<R>(&point) {
                self.band(point, alike, tile, &mut scratch, f);
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

    /// How many rows from this one on have the same edges within reach: one, or all in the middle of the dimension that counts them.
    fn alike<const R: usize>(&self, point: &[usize; N]) -> usize {
        let Some(side) = N.checked_sub(2) else { return 1 };
        let middle = middle::<R>(self.shape[side]);
        if middle.contains(&point[side]) { middle.end - point[side] } else { 1 }
    }

    /// Whether the rows from `point` on keep their elements, because they are near an edge of another dimension than their own.
    fn is_kept<const R: usize>(&self, point: &[usize; N]) -> bool {
        (0..N - 1)
            .any(|side| self.edges[side].keeps() && !middle::<R>(self.shape[side]).contains(&point[side]))
    }

    /// Writes what becomes of the elements of `tile` in these rows, which are alike and the first of which begins at `point`.
    #[inline]
    fn band<const R: usize>(
        &self,
        mut point: [usize; N],
        rows: Range<usize>,
        tile: &mut TileMut<'_, T>,
        scratch: &mut Vec<T>,
        f: &impl Fn(Around<'_, T, N, R>) -> T,
    ) {
        let (columns, all) = (tile.columns(), self.shape[N - 1]);
        let middle = middle::<R>(all);
        for part in [0..middle.start, middle.clone(), middle.end..all] {
            let part = part.start.max(columns.start)..part.end.min(columns.end);
            let is_middle = middle.contains(&part.start);
            if part.is_empty() || (self.edges[N - 1].keeps() && !is_middle) {
                continue;
            }
            point[N - 1] = part.start;
            let extent = Extent { at: point, rows: rows.len(), length: part.len() };
            let (first, last) = (part.start - columns.start, part.end - columns.start);
            let out = tile.rows_mut_of(rows.clone()).map(|(_, row)| &mut row[first..last]);
            match self.ways::<R>(&point) {
                Some(ways) => Block::new(self.cells, self.shape, &extent, ways, point).map_into(out, f),
                None => self.gather::<R>(&extent, scratch).map_into(out, f),
            }
        }
    }

    /// How to step from `point`, and others that are alike, if strides can say it.
    fn ways<const R: usize>(&self, point: &[usize; N]) -> Option<[Way; N]> {
        let mut ways = [Way::Straight; N];
        for side in 0..N {
            if !middle::<R>(self.shape[side]).contains(&point[side]) {
                ways[side] = self.way_at_edge::<R>(side, point[side])?;
            }
        }
        Some(ways)
    }

    /// A step beyond an edge is one stride if there is an element for it, and none farther away.
    fn way_at_edge<const R: usize>(&self, side: usize, index: usize) -> Option<Way> {
        let to = |index: isize| match self.edges[side].at(index, self.shape[side]) {
            From::Index(index) => Some(index),
            From::Value(_) => None,
        };
        let index = index as isize;
        if R == 1 { Some(Way::To([to(index - 1)?, to(index + 1)?])) } else { None }
    }

    /// These elements, which are alike, with all that is in their reach.
    #[inline(never)]
    fn gather<'s, const R: usize>(&self, extent: &Extent<N>, scratch: &'s mut Vec<T>) -> Block<'s, T, N, R> {
        let &Extent { at: point, rows, length } = extent;
        let mut shape = [2 * R + 1; N];
        shape[N - 1] = length + 2 * R;
        if let Some(side) = N.checked_sub(2) {
            shape[side] = rows + 2 * R;
        }
        scratch.clear();
        let mut steps = [0; N];
        for _ in 0..shape[..N - 1].iter().product::<usize>() {
            let first = std::array::from_fn(|side| (point[side] + steps[side]) as isize - R as isize);
            self.gather_row(first, shape[N - 1], scratch);
            count_on(&mut steps[..N - 1], &shape);
        }
        let extent = Extent { at: [R; N], rows, length };
        Block::new(scratch, shape, &extent, [Way::Straight; N], point)
    }

    /// Adds `length` elements from `first` on, which may lie beyond any edge.
    #[inline]
    fn gather_row(&self, first: [isize; N], length: usize, scratch: &mut Vec<T>) {
        let (mut offset, strides) = (0, strides(self.shape));
        for side in (0..N - 1).rev() {
            match self.edges[side].at(first[side], self.shape[side]) {
                From::Index(index) => offset += index * strides[side],
                From::Value(value) => return scratch.extend(std::iter::repeat_n(value, length)),
            }
        }
        let columns = self.shape[N - 1];
        let row = &self.cells[offset..offset + columns];
        let any = |index: isize| match self.edges[N - 1].at(index, columns) {
            From::Index(index) => row[index],
            From::Value(value) => value,
        };
        let (first, last) = (first[N - 1], first[N - 1] + length as isize);
        if length < SHORT {
            return scratch.extend((first..last).map(any));
        }
        let within = first.clamp(0, columns as isize)..last.clamp(0, columns as isize);
        scratch.extend((first..within.start).map(any));
        scratch.extend_from_slice(&row[within.start as usize..within.end as usize]);
        scratch.extend((within.end..last).map(any));
    }
}

/// Rows that are shorter are gathered element by element.
const SHORT: usize = 16;

/// The next in the order of rows.
fn count_on(steps: &mut [usize], shape: &[usize]) {
    for (step, side) in steps.iter_mut().zip(shape).rev() {
        *step += 1;
        if *step < *side {
            return;
        }
        *step = 0;
    }
}

/// The indices along a dimension from which `R` steps either way lead to others.
fn middle<const R: usize>(length: usize) -> Range<usize> {
    let start = R.min(length);
    start..length.saturating_sub(R).max(start)
}
