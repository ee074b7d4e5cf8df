//! The process's objections to lowering. They are never withdrawn.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::rules::Objection;

/// Bits of [`Objection`].
static OBJECTIONS: AtomicU32 = AtomicU32::new(0);

/// Adds an objection.
///
/// Relaxed: the program itself orders its calls before the regions that depend on them.
pub(crate) fn add(objection: Objection) {
    if all() & objection as u32 == 0 {
        OBJECTIONS.fetch_or(objection as u32, Relaxed);
    }
}

/// All objections so far.
pub(crate) fn all() -> u32 {
    OBJECTIONS.load(Relaxed)
}
