//! Stencils: each sweep computes each element of a grid from its neighbourhood.
//!
//! This file has the sweeps, `tile` divides a tile into bands of rows, and `data::band` visits a
//! band. The builder for users is the crate `sinew`'s `stencil`.
//!
//! Two grids take turns: a sweep reads one and writes the other, tile by tile. A tile is cut into
//! bands of uniform rows, each with a table of the rows around it. These rows may lie at the
//! opposite side of the grid, may be the nearest rows, or may be a buffer of the constant of an
//! [edge](Edge). So no row is copied, and a loop like one written by hand visits the interior
//! elements of a row. Near the ends of a row, steps along it use another stride or the constant; if
//! the radius is larger than 1, they read a copy of the elements near that end.
//!
//! # Invariants
//!
//! - S1: before and after each sweep one of both grids holds the state after a whole number of
//!   sweeps, and the caller's holds one when [`sweeps`] returns or unwinds.
//! - S2: an element that is kept is the same in both grids, and is written in neither.
//!
//! # Cost
//!
//! One loop for each sweep. A second grid, which is filled once. A table for each band. For each
//! dimension but the last with a constant edge, a buffer of as many rows as a tile has. If the
//! radius is larger than 1, a copy of some elements at both ends of each row.

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod tile;

use super::driver::drive;
use super::map;
use super::options::Options;
use super::phases::Phases;
use crate::data::{Edge, Field, IntoItems, Items, Neighbourhood, Scratch, TilesMut, interior};
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// The approximate number of elements of a tile: worth a claim, and small enough for the L1 cache.
const TILE: usize = 4096;
/// Tiles for each worker, if the grid is large enough.
const TILES: usize = 8;
/// The least columns of a tile.
const NARROWEST: usize = 64;

/// A stencil and how often it is applied.
#[derive(Debug)]
pub struct Sweeps<'e, T, const N: usize> {
    /// The sides of the grid, the slowest dimension first. Their product is its length.
    pub shape: [usize; N],
    /// The rules for elements beyond the edges, for each dimension.
    pub edges: &'e [Edge<T>; N],
    /// The maximum number of sweeps.
    pub sweeps: usize,
}

