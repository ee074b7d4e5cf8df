//! Transactions on shared variables: several reads and writes that happen at one moment, or not at
//! all.
//!
//! Put what threads share into [`TVar`]s, and access it inside [`atomically`]. There is nothing to
//! lock in the right order, and what works alone works as a part of something larger. Needs no
//! pool: any thread will do.
//!
//! ```
//! use sinew_stm::{TVar, atomically};
//!
//! let (checking, savings) = (TVar::new(100), TVar::new(500));
//! std::thread::scope(|s| {
//!     s.spawn(|| atomically(|tx| {
//!         let amount = savings.get(tx)?.min(50);
//!         savings.modify(tx, |sum| sum - amount)?;
//!         checking.modify(tx, |sum| sum + amount)
//!     }));
//!     // Whoever looks sees both changes or neither.
//!     let both = atomically(|tx| Ok(checking.get(tx)? + savings.get(tx)?));
//!     assert_eq!(both, 600);
//! });
//! ```
//!
//! # Guide
//!
//! **Variables.** [`TVar<T>`](TVar) for values that are `Copy`, [`TArray<T>`](TArray) for many of
//! them, [`TBox<T>`](TBox) for all others: text, vectors, `Arc`s. On top of them [`TMap`],
//! [`THashMap`], [`TList`], [`TQueue`], [`THeap`] and [`TGrid`]. They can be statics, fields,
//! locals, or lie in an `Arc`: a transaction borrows them, as threads of [`std::thread::scope`] do.
//! To follow an `Arc` that was read from a variable, [`keep`](Tx::keep) it.
//!
//! **Errors.** Inside a transaction everything answers a [`TxResult`]. Hand errors on with `?`: an
//! error means that this attempt is over, and the closure is called again. So it should do nothing
//! that cannot be repeated. An attempt never sees variables in a state between two transactions,
//! not even one that will be given up: no invariant of yours is ever found broken, nor one of a
//! container.
//!
//! **Waiting.** [`retry`](Tx::retry) ends the attempt and sleeps until something that it read has
//! changed; [`or_else`](Tx::or_else) tries another way instead:
//!
//! ```
//! use sinew_stm::{TVar, Tx, TxResult, atomically};
//!
//! fn take<'tx>(tx: &mut Tx<'tx, '_>, slot: &'tx TVar<Option<u32>>) -> TxResult<u32> {
//!     match slot.replace(tx, None)? {
//!         Some(value) => Ok(value),
//!         None => tx.retry(),
//!     }
//! }
//!
//! let (left, right) = (TVar::new(None), TVar::new(Some(7)));
//! // Waits only while both are empty.
//! let value = atomically(|tx| tx.or_else(|tx| take(tx, &left), |tx| take(tx, &right)));
//! assert_eq!(value, 7);
//! ```
//!
//! **Effects.** What must happen once belongs into [`on_commit`](Tx::on_commit), or after
//! [`irrevocable`](Tx::irrevocable): from there on the attempt cannot be given up.
//! [`on_abort`](Tx::on_abort) takes back what a transaction did elsewhere.
//!
//! ```
//! use sinew_stm::{TVar, atomically};
//! use std::cell::RefCell;
//!
//! let (count, log) = (TVar::new(0), RefCell::new(Vec::new()));
//! atomically(|tx| {
//!     count.modify(tx, |n| n + 1)?;
//!     tx.on_commit(|| log.borrow_mut().push("counted"));
//!     tx.irrevocable()?;
//!     println!("counting to {}", count.get(tx)?);
//!     Ok(())
//! });
//! assert_eq!(*log.borrow(), ["counted"]);
//! ```
//!
//! **Composing.** Functions that take `tx` are parts of whatever calls them. [`atomically`] itself
//! must not be called inside a transaction of the same thread: its variables might be gone before
//! the outer transaction commits, so it panics and names both places. [`Tx::atomically`] is the
//! form that becomes a part of the outer transaction. Joins, scopes and loops inside a transaction
//! run serially on its thread, which serves nobody else meanwhile: the pool's free functions and
//! its handles see to that. (A method of a worker that the closure has brought along is the
//! exception.)
//!
//! **Contention.** [`Transaction`] chooses a [`Manager`] for a place in the program, and says what
//! happened there ([`Counters`]; [`sites`] for all places). A transaction that was given up ten
//! times takes the *token*, and with it wins against all others; so each one commits after a
//! bounded number of attempts, a long reader among fast writers as well. [`Transaction::attempt`]
//! leaves it to the caller what to do after a conflict.
//!
//! **Reading ahead.** [`Prefetch`] runs the same closure for its reads only: a helper thread brings
//! what the transaction will need nearer.
//!
//! **Panics.** A panic in the closure takes all writes back and propagates. A panic in a part of
//! the closure, which is a branch of [`or_else`](Tx::or_else) or a [`Tx::atomically`], takes the
//! part's writes back; a closure that catches it may go on.
//!
//! # How it works
//!
//! | room | what lives there |
//! |---|---|
//! | `run`, `tx` | attempts until one commits; the transaction as the closure sees it |
//! | `descriptor`, `log`, `access` | snapshot, read set, write set; reading and writing |
//! | `record`, `word`, `engine` | the ownership record, values as words, the clock with the token |
//! | `var`, `array`, `boxed`, `version`, `grace` | the variables; versions of boxed values and when they may go |
//! | `containers` | ordered map, hash map, list, queue, heap, grid: built from variables, without `unsafe` |
//! | `prefetch`, `ahead` | runs that only read ahead, for helper threads |
//! | `late`, `index` | transactions that lock what they write at their commit: irrevocable ones, and to compare |
//! | `contention`, `waiting`, `after`, `drops`, `sites`, `threads`, `local` | conflicts, sleeping, handlers, values to drop, counters, threads |
//! | `fork` | survival of `fork(2)` |
//!
//! Time-based, with invisible reads whose snapshot is extended when they meet something younger,
//! locks taken at the first write, and values written back at the commit. Source: Felber, Fetzer,
//! Marlier and Riegel, "Time-Based Software Transactional Memory" (2010). Waiting: Harris, Marlow,
//! Peyton Jones and Herlihy, "Composable Memory Transactions" (2005).
//!
//! A transaction that writes nothing writes nothing that is shared, so readers scale. One that
//! writes pays a compare-and-swap for each record and one addition to the clock.
//!
//! ## Invariants
//!
//! They are numbered I1 to I16 and stated in the rooms that keep them: I1 to I3 in `record`, I4 in
//! `engine`, I5 in `after`, I6 and I7 in `version`, I8 to I11 and I14 in `descriptor`, I12 in
//! `local`, I13 in `ahead`, I15 in `late`, I16 in `containers::arena`.
//!
//! ## Orderings
//!
//! | | pair | what it gives |
//! |---|---|---|
//! | R1 | release of a record (Release) ↔ look (Acquire) | with the version come its values |
//! | R2 | lock, then store of the value (Release) ↔ load of the value (Acquire), then second look | no value of a commit under way is believed |
//! | C1 | clock `fetch_add` (AcqRel) ↔ clock load (Acquire) | a snapshot sees the locks of every commit that it includes |
//! | C2 | clock `fetch_add` ↔ `fetch_or` of the token | a committer gives way, or the holder sees its locks; no fence |
//! | W1 | entry, mark of the record (AcqRel) ↔ lock (Acquire), look at the entries | no sleeper is forgotten |
//! | G1 | pin, light fence, look ↔ clock, heavy fence, look at the pins | no version is dropped under a reader |
//! | A1 | records released, node given back under the list's lock ↔ node taken under the lock, looks at records | who allocates a node sees its removal |
//! | G2 | unpin (Release) ↔ look at the pins (Acquire) | the drop comes after the last look |
//!
//! ## Not handled
//!
//! Commit-time locking that is fast. [`Locking::Commit`] is there to compare: it takes the way of
//! runs ahead, which the fast paths do not know of. A fast one would be a test in every access, or
//! every access compiled twice.
//!
//! ## Tests
//!
//! `models` (loom) checks the orderings, `shuttle_tests` and `history` check opacity on recorded
//! histories, and all three are shown to find planted bugs. `container_history` does so for
//! transactions of several operations on containers, and judges each attempt operation by
//! operation, also one that is given up. `tests/stress.rs` holds invariants under real threads.
//! `tests/resident` counts what many short threads leave in memory.

