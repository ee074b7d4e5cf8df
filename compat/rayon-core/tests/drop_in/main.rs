//! The drop-in as programs use it, with real threads, beyond what upstream's own tests ask.
//!
//! | file | contents |
//! |---|---|
//! | `handlers` | names, hooks, panics, threads of the user's, types |
//! | `ext` | what rayon-core does not have |
//! | `locks` | programs that hold a lock across a parallel call |
//! | `stress` | random programs of everything there is, with threads that come and go |
//! | `fork`, `environment` | what needs a process of its own |
//!
//! No test sleeps to get an order: latches, barriers and hooks make it. [`support::ends`] watches
//! code that must end.

mod environment;
mod ext;
#[cfg(unix)]
mod fork;
mod handlers;
mod locks;
mod stress;
mod support;
