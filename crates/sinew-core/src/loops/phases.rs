//! Skeletons of several loops, one after the other, as their control sees them: all that is to come is known from the beginning.

use super::driver::Options;
use crate::{Cancelled, Course};

/// The loops of one skeleton.
pub(super) struct Phases<'c> {
    course: Option<Course<'c>>,
    /// Iterations of the loops that have not begun.
    left: u64,
}

impl<'c> Phases<'c> {
    /// Loops of so many iterations in all.
    pub(super) fn begin(options: &Options<'c>, iterations: u64) -> Result<Self, Cancelled> {
        let course = options.control.map(|control| Course::begin(control, iterations)).transpose()?;
        Ok(Self { course, left: iterations })
    }

    /// A loop of so many iterations begins, which counts them itself.
    pub(super) fn next(&mut self, iterations: u64) {
        let iterations = iterations.min(self.left);
        self.left -= iterations;
        if let Some(course) = &self.course {
            course.expect_less(iterations);
        }
    }

    /// All is done, or nothing more is to be done.
    pub(super) fn end(self) {
        if let Some(course) = self.course {
            course.expect_less(self.left);
            course.end();
        }
    }
}
