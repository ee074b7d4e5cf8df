#![forbid(unsafe_code)]
//! The decisions of the runtime, without the runtime: whom to steal from, how large a chunk is, how
//! long to spin.
//!
//! Nothing in this crate looks at a clock, starts a thread, reads a file or draws a random number
//! of its own: what a decision depends on is handed in. So the same code decides in the runtime and
//! in a simulation, a test can replay any case, and a decision is wrong in one place only.
//!
//! | module | decides |
//! |---|---|
//! | [`victim`] | which worker a thief tries next |
//! | [`chunk`] | how many iterations of a loop a worker takes at once |
//! | [`auto`] | which schedule a loop gets that leaves the choice |
//! | [`affinity`] | which part of a repeated loop is dealt to whom |
//! | [`weighted`] | how long the shares of unequal workers are |
//! | [`split`] | where a range of one or more dimensions is cut, and when no more |
//! | [`idle`] | how long an idle worker spins before it parks |
//! | [`pace`] | how many iterations a loop that may be changed runs before it looks up |
//! | [`share`] | how many cores, and which, each program on a machine gets |
//! | [`Wait`], [`StackKind`] | nothing; they name what can be chosen |
//! | [`worklist`] | how a transactional worklist deals, steals, pairs and swaps its units |
//! | [`tune`] | which of that is on, from what was counted while it ran |
//! | [`graph`] | nothing; it is what recorded runs are kept as |
//! | [`span`] | nothing; it says what a schedule can be held against |

pub mod affinity;
pub mod auto;
pub mod chunk;
pub mod graph;
pub mod idle;
pub mod named;
pub mod pace;
pub mod share;
pub mod span;
pub mod split;
mod stack_kind;
pub mod tune;
pub mod victim;
mod wait;
pub mod weighted;
pub mod worklist;

pub use named::UnknownName;
pub use stack_kind::StackKind;
pub use wait::Wait;
