//! Software transactional memory: the reads and writes of a transaction take effect atomically, or
//! not at all.
//!
//! Store shared data in [`TVar`]s, and access it inside [`atomically`]. There are no locks to take
//! in order, and transactions compose. It needs no pool: any thread can run transactions.
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
//!     // A reader sees both changes or neither.
//!     let both = atomically(|tx| Ok(checking.get(tx)? + savings.get(tx)?));
//!     assert_eq!(both, 600);
//! });
//! ```
//!
//! # Guide
//!
//! **Variables.** [`TVar<T>`](TVar) for values that are `Copy`, [`TArray<T>`](TArray) for many of
//! them, [`TBox<T>`](TBox) for all others: text, vectors, `Arc`s. On top of them [`TMap`],
//! [`THashMap`], [`TList`], [`TQueue`], [`TBoundedQueue`], [`THeap`] and [`TGrid`]. With the
//! storage [`Boxed`] they hold values that are `Clone`. Variables and containers can be statics,
//! fields, locals, or in an `Arc`: a transaction borrows them, as threads of [`std::thread::scope`]
//! do. Use [`keep`](Tx::keep) to follow an `Arc` that was read from a variable.
//!
//! **Errors.** All functions inside a transaction return a [`TxResult`]. Return errors with `?`: an
//! error means that this attempt is over, and the closure is called again. So the closure should
//! have no effects that cannot be repeated. Every attempt sees a consistent snapshot, even if it
//! later aborts (opacity). It never finds an invariant of yours or of a container broken.
//! [`try_atomically`] is for closures with errors of their own: `?` on such an error undoes the
//! transaction, and the caller gets the error.
//!
//! **Waiting.** [`retry`](Tx::retry) ends the attempt and sleeps until a variable that it read has
//! changed, [`retry_until`](Tx::retry_until) until a deadline at most. [`or_else`](Tx::or_else)
//! runs an alternative instead:
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
//! **Effects.** Register an effect that must happen once with [`on_commit`](Tx::on_commit), or
//! execute it after [`irrevocable`](Tx::irrevocable): from then on the attempt cannot abort.
//! [`on_abort`](Tx::on_abort) undoes effects of a transaction outside of its variables.
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
//! **Composing.** Functions that take `tx` are parts of their caller. [`atomically`] itself must
//! not be called inside a transaction of the same thread: its variables might be dropped before the
//! outer transaction commits. It panics and names both places. [`Tx::atomically`] is the form that
//! becomes a part of the outer transaction. Joins, scopes and loops inside a transaction run
//! serially on its thread, which runs no other task meanwhile. The pool's free functions and its
//! handles enforce that; a method of a worker that the closure has captured does not.
//!
//! **Contention.** [`Transaction`] sets a [`ContentionManager`] for a place in the program, and
//! returns its counters ([`Counters`]; [`counters_by_site()`] for all places). A transaction that
//! has aborted ten times takes the *token*, and then wins all conflicts. So each transaction
//! commits after a bounded number of attempts, even a long reader among fast writers.
//! [`Transaction::attempt`] leaves the reaction to a conflict to the caller.
//!
//! **Reading ahead.** [`Prefetch`] runs the same closure for its reads only: a helper thread loads
//! the transaction's data into a shared cache.
//!
//! **Panics.** A panic in the closure undoes all writes and propagates. A panic in a part of the
//! closure (a branch of [`or_else`](Tx::or_else) or a [`Tx::atomically`]) undoes the part's writes;
//! a closure that catches it may continue.
//!
//! # How it works
//!
//! | module | contents |
//! |---|---|
//! | `run`, `tx`, `tx_error` | attempts until one commits; the transaction as the closure sees it |
//! | `descriptor`, `log`, `access`, `value` | snapshot, read set, write set; reading and writing |
//! | `record`, `word`, `engine` | the ownership record, values as words, the clock with the token |
//! | `var`, `array`, `boxed`, `version`, `grace` | the variables; versions of boxed values and when they are dropped |
//! | `containers` | ordered map, hash map, list, queues, heap, grid: built from variables |
//! | `prefetch`, `ahead`, `run_ahead` | runs that only read ahead, for helper threads |
//! | `late`, `index` | transactions that lock at their commit: irrevocable ones, and for comparison |
//! | `contention`, `contention_manager`, `waiting`, `sleepers`, `after`, `handler`, `drops`, `sites`, `threads`, `local` | conflicts, sleeping, handlers, values to drop, counters, threads |
//! | `fork` | support for `fork(2)` |
//!
//! The algorithm is time-based: invisible reads, encounter-time locking, and write-back at the
//! commit. A read of a younger version extends the snapshot. Source: Felber, Fetzer, Marlier and
//! Riegel, "Time-Based Software Transactional Memory" (2010). Waiting: Harris, Marlow, Peyton Jones
//! and Herlihy, "Composable Memory Transactions" (2005).
//!
//! A read-only transaction writes no shared memory, and reads the clock only if it meets a change,
//! so readers scale. A transaction that writes executes a compare-and-swap per record and one
//! addition to the clock.
//!
//! ## Invariants
//!
//! They are numbered I1 to I18, and each module states its own: I1 to I3 are in `record`, I4 in
//! `engine`, I5 in `after`, I6 and I7 in `version`. I8 to I11, I14 and I18 are in `descriptor`,
//! I12 in `local`, I13 in `ahead`, I15 in `late`, I16 in `containers::arena`, I17 in
//! `containers::slots`.
//!
//! ## Orderings
//!
//! | | pair | guarantee |
//! |---|---|---|
//! | R1 | release of a record (Release) ↔ look (Acquire) | a thread that sees a version sees its values |
//! | R2 | lock, then store of the value (Release) ↔ load of the value (Acquire), then second look | no value of an unfinished commit is used |
//! | C1 | clock `fetch_add` (AcqRel) ↔ clock load (Acquire) or `fetch_add` | a snapshot sees the locks of every commit that it includes |
//! | C2 | clock `fetch_add` ↔ `fetch_or` of the token | a committer gives way, or the holder sees its locks; no fence |
//! | W1 | entry, mark of the record (AcqRel) ↔ lock (Acquire), read of the entries | no wake-up is lost |
//! | G1 | pin, light fence, look ↔ clock, heavy fence, read of the pins | no version is dropped while a reader uses it |
//! | A1 | records released, node returned under the list's lock ↔ node taken under the lock, reads of records | the thread that allocates a node sees its removal |
//! | G2 | unpin (Release) ↔ read of the pins (Acquire) | the drop comes after the last read |
//!
//! ## Not handled
//!
//! Fast commit-time locking. [`Locking::Commit`] exists for comparison: it takes the slow path of
//! runs ahead, so the fast paths need no test for it. A fast version would need a test in every
//! access, or two compiled versions of every access.
//!
//! ## Tests
//!
//! `loom` checks the orderings; `shuttle` and `history` check opacity on recorded histories. All
//! three find planted bugs. `container_history` checks opacity for random transactions of nested
//! parts, on containers and variables, on threads that start and end during the test. It checks
//! every operation of every attempt and part, also of those that are aborted or undone.
//! `tests/stress.rs` checks invariants under real threads. `tests/resident` measures the memory
//! that many short threads leave.

