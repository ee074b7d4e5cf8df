//! The path of a call through this library: its machine code, the hooks, and names that a program
//! looks up.
//!
//! The three import each other: an entry calls a hook, a hook may look a name up, and the lookup
//! returns the address of an entry.

mod hooks;
mod lookup;
#[cfg_attr(not(sinew_preloaded), allow(dead_code, reason = "exported by the shared library alone"))]
mod stubs;
