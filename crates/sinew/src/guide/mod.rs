//! A guide for users, one page for each kind of program. All programs in it run as tests.
//!
//! | page | for programs that |
//! |---|---|
//! | [`from_rayon`] | use rayon now |
//! | [`changing_loops`] | change, watch or cancel a loop while it runs |
//! | [`streams`] | read items one after the other, and process them in stages |
//! | [`grids`] | compute the elements of a grid from their neighbours |
//! | [`transactions`] | change shared data that no lock divides well |
//! | [`from_other_stms`] | use the transactions of Haskell, Clojure or ZIO now |
//! | [`sharing`] | run beside others on the same machine, or in a container |
//! | [`tuning`] | are to be faster |
//! | [`trouble`] | hang, panic, or are slower than expected |
//!
//! The crate's `examples` folder has whole programs.

/// From rayon to Sinew.
pub mod from_rayon {
    #![doc = include_str!("from_rayon.md")]
}
/// Loops that change while they run.
pub mod changing_loops {
    #![doc = include_str!("changing_loops.md")]
}
/// Streams of items.
pub mod streams {
    #![doc = include_str!("streams.md")]
}
/// Grids and stencils.
pub mod grids {
    #![doc = include_str!("grids.md")]
}
/// Transactions and worklists.
pub mod transactions {
    #![doc = include_str!("transactions.md")]
}
/// From Haskell, Clojure and ZIO.
pub mod from_other_stms {
    #![doc = include_str!("from_other_stms.md")]
}
/// Programs that share a machine.
pub mod sharing {
    #![doc = include_str!("sharing.md")]
}
/// Faster programs.
pub mod tuning {
    #![doc = include_str!("tuning.md")]
}
/// Hangs, panics, and lost time.
pub mod trouble {
    #![doc = include_str!("trouble.md")]
}
