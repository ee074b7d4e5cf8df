//! Machines and containers that other computers have: read from faked files, or described by a
//! line. These tests need no process of their own.
//!
//! | file | contents |
//! |---|---|
//! | `trees` | whole machines, and broken files |
//! | `limits` | quotas and cpusets of containers |
//! | `mapping` | orders of workers |
//! | `helpers` | CPUs of helpers |
//! | `show` | the output for people and for programs |
//! | `fake` | the files |

mod fake;
mod helpers;
mod limits;
mod mapping;
#[cfg(feature = "json")]
mod show;
mod trees;
