//! The state of this library's thread in a runtime: see `waiting`, W1.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, Release},
};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, Release},
};

use crate::system;

pub(crate) const ABSENT: u32 = 0;
pub(crate) const PRESENT: u32 = 1;
pub(crate) const ENDING: u32 = 2;
/// The system refused the thread; this is not tried again.
pub(crate) const REFUSED: u32 = 3;

/// The idle team of two threads in a runtime.
#[derive(Debug)]
pub(crate) struct IdleTeam {
    pub(crate) state: AtomicU32,
}

impl IdleTeam {
    pub(crate) const fn none() -> Self {
        Self { state: AtomicU32::new(ABSENT) }
    }

    pub(crate) fn end(&self) {
        if self.state.compare_exchange(PRESENT, ENDING, Release, Relaxed).is_ok() {
            system::wake(&self.state);
        }
    }
}
