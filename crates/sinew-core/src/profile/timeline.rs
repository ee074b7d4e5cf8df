//! What all workers of a pool did, and when: read from their diaries.

use sinew_sync::clock::{ticks, ticks_a_ns};

use super::books::Books;
use super::diary::{Doing, Entry};
use crate::pool::Pool;

/// What the workers of a pool did since it was built; see [`Pool::timeline`].
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
    /// What the worker did.
    pub doing: Doing,
    /// From when on.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
}

impl Books {
    /// The diary up to now; nothing if none is kept. From any thread.
    fn diary_until_now(&self) -> Option<Vec<Entry>> {
        let diary = self.diary.as_ref()?;
        // The present is read first: if it ends before the diary is read, the diary has it.
        let (present, from) = self.sheet.read_present();
        let mut entries = diary.read();
        if entries.last().is_none_or(|last| last.to <= from) {
            entries.push(Entry { doing: present.activity().into(), from, to: ticks().max(from) });
        }
        Some(entries)
    }
}

impl Pool {
    /// What each worker did, and when, since the pool was built; `None` if it was not built to keep
    /// a [`timeline`](crate::Builder::timeline).
    ///
    /// From any thread, at any time, also while the pool works. Spans that are too short to be seen
    /// at the length of the whole are given to their neighbours.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(2).timeline(true).build()?;
    /// pool.run(|w| w.join(|_| (), |_| ()));
    /// let timeline = pool.timeline().unwrap();
    /// assert_eq!(timeline.workers.len(), 2);
    /// assert!(timeline.workers[0].iter().any(|span| span.doing == sinew_core::Doing::Working));
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn timeline(&self) -> Option<Timeline> {
        let profiling = self.inner.profiling.as_ref()?;
        let (began, rate) = (profiling.began, ticks_a_ns());
        let ns = |at: u64| (at.saturating_sub(began) as f64 / rate) as u64;
        let span = |entry: Entry| TimelineSpan {
            doing: entry.doing,
            from_ns: ns(entry.from),
            to_ns: ns(entry.to),
        };
        let worker = |books: &Books| Some(books.diary_until_now()?.into_iter().map(span).collect());
        let books = self.inner.seats.iter().filter_map(|seat| seat.books());
        Some(Timeline { workers: books.map(worker).collect::<Option<_>>()? })
    }
}
