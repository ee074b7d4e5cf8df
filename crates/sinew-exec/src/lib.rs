#![allow(unsafe_code)]
//! Programs nobody rewrote, within a share of the machine.
//!
//! [`exec`] turns the calling process into the command: same process number, same parent, same
//! terminal, same streams, same signals, same exit status, because it *is* that process. There is
//! nobody in between who would have to pass anything on. What has to go on beside the command is
//! done by two small processes that were forked before and belong to no one's job:
//!
//! ```text
//! shell ── sinew exec ── execve ──> the command           sees its threads moved, nothing else
//!              └─ watchdog (session of its own)             widens the command's masks should the agent die; holds the library and the page
//!                    └─ agent                             has a row in the table; moves threads; writes shares on the page
//! ```
//!
//! A parent that waits and forwards would have been the usual way. It would have to forward signals
//! that may come from anywhere, stop and go on with its child, and hand the terminal to and fro;
//! and killing it would leave the command behind with another exit status for the caller. Here
//! nothing of that can go wrong, and killing the agent, by any signal, widens the command and
//! changes nothing else.
//!
//! # Safe, and malleable
//!
//! *Safe* (the default): threads are moved, teams are never touched. *Malleable*: the preloaded
//! library lowers the teams of OpenMP's parallel regions to the share, where nothing speaks against
//! it; `sinew-preload` says what does. The library is loaded in both modes, so that the number of
//! processors that a program asks for stays what it was at the start, and that threads of GNU's
//! runtime that share a processor spin for each other a tenth as long.
//!
//! # The rooms
//!
//! | file | what lives there |
//! |---|---|
//! | `program` | the file behind a name, and what kind of program it is |
//! | `start` | what is known of machine and process before |
//! | `plan` | what is set, left alone and refused, and why; pure |
//! | `launch` | the order in which things happen before the command runs |
//! | `shares`, `table` | what is asked of whoever shares out the machine, and the table's answers |
//! | `agent` | the process that follows its share |
//! | `watchdog` | the process that is there when the agent is not |
//! | `usage` | how much a command has to do, from what it uses; pure |
//! | `divide` | one command's share among its processes; pure |
//! | `turns` | which processor its teams have, where there are more programs than processors; pure |
//! | `threads`, `family` | masks of all threads of a process; the processes of a command |
//! | `page` | the page that the preloaded library reads |
//! | `library` | that library |
//! | `sys` | `fork`, the environment after it, and the policy for memory; the only file with `unsafe` |
//!
//! # Invariants
//!
//! - E1: a thread is moved only while its mask is the one that was set for it here or, if it is
//!   new, one that was in force for the command when it began. Any other mask is somebody's
//!   binding, and the thread is never moved from then on. No process is moved that is not the
//!   command's.
//! - E2: nothing is written to any file system: library, page and pipe have no names, and are
//!   reached through `/proc/WATCHDOG/fd`.
//! - E3: a failure before the command runs (no table, no process to be had) is one line of warning,
//!   and the command runs without.
//! - E4: share agent and watchdog hold none of the command's streams and descriptors. They are in a session
//!   of their own before any signal reaches them: a key that stops the command's job stops none of
//!   them.
//!
//! # Not handled
//!
//! A command whose share agent and watchdog are killed at the same moment (`killall sinew`) keeps the share
//! that it has then.
//!
//! Processes that the command starts in another mount namespace, or as another user: their masks
//! stay as they were inherited. So does the mask of a descendant that has left environment and
//! family (`setsid env -i`, and its parent has ended) less than a second after its start, before
//! the agent looks: it cannot be told from a program that its user has bound. Programs that read
//! their mask while they run (`nproc`, Rust's `available_parallelism`) see the share of that
//! moment. Descendants that bind themselves with `taskset` keep their binding, but start as many
//! threads as the machine has processors. Descendants for another kind of machine (32 bits) are
//! told by the dynamic linker that the library is not for them, on their standard error. A
//! command's speed is not known, so policies by speed give it an equal part. One that works again
//! after it has slept for long may have a single thread for a quarter of a second.

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
