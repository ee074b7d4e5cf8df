//! Joins and loops as the profile sees them: around their arms and pieces it reads the clock and
//! combines the ways through them.
//!
//! Whoever carries out a join off the fast path wraps its arms in a [`Fork`]; in a pool that does
//! not profile that does nothing more.
//!
//! # Cost
//!
//! While the pool profiles: five looks at the clock for a join that nobody steals, one for a piece
//! of a loop.

use super::activity::Activity;
use super::books::Books;
use super::paths::Paths;
use super::record::Mark;
use super::sheet::{Clock, Ticks};
use crate::worker::Worker;

/// A join, from its push to its end.
#[must_use]
pub(crate) struct Fork<'w, C = Ticks> {
    books: Option<&'w Books<C>>,
    start: Paths,
    first: Paths,
    second: Paths,
}

impl<'w, C: Clock> Fork<'w, C> {
    /// The task of a join has been made.
    pub(crate) fn new(books: Option<&'w Books<C>>) -> Self {
        let start = books.map_or_else(Paths::default, |books| {
            books.counts.spawned.add(1);
            books.mark(Mark::Fork);
            books.path()
        });
        Self { books, start, first: Paths::default(), second: Paths::default() }
    }

    /// Runs the first arm, which keeps its panics to itself.
    #[inline]
    pub(crate) fn first(&mut self, arm: impl FnOnce()) {
        if let Some(books) = self.books {
            books.turn(Activity::Application);
        }
        arm();
        if let Some(books) = self.books {
            books.turn(Activity::Get);
            books.counts.gets.add(1);
            books.mark(Mark::Next);
            self.first = books.path().beyond(self.start);
        }
    }

    /// Runs the second arm, which nobody has stolen, after the first.
    #[inline]
    pub(crate) fn second(&mut self, arm: impl FnOnce()) {
        if let Some(books) = self.books {
            books.counts.inlined.add(1);
            books.turn(Activity::Application);
            books.set_path(self.start);
        }
        arm();
        if let Some(books) = self.books {
            self.second = books.path_now().beyond(self.start);
        }
    }

    /// The second arm, whose frame is at `frame`, was stolen and is over.
    pub(crate) fn stolen(&mut self, frame: *const ()) {
        if let Some(books) = self.books {
            self.second = books.take_report(frame);
            if let Some(strand) =
                books.recorder.as_ref().and_then(|recorder| recorder.take_report(frame))
            {
                books.mark(Mark::Strand(strand));
            }
        }
    }

    /// The join is over.
    #[inline]
    pub(crate) fn joined(self) {
        let Some(books) = self.books else { return };
        if books.activity() != Activity::Application {
            books.turn(Activity::Application);
        }
        books.mark(Mark::Join);
        books.set_path(self.start.plus(self.first.join(self.second, &books.burdens)));
    }
}

/// The pieces of a loop that one worker runs: parts that might have run side by side.
pub(crate) struct Pieces<'w, C: Clock = Ticks>(Option<Ran<'w, C>>);

struct Ran<'w, C: Clock> {
    books: &'w Books<C>,
    start: Paths,
    longest: Paths,
    total: Paths,
    pieces: u64,
    /// Whether others may have pieces of it.
    is_shared: bool,
}

impl<'w, C: Clock> Pieces<'w, C> {
    /// The first piece begins. Of a loop that is not shared the recording has the work alone:
    /// nobody would come on any machine.
    #[inline]
    pub(crate) fn new(books: Option<&'w Books<C>>, is_shared: bool) -> Self {
        Self(books.map(|books| Ran::new(books, is_shared)))
    }

    /// A piece has ended, and the next may begin.
    #[inline]
    pub(crate) fn ended(&mut self) {
        if let Some(ran) = &mut self.0 {
            ran.ended_cold();
        }
    }
}

impl<C: Clock> Drop for Pieces<'_, C> {
    /// The worker has no part in the loop any more. What a piece that panicked has done stays on
    /// the way.
    #[inline]
    fn drop(&mut self) {
        if let Some(ran) = &self.0 {
            ran.over_cold();
        }
    }
}

impl<'w, C: Clock> Ran<'w, C> {
    #[cold]
    fn new(books: &'w Books<C>, is_shared: bool) -> Self {
        let (longest, total) = Default::default();
        let start = books.path_now();
        let ran = Self { books, start, longest, total, pieces: 0, is_shared };
        ran.mark(Mark::Loop);
        ran
    }

    fn mark(&self, mark: Mark) {
        if self.is_shared {
            self.books.mark(mark);
        }
    }

    #[cold]
    fn ended_cold(&mut self) {
        let piece = self.books.path_now().beyond(self.start);
        self.mark(Mark::Next);
        self.longest = self.longest.max(piece);
        self.total = self.total.plus(piece);
        self.pieces += 1;
        self.books.set_path(self.start);
    }

    #[cold]
    fn over_cold(&self) {
        let since = self.books.path_now().beyond(self.start);
        self.mark(Mark::Join);
        let pieces = self.longest.tree(self.total, self.pieces, &self.books.burdens);
        self.books.set_path(self.start.plus(pieces).plus(since));
    }
}

impl Worker {
    /// The task of a join has been pushed, and the join leaves the fast path.
    #[inline]
    pub(crate) fn fork(&self) -> Fork<'_> {
        Fork::new(self.books())
    }

    /// This worker begins to run pieces of a loop.
    #[inline]
    pub(crate) fn pieces(&self) -> Pieces<'_> {
        Pieces::new(self.books(), true)
    }

    /// This worker begins to run a loop that it shares with nobody, as it is short.
    #[inline]
    pub(crate) fn pieces_alone(&self) -> Pieces<'_> {
        Pieces::new(self.books(), false)
    }
}
