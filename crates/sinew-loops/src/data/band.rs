//! Bands: rows of a grid that a stencil visits with one table of the rows around them.
//!
//! The rows of a band are *uniform*: from each row to the next, the rows around it move by one row
//! as well, or are the same constant. So one table serves all of them. Elements in the interior of
//! their row are visited by a loop without tests. Near an end of the row, a function of radius 1
//! uses another stride, or the constant. For a larger radius the elements near that end are first
//! copied to a strip of some columns.
//!
//! `loops::sweep` cuts tiles into bands; `neighbourhood` is what the user's function gets.
//!
//! # Invariants
//!
//! - B1: each line of the table begins at the band's first column, in a row of the grid that has
//!   as many rows after it as the band has. Or it begins in a buffer of the constant with as many
//!   rows of the same length, and `R` more elements at both ends.
//! - B2: an element that is visited as interior has `R` others at both sides of it in its row.
//! - B3: a strip has the band's rows and `R` before and after them, for each combination of steps
//!   along the slower dimensions. It has all columns within reach of its part.
//!
//! # Cost
//!
//! A call for each row, so that the compiler knows that input and output do not overlap. A table
//! for each band. Strips, if the radius is larger than 1: `(2R + 1)^(N - 2)` times `3R` elements
//! for each row and end.

use std::marker::PhantomData;
use std::ops::Range;

use super::edge::{Edge, Element};
use super::neighbourhood::{BEYOND, Line, Neighbourhood, Stride};
use super::tiles::TileMut;

/// A grid that is read, and what is beyond its edges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a, T, const N: usize> {
    pub(crate) cells: &'a [T],
    pub(crate) shape: [usize; N],
    pub(crate) edges: &'a [Edge<T>; N],
    /// For each dimension but the last that has a constant beyond its edges, rows of it: as many as
    /// a band has, and `R` elements at both ends.
    pub(crate) constants: &'a [Vec<T>; N],
}

/// The buffers of a participant, kept from one band to the next.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    /// The rows around the band's rows.
    lines: Vec<Line<T>>,
    /// The rows around a strip's rows.
    strip_lines: Vec<Line<T>>,
    strip: Vec<T>,
    /// For each column of a strip its distance from the band's first column; `None` for a constant.
    columns: Vec<Option<isize>>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Self { lines: Vec::new(), strip_lines: Vec::new(), strip: Vec::new(), columns: Vec::new() }
    }
}

/// Some uniform rows of a field, of each the columns of a tile.
pub(crate) struct Band<'a, 't, T, const N: usize, const R: usize> {
    pub(crate) field: &'a Field<'a, T, N>,
    /// The position of the first row.
    pub(crate) at: [usize; N],
    pub(crate) rows: Range<usize>,
    pub(crate) tile: &'a mut TileMut<'t, T>,
}

