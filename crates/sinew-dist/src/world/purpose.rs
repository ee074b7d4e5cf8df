//! The purpose of a message, as its tag.

use crate::link::{OWN_TAGS, Tag};

/// Call numbers in tags wrap here. Messages of one sender and tag keep their order, so a rank may
/// be further ahead.
const CALLS: u64 = OWN_TAGS as u64 / 8;

/// The purpose of a message within a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// From a rank to the one above it.
    Up,
    /// From a rank to those below it.
    Down,
    /// A bag's units and questions, or a worklist's units.
    Bag,
    /// Parts of an array that move.
    Move,
    /// Elements of a grid that another rank needs for a sweep.
    Halo,
    /// The sender makes no more calls.
    Leave,
    /// From rank 0 to a rank that rests.
    Rouse,
}

impl Purpose {
    pub(super) fn tag(self, call: u64) -> Tag {
        (call % CALLS) as Tag * 8 + self as Tag
    }
}

pub(super) const LEAVE: Tag = Purpose::Leave as Tag;
pub(super) const ROUSE: Tag = Purpose::Rouse as Tag;
