//! Stencils: each element of a grid becomes a function of what lies around it, again and again.
//!
//! Two grids take turns: a sweep reads one and writes the other, tile by tile. Tiles are cut where the reach of the function would leave the grid, into blocks
//! from whose elements the same strides lead to what is around them. In the middle these are the strides of the grid. At an edge of a ring, or one beyond which the
//! nearest element is repeated, a function that reaches one step far finds what it wants by another stride that way. For other elements near an edge, which are
//! few, all that is in reach is gathered, as the rules of the [edges](Edge) say, into a small grid of their own. So the function finds the same kind of memory
//! everywhere and never asks whether it is near an edge.
//!
//! # Invariants
//!
//! - S1: before and after each sweep one of both grids holds the state after a whole number of sweeps, and the caller's holds one when [`sweeps`] returns or
//!   unwinds.
//! - S2: an element that is kept is the same in both grids, and is written in neither.
//!
//! # Cost
//!
//! One loop a sweep. A second grid, which is filled once. Where strides do not lead beyond an edge (constants, and functions that reach farther than a step), for
//! each row `3R (2R + 1)^(N - 2)` elements at both its ends, and for a row at an edge `(2R + 1)^(N - 1)` rows, are copied once more.

mod edge;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

pub use edge::Edge;
use edge::Field;

use super::driver::Options;
use super::phases::Phases;
use super::{for_each, map};
use crate::data::{Around, IntoItems, TilesMut};
use crate::{Cancelled, Worker};

/// A tile has about so many elements: enough to be worth a claim, and few enough for the nearest cache.
const TILE: usize = 4096;
/// Tiles for each worker, if there are that many.
const TILES: usize = 8;
/// No tile is narrower.
const NARROWEST: usize = 64;

/// A stencil and how often it is applied.
#[derive(Debug)]
pub struct Sweeps<'e, T, const N: usize> {
    /// The sides of the grid, the slowest dimension first. Their product is its length.
    pub shape: [usize; N],
    /// What lies beyond the edges, for each dimension.
    pub edges: &'e [Edge<T>; N],
    /// How many sweeps there are at most.
    pub sweeps: usize,
}

/// Makes each element of `grid` `f` of what lies around it, in as many sweeps as `plan` says, or until `until` answers true, which is called after each with
/// the number of sweeps and the grid of that moment. Answers how many sweeps there have been.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; the grid then holds the state after the sweeps that were finished (S1).
///
/// # Panics
///
/// If `f` or `until` does; the grid then holds the state after the sweeps that were finished. Or if the grid has not the shape that it should have.
pub fn sweeps<T, const N: usize, const R: usize>(
    w: &Worker,
    grid: &mut [T],
    plan: &Sweeps<'_, T, N>,
    options: &Options<'_>,
    f: impl Fn(Around<'_, T, N, R>) -> T + Sync,
    mut until: impl FnMut(usize, &[T]) -> bool,
) -> Result<usize, Cancelled>
where
    T: Copy + Send + Sync,
{
    let &Sweeps { shape, edges, sweeps } = plan;
    let tile = tile(w, shape);
    let tiles = tiles(shape, tile) as u64;
    Phases::run(options, tiles.saturating_mul(sweeps as u64), |phases| {
        let again = map(w, (&*grid).into_items(), &Options::default(), |cell| *cell)?;
        let mut pair = Pair { ours: again, theirs: grid, in_ours: sweeps % 2 == 1 };
        let mut done = 0;
        while done < sweeps {
            let (now, next) = pair.both();
            phases.next(tiles)?;
            let field = Field { cells: now, shape, edges };
            for_each(w, TilesMut::new(next, columns(shape), tile), options, |mut tile| {
                field.tile::<R>(&mut tile, &f);
            })?;
            (pair.in_ours, done) = (!pair.in_ours, done + 1);
            if until(done, pair.both().0) {
                break;
            }
        }
        Ok(done)
    })
}

fn columns<const N: usize>(shape: [usize; N]) -> usize {
    shape[N - 1]
}

fn rows<const N: usize>(shape: [usize; N]) -> usize {
    shape[..N - 1].iter().product()
}

/// Rows and columns of a tile: so that there are some for each worker, and each is worth its while.
fn tile<const N: usize>(w: &Worker, shape: [usize; N]) -> [usize; 2] {
    let (rows, columns, wanted) = (rows(shape), columns(shape), TILES * w.max_workers());
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

/// Both grids.
struct Pair<'g, T: Copy> {
    ours: Vec<T>,
    theirs: &'g mut [T],
    /// Which of them holds the present state.
    in_ours: bool,
}

impl<T: Copy> Pair<'_, T> {
    /// The present state, and where the next one goes.
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
