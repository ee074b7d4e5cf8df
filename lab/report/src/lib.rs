#![forbid(unsafe_code)]
//! Results of any kind, collected on one self-contained HTML page.
//!
//! ```
//! # fn main() -> Result<(), sinew_report::Failure> {
//! let folder = tempfile::tempdir().unwrap();
//! std::fs::write(folder.path().join("speeds.csv"), "workers,speed-up\n1,1.0\n2,1.9\n").unwrap();
//!
//! let gathered = sinew_report::gather(&[folder.path().to_owned()])?;
//! let page = sinew_report::page("Tonight", &gathered.sections);
//! assert!(page.contains("<svg") && page.contains("speeds.csv"));
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `find` | which files there are, and what each of them is |
//! | `folder` | a folder that an experiment has written |
//! | `sheet`, `show` | comma-separated values; as a table, and as plots |
//! | `columns` | which of a sheet's columns are drawn, over what, and as how many series |
//! | `object` | JSON: objects, lists and lines of them, timelines |
//! | `run` | runs of an application: what matters of them |
//! | `markdown` | reports with pictures |
//! | `section`, `page` | a part of the page; the whole page, and how it looks |
//! | `failure` | what may go wrong |

mod columns;
mod failure;
mod find;
mod folder;
mod markdown;
mod object;
mod page;
mod run;
mod section;
mod sheet;
mod show;

pub use failure::Failure;
pub use find::{Gathered, gather};
pub use page::page;
pub use section::Section;
