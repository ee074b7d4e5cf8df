#![deny(unsafe_code)]
//! Programs that share a machine by agreement.
//!
//! Each program has a row in a small shared file, the [`Table`]. The row says which process it is,
//! which cores it can use, and which cores it has. A program that joins, leaves or finds a dead
//! program computes all shares again, by the pure policies of [`sinew_policy::share`], and writes
//! them into the table. No server has to start, and none can hang or fail. A program without a
//! table, or alone in one, runs as it would without this crate.
//!
//! ```
//! use sinew_coord::{Member, Offer, Table};
//!
//! # let folder = tempfile::tempdir()?;
//! # let place = folder.path().join("shared");
//! let table = Table::open(&place)?; // programs: Table::open_default()
//! let member = Member::join(&table, Offer::new("solver").weight(2.0))?;
//! member.on_change(|share| println!("now {} threads on {}", share.threads, share.cores));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `table`, `copies`, `lock` | the file: its words, how it is read and changed, its lock |
//! | `member`, `offer` | a program in the table: its state and two threads; its offer and its share |
//! | `table_state`, `row`, `decision`, `words` | the contents of the table as values and as words; pure |
//! | `command` | the commands of `sinew exec`, and the mark of their processes |
//! | `coordinator`, `powercap` | measured speeds and scripts, which need a clock; energy counters |
//! | `table_folder`, `private` | the path of the file, and the checks of its owner and mode |
//! | `oracle`, `forger` | for tests: forged tables, and the checks that every table must pass |
//! | `fail_point` | for tests: the points at which a program dies |
//! | `process`, `machine` | process identifiers; the machine that is shared |
//! | `sys`, `sigbus` | system calls; mapped pages that the file loses; the only files with `unsafe` |
//! | `sys_unsupported`, `private_unsupported` | `sys` and `private` on systems other than Linux |
//!
//! A port to another system replaces the last two files, needs what `sigbus` does, and reads
//! processes without `/proc` (`process`). The conditions on the system are below, in
//! `error` and in `Cargo.toml`.
//!
//! # Not handled
//!
//! The table does not show programs of other users, of other containers or of other time
//! namespaces. It does not show programs that do not take part either: the kernel shares cores with
//! those. CPUs that are switched off while programs run: only the masks show it.

mod command;
mod coordinator;
mod copies;
#[cfg(test)]
mod corruption;
mod decision;
mod error;
mod fail_point;
#[cfg(any(test, feature = "fuzzing"))]
mod forger;
mod lock;
mod machine;
mod member;
mod offer;
#[cfg(any(test, feature = "fuzzing"))]
mod oracle;
mod powercap;
#[cfg(target_os = "linux")]
mod private;
#[cfg(not(target_os = "linux"))]
#[path = "private_unsupported.rs"]
mod private;
mod process;
mod row;
#[cfg(target_os = "linux")]
mod sigbus;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(not(target_os = "linux"))]
#[path = "sys_unsupported.rs"]
mod sys;
mod table;
mod table_folder;
mod table_state;
mod words;

pub use coordinator::Coordinator;
pub use decision::{Decision, Reason};
pub use error::Error;
#[doc(hidden)]
pub use fail_point::FailPoint;
#[cfg(feature = "fail-points")]
#[doc(hidden)]
pub use fail_point::at_fail_point;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use forger::Forger;
pub use machine::{layout, layout_of};
pub use member::Member;
pub use offer::{Offer, Share};
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use oracle::check_image;
pub use powercap::EnergyCounter;
pub use process::ProcessId;
pub use row::{Name, OwnSettings, Row, WEIGHTS};
pub use sinew_cpus::CpuSet;
pub use sinew_policy::share::{LastLoop, MAX_CORES, Policy, Power, Request};
pub use sinew_policy::share::{Script, ScriptError};
pub use table::Table;
pub use table_folder::{FOLDER_VARIABLE, default_folder};
pub use words::MAX_PROGRAMS;
