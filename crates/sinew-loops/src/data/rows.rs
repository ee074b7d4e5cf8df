//! A three-dimensional array in tiles of whole rows: disjoint pieces that are not contiguous.
//!
//! Rows run along the first dimension and follow each other in memory. A *layer* consists of rows,
//! the array of layers. A tile has the same rows of each of its layers, so it is a set of rows, and
//! no two tiles share a row.
//!
//! # Invariants
//!
//! - T1: tiles of one array have disjoint sets of rows, all within the array.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice::from_raw_parts_mut;

/// The extents of a three-dimensional array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Values in a row.
    pub row: usize,
    /// Rows in a layer.
    pub rows: usize,
    /// Layers.
    pub layers: usize,
}

impl Shape {
    /// The number of values; `None` if it exceeds `usize::MAX`.
    pub fn len(self) -> Option<usize> {
        self.row.checked_mul(self.rows)?.checked_mul(self.layers)
    }

    /// Whether there is no value.
    pub fn is_empty(self) -> bool {
        self.len() == Some(0)
    }
}

/// The order of the tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TileOrder {
    /// All tiles of the first layers, then those of the next: the loop over layers is the outer
    /// one.
    #[default]
    LayersOutside,
    /// The tiles of the same rows of all layers, then those of the next rows: the loop over rows is
    /// the outer one.
    RowsOutside,
}

/// Some rows of some layers, for one owner.
#[derive(Debug)]
pub struct Tile<'a, T> {
    start: *mut T,
    shape: Shape,
    rows: Range<usize>,
    layers: Range<usize>,
    values: PhantomData<&'a mut [T]>,
}

// SAFETY: a tile stands for mutable references to its rows, which no other tile has (T1).
unsafe impl<T: Send> Send for Tile<'_, T> {}
// SAFETY: a shared tile gives access to its extents only.
unsafe impl<T: Sync> Sync for Tile<'_, T> {}

/// A row of a tile.
#[derive(Debug)]
pub struct Row<'a, T> {
    /// Its place in the layer.
    pub row: usize,
    /// The layer.
    pub layer: usize,
    /// Its values.
    pub values: &'a mut [T],
}

/// Cuts an array of this shape into tiles of `rows` rows in `layers` layers; those at the end may
/// be smaller.
///
/// ```
/// use sinew_loops::data::{Shape, TileOrder, tiles};
///
/// let shape = Shape { row: 3, rows: 4, layers: 2 };
/// let mut array = vec![0; 24];
/// for (number, tile) in tiles(&mut array, shape, (2, 1), TileOrder::LayersOutside).enumerate() {
///     tile.into_rows().for_each(|row| row.values.fill(number));
/// }
/// assert_eq!(array, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]);
/// ```
///
/// # Panics
///
/// If the array has another length than its shape says, or a tile has no rows or layers; or if
/// there are more than `usize::MAX` tiles, of rows without values.
#[track_caller]
pub fn tiles<T>(
    array: &mut [T],
    shape: Shape,
    (rows, layers): (usize, usize),
    order: TileOrder,
) -> impl Iterator<Item = Tile<'_, T>> {
    assert_eq!(
        Some(array.len()),
        shape.len(),
        "an array of {} values is none of {shape:?}",
        array.len()
    );
    assert!(rows > 0 && layers > 0, "tiles of {rows} rows in {layers} layers never cover an array");
    let (across, deep) = (shape.rows.div_ceil(rows), shape.layers.div_ceil(layers));
    let start = array.as_mut_ptr();
    // Only an array without values can have more.
    let tiles = across.checked_mul(deep).expect("tiles of rows without values that can be counted");
    (0..tiles).map(move |number| {
        let (row, layer) = match order {
            TileOrder::LayersOutside => (number % across, number / across),
            TileOrder::RowsOutside => (number / deep, number % deep),
        };
        // Different numbers are different pairs, whose rows and layers are not both the same (T1).
        let part = |at: usize, size: usize, end: usize| {
            at * size..(at * size).saturating_add(size).min(end)
        };
        let (rows, layers) = (part(row, rows, shape.rows), part(layer, layers, shape.layers));
        Tile { start, shape, rows, layers, values: PhantomData }
    })
}

impl<'a, T> Tile<'a, T> {
    /// The rows of each of its layers that it has.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Its layers.
    pub fn layers(&self) -> Range<usize> {
        self.layers.clone()
    }

    /// Its rows, layer by layer.
    pub fn into_rows(self) -> impl Iterator<Item = Row<'a, T>> {
        let Self { start, shape, rows, layers, .. } = self;
        layers.flat_map(move |layer| rows.clone().map(move |row| (row, layer))).map(
            move |(row, layer)| {
                // SAFETY: the row and the layer are within the array; the tile is consumed, so each
                // of its rows is returned once (T1).
                let values = unsafe {
                    from_raw_parts_mut(start.add((layer * shape.rows + row) * shape.row), shape.row)
                };
                Row { row, layer, values }
            },
        )
    }
}
