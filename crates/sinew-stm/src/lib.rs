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
mod array;
mod boxed;
mod contention;
mod descriptor;
mod engine;
mod grace;
#[cfg(all(test, not(loom)))]
mod history;
mod local;
#[cfg(all(test, loom))]
mod models;
mod record;
mod run;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod sites;
mod threads;
mod tx;
mod var;
mod version;
mod waiting;
mod word;

pub use array::TArray;
pub use boxed::TBox;
pub use contention::Manager;
pub use local::in_transaction;
pub use run::{Transaction, atomically};
pub use sites::{Cause, Counters, sites};
pub use tx::{Stop, Tx, TxResult};
pub use var::TVar;

/// How long a stress test goes on: `SINEW_STRESS_SECONDS`, or a moment.
#[cfg(all(test, not(any(loom, shuttle))))]
fn stress_time() -> std::time::Duration {
    let seconds = std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map_or(std::time::Duration::from_millis(200), std::time::Duration::from_secs)
}
