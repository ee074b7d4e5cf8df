//! The state of a run ahead: its bounds, its progress, and why it ended.

use std::any::Any;
use std::ptr::NonNull;

/// Why a run ahead ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefetchEnd {
    /// The closure returned, or reached a point that only a real transaction can pass:
    /// [`Tx::retry`](crate::Tx::retry) or [`Tx::irrevocable`](crate::Tx::irrevocable).
    Through,
    /// It had read the number of words of its lifespan.
    Lifespan,
    /// It needed more words than its buffer has.
    BufferFull,
    /// The `stopped` closure returned true.
    Stopped,
    /// Another transaction had locked or changed a variable that it read.
    Conflict,
    /// The closure panicked, or a value that was dropped after it, or a handler.
    Panicked,
}

/// Ends a run when it returns true.
pub(crate) type Stopped = dyn Fn() -> bool;

/// The state of a run ahead.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The time of the snapshot, with `WAITED`; also used by a transaction that locks late.
    pub(crate) limit: u64,
    pub(crate) words_read: u64,
    pub(crate) lifespan: u64,
    /// Words that may still be written.
    pub(crate) room: usize,
    /// Outlives the run: see `Descriptor::begin_ahead`.
    pub(crate) stopped: Option<NonNull<Stopped>>,
    pub(crate) ended: Option<PrefetchEnd>,
    /// The panic of `stopped`. Accesses do not unwind, as they may be incomplete.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}
