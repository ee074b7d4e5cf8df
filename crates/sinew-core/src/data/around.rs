//! Elements of a grid together with what lies around them, without a check of bounds for each.
//!
//! A [`Block`] is a piece of a grid in the form of some rows: it is checked once that whoever stands on one of its elements finds others in every
//! direction. Then each [`Around`] is a pointer and some strides, and its loads are those that one would write by hand. At an edge of the grid a step may lead
//! somewhere else than to the next element, so a stride back and one forth are kept for each dimension.
//!
//! # Invariants
//!
//! - A1: from each element of a block, all steps of at most `R` along each dimension lead to elements of the grid that it was made of.
//!
//! # Cost
//!
//! One call for each row of a block, so that the compiler knows that what is written is not what is read.
//!
//! # Tests
//!
//! In `loops::sweep`, against indices that are computed and checked one by one.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

/// An element of a grid of `N` dimensions, and those that are at most `R` steps away along each of them.
///
/// Indexed by the steps from the element, the slowest dimension first: `around[[0, -1]]` is the one on the left in a grid of rows.
///
/// # Panics
///
/// Indexing panics if a step is longer than `R`; with constant steps that is decided when the program is compiled.
#[derive(Clone, Copy)]
pub struct Around<'a, T, const N: usize, const R: usize> {
    element: *const T,
    strides: [Stride; N],
    point: [usize; N],
    grid: PhantomData<&'a [T]>,
}

/// How far away the element is to which a step along a dimension leads.
#[derive(Clone, Copy)]
struct Stride {
    back: isize,
    forth: isize,
}

impl Stride {
    /// The same either way.
    fn straight(stride: isize) -> Self {
        Self { back: -stride, forth: stride }
    }

    #[inline(always)]
    fn times(self, steps: isize) -> isize {
        if steps < 0 { -steps * self.back } else { steps * self.forth }
    }
}

impl<T, const N: usize, const R: usize> Around<'_, T, N, R> {
    /// Where the element is in the whole grid.
    #[inline(always)]
    pub fn point(&self) -> [usize; N] {
        self.point
    }
}

impl<T, const N: usize, const R: usize> Index<[isize; N]> for Around<'_, T, N, R> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, steps: [isize; N]) -> &T {
        if steps.iter().any(|step| step.unsigned_abs() > R) {
            too_far(&steps, R);
        }
        let offset: isize = steps.iter().zip(&self.strides).map(|(step, stride)| stride.times(*step)).sum();
        // SAFETY: no step is longer than `R`, so the element lies in the grid (A1), which is borrowed for as long as the answer.
        unsafe { &*self.element.offset(offset) }
    }
}

#[cold]
#[track_caller]
fn too_far(steps: &[isize], radius: usize) -> ! {
    panic!("steps of {steps:?} in a stencil of radius {radius}: ask for a larger radius")
}

impl<T: fmt::Debug, const N: usize, const R: usize> fmt::Debug for Around<'_, T, N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around")
            .field("point", &self.point)
            .field("element", &self[[0; N]])
            .finish_non_exhaustive()
    }
}

/// Where steps along a dimension lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the next elements, and those behind them.
    Straight,
    /// One step back, and one forth, to these indices. For blocks that are one element thick there, of a stencil that reaches no farther.
    To([usize; 2]),
}

/// Which elements of a grid form a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent<const N: usize> {
    /// The first.
    pub(crate) at: [usize; N],
    /// Rows, along the last dimension but one.
    pub(crate) rows: usize,
    /// Elements of a row, at least one.
    pub(crate) length: usize,
}

impl<const N: usize> Extent<N> {
    fn along(&self, side: usize) -> usize {
        match N - side {
            1 => self.length,
            2 => self.rows,
            _ => 1,
        }
    }
}

/// Some rows of adjacent elements, one below the other.
pub(crate) struct Block<'a, T, const N: usize, const R: usize> {
    first: Around<'a, T, N, R>,
    /// From one row to the next.
    pitch: usize,
    rows: usize,
    length: usize,
    /// Whether the last dimension is straight.
    is_straight: bool,
}

