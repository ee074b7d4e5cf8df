//! A grid of rows in a mutable slice, divided into disjoint tiles.
//!
//! A tile is not a slice: other tiles' elements lie between its rows. So a tile is a view that
//! returns one row at a time, and never forms a reference to the elements between.
//!
//! # Invariants
//!
//! - I1: an element belongs to exactly one tile of a grid.
//! - I2: a tile makes references to its own elements only, and each borrows the tile.

use super::items::{Items, SliceMut};
use sinew_policy::split::Grid;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// The tiles of a mutable grid, row by row of tiles.
#[derive(Debug)]
pub struct TilesMut<'a, T> {
    data: SliceMut<'a, T>,
    columns: usize,
    grid: Grid<2>,
}

impl<'a, T> TilesMut<'a, T> {
    /// `data` as rows of `columns` elements, in tiles of `tile` = `[rows, columns]`; those at the
    /// lower and right edges may be smaller.
    ///
    /// # Panics
    ///
    /// If a tile has no rows or no columns, or if the elements do not make whole rows.
    #[track_caller]
    pub fn new(data: &'a mut [T], columns: usize, tile: [usize; 2]) -> Self {
        let rows = data.len().checked_div(columns).unwrap_or(0);
        Self::within(data, columns, [0..rows, 0..columns], tile)
    }

    /// As [`new`](Self::new), of these rows and columns only.
    ///
    /// # Panics
    ///
    /// As `new`; also if there are not so many rows or columns.
    #[track_caller]
    pub(crate) fn within(
        data: &'a mut [T],
        columns: usize,
        part: [Range<usize>; 2],
        tile: [usize; 2],
    ) -> Self {
        assert!(
            !tile.contains(&0),
            "tiles of {} x {} elements never end: use at least 1 x 1",
            tile[0],
            tile[1]
        );
        let rows = data.len().checked_div(columns).unwrap_or(0);
        assert!(
            rows * columns == data.len(),
            "{} elements are no whole rows of {columns}: give another number of columns",
            data.len()
        );
        assert!(part[0].end <= rows && part[1].end <= columns, "no part of the grid: {part:?}");
        let grid = Grid::new(part, tile).expect("no more tiles than elements");
        Self { data: SliceMut::new(data), columns, grid }
    }
}

// SAFETY: tiles of different numbers have no element in common (I1), and make references to nothing
// else (I2).
unsafe impl<'a, T: Send> Items for TilesMut<'a, T> {
    type Item = TileMut<'a, T>;
    type Piece = TilesPiece<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        self.grid.len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        TilesPiece {
            start: self.data.start(),
            columns: self.columns,
            grid: self.grid.clone(),
            left: range,
            borrow: PhantomData,
        }
    }
}

/// Some of the tiles of a grid.
pub struct TilesPiece<'a, T> {
    start: *mut T,
    columns: usize,
    grid: Grid<2>,
    left: Range<usize>,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for the `&mut T` of its tiles, which may be sent where `T` may.
unsafe impl<T: Send> Send for TilesPiece<'_, T> {}
// SAFETY: a shared reference gives access to numbers only.
unsafe impl<T: Sync> Sync for TilesPiece<'_, T> {}

impl<T> fmt::Debug for TilesPiece<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TilesPiece").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<'a, T> Iterator for TilesPiece<'a, T> {
    type Item = TileMut<'a, T>;

    #[inline]
    fn next(&mut self) -> Option<TileMut<'a, T>> {
        let [rows, columns] = self.grid.block(self.left.next()?);
        // Each number comes once, so this is the only tile with these elements.
        Some(TileMut {
            start: self.start,
            stride: self.columns,
            rows,
            columns,
            borrow: PhantomData,
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

/// A tile of a mutable grid: some rows, of each some columns.
pub struct TileMut<'a, T> {
    /// The first element of the whole grid.
    start: *mut T,
    /// Elements from one row of the grid to the next.
    stride: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for `&mut T` of each of its elements, which may be sent where `T` may.
unsafe impl<T: Send> Send for TileMut<'_, T> {}
// SAFETY: a shared reference gives access to `&T` only.
unsafe impl<T: Sync> Sync for TileMut<'_, T> {}

impl<T> fmt::Debug for TileMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TileMut")
            .field("rows", &self.rows)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl<T> TileMut<'_, T> {
    /// The rows of the grid that it covers.
    #[inline]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The columns of the grid that it covers.
    #[inline]
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// The elements of `row`, a row of the grid.
    ///
    /// # Panics
    ///
    /// If the tile does not cover that row.
    #[inline]
    #[track_caller]
    pub fn row(&self, row: usize) -> &[T] {
        let start = self.checked(row);
        // SAFETY: `start` is the first of the tile's elements in this row, which all lie in the
        // grid; `&mut` to them would borrow the tile mutably (I2).
        unsafe { std::slice::from_raw_parts(start, self.columns.len()) }
    }

    /// The elements of `row`, a row of the grid.
    ///
    /// # Panics
    ///
    /// If the tile does not cover that row.
    #[inline]
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let start = self.checked(row);
        // SAFETY: as in `row`; the tile is borrowed mutably for as long as the slice, and no other
        // tile has these elements (I1).
        unsafe { std::slice::from_raw_parts_mut(start, self.columns.len()) }
    }

    /// Its rows from top to bottom, each with its number in the grid.
    #[inline]
    pub fn rows_mut(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        self.rows_mut_of(self.rows())
    }

    /// Some of its rows, which are rows of the grid, from top to bottom, each with its number in
    /// the grid.
    ///
    /// # Panics
    ///
    /// If the tile does not cover these rows.
    #[inline]
    #[track_caller]
    pub(crate) fn rows_mut_of(
        &mut self,
        rows: Range<usize>,
    ) -> impl ExactSizeIterator<Item = (usize, &mut [T])> {
        let (start, stride, columns) = (self.start, self.stride, self.columns.clone());
        assert!(rows.start >= self.rows.start && rows.end <= self.rows.end);
        rows.map(move |row| {
            // SAFETY: different rows of a tile are disjoint, each comes once, and all lie in the
            // grid; the tile is borrowed mutably for as long as the iterator's items live (I1, I2).
            (row, unsafe {
                std::slice::from_raw_parts_mut(
                    start.add(row * stride + columns.start),
                    columns.len(),
                )
            })
        })
    }

    /// The first of the tile's elements in `row`.
    #[inline]
    #[track_caller]
    fn checked(&self, row: usize) -> *mut T {
        assert!(self.rows.contains(&row), "row {row} is not in a tile of rows {:?}", self.rows);
        // SAFETY: the row and the first column lie in the grid.
        unsafe { self.start.add(row * self.stride + self.columns.start) }
    }
}
