#![cfg_attr(sinew_preloaded, no_std)]
#![allow(unsafe_code)]
//! The library that `sinew exec` loads into unmodified programs.
//!
//! It stands between a program and its OpenMP runtime, GNU's or LLVM's, and does three things. It
//! answers the program's questions about the machine as they were answered when the program
//! started, although the affinity mask is narrowed meanwhile. It makes threads that share
//! processors spin for a shorter time. If the user allows it (`--malleable`), it lowers the teams
//! of parallel regions to the program's share of the machine. For TBB it is the manager that TBB
//! asks for workers.
//!
//! The same source is built twice. Cargo builds an ordinary library, for its tests and for the
//! constants that `sinew-exec` uses. `sinew-exec`'s build script builds a shared library of some 45
//! KB. The shared library has no dependency, not even a named C library, so every process can load
//! it. Only it exports the runtimes' names (`--cfg sinew_preloaded`).
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `rules` | when a team may be lowered, and to which size; pure |
//! | `user_settings` | settings by which users fix threads or bindings; pure |
//! | `layout` | the page that `sinew exec` and this library share |
//! | `functions` | the functions that this library replaces |
//! | `entry/stubs` | the entries: machine code that passes on every argument |
//! | `entry/hooks` | the actions before a call goes on to its runtime |
//! | `runtime` | the runtime that a call goes to |
//! | `share` | the page, mapped; registration |
//! | `objections` | actions of the program that forbid lowering |
//! | `entry/lookup` | names that a program looks up while it runs |
//! | `thread_data` | whether a loaded object keeps data per thread |
//! | `waiting`, `idle_team` | shorter spinning while a team is larger than its share |
//! | `tbb` | the manager for TBB, by the name `libtcm.so.1` |
//! | `system` | the C library's functions |
//!
//! # Invariants
//!
//! - R1: a call reaches the function that it would reach without this library, with the same
//!   arguments, except for the number of threads.
//! - R2: this library changes that number only where [`rules`] says so. In doubt it stays as it is.
//! - R3: this library does not allocate, lock, wait, print (unless asked to) or change `errno`
//!   beyond what the C library's own calls do. `waiting` alone starts a thread. Not so `tbb`: TBB
//!   calls it, and the program does not.
//! - R4: a runtime's function returns the same as without this library, except for the size of a
//!   team that was lowered. This holds for functions that the program looks up, too.
//!
//! # Not handled
//!
//! Runtimes linked statically into a program: their names are bound when it is linked, so the
//! program is left alone. Programs that read the size of one region's team and rely on it in
//! another region without asking for the maximum, or that count the processors in their mask or in
//! `/proc`. With `--malleable` the user says that this program does neither.

extern crate alloc;

pub mod layout;
pub mod rules;
pub mod tbb;
pub mod user_settings;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod entry;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod functions;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod idle_team;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod objections;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod runtime;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod share;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod thread_data;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod waiting;

/// This library never panics on purpose. A panic must not unwind into C.
#[cfg(sinew_preloaded)]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    system::stop()
}

/// The core library was built for unwinding and may name this function, but never calls it.
#[cfg(sinew_preloaded)]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
