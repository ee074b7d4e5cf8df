//! The sinks behind the last stage, where items leave a pipeline.

use super::stages::{Sink, StageContext};
use crate::Stopped;
use crate::loops::FirstError;
use sinew_core::Cancelled;

/// The sink behind stages that cannot fail.
#[derive(Debug, Clone, Copy)]
pub struct Exit;

impl Sink<()> for Exit {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, _number: usize, (): ()) {
        context.item_finished();
    }
}

/// The sink behind a last stage that can fail; the first failure ends the pipeline.
#[derive(Debug)]
pub struct TryExit<E>(FirstError<E>);

impl<E> Default for TryExit<E> {
    fn default() -> Self {
        Self(FirstError::default())
    }
}

impl<E> TryExit<E> {
    /// The result of a pipeline, from what [`run`](super::run) returned.
    ///
    /// # Errors
    ///
    /// The first failure, or that the pipeline was cancelled.
    pub fn into_result(self, ended: Result<(), Cancelled>) -> Result<(), Stopped<E>> {
        self.0.into_result(ended)
    }
}

impl<E: Send> Sink<Result<(), E>> for &TryExit<E> {
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
