//! Sinew for C and C++: the functions of `include/sinew.h`, which documents them.
//!
//! Each function checks its arguments, resolves its handles, and calls one function of the crates
//! below. It returns a status. A panic ends at the boundary and becomes one (`status::guarded`).
//!
//! The functions are not `unsafe` in Rust, since only C calls them. They trust the header's terms:
//! a pointer is null or valid for its type, a callback may be called from any thread, and what it
//! uses lives until the call returns.
//!
//! | file | contents |
//! |---|---|
//! | `status` | the results of all functions; panics at the boundary |
//! | `callback` | functions of the caller, with their contexts |
//! | `handle` | tables that find out whether a handle is still valid |
//! | `options` | structures that callers fill in, whose first field is their size |
//! | `pool`, `control` | pools, their limits and counters; handles that change loops |
//! | `numbers` | the numbers of a loop's participants |
//! | `ranges`, `reduce` | loops and reductions |
//! | `tasks` | joins, scopes and detached tasks |
//! | `numba` | the threading layer of numba |

mod callback;
mod control;
mod handle;
mod numba;
mod numbers;
mod options;
mod pool;
mod ranges;
mod reduce;
mod status;
mod tasks;
#[cfg(test)]
mod tests;
