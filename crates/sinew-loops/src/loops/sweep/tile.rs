//! How a tile of a grid is swept: by bands of uniform rows.

use crate::data::{Band, Field, Neighbourhood, Scratch, TileMut, interior};

/// Writes the next values of the tile's elements to `tile`.
#[inline]
pub(super) fn sweep<T: Copy, const N: usize, const R: usize>(
    field: &Field<'_, T, N>,
    tile: &mut TileMut<'_, T>,
    scratch: &mut Scratch<T>,
    f: &impl Fn(Neighbourhood<'_, T, N, R>) -> T,
) {
    let mut rows = tile.rows();
    while !rows.is_empty() {
        let at = row_at(field, rows.start);
        let band = rows.start..rows.start + uniform_rows::<T, N, R>(field, &at).min(rows.len());
        rows.start = band.end;
        if !is_kept::<T, N, R>(field, &at) {
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

/// The number of uniform rows from this one on: the rest of the interior of the dimension that
/// counts rows, or one row near its edges.
fn uniform_rows<T, const N: usize, const R: usize>(
    field: &Field<'_, T, N>,
    at: &[usize; N],
) -> usize {
    let Some(side) = N.checked_sub(2) else { return 1 };
    let interior = interior::<R>(field.shape[side]);
    if interior.contains(&at[side]) { interior.end - at[side] } else { 1 }
}

/// Whether this row keeps its elements, because it is near a `Keep` edge of a slower dimension.
fn is_kept<T, const N: usize, const R: usize>(field: &Field<'_, T, N>, at: &[usize; N]) -> bool {
    (0..N - 1).any(|side| {
        field.edges[side].is_keep() && !interior::<R>(field.shape[side]).contains(&at[side])
    })
}