/// Defines a function that is `const`, except under a model checker, whose atomics are made at run
/// time.
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
mod ahead;
mod array;
mod boxed;
#[cfg(all(test, not(loom)))]
mod container_history;
#[cfg(all(test, not(loom)))]
mod container_model;
mod containers;
mod contention;
mod descriptor;
mod drops;
mod engine;
mod fork;
mod grace;
#[cfg(all(test, not(loom)))]
mod history;
mod index;
mod late;
mod local;
mod log;
#[cfg(all(test, loom))]
mod models;
mod prefetch;
#[cfg(all(test, not(any(loom, shuttle))))]
mod prefetch_tests;
mod record;
mod run;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod sites;
#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "../tests/support/mod.rs"]
mod support;
mod threads;
mod tx;
mod var;
mod version;
mod waiting;
mod word;

pub use array::TArray;
pub use boxed::TBox;
pub use containers::{TGrid, THashMap, THeap, TList, TMap, TQueue};
pub use contention::Manager;
pub use late::Locking;
pub use local::in_transaction;
pub use prefetch::{Ended, Prefetch, Prefetched};
pub use run::{Transaction, Unfinished, atomically};
pub use sites::{Cause, Counters, sites};
pub use tx::{Stop, Tx, TxResult};
pub use var::TVar;
pub use waiting::Change;

/// How long a stress test goes on: `SINEW_STRESS_SECONDS`, else a minute if `SINEW_DEEP` is set,
/// else two seconds.
#[cfg(all(test, not(any(loom, shuttle))))]
fn stress_time() -> std::time::Duration {
    let seconds = std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let deep = std::env::var_os("SINEW_DEEP").map(|_| 60);
    std::time::Duration::from_secs(seconds.or(deep).unwrap_or(2))
}
