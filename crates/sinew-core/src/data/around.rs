//! Elements of a grid together with what lies around them, without a check of bounds for each.
//!
//! A [`Stretch`] is a piece of a row in the middle of a grid: it is checked once that whoever stands on one of its elements finds `R` others in every
//! direction. Then each [`Around`] is a pointer and some strides, and its loads are those that one would write by hand.
//!
//! # Invariants
//!
//! - A1: for each element of a stretch, all elements that are at most `R` steps away along each dimension lie in the grid that it was made of.
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
    strides: [isize; N],
    point: [usize; N],
    grid: PhantomData<&'a [T]>,
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
        let offset: isize = steps.iter().zip(&self.strides).map(|(step, stride)| step * stride).sum();
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

/// Some adjacent elements of a row, none of them within `R` of the grid's edges.
pub(crate) struct Stretch<'a, T, const N: usize, const R: usize> {
    first: Around<'a, T, N, R>,
    length: usize,
}

impl<'a, T, const N: usize, const R: usize> Stretch<'a, T, N, R> {
    /// `length` elements of `grid`, whose sides are `shape`, from `at` on. The first is said to be at `point`.
    ///
    /// # Panics
    ///
    /// If the grid is not of that shape, or the elements are not in its middle.
    pub(crate) fn new(
        grid: &'a [T],
        shape: [usize; N],
        at: [usize; N],
        length: usize,
        point: [usize; N],
    ) -> Self {
        let last = N - 1;
        assert!(shape.iter().try_fold(1_usize, |cells, side| cells.checked_mul(*side)) == Some(grid.len()));
        let in_the_middle = |side: usize| {
            let longest = if side == last { length } else { 1 };
            at[side] >= R && shape[side] >= R + longest && at[side] <= shape[side] - R - longest
        };
        assert!(length > 0 && (0..N).all(in_the_middle));
        let strides = strides(shape);
        let offset: usize = at.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        // No side is longer than the slice, which is not longer than `isize::MAX`.
        let strides = strides.map(|stride| stride as isize);
        Self { first: Around { element: &raw const grid[offset], strides, point, grid: PhantomData }, length }
    }

    /// Writes `f` of each element, with what lies around it, to `out`.
    ///
    /// # Panics
    ///
    /// If `out` has another length.
    #[inline(always)]
    pub(crate) fn map_into(self, out: &mut [T], f: impl Fn(Around<'a, T, N, R>) -> T) {
        assert!(out.len() == self.length);
        let Around { element, strides, point, grid } = self.first;
        for (k, out) in out.iter_mut().enumerate() {
            let mut point = point;
            point[N - 1] += k;
            // SAFETY: the elements of the stretch are adjacent, and `k` is below its length.
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