impl<'a, T, const N: usize, const R: usize> Block<'a, T, N, R> {
    /// A part of `grid`, whose sides are `shape`. The first of its elements is said to be at `point`.
    ///
    /// # Panics
    ///
    /// If the grid is not of that shape, or a step leads out of it.
    pub(crate) fn new(
        grid: &'a [T],
        shape: [usize; N],
        extent: &Extent<N>,
        ways: [Way; N],
        point: [usize; N],
    ) -> Self {
        let Extent { at, rows, length } = *extent;
        assert!(shape.iter().try_fold(1_usize, |cells, side| cells.checked_mul(*side)) == Some(grid.len()));
        assert!(length > 0 && rows > 0 && (N > 1 || rows == 1));
        let steps = strides(shape);
        // No side is longer than the slice, which is not longer than `isize::MAX`.
        let strides = std::array::from_fn(|side| {
            let (index, thick, step) = (at[side], extent.along(side), steps[side] as isize);
            match ways[side] {
                Way::Straight => {
                    assert!(index >= R && shape[side] >= R + thick && index <= shape[side] - R - thick);
                    Stride::straight(step)
                }
                Way::To([back, forth]) => {
                    assert!(R == 1 && thick == 1 && index.max(back).max(forth) < shape[side]);
                    let away = |to: usize| (to as isize - index as isize) * step;
                    Stride { back: away(back), forth: away(forth) }
                }
            }
        });
        let offset: usize = at.iter().zip(&steps).map(|(at, step)| at * step).sum();
        // SAFETY: no index of the first element is beyond the grid's side, whichever way is gone, so the element lies in the grid.
        let element = unsafe { grid.as_ptr().add(offset) };
        let first = Around { element, strides, point, grid: PhantomData };
        let pitch = if N > 1 { shape[N - 1] } else { 0 };
        Self { first, pitch, rows, length, is_straight: ways[N - 1] == Way::Straight }
    }

    /// Writes `f` of each element, with what lies around it, to the rows of `out`.
    ///
    /// # Panics
    ///
    /// If there are other rows, or one has another length.
    #[inline]
    pub(crate) fn map_into<'o>(
        &self,
        out: impl ExactSizeIterator<Item = &'o mut [T]>,
        f: &impl Fn(Around<'a, T, N, R>) -> T,
    ) where
        T: 'o,
    {
        assert!(out.len() == self.rows);
        if self.is_straight {
            out.enumerate().for_each(|(row, out)| self.map_straight(row, out, f));
        } else {
            out.enumerate().for_each(|(row, out)| self.map_row(row, self.first.strides, out, f));
        }
    }

    /// Not inlined: see the module's cost. The steps along the row are constants, which the others cannot be.
    #[inline(never)]
    fn map_straight(&self, row: usize, out: &mut [T], f: &impl Fn(Around<'a, T, N, R>) -> T) {
        let mut strides = self.first.strides;
        strides[N - 1] = Stride::straight(1);
        self.map_row(row, strides, out, f);
    }

    /// `strides` are those of the block.
    #[inline(always)]
    fn map_row(
        &self,
        row: usize,
        strides: [Stride; N],
        out: &mut [T],
        f: &impl Fn(Around<'a, T, N, R>) -> T,
    ) {
        assert!(row < self.rows && out.len() == self.length);
        let Around { element, mut point, grid, .. } = self.first;
        if N > 1 {
            point[N - 2] += row;
        }
        // SAFETY: the rows of the block are so far apart, and `row` is one of them.
        let element = unsafe { element.add(row * self.pitch) };
        for (k, out) in out.iter_mut().enumerate() {
            let mut point = point;
            point[N - 1] += k;
            // SAFETY: the elements of a row are adjacent, and `k` is below their number.
            let element = unsafe { element.add(k) };
            *out = f(Around { element, strides, point, grid });
        }
    }
}

/// How far apart neighbours along each dimension are in a grid stored row by row.
pub(crate) fn strides<const N: usize>(shape: [usize; N]) -> [usize; N] {
    let mut strides = [1; N];
    for side in (1..N).rev() {
        strides[side - 1] = strides[side] * shape[side];
    }
    strides
}