/// Replaces each element of `grid` by `f` of its neighbourhood, in as many sweeps as `plan` says,
/// or until `until` returns true. `until` is called after each sweep with the number of sweeps and
/// the grid. Returns the number of sweeps.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; the grid then holds the state after the sweeps
/// that were finished (S1).
///
/// # Panics
///
/// If `f` or `until` does; the grid then holds the state after the sweeps that were finished. If
/// the length of the grid is not the product of its sides, or a side is 0 or more than
/// `isize::MAX`.
///
/// A stencil that reaches too far does not compile: `R` is at most 65,536, and `(2R + 1)^(N - 1)`
/// at most 1,048,576.
#[track_caller]
pub fn sweeps<T, const N: usize, const R: usize>(
    w: &Worker,
    grid: &mut [T],
    plan: &Sweeps<'_, T, N>,
    options: &Options<'_>,
    f: impl Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    mut until: impl FnMut(usize, &[T]) -> bool,
) -> Result<usize, Cancelled>
where
    T: Copy + Send + Sync,
{
    const { Neighbourhood::<'static, (), N, R>::IS_IN_REACH };
    let &Sweeps { shape, edges, sweeps } = plan;
    assert_shape(shape, grid.len());
    let within = std::array::from_fn(|side| match &edges[side] {
        edge if edge.is_keep() => interior::<R>(shape[side]),
        _ => 0..shape[side],
    });
    let tile = tile_of(w, shape);
    let tiles = tiles(shape, tile) as u64;
    Phases::run(options, tiles.saturating_mul(sweeps as u64), |phases| {
        let copy_options = Options { threads: options.threads, ..Options::default() };
        let copy = map(w, (&*grid).into_items(), &copy_options, |cell| *cell)?;
        let constants = &constants(edges, tile[0] * columns(shape) + 2 * R);
        let mut pair = Pair { ours: copy, theirs: grid, in_ours: sweeps % 2 == 1 };
        let mut done = 0;
        while done < sweeps {
            let (now, next) = pair.both();
            phases.next(tiles)?;
            let field = Field { cells: now, shape, edges, constants };
            let tiles = TilesMut::new(next, columns(shape), tile);
            let piece = |scratch: &mut Scratch<T>, range| {
                // SAFETY: ranges lie below the length and are disjoint (D1 of the driver); no other
                // code asks for tiles.
                let tiles = unsafe { tiles.piece(range) };
                tiles.for_each(|mut tile| tile::sweep(&field, &within, &mut tile, scratch, &f));
                ControlFlow::Continue(())
            };
            drive(w, tiles.length(), options, Scratch::default, piece)?;
            (pair.in_ours, done) = (!pair.in_ours, done + 1);
            if until(done, pair.both().0) {
                break;
            }
        }
        Ok(done)
    })
}

/// Writes `f` of the neighbourhood of each element of `now` whose indices are `within` these ranges
/// to `next`, and leaves the rest of `next`. Both are grids with the sides `shape`.
///
/// # Errors
///
/// None: without a control nothing cancels it.
///
/// # Panics
///
/// If `f` does; `next` then holds any of both values at each element. If an element within the
/// ranges has neighbours beyond the sides. As [`sweeps`].
#[track_caller]
pub fn sweep_part<T, const N: usize, const R: usize>(
    w: &Worker,
    (now, next): (&[T], &mut [T]),
    shape: [usize; N],
    within: &[Range<usize>; N],
    f: impl Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
) -> Result<(), Cancelled>
where
    T: Copy + Send + Sync,
{
    const { Neighbourhood::<'static, (), N, R>::IS_IN_REACH };
    assert_shape(shape, now.len());
    assert_shape(shape, next.len());
    if within.iter().any(Range::is_empty) {
        return Ok(());
    }
    let has_all = |side: usize| {
        let interior = interior::<R>(shape[side]);
        interior.start <= within[side].start && within[side].end <= interior.end
    };
    assert!((0..N).all(has_all), "neighbours of {within:?} are beyond the sides {shape:?}");
    let row = |end: fn(&Range<usize>) -> usize| {
        (0..N - 1).fold(0, |row, side| row * shape[side] + end(&within[side]))
    };
    let rows = row(|range| range.start)..row(|range| range.end - 1) + 1;
    let sides = within.each_ref().map(Range::len);
    let (edges, constants) = (&[const { Edge::Keep }; N], &[const { Vec::new() }; N]);
    let field = Field { cells: now, shape, edges, constants };
    let part = [rows, within[N - 1].clone()];
    let tiles = TilesMut::within(next, columns(shape), part, tile_of(w, sides));
    let piece = |scratch: &mut Scratch<T>, range| {
        // SAFETY: as in `sweeps`.
        let tiles = unsafe { tiles.piece(range) };
        tiles.for_each(|mut tile| tile::sweep(&field, within, &mut tile, scratch, &f));
        ControlFlow::Continue(())
    };
    drive(w, tiles.length(), &Options::default(), Scratch::default, piece).map(drop)
}

/// Panics unless the grid has this shape,
/// Panics unless the grid has this shape, and steps between its elements fit into an `isize`. The
/// bands rely on both.
#[track_caller]
fn assert_shape<const N: usize>(shape: [usize; N], elements: usize) {
    assert!(
        shape.iter().all(|side| (1..=isize::MAX as usize).contains(side)),
        "a grid of {shape:?} has a side of 0, or one of more than isize::MAX"
    );
    let product = shape.iter().try_fold(1_usize, |product, side| product.checked_mul(*side));
    assert!(product == Some(elements), "{elements} elements are no grid of {shape:?}");
}

/// For each dimension but the last with a constant edge, `length` copies of the constant.
fn constants<T: Copy, const N: usize>(edges: &[Edge<T>; N], length: usize) -> [Vec<T>; N] {
    std::array::from_fn(|side| match edges[side] {
        Edge::Constant(value) if side + 1 < N => vec![value; length],
        _ => Vec::new(),
    })
}

fn columns<const N: usize>(shape: [usize; N]) -> usize {
    shape[N - 1]
}

fn rows<const N: usize>(shape: [usize; N]) -> usize {
    shape[..N - 1].iter().product()
}

/// The rows and columns of a tile: several tiles for each worker, each worth a claim.
fn tile_of<const N: usize>(w: &Worker, shape: [usize; N]) -> [usize; 2] {
    let (rows, columns, wanted) = (rows(shape), columns(shape), TILES * w.max_threads());
    if rows >= wanted {
        [(rows / wanted).min(TILE / columns).max(1), columns.min(2 * TILE)]
    } else {
        let pieces = wanted.div_ceil(rows);
        [1, columns.div_ceil(pieces).clamp(NARROWEST, 2 * TILE)]
    }
}

fn tiles<const N: usize>(shape: [usize; N], tile: [usize; 2]) -> usize {
    rows(shape).div_ceil(tile[0]) * columns(shape).div_ceil(tile[1])
}

/// Both grids, which take turns.
struct Pair<'g, T: Copy> {
    ours: Vec<T>,
    theirs: &'g mut [T],
    /// Whether the present state is in `ours`.
    in_ours: bool,
}

impl<T: Copy> Pair<'_, T> {
    /// The present state, and the grid for the next one.
    fn both(&mut self) -> (&[T], &mut [T]) {
        if self.in_ours { (&self.ours, self.theirs) } else { (self.theirs, &mut self.ours) }
    }
}

impl<T: Copy> Drop for Pair<'_, T> {
    /// S1, for the caller.
    fn drop(&mut self) {
        if self.in_ours {
            self.theirs.copy_from_slice(&self.ours);
        }
    }
}
