//! Skeletons of several loops, one after the other, as their control sees them: all that is to come
//! is known from the beginning.

use super::options::Options;
use crate::Operation;
use sinew_core::Cancelled;

/// The loops of one skeleton.
pub(super) struct Phases<'c> {
    operation: Option<Operation<'c>>,
    /// Iterations of the loops that have not begun.
    left: u64,
}

impl<'c> Phases<'c> {
    /// Runs loops of so many iterations in all.
    pub(super) fn run<R>(
        options: &Options<'c>,
        iterations: u64,
        loops: impl FnOnce(&mut Self) -> Result<R, Cancelled>,
    ) -> Result<R, Cancelled> {
        let operation =
            options.control.map(|control| Operation::begin(control, iterations)).transpose()?;
        let mut phases = Self { operation, left: iterations };
        let ended = loops(&mut phases);
        phases.end(ended.is_ok());
        ended
    }

    /// A loop of so many iterations begins, which counts them itself.
    ///
    /// # Errors
    ///
    /// If the skeleton was cancelled: a loop that begins after its pool has cancelled knows nothing
    /// of that.
    pub(super) fn next(&mut self, iterations: u64) -> Result<(), Cancelled> {
        if self.operation.as_ref().is_some_and(Operation::is_cancelled) {
            return Err(Cancelled);
        }
        let iterations = iterations.min(self.left);
        self.left -= iterations;
        if let Some(operation) = &self.operation {
            operation.remove_items(iterations);
        }
        Ok(())
    }

    /// No other loop begins; if that is because all is `done`, none is expected any more.
    fn end(self, done: bool) {
        let Some(operation) = self.operation else { return };
        if done {
            operation.remove_items(self.left);
        }
        operation.end();
    }
}
