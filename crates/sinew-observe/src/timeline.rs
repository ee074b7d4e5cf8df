//! The timeline of a pool, made of its workers' traces.

use std::sync::Arc;

use sinew_sync::clock::{ticks, ticks_per_ns};

use crate::state::Shared;
use crate::trace::{Doing, Entry};

/// The activities of a pool's workers since it was built; see
/// [`Profiler::read_timeline`](crate::Profiler::read_timeline).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeline {
    /// For each worker its spans, in the order of time, without gaps.
    pub workers: Vec<Vec<TimelineSpan>>,
}

/// A part of a worker's time, in nanoseconds since the pool was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelineSpan {
    /// The worker's activity.
    pub doing: Doing,
    /// Its beginning.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

impl Shared {
    /// The trace up to now; `None` if none is kept. Any thread may call it.
    fn trace_until_now(&self) -> Option<Vec<Entry>> {
        let trace = self.trace.as_ref()?;
        // Reads the present activity first: if it ends before the trace is read, the trace has it.
        let (present, from) = self.times.read_present();
        let mut entries = trace.read();
        if entries.last().is_none_or(|last| last.to <= from) {
            entries.push(Entry { doing: present.activity().into(), from, to: ticks().max(from) });
        }
        Some(entries)
    }
}

impl Timeline {
    /// The timeline of a pool that was built at `began`, in ticks.
    pub(crate) fn read(workers: &[Arc<Shared>], began: u64) -> Option<Self> {
        let rate = ticks_per_ns();
        let ns = |at: u64| (at.saturating_sub(began) as f64 / rate) as u64;
        let span = |entry: Entry| TimelineSpan {
            doing: entry.doing,
            from_ns: ns(entry.from),
            to_ns: ns(entry.to),
        };
        let spans =
            |worker: &Arc<Shared>| Some(worker.trace_until_now()?.into_iter().map(span).collect());
        Some(Self { workers: workers.iter().map(spans).collect::<Option<_>>()? })
    }
}
