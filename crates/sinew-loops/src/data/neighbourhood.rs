//! The neighbourhood of a stencil's element, without a bounds check for each access.
//!
//! A table holds the rows around a row, in the order of the steps that lead to them. These rows may
//! lie in the interior of the grid, at its opposite side, or outside of it if they stand for a
//! constant. A [`Neighbourhood`] is the table, a place in its rows, and the stride of a step along
//! the row. Its loads are those of a loop written by hand. `band` makes neighbourhoods.
//!
//! # Invariants
//!
//! - A1: all steps of at most `R` along each dimension lead to elements of the grid, or of rows
//!   that stand for the elements beyond its edges.
//! - A2: if a stride is [`BEYOND`], there is a constant beyond that end of the row.
//! - A3: `R` and the number of lines are so small that no sum of steps and no number of a line
//!   wraps; others do not compile (`IS_IN_REACH`).
//!
//! # Tests
//!
//! `loops::sweep::tests`: against checked indices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

/// An element of a grid of `N` dimensions, and the elements at most `R` steps away along each
/// dimension.
///
/// Indexed by the steps from the element, the slowest dimension first: `around[[0, -1]]` is the one
/// on the left in a grid of rows.
///
/// # Panics
///
/// Indexing panics if a step is longer than `R`. The compiler removes the check of constant steps.
#[derive(Clone, Copy)]
pub struct Neighbourhood<'a, T, const N: usize, const R: usize> {
    /// The table: a line for each combination of steps along all dimensions but the last.
    pub(super) lines: *const Line<T>,
    /// The distance of the element from the beginning of its line.
    pub(super) place: usize,
    pub(super) stride: Stride,
    /// The element for a stride that is [`BEYOND`].
    pub(super) beyond: *const T,
    pub(super) point: [usize; N],
    pub(super) grid: PhantomData<&'a [T]>,
}

/// The largest radius of a stencil.
const FARTHEST: usize = 1 << 16;

/// The largest number of rows around an element.
const MOST_LINES: usize = 1 << 20;

impl<T, const N: usize, const R: usize> Neighbourhood<'_, T, N, R> {
    /// Fails to compile for a stencil that reaches too far (A3).
    pub(crate) const IS_IN_REACH: () = {
        assert!(N > 0, "a grid has at least one dimension");
        assert!(R <= FARTHEST, "a stencil reaches 65,536 steps at most: give a smaller radius");
        let mut lines: usize = 1;
        let mut side = 1;
        while side < N {
            // Both factors are small: the last product was at most `MOST_LINES`.
            lines *= 2 * R + 1;
            assert!(
                lines <= MOST_LINES,
                "a stencil of this radius has more than 1,048,576 rows around an element: give a \
                 smaller radius, or fewer dimensions"
            );
            side += 1;
        }
    };
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Line<T> {
    pub(super) first: *const T,
    /// Whether it stands for a constant.
    pub(super) is_constant: bool,
}

/// In place of a stride: the step leads to the constant beyond the end of the row.
pub(super) const BEYOND: isize = isize::MIN;

/// The distance of the elements to which a step along a row leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stride {
    pub(super) back: isize,
    pub(super) forward: isize,
}

impl Stride {
    /// The stride in the interior of a row.
    pub(super) const UNIT: Self = Self { back: -1, forward: 1 };

    /// The stride in the direction of `step`.
    #[inline(always)]
    fn of(self, step: isize) -> isize {
        match step {
            ..0 => self.back,
            0 => 0,
            1.. => self.forward,
        }
    }
}

impl<T, const N: usize, const R: usize> Neighbourhood<'_, T, N, R> {
    /// The position of the element in the grid.
    #[inline(always)]
    pub fn point(&self) -> [usize; N] {
        self.point
    }

    /// The same elements around `point`: for a grid that is a part of a larger one.
    #[inline(always)]
    pub fn at(self, point: [usize; N]) -> Self {
        Self { point, ..self }
    }

    /// The neighbourhood of the element `places` after this one in its row.
    #[inline(always)]
    pub(super) fn moved(&self, places: usize) -> Self {
        let mut point = self.point;
        point[N - 1] += places;
        Self { place: self.place + places, point, ..*self }
    }
}

impl<T, const N: usize, const R: usize> Index<[isize; N]> for Neighbourhood<'_, T, N, R> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, steps: [isize; N]) -> &T {
        if steps.iter().any(|step| step.unsigned_abs() > R) {
            too_far(&steps, R);
        }
        let width = 2 * R + 1;
        let across = steps[..N - 1].iter();
        let number =
            across.fold(0, |number: usize, step| number * width + R.wrapping_add_signed(*step));
        let (along, stride) = (steps[N - 1], self.stride.of(steps[N - 1]));
        // SAFETY: there is a line for each combination of steps that are no longer than `R` (A1).
        let line = unsafe { &*self.lines.add(number) };
        let stride = match stride {
            // All elements of a constant line are equal.
            BEYOND if line.is_constant => 0,
            // SAFETY: A2; it is borrowed for as long as the result.
            BEYOND => return unsafe { &*self.beyond },
            stride => stride,
        };
        // SAFETY: A1, and the line's elements are borrowed for as long as the result.
        unsafe { &*line.first.add(self.place).offset(along.abs() * stride) }
    }
}

#[cold]
#[track_caller]
fn too_far(steps: &[isize], radius: usize) -> ! {
    panic!("steps of {steps:?} in a stencil of radius {radius}: ask for a larger radius")
}

impl<T: fmt::Debug, const N: usize, const R: usize> fmt::Debug for Neighbourhood<'_, T, N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbourhood")
            .field("point", &self.point)
            .field("element", &self[[0; N]])
            .finish_non_exhaustive()
    }
}
