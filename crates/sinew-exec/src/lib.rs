#![allow(unsafe_code)]
//! Unmodified programs within a share of the machine.
//!
//! [`exec`] turns the calling process into the command. The command has the same process number,
//! parent, terminal, streams, signals and exit status, because it *is* that process. No process
//! stands in between and has to forward anything. Two small processes, which were forked before, do
//! the rest. They belong to no job of a shell:
//!
//! ```text
//! shell ── sinew exec ── execve ──> the command      sees its threads moved, nothing else
//!              └─ watchdog (own session)             restores the masks if the share agent dies;
//!                    │                               holds the library and the page
//!                    └─ share agent                  has a row in the table; moves threads;
//!                                                    writes thread counts on the page
//! ```
//!
//! The usual way is a parent that waits and forwards. It would have to forward signals of any
//! origin, stop and continue with its child, and pass the terminal back and forth. Killing it would
//! leave the command behind with another exit status for the caller. None of that can happen here.
//! A signal that kills the share agent widens the command's masks and changes nothing else.
//!
//! # Safe, and malleable
//!
//! *Safe* (the default): threads are moved, and teams keep their size. *Malleable*: the preloaded
//! library lowers the teams of OpenMP's parallel regions to the share, unless the program objects
//! to it; `sinew-preload` lists the objections.
//!
//! The library is loaded in both modes. TBB asks it for workers; these do not matter to a program's
//! results, so they follow the share in both. With it, a program that asks for the number of
//! processors gets the number at the start. Threads of GNU's runtime that share a processor spin
//! for each other a tenth as long.
//!
//! # Descendants
//!
//! A process of the command descends from it, or has its variable in the environment, or has its
//! *mark*: a soft limit on real-time computing (`ulimit -R`) that differs for each command, and
//! that no program reaches. A daemon keeps the mark though its parent has ended and its environment
//! is empty. A search by parents alone, however frequent, would miss a daemon whose parent ends
//! before the search. The command cannot be the subreaper of its daemons: they would become its
//! children, which it has never started. Nor can a mask that was set here identify them: a user can
//! have bound a program to the same processors.
//!
//! # Pools of Sinew
//!
//! A pool that shares the machine by itself would be counted twice. By the mark it finds the
//! command's row, and follows that (`sinew_coord::Table::share_of_command`).
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `program` | the file of a command, and its kind |
//! | `start` | facts about machine and process before the command runs |
//! | `plan` | the settings that are made, left alone and refused, with reasons; pure |
//! | `launch` | the steps before the command runs |
//! | `share_source`, `table` | a command with its options; the interface to a source of shares, and the table as one |
//! | `share_agent` | the process that follows the share |
//! | `watchdog` | the process that restores masks if the share agent dies |
//! | `usage` | the command's demand, estimated from its processor time; pure |
//! | `divide` | one command's share among its processes; pure |
//! | `turns` | the processor of a team when there are more programs than processors; pure |
//! | `masks`, `descendants` | masks of all threads of a process; the processes of a command |
//! | `limit_mark` | the limit by which processes that have left are recognised |
//! | `page` | the page that the preloaded library reads |
//! | `library` | that library |
//! | `sys` | `fork`, the environment after it, limits, memory; the only file with `unsafe` |
//!
//! # Invariants
//!
//! - E1: a thread is moved only while it has the mask that was set for it here. A new thread is
//!   moved only if it has a mask that was in force for the command when it began. Any other mask is
//!   a binding by another program, and the thread is never moved from then on. Processes that are
//!   not the command's are never moved.
//! - E2: nothing is written to any file system: library, page and pipe have no names, and are
//!   reached through `/proc/WATCHDOG/fd`.
//! - E3: a failure before the command runs (no table, or no process left) is one line of warning,
//!   and the command runs without a share.
//! - E4: share agent and watchdog hold none of the command's streams and descriptors. They are in a
//!   session of their own before any signal reaches them: a key that stops the command's job stops
//!   neither of them.
//!
//! # Not handled
//!
//! A command whose share agent and watchdog are killed at the same moment (`killall sinew`) keeps
//! the share that it has then.
//!
//! Processes that the command starts in another mount namespace, or as another user: their masks
//! stay as they were inherited. So does the mask of a descendant that leaves environment and family
//! before the share agent looks, and sets its own limit on real-time computing.
//!
//! Programs that read their mask while they run (`nproc`, Rust's `available_parallelism`) see the
//! share of that moment. Descendants that bind themselves with `taskset` keep their binding, but
//! start as many threads as the machine has processors. For descendants of another kind (32 bits),
//! the dynamic linker prints to their standard error that it cannot load the library. A command's
//! speed is not known, so policies by speed give it an equal part. A command that works again after
//! a long sleep may have a single thread for a quarter of a second.
//!
//! A descendant `numactl --physcpubind` needs `--all` to bind to processors outside of the share of
//! that moment. libnuma reads the mask while it is loaded, and a program that started with a wider
//! one would run outside of the share until the next search, as would each command of a `make`.

mod share_source;

#[cfg(target_os = "linux")]
mod divide;
#[cfg(target_os = "linux")]
mod failure;
#[cfg(target_os = "linux")]
mod library;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod program;

#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod limit_mark;
#[cfg(target_os = "linux")]
mod masks;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod share_agent;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod turns;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod watchdog;

#[cfg(target_os = "linux")]
pub use failure::Failure;
#[cfg(target_os = "linux")]
pub use launch::exec;
pub use share_source::{Command, Crowd, Grant, Job, Listener, ShareRequest, ShareSource};
#[cfg(target_os = "linux")]
pub use table::join_table;
