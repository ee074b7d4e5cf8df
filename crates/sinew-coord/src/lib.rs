#![deny(unsafe_code)]
//! Programs that share a machine by agreement.
//!
//! Every program that takes part has a row in a small shared file, the [`Table`]: who it is, what
//! it can use, what it has. Whoever comes, goes, or finds somebody dead computes all shares anew by
//! the pure policies of [`sinew_policy::share`], and writes them down. There is no server to start,
//! to hang or to fail; without a table, or alone in it, everything is as if this crate did not
//! exist.
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
//! # The rooms
//!
//! | file | what lives there |
//! |---|---|
//! | `table`, `lock` | the file, reading and changing it; its lock |
//! | `member`, `offer` | a program in it: listener and `watcher`; what it offers and gets |
//! | `state`, `row`, `log`, `words` | what the table says, as values and as words; pure |
//! | `coordinator` | what needs a clock: speeds, scripts |
//! | `folder`, `private` | where the file is, and whose it may be |
//! | `oracle`, `forge` | for tests: tables that no honest program writes, and their oracle |
//! | `fail_point` | for tests: where programs die |
//! | `process`, `machine` | who is there; what is shared |
//! | `sys`, `bus` | the system calls, and pages that the file loses; the only files with `unsafe` |
//! | `elsewhere` | what stands in for it where there is no table |
//!
//! # Not handled
//!
//! Programs of other users, in other containers and in other namespaces of time are not seen, and
//! neither are programs that do not take part: the kernel shares cores with those. Changing the
//! machine (CPUs switched off) while programs run: masks say what is left.

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
pub use process::ProcessId;
pub use row::{MAX_PROGRAMS, Name, OwnSettings, Row, WEIGHTS};
pub use sinew_policy::share::{Ask, CoreSet, LastLoop, MAX_CORES, Policy};
pub use sinew_policy::share::{Script, ScriptError};
pub use table::Table;
pub use table_folder::{FOLDER_VARIABLE, default_folder};
