//! A manager of threads for TBB: oneTBB from 2021.11 on asks one how many workers it may have.
//!
//! TBB looks for its manager under the name `libtcm.so.1`. The shared library has this name, so TBB
//! finds it loaded already. The workers of a process are the program's share less one: the thread
//! that calls TBB works, too, and TBB does not count it. TBB itself has as many workers as
//! processors, less one.
//!
//! TBB promises no task a worker, so lowering changes no result, and `--malleable` is not needed.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `division` | workers divided among requests; pure |
//! | `permits` | clients, permits, and who has to be called; pure |
//! | `lock` | the lock around them |
//! | `manager` | the permits of this process; the thread that follows the share |
//! | `interface` | the functions that TBB calls |
//!
//! # Not handled
//!
//! Requests for processors of a kind: TBB sets masks itself, and a request's mask is not read.
//! Requests for workers whose number never changes are refused. TBB makes none.

pub mod division;
pub mod permits;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod interface;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod lock;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod manager;

#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;
