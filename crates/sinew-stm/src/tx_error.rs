//! Why the closure of a transaction returns before its end.

use std::error::Error;
use std::fmt;

/// Why a closure must return: the attempt is lost, or it waits. Return it with `?`.
///
/// It is no [`Error`], since no caller of a transaction ever gets it: so [`Abort`] can be made of
/// it and of every error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxError(pub(crate) Why);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Conflict,
    Retry,
    /// The closure has an error of its own.
    Failed,
}

impl TxError {
    /// Whether the closure waits for a change: a [`Tx::retry`](crate::Tx::retry).
    pub fn is_retry(&self) -> bool {
        self.0 == Why::Retry
    }
}

impl fmt::Display for TxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Why::Conflict => {
                "another transaction was in the way; hand this error on, and the attempt is \
                 repeated"
            }
            Why::Retry => "the transaction waits for a change; hand this error on, and it will",
            Why::Failed => "the closure failed; hand this error on, and the transaction is undone",
        })
    }
}

/// The result of every operation inside a transaction.
pub type TxResult<T> = Result<T, TxError>;

/// Why a closure that has errors of its own must return, for
/// [`try_atomically`](crate::try_atomically) and [`Tx::try_atomically`](crate::Tx::try_atomically).
///
/// `?` makes it of a [`TxError`], and of every [`Error`] that can be converted to `E`. For other
/// types use [`Tx::abort`](crate::Tx::abort).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort<E> {
    /// The attempt is lost, or waits: it will be repeated.
    Attempt(TxError),
    /// The closure failed: the transaction is undone, and its caller gets the error.
    Failed(E),
}

impl<E> Abort<E> {
    /// The same with `f` of the error: for a function that calls one with another error.
    pub fn map<F>(self, f: impl FnOnce(E) -> F) -> Abort<F> {
        match self {
            Self::Attempt(error) => Abort::Attempt(error),
            Self::Failed(error) => Abort::Failed(f(error)),
        }
    }

    /// Keeps the closure's own error, and returns the one that ends the attempt.
    #[inline]
    pub(crate) fn keep(self, failed: &mut Option<E>) -> TxError {
        match self {
            Self::Attempt(error) => error,
            Self::Failed(error) => {
                *failed = Some(error);
                TxError(Why::Failed)
            }
        }
    }
}

impl<E> From<TxError> for Abort<E> {
    #[inline]
    fn from(error: TxError) -> Self {
        Self::Attempt(error)
    }
}

impl<E, F: Error + Into<E>> From<F> for Abort<E> {
    #[inline]
    fn from(error: F) -> Self {
        Self::Failed(error.into())
    }
}

impl<E: fmt::Display> fmt::Display for Abort<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(error) => error.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}
