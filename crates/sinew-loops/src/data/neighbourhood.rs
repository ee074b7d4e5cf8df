//! Elements of a grid with their neighbourhoods, without a bounds check for each access.
//!
//! A table holds the rows around a row, in the order of the steps that lead to them. So they may
//! lie anywhere: in the middle of the grid, at the other side of it, or in no grid at all if they
//! stand for a constant. A [`Neighbourhood`] is the table, a place in its rows, and how far a step
//! along the row leads. Its loads are those that one would write by hand. The bands of the sibling
//! file make them.
//!
//! # Invariants
//!
//! - A1: all steps of at most `R` along each dimension lead to elements of the grid, or of rows
//!   that stand for what is beyond its edges.
//! - A2: where a stride is [`BEYOND`], there is a constant beyond that end of the row.
//! - A3: `R` and the number of lines are so small that no sum of steps and no number of a line
//!   wraps; the compiler refuses others (`IS_IN_REACH`).
//!
//! # Tests
//!
//! In `loops::sweep`, against indices that are computed and checked one by one.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

/// An element of a grid of `N` dimensions, and those that are at most `R` steps away along each of
/// them.
///
/// Indexed by the steps from the element, the slowest dimension first: `around[[0, -1]]` is the one
/// on the left in a grid of rows.
///
/// # Panics
///
/// Indexing panics if a step is longer than `R`; with constant steps that is decided when the
/// program is compiled.
#[derive(Clone, Copy)]
pub struct Neighbourhood<'a, T, const N: usize, const R: usize> {
    /// As many as there are combinations of steps along all dimensions but the last.
    pub(super) lines: *const Line<T>,
    /// How far the element is from where its line begins.
    pub(super) place: usize,
    pub(super) stride: Stride,
    /// The element for a stride that is [`BEYOND`].
    pub(super) beyond: *const T,
    pub(super) point: [usize; N],
    pub(super) grid: PhantomData<&'a [T]>,
}

/// No stencil reaches farther along a dimension.
const FARTHEST: usize = 1 << 16;

/// No more rows lie around an element.
const MOST_LINES: usize = 1 << 20;

impl<T, const N: usize, const R: usize> Neighbourhood<'_, T, N, R> {
    /// Evaluated wherever a stencil is compiled: it fails for one that reaches too far (A3).
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

/// A row beside others.
#[derive(Debug)]
pub(crate) struct Line<T> {
    pub(super) first: *const T,
    /// Whether it stands for a constant.
    pub(super) is_constant: bool,
}

/// In place of a stride: a step leads beyond the end of the row, where there is a constant.
pub(super) const BEYOND: isize = isize::MIN;

/// How far away the element is to which a step along a row leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stride {
    pub(super) back: isize,
    pub(super) forth: isize,
}

impl Stride {
    /// To the next elements, and those behind them.
    pub(super) const STRAIGHT: Self = Self { back: -1, forth: 1 };

    /// Of a step this way.
    #[inline(always)]
    fn of(self, step: isize) -> isize {
        match step {
            ..0 => self.back,
            0 => 0,
            1.. => self.forth,
        }
    }
}

impl<T, const N: usize, const R: usize> Neighbourhood<'_, T, N, R> {
    /// The position of the element in the grid.
    #[inline(always)]
    pub fn point(&self) -> [usize; N] {
        self.point
    }

    /// The element so many places after this one in its row.
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
            // A row of a constant is the same wherever one looks.
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
