//! The decisions of the transactional worklist: who holds which units, when two go into one
//! transaction, when a unit is put back.
//!
//! A worklist runs every unit in a transaction of its own, in any order. That freedom is what its
//! optimisations live on; each of them can be on or off, in any combination, and changed while the
//! list runs: [`Settings`] says which. The rules here answer what such a setting means in numbers;
//! the lists themselves, the transactions and the threads are elsewhere, and [`tune`](crate::tune)
//! chooses the settings.
//!
//! | file | decides |
//! |---|---|
//! | [`settings`], [`parse`] | nothing; they say what can be set, and as which text |
//! | [`counts`] | nothing; what is counted while a list runs |
//! | [`units`] | to whom a unit is dealt, how many a thief takes, how many a worker takes at once, when coalescing pays |
//! | [`swap`] | after how many retries a unit is swapped, and for which |
//! | [`helpers`] | how far a helper thread runs ahead, and how many there are |
//! | [`places`] | on which cores the threads sit, on which nodes the pages lie |
//! | [`oracle`] | which settings an exhaustive search has to try |
//!
//! Source: Luís Fabrício Wanderley Góes, "Automatic Skeleton-Driven Performance Optimizations for
//! Transactional Memory" (PhD thesis, University of Edinburgh, 2012), chapters 5 and 7. The figures
//! and sections named in this room are those of that thesis.

pub mod counts;
pub mod helpers;
pub mod oracle;
pub mod parse;
pub mod places;
pub mod settings;
pub mod swap;
pub mod units;

pub use oracle::{Choice, Space};
pub use parse::SettingsError;
pub use places::{Mapping, Pages};
pub use settings::Settings;
