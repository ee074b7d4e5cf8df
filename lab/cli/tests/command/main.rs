//! The real binary, started like a user does. These tests need no process of their own.
//!
//! | file | contents |
//! |---|---|
//! | `cli` | `run`, `demo` and `list`; bad command lines |
//! | `draw` | `draw`, and the pictures of the guide |
//! | `hostile` | invalid command lines, and readers that have gone |
//! | `ranks` | `run --ranks` |
//! | `report` | `report`, and `run --trace` |
//! | `reproduce` | `reproduce`: its output, its files and its exit status |
//! | `sim` | `sim` |

mod cli;
mod draw;
#[cfg(unix)]
mod hostile;
mod ranks;
mod report;
mod reproduce;
mod sim;
