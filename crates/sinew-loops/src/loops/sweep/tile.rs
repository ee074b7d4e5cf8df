//! How a tile of a grid is swept: by bands of uniform rows.

use std::ops::Range;

use crate::data::{Band, Field, Neighbourhood, Scratch, TileMut, interior};

/// Writes the next values of the tile's elements to `tile`, but for rows that are not `within` some
/// indices of each slower dimension.
#[inline]
pub(super) fn sweep<T: Copy, const N: usize, const R: usize>(
    field: &Field<'_, T, N>,
    within: &[Range<usize>; N],
    tile: &mut TileMut<'_, T>,
    scratch: &mut Scratch<T>,
    f: &impl Fn(Neighbourhood<'_, T, N, R>) -> T,
) {
    let mut rows = tile.rows();
    while !rows.is_empty() {
        let at = row_at(field, rows.start);
        let uniform = uniform_rows::<T, N, R>(field, within, &at).min(rows.len());
        let band = rows.start..rows.start + uniform;
        rows.start = band.end;
        let is_within = |side: usize| within[side].contains(&at[side]);
        if (0..N - 1).all(is_within) {
            Band::<T, N, R> { field, at, rows: band, tile }.map(scratch, f);
        }
    }
}

/// The position of the first element of `row`.
fn row_at<T, const N: usize>(field: &Field<'_, T, N>, row: usize) -> [usize; N] {
    let (mut point, mut rest) = ([0; N], row);
    for side in (0..N - 1).rev() {
        (point[side], rest) = (rest % field.shape[side], rest / field.shape[side]);
    }
    point
}

/// The number of uniform rows from this one on, of which all or none are `within`: the rest of the
/// interior of the dimension that counts rows, or one row near its edges.
fn uniform_rows<T, const N: usize, const R: usize>(
    field: &Field<'_, T, N>,
    within: &[Range<usize>; N],
    at: &[usize; N],
) -> usize {
    let Some(side) = N.checked_sub(2) else { return 1 };
    let (interior, within, at) = (interior::<R>(field.shape[side]), &within[side], at[side]);
    let change = if at < within.start { within.start } else { within.end };
    let end = if at < change { change.min(interior.end) } else { interior.end };
    if interior.contains(&at) { end - at } else { 1 }
}
