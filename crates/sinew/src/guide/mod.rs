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

/// The guide's picture of this name, for the end of a page. `sinew-lab draw NAME --threads 2 --out
/// pictures/NAME.svg` makes it.
macro_rules! picture {
    ($name:literal, $description:literal) => {
        concat!(
            "<div role=\"img\" aria-label=\"",
            $description,
            "\" style=\"overflow-x: auto\">\n",
            include_str!(concat!("pictures/", $name, ".svg")),
            "</div>\n"
        )
    };
}

/// From rayon to Sinew.
pub mod from_rayon {
    #![doc = include_str!("from_rayon.md")]
}
/// Loops that change while they run.
pub mod changing_loops {
    #![doc = include_str!("changing_loops.md")]
    #![doc = picture!("timeline", "The work of two workers over time, with a mark at each change")]
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
    #![doc = picture!("tuning", "Threads, and units per microsecond, while a worklist is tuned")]
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
    #![doc = picture!("chunks", "The iterations of each worker, with a row for each schedule")]
}
/// Hangs, panics, and lost time.
pub mod trouble {
    #![doc = include_str!("trouble.md")]
}
