//! A neighbourhood without corners.

use std::fmt;
use std::ops::Index;

use sinew::Neighbourhood;

/// An element of a grid, and those at most `R` steps away along *one* dimension: what a function
/// without diagonal neighbours reads.
///
/// Indexed by the steps from the element, as a [`Neighbourhood`] is.
///
/// # Panics
///
/// Indexing panics if a step is longer than `R`, or if two are not 0. The compiler removes the
/// checks of constant steps.
#[derive(Clone, Copy)]
pub struct Star<'a, T, const N: usize, const R: usize>(pub(super) Neighbourhood<'a, T, N, R>);

impl<T, const N: usize, const R: usize> Star<'_, T, N, R> {
    /// The position of the element in the grid of all ranks.
    #[inline(always)]
    pub fn point(&self) -> [usize; N] {
        self.0.point()
    }
}

impl<T, const N: usize, const R: usize> Index<[isize; N]> for Star<'_, T, N, R> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, steps: [isize; N]) -> &T {
        if steps.iter().filter(|step| **step != 0).count() > 1 {
            across(&steps);
        }
        &self.0[steps]
    }
}

#[cold]
#[track_caller]
fn across(steps: &[isize]) -> ! {
    panic!("steps of {steps:?} in a star: `sweeps` has the neighbours across corners")
}

impl<T: fmt::Debug, const N: usize, const R: usize> fmt::Debug for Star<'_, T, N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Star").field(&self.0).finish()
    }
}
