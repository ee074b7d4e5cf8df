//! Typed transactional variables, for any thread, with or without a pool.

/// Defines a function that is `const`, except under a model checker, whose atomics are made at run time.
macro_rules! const_unless_modelled {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($($arguments:tt)*) -> $answer:ty $body:block) => {
        #[cfg(not(any(loom, shuttle)))]
        $(#[$attribute])*
        $visible const fn $name($($arguments)*) -> $answer $body

        #[cfg(any(loom, shuttle))]
        $(#[$attribute])*
        $visible fn $name($($arguments)*) -> $answer $body
    };
}

mod access;
mod after;
mod boxed;
mod contention;
mod descriptor;
mod engine;
mod grace;
mod local;
mod record;
mod run;
mod sites;
mod threads;
mod tx;
mod var;
mod version;
mod waiting;
mod word;

pub use boxed::TBox;
pub use contention::Manager;
pub use local::in_transaction;
pub use run::{Transaction, atomically};
pub use sites::{Cause, Counters, sites};
pub use tx::{Stop, Tx, TxResult};
pub use var::TVar;