impl<T: Copy, const N: usize, const R: usize> Band<'_, '_, T, N, R> {
    /// Writes `f` of each element's neighbourhood to the tile. Elements near the end of a row that
    /// keeps its ends are skipped.
    ///
    /// # Panics
    ///
    /// If the rows are not in the tile, or not in the field.
    #[inline]
    pub(crate) fn map(
        mut self,
        scratch: &mut Scratch<T>,
        f: &impl Fn(Neighbourhood<'_, T, N, R>) -> T,
    ) {
        let (columns, all) = (self.tile.columns(), self.field.shape[N - 1]);
        self.at[N - 1] = columns.start;
        let number = self.rows.len();
        assert!(columns.end <= all && number > 0 && (N > 1 || number == 1));
        self.collect_lines(&mut scratch.lines);
        let far = interior::<R>(all);
        let part = far.start.max(columns.start)..far.end.min(columns.end);
        if !part.is_empty() {
            let (first, last) = (part.start - columns.start, part.end - columns.start);
            let (pitch, point) = (self.pitch(), self.point(first));
            for (row, (_, out)) in self.tile.rows_mut_of(self.rows.clone()).enumerate() {
                let around = around(&scratch.lines, row * pitch + first, below(point, row));
                // SAFETY: B1, B2.
                unsafe { map_row(&around, &mut out[first..last], f) };
            }
        }
        if !self.field.edges[N - 1].is_keep() {
            for end in [0..far.start, far.end..all] {
                let part = end.start.max(columns.start)..end.end.min(columns.end);
                if !part.is_empty() {
                    self.map_boundary(part, scratch, f);
                }
            }
        }
    }

    /// The distance from one row of the grid to the next.
    fn pitch(&self) -> usize {
        self.field.shape[N - 1]
    }

    /// The position of an element of the band's first row.
    fn point(&self, place: usize) -> [usize; N] {
        let mut point = self.at;
        point[N - 1] += place;
        point
    }

    /// Maps the elements in some columns near one end of the rows.
    #[inline]
    fn map_boundary(
        &mut self,
        part: Range<usize>,
        scratch: &mut Scratch<T>,
        f: &impl Fn(Neighbourhood<'_, T, N, R>) -> T,
    ) {
        let (place, number) = (part.start - self.at[N - 1], self.rows.len());
        if R == 1 {
            assert!(part.len() == 1);
            let (stride, beyond) = self.stride_at(part.start);
            let first = Neighbourhood {
                stride,
                beyond,
                ..around(&scratch.lines, place, self.point(place))
            };
            self.map_column(first, self.pitch(), place..place + 1, f);
        } else {
            let width = part.len() + 2 * R;
            self.copy_strip(&part, scratch);
            assert!(scratch.strip.len() == self.strip_rows(number).1 * width);
            let first = around(&scratch.strip_lines, 0, self.point(place));
            self.map_column(first, width, place..place + part.len(), f);
        }
    }

    /// The stride of a step along the row from `column` in both directions, and the constant beyond
    /// the end of the row, if any (A2).
    fn stride_at(&self, column: usize) -> (Stride, *const T) {
        let Field { edges, shape, .. } = self.field;
        let (column, mut beyond) = (column as isize, std::ptr::null());
        let mut to = |index: isize| match edges[N - 1].at(index, shape[N - 1]) {
            Element::Index(index) => index as isize - column,
            Element::Value(value) => {
                beyond = value;
                BEYOND
            }
        };
        let stride = Stride { back: to(column - 1), forward: to(column + 1) };
        (stride, beyond)
    }

    /// Maps the elements at these places of each row. `first` is the neighbourhood of the first of
    /// them; the rows of its lines are `pitch` apart.
    #[inline(never)]
    fn map_column(
        &mut self,
        first: Neighbourhood<'_, T, N, R>,
        pitch: usize,
        places: Range<usize>,
        f: &impl Fn(Neighbourhood<'_, T, N, R>) -> T,
    ) {
        for (row, (_, out)) in self.tile.rows_mut_of(self.rows.clone()).enumerate() {
            for (k, out) in out[places.clone()].iter_mut().enumerate() {
                let point = below(first.point, row);
                *out =
                    f(Neighbourhood { place: first.place + row * pitch, point, ..first }.moved(k));
            }
        }
    }

    /// Collects the rows around the band's first row (B1).
    ///
    /// # Panics
    ///
    /// If one of them is not in the field.
    fn collect_lines(&self, lines: &mut Vec<Line<T>>) {
        let (strides, mut steps) = (strides(self.field.shape), [0; N]);
        lines.clear();
        for _ in 0..(2 * R + 1).pow(N as u32 - 1) {
            lines.push(self.line(&steps, &strides));
            increment(&mut steps[..N - 1], 2 * R + 1);
        }
    }

    /// The row that is `steps` away from `R` steps before the band's first.
    #[inline]
    fn line(&self, steps: &[usize; N], strides: &[usize; N]) -> Line<T> {
        let (Field { cells, shape, edges, constants }, number) = (self.field, self.rows.len());
        let mut row = 0;
        for side in (0..N - 1).rev() {
            let index = (self.at[side] + steps[side]) as isize - R as isize;
            match edges[side].at(index, shape[side]) {
                Element::Index(index) => row += index * strides[side],
                Element::Value(_) => {
                    let rows = &constants[side];
                    assert!(rows.len() >= number * self.pitch() + 2 * R);
                    let first = rows.as_ptr().wrapping_add(R + self.at[N - 1]);
                    return Line { first, is_constant: true };
                }
            }
        }
        assert!(row + number * self.pitch() <= cells.len());
        Line { first: cells.as_ptr().wrapping_add(row + self.at[N - 1]), is_constant: false }
    }

    /// For a strip, the number of combinations of steps along the slower dimensions, and of rows.
    fn strip_rows(&self, number: usize) -> (usize, usize) {
        let width = 2 * R + 1;
        match N.checked_sub(2) {
            Some(slower) => {
                let combinations = width.pow(slower as u32);
                (combinations, combinations * (number + 2 * R))
            }
            None => (1, 1),
        }
    }

    /// Copies the surroundings of the columns `part` to a strip, and collects its rows (B3).
    #[inline(never)]
    fn copy_strip(&self, part: &Range<usize>, scratch: &mut Scratch<T>) {
        let Scratch { lines, strip_lines, strip, columns } = scratch;
        let (edge, all, width) = (&self.field.edges[N - 1], self.pitch(), part.len() + 2 * R);
        let mut constant = None;
        columns.clear();
        columns.extend((0..width).map(
            |k| match edge.at((part.start + k) as isize - R as isize, all) {
                Element::Index(index) => Some(index as isize - self.at[N - 1] as isize),
                Element::Value(value) => {
                    constant = Some(*value);
                    None
                }
            },
        ));
        let (combinations, rows) = self.strip_rows(self.rows.len());
        let (each, beside) = (rows / combinations, if N > 1 { 2 * R + 1 } else { 1 });
        strip.clear();
        strip.reserve(rows * width);
        for lines in lines.chunks_exact(beside) {
            for row in 0..each {
                let nearest = row.min(beside - 1);
                let line = &lines[nearest];
                // SAFETY: the last line of each combination is that of the last row before the
                // band's end, after which there are as many as the band has (B1).
                let first = unsafe { line.first.add((row - nearest) * all) };
                strip.extend(columns.iter().map(|column| match (column, constant) {
                    // SAFETY: a column of the grid (B1).
                    (Some(column), _) => unsafe { *first.offset(*column) },
                    (None, Some(constant)) if !line.is_constant => constant,
                    // SAFETY: as above; all elements of a constant line are equal.
                    (None, _) => unsafe { *first },
                }));
            }
        }
        strip_lines.clear();
        for combination in 0..combinations {
            strip_lines.extend((0..beside).map(|row| {
                let first = strip.as_ptr().wrapping_add((combination * each + row) * width + R);
                Line { first, is_constant: false }
            }));
        }
    }
}

/// The point `rows` rows below a point.
#[inline(always)]
fn below<const N: usize>(mut point: [usize; N], rows: usize) -> [usize; N] {
    if N > 1 {
        point[N - 2] += rows;
    }
    point
}

/// The neighbourhood of the element at `place` of the first row.
#[inline(always)]
fn around<T, const N: usize, const R: usize>(
    lines: &[Line<T>],
    place: usize,
    point: [usize; N],
) -> Neighbourhood<'_, T, N, R> {
    assert!(lines.len() == (2 * R + 1).pow(N as u32 - 1));
    let (stride, beyond) = (Stride::UNIT, std::ptr::null());
    Neighbourhood { lines: lines.as_ptr(), place, stride, beyond, point, grid: PhantomData }
}

/// Maps a run of elements from `first` on in its row, all in the row's interior. Not inlined: see
/// the module's cost.
///
/// # Safety
///
/// A1 holds for as many elements as `out` has.
#[inline(never)]
unsafe fn map_row<T, const N: usize, const R: usize>(
    first: &Neighbourhood<'_, T, N, R>,
    out: &mut [T],
    f: &impl Fn(Neighbourhood<'_, T, N, R>) -> T,
) {
    let first = Neighbourhood { stride: Stride::UNIT, ..*first };
    for (k, out) in out.iter_mut().enumerate() {
        *out = f(first.moved(k));
    }
}

/// Increments a number of fixed width, given by its digits in base `base`.
#[inline]
fn increment(digits: &mut [usize], base: usize) {
    for digit in digits.iter_mut().rev() {
        *digit += 1;
        if *digit < base {
            return;
        }
        *digit = 0;
    }
}

/// The indices along a dimension that are at least `R` steps from both edges.
pub(crate) fn interior<const R: usize>(length: usize) -> Range<usize> {
    let start = R.min(length);
    start..length.saturating_sub(R).max(start)
}

/// The distance of neighbours along each dimension in a grid stored row by row.
fn strides<const N: usize>(shape: [usize; N]) -> [usize; N] {
    let mut strides = [1; N];
    for side in (1..N).rev() {
        strides[side - 1] = strides[side] * shape[side];
    }
    strides
}
