//! Why the closure of a transaction returns before its end.

/// Why a closure must return: the attempt is lost, or it waits. Return it with `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxError(pub(crate) Why);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Conflict,
    Retry,
}

impl TxError {
    /// Whether the closure waits for a change: a [`Tx::retry`](crate::Tx::retry).
    pub fn is_retry(&self) -> bool {
        self.0 == Why::Retry
    }
}

impl std::fmt::Display for TxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Why::Conflict => {
                "another transaction was in the way; hand this error on, and the attempt is \
                 repeated"
            }
            Why::Retry => "the transaction waits for a change; hand this error on, and it will",
        })
    }
}

impl std::error::Error for TxError {}

/// The result of every operation inside a transaction.
pub type TxResult<T> = Result<T, TxError>;
