//! How a tile of a grid is swept: by bands of rows that are alike.

use crate::data::{Band, Field, Neighbourhood, Scratch, TileMut, middle};

/// Writes to `tile` what becomes of its elements.
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
        let alike = rows.start..rows.start + alike::<T, N, R>(field, &at).min(rows.len());
        rows.start = alike.end;
        if !is_kept::<T, N, R>(field, &at) {
            Band::<T, N, R> { field, at, rows: alike, tile }.map(scratch, f);
        }
    }
}

/// The beginning of `row`.
fn row_at<T, const N: usize>(field: &Field<'_, T, N>, row: usize) -> [usize; N] {
    let (mut point, mut rest) = ([0; N], row);
    for side in (0..N - 1).rev() {
        (point[side], rest) = (rest % field.shape[side], rest / field.shape[side]);
    }
    point
}

/// How many rows from this one on have the same edges within reach: one, or all in the middle of
/// the dimension that counts them.
fn alike<T, const N: usize, const R: usize>(field: &Field<'_, T, N>, at: &[usize; N]) -> usize {
    let Some(side) = N.checked_sub(2) else { return 1 };
    let middle = middle::<R>(field.shape[side]);
    if middle.contains(&at[side]) { middle.end - at[side] } else { 1 }
}

/// Whether the rows from this one on keep their elements, because they are near an edge of another
/// dimension than their own.
fn is_kept<T, const N: usize, const R: usize>(field: &Field<'_, T, N>, at: &[usize; N]) -> bool {
    (0..N - 1).any(|side| {
        field.edges[side].keeps() && !middle::<R>(field.shape[side]).contains(&at[side])
    })
}
