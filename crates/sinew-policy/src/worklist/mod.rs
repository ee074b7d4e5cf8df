//! The decisions of the transactional worklist: which worker gets which units, when two share a
//! transaction, when a unit is put back.
//!
//! A worklist runs every unit in a transaction of its own, in any order. The optimisations rely on
//! that freedom. Each can be on or off, in any combination, and change while the list runs: see
//! [`Settings`]. This module computes the numbers behind the settings. The lists, transactions and
//! threads are in other crates, and [`tune`](crate::tune) chooses the settings.
//!
//! | file | decides |
//! |---|---|
//! | [`settings`], [`parse`] | nothing; the settings, and their text |
//! | [`counts`] | nothing; the counters of a running list |
//! | [`units`] | which worker gets a unit, how many a thief takes, how many a worker takes at once, when coalescing pays |
//! | [`swap`] | after how many retries a unit is swapped, and for which |
//! | [`helpers`] | how far a helper thread runs ahead, and how many there are |
//! | [`places`] | the mapping of threads to cores and of pages to nodes |
//! | [`oracle`] | the settings that an exhaustive search must try |
//!
//! Source: Luís Fabrício Wanderley Góes, "Automatic Skeleton-Driven Performance Optimizations for
//! Transactional Memory" (PhD thesis, University of Edinburgh, 2012), chapters 5 and 7. Figures and
//! sections in this module are those of the thesis.

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
pub use places::{Mapping, Pages, PagesError};
pub use settings::Settings;
