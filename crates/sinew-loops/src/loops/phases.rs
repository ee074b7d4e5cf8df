//! Skeletons that run several loops in sequence (scans, stencils) as one operation of their
//! control, whose total counts all loops from the beginning.

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
    /// Runs loops with this total of iterations.
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

    /// Begins the next loop, which counts its iterations itself.
    ///
    /// # Errors
    ///
    /// If the skeleton was cancelled. The next loop would not know: a pool cancels only what it
    /// runs at that moment.
    pub(super) fn next(&mut self, iterations: u64) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            return Err(Cancelled);
        }
        let iterations = iterations.min(self.left);
        self.left -= iterations;
        if let Some(operation) = &self.operation {
            operation.remove_items(iterations);
        }
        Ok(())
    }

    /// Whether the skeleton was cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.operation.as_ref().is_some_and(Operation::is_cancelled)
    }

    /// Ends the operation. If all is `done`, loops that were not needed leave the total.
    fn end(self, done: bool) {
        let Some(operation) = self.operation else { return };
        if done {
            operation.remove_items(self.left);
        }
        operation.end();
    }
}
