//! What the schedulers stand on: atomics, cells, fences, parkers, locks and clocks, in one facade.
//!
//! The same source runs on the standard library, under loom (`--cfg loom`: every interleaving of a
//! small model) and under shuttle (`--cfg shuttle`: random schedules of the whole pool). Nothing
//! above this crate names `std::sync::atomic`, so a data structure that passed its model is the
//! data structure that ships.
//!
//! | module | what lives there |
//! |---|---|
//! | [`atomic`], [`cell`], [`lock`], [`thread`] | the facade over the three worlds |
//! | [`fence`] | the asymmetric pair of fences: free for the owner, dear for the thief |
//! | [`parker`] | a thread that waits for a token |
//! | [`padded`], [`counter`] | memory kept to one core |
//! | [`ledger`] | numbers of one writer, read as of one moment |
//! | [`seat`] | whom a thread's free functions find as its worker |
//! | [`fork`] | handlers around `fork(2)` |
//! | [`clock`] | monotonic nanoseconds |
//! | [`statics`] | atomics outside of the facade, for statics |
//! | [`plant`] | planted bugs, by which the checkers are checked |

pub mod atomic;
pub mod cell;
pub mod clock;
pub mod counter;
pub mod fence;
pub mod fork;
pub mod ledger;
pub mod lock;
pub mod padded;
pub mod parker;
pub mod plant;
pub mod seat;
pub mod statics;
pub mod thread;

pub use padded::CachePadded;
