#![forbid(unsafe_code)]
//! The parts that the commands of Sinew share: one line for each error, exit statuses, tables of
//! plain text, completions and manual pages.
//!
//! | file | contents |
//! |---|---|
//! | `command_line` | parsing, and messages of one line |
//! | `failure` | failures and their exit statuses |
//! | `files` | files named on the command line |
//! | `install` | shell completions and manual pages of a command; feature `completions` |
//! | [`output`] | standard output and standard error |
//! | `suggest` | names that are similar to an unknown one |
//! | `table` | a table of plain text |

mod command_line;
mod failure;
mod files;
#[cfg(feature = "completions")]
mod install;
pub mod output;
mod suggest;
mod table;

pub use command_line::{explain, parse};
pub use failure::{Failure, INTERRUPTED};
pub use files::{cannot_write, read};
#[cfg(feature = "completions")]
pub use install::{CompletionsArgs, ManArgs};
pub use suggest::unknown;
pub use table::{Table, unsigned_zero};
