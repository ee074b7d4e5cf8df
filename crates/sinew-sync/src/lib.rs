//! Atomics, cells, fences, parkers, locks and clocks behind one facade.
//!
//! The same source runs on the standard library, under loom (`--cfg loom`: every interleaving of a
//! small model) and under shuttle (`--cfg shuttle`: random schedules of the whole pool). No crate
//! above this one names `std::sync::atomic`, so the structure that passed its model is the one that
//! ships.
//!
//! | module | contents |
//! |---|---|
//! | [`atomic`], [`cell`], [`lock`], [`thread`] | the facade over std, loom and shuttle |
//! | [`fence`] | the asymmetric pair of fences: free for the owner, expensive for the thief |
//! | [`parker`] | a thread waits for a token |
//! | [`padded`], [`counter`] | data that one core writes |
//! | [`seqlock`] | a seqlock: one writer, consistent snapshots for readers |
//! | [`current_worker`] | the current worker of a thread |
//! | [`fork`] | handlers around `fork(2)` |
//! | [`clock`] | monotonic time |
//! | [`statics`] | atomics outside of the facade, for statics |
//! | [`plant`] | planted bugs, which check the checkers |
//! | `explore` | how shuttle tests explore schedules (`--cfg shuttle`) |

pub mod atomic;
pub mod cell;
pub mod clock;
pub mod counter;
pub mod current_worker;
#[cfg(shuttle)]
pub mod explore;
pub mod fence;
pub mod fork;
pub mod lock;
pub mod padded;
pub mod parker;
pub mod plant;
pub mod seqlock;
pub mod statics;
pub mod thread;

pub use padded::CachePadded;
