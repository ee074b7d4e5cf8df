#![cfg_attr(sinew_preloaded, no_std)]
#![allow(unsafe_code)]
//! The library that `sinew exec` loads into programs nobody rewrote.
//!
//! It stands between a program and its OpenMP runtime, GNU's or LLVM's, and does three things. It
//! keeps what the program is told about the machine as it was when the program started, although
//! its affinity mask is narrowed meanwhile. It lets threads that share processors spin more shortly
//! for each other. And where the user allows it (`--malleable`), it lowers the teams of parallel
//! regions to the program's share of the machine.
//!
//! The same source is built twice: by cargo as an ordinary library, for its tests and for what
//! `sinew-exec` needs to know of it; and by `sinew-exec`'s build script as a shared library of some
//! 35 KB without any dependency, not even a named C library, so that it can be loaded into every
//! process. Only the latter exports the runtimes' names (`--cfg sinew_preloaded`).
//!
//! # The rooms
//!
//! | file | what lives there |
//! |---|---|
//! | `rules` | when a team may be lowered, and to what; pure |
//! | `user` | settings by which users say that they want no meddling; pure |
//! | `layout` | the page by which `sinew exec` speaks to this library |
//! | `functions` | the functions that are stood in for |
//! | `entry/stubs` | the way in: machine code that passes on every argument |
//! | `entry/hooks` | what happens on the way |
//! | `runtime` | which runtime a caller means |
//! | `share` | the page, mapped; registering |
//! | `objections` | what the program has done that forbids lowering |
//! | `entry/lookup` | names that a program looks up while it runs |
//! | `thread_data` | whether a loaded object keeps data per thread |
//! | `waiting` | shorter spinning while a team is larger than its share |
//! | `system` | the C library's functions |
//!
//! # Invariants
//!
//! R1: a call reaches the function that it would have reached without this library, with the same arguments, the number of threads aside.\
//! R2: that number is changed only where [`rules`] says so; whatever is in doubt stays as it is.\
//! R3: nothing here allocates, locks, waits, prints (unless asked to) or changes `errno` beyond what the C library's own calls do; `waiting` alone starts a thread.\
//! R4: what a program asks its runtime has the answer that it would have without this library; the size of a team that was lowered is the one exception. This holds for
//! functions that the program looks up, too.
//!
//! # Not handled
//!
//! Runtimes linked statically into a program: their names are bound when it is linked, so the
//! program is left alone. Programs that learn the size of one region's team and count on it in
//! another without asking for the maximum, or count the processors in their mask or in `/proc`:
//! `--malleable` is the user's word that this one does not.

pub mod layout;
pub mod rules;
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

/// Nothing here panics on purpose; what does must not unwind into C.
#[cfg(sinew_preloaded)]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    system::stop()
}

/// The core library was built for unwinding and may name this; nobody calls it.
#[cfg(sinew_preloaded)]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
