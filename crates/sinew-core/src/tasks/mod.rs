//! The ways to make tasks, on top of workers and pools.
//!
//! | file | contents |
//! |---|---|
//! | `join` | two closures that may run in parallel |
//! | `spawn` | detached tasks |
//! | `open` | scopes whose tasks get the scope, or whose body stays on its thread |
//! | `begun` | scopes that begin and end with separate calls |
//! | `broadcast` | one closure, called once on every thread |

pub(crate) mod begun;
pub(crate) mod broadcast;
pub(crate) mod join;
pub mod open;
pub(crate) mod spawn;
