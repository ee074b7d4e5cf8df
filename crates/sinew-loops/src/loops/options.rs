//! How a loop is to be run.

use sinew_policy::chunk::Schedule;
use sinew_policy::split::Splitter;

use super::auto::Site;
use super::meter::Meter;
use crate::Control;
use crate::source::{LoopMemory, Source};
use sinew_core::Worker;

/// How a loop is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Options<'m> {
    /// How its iterations are handed out.
    pub schedule: Schedule,
    /// Whether a schedule that the pool [was given](sinew_core::PoolControl::set_schedule), or was
    /// granted by the agreement under which programs share the machine, takes the place of that
    /// one. For loops over items: its chunks count items.
    pub open: bool,
    /// At most so many workers take part (0 counts as 1).
    pub threads: usize,
    /// Memory of its runs, for the schedules that use it.
    pub memory: Option<&'m LoopMemory>,
    /// A handle that may change all this while the loop runs.
    pub control: Option<&'m Control>,
    /// The place where the loop is called, for the schedule that uses it.
    pub site: Option<Site>,
    /// Measures each thread. A measured loop runs as those with a control do; without a control it
    /// cannot be changed or cancelled.
    pub meter: Option<&'m Meter>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            open: false,
            threads: usize::MAX,
            memory: None,
            control: None,
            site: None,
            meter: None,
        }
    }
}

impl Options<'_> {
    /// How many workers can take part in a loop of `n` iterations on the pool of `w`.
    #[inline]
    pub(super) fn participants(&self, w: &Worker, n: usize) -> usize {
        // A control may call any number.
        let threads = if self.control.is_some() { usize::MAX } else { self.threads };
        threads.min(w.max_threads()).min(Source::pieces(self.schedule, n)).max(1)
    }

    /// The rule and the grain of a loop that is cut in halves which are offered as arms of joins.
    ///
    /// `None` for other schedules, and if not all workers may take part or their number may change:
    /// a join lets any worker in.
    #[inline]
    pub(super) fn splitter(&self, w: &Worker) -> Option<(Splitter, usize)> {
        match self.schedule {
            _ if self.threads < w.max_threads() || self.control.is_some() => None,
            Schedule::Simple { grain } => Some((Splitter::Simple, grain)),
            Schedule::Adaptive { grain } => Some((Splitter::adaptive(w.max_threads()), grain)),
            _ => None,
        }
    }
}
