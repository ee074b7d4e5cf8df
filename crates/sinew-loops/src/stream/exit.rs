//! The exits, by which items leave a stream.

use super::stages::{End, StageContext};
use crate::Stopped;
use crate::loops::FirstError;
use sinew_core::Cancelled;

/// The end of stages that cannot fail.
#[derive(Debug, Clone, Copy)]
pub struct Exit;

impl End<()> for Exit {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, _number: usize, (): ()) {
        context.item_finished();
    }
}

/// The end of stages the last of which can fail; the first failure ends the stream.
#[derive(Debug)]
pub struct TryExit<E>(FirstError<E>);

impl<E> Default for TryExit<E> {
    fn default() -> Self {
        Self(FirstError::default())
    }
}

impl<E> TryExit<E> {
    /// The result of a stream that has `ended` so.
    ///
    /// # Errors
    ///
    /// The first failure, or that the stream was cancelled.
    pub fn into_result(self, ended: Result<(), Cancelled>) -> Result<(), Stopped<E>> {
        self.0.into_result(ended)
    }
}

impl<E: Send> End<Result<(), E>> for &TryExit<E> {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, _number: usize, result: Result<(), E>) {
        match result {
            Ok(()) => context.item_finished(),
            Err(error) => {
                let _break = self.0.keep(error);
                context.stop();
            }
        }
    }
}