/// Defines a function that is `const`, except under a model checker, whose atomics are made at run
/// time.
macro_rules! const_unless_modelled {
    (
        $(#[$attribute:meta])* $visible:vis
        fn $name:ident($($arguments:tt)*) -> $answer:ty $body:block
    ) => {
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
mod contention_manager;
mod descriptor;
mod drops;
mod engine;
mod fork;
mod grace;
mod handler;
#[cfg(all(test, not(loom)))]
mod history;
mod index;
mod late;
mod local;
mod log;
#[cfg(all(test, loom))]
mod loom;
mod prefetch;
#[cfg(all(test, not(any(loom, shuttle))))]
mod prefetch_tests;
mod record;
mod run;
mod run_ahead;
#[cfg(all(test, shuttle))]
mod shuttle;
#[cfg(all(test, shuttle))]
mod shuttle_fork;
mod sites;
mod sleepers;
#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "../tests/support/mod.rs"]
mod support;
mod threads;
mod tx;
mod tx_error;
mod value;
mod var;
mod version;
mod waiting;
mod word;

pub use array::TArray;
pub use boxed::TBox;
pub use containers::{
    Boxed, Entry, Inline, Store, TBoundedQueue, TGrid, THashMap, THeap, TList, TMap, TQueue,
};
pub use contention_manager::{ContentionManager, ContentionManagerError};
pub use engine::counters_by_site;
pub use late::Locking;
pub use local::in_transaction;
pub use prefetch::{Prefetch, Prefetched};
pub use run::{Transaction, Unfinished, atomically, try_atomically};
pub use run_ahead::PrefetchEnd;
pub use sites::{Cause, Counters};
pub use tx::Tx;
pub use tx_error::{Abort, TxError, TxResult};
pub use var::TVar;
pub use waiting::Change;

/// The duration of a stress test: `SINEW_STRESS_SECONDS`, else a minute if `SINEW_DEEP` is set,
/// else two seconds.
#[cfg(all(test, not(any(loom, shuttle))))]
fn stress_time() -> std::time::Duration {
    let seconds = std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let deep = std::env::var_os("SINEW_DEEP").map(|_| 60);
    std::time::Duration::from_secs(seconds.or(deep).unwrap_or(2))
}
