//! Parallel iterators: lazy chains of a source, adaptors and one last call, which runs the chain
//! as one loop.
//!
//! Nothing runs before the last call, and there is no vector between the stages. A chain gives the
//! loop driver a number of *positions*; for each range of positions that a worker claims, it pushes
//! the items of these positions, in order, into a closure. So a chain has one loop, whatever its
//! length, and every schedule, control and meter of loops applies to all of it.
//!
//! | module | contents |
//! |---|---|
//! | `positions` | the two traits that sources and adaptors implement |
//! | `par_iter`, `indexed` | the methods of all chains |
//! | `over` | the source of a chain |
//! | `options` | the options of its loop |
//! | `mode` | what a last call returns: with a control, with metrics |
//! | `attempt` | values that can fail |
//! | `by_ref` | a chain that a last call has borrowed |
//! | `adapt` | adaptors: chains made of other chains |
//! | `ends` | last calls |
//! | `scan`, `sort` | prefixes and sorts of a source, which run at once |
//! | `sources` | what chains begin with, and the traits that make them |
//!
//! Two traits are all that a source or an adaptor implements. [`Positions`] pushes the items of a
//! range of positions. [`IndexedPositions`] is for chains that have one item at each position; it
//! also gives them as an iterator, forwards and backwards. Names, order and panic rules are
//! rayon's.
//!
//! # Invariants
//!
//! - C1: each position of a chain is requested at most once. After a break, or a panic, some are
//!   never requested.
//! - C2: the items of a range come in their order. Ranges of higher positions have later items.
//!
//! # Cost
//!
//! One loop ([`loops`](crate::loops)) for a chain. Adaptors are closures that the compiler inlines.

mod adapt;
mod attempt;
mod by_ref;
mod ends;
mod indexed;
mod mode;
mod options;
mod over;
mod par_iter;
mod positions;
mod scan;
mod sort;
mod sources;

pub use adapt::*;
pub use attempt::Attempt;
pub use ends::*;
pub use indexed::IndexedParIter;
pub use mode::{Controlled, Metered, Mode, Uncontrolled, Unmetered};
pub use options::LoopOptions;
pub use over::{Over, at_least_one, over, sound};
pub use par_iter::ParIter;
pub use positions::{IndexedPositions, IntoParallelIterator, Out, Positions};
pub use sources::*;

/// A parallel iterator: rayon's name for a [`ParIter`] without a control.
pub trait ParallelIterator: ParIter + LoopOptions + Positions<Mode = Uncontrolled> {}

impl<P: Positions<Mode = Uncontrolled>> ParallelIterator for P {}

/// A parallel iterator with one item at each position: rayon's name for an [`IndexedParIter`]
/// without a control.
pub trait IndexedParallelIterator: IndexedParIter + ParallelIterator {}

impl<P: IndexedPositions<Mode = Uncontrolled>> IndexedParallelIterator for P {}
