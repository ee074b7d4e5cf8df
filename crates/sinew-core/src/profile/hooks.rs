//! Where the scheduler tells the profile what its worker is doing. Each is a comparison in a pool
//! that does not profile.

use super::activity::Activity;
use super::books::Books;
use crate::worker::Worker;

/// While it lives its worker does something; after that, what it did before.
#[must_use]
pub(crate) struct Stay<'w>(Option<(&'w Books, Activity)>);

impl Drop for Stay<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((books, before)) = self.0 {
            books.turn(before);
        }
    }
}

/// While it lives its worker waits for something, and what it does is done inside a join.
#[must_use]
pub(crate) struct Blocked<'w>(Option<(&'w Books, Activity)>);

impl Drop for Blocked<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((books, before)) = self.0 {
            books.unblock(before);
        }
    }
}

impl Worker {
    /// The books of this seat, where the pool profiles.
    #[inline]
    pub(crate) fn books(&self) -> Option<&Books> {
        self.books.as_deref()
    }

    #[inline]
    pub(crate) fn is_profiled(&self) -> bool {
        self.books.is_some()
    }

    /// From now on this worker does `activity`.
    #[inline]
    pub(crate) fn turn(&self, activity: Activity) {
        if let Some(books) = self.books() {
            books.turn(activity);
        }
    }

    /// This worker does `activity` until the answer is dropped.
    #[inline]
    pub(crate) fn enter(&self, activity: Activity) -> Stay<'_> {
        Stay(self.books().map(|books| {
            let before = books.activity();
            books.turn(activity);
            (books, before)
        }))
    }

    /// This worker is held up until the answer is dropped.
    #[inline]
    pub(crate) fn block(&self) -> Blocked<'_> {
        Blocked(self.books().map(|books| {
            let before = books.activity();
            books.block();
            (books, before)
        }))
    }

    /// One attempt to steal.
    #[inline]
    pub(crate) fn attempt<T, E>(&self, attempt: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Some(books) = self.books() else { return attempt() };
        let before = books.activity();
        books.turn(Activity::Claim);
        let result = attempt();
        books.attempted(result.is_ok(), before);
        result
    }

    /// What was stolen has been run and reported.
    #[inline]
    pub(crate) fn end_steal(&self) {
        if let Some(books) = self.books()
            && books.activity() == Activity::Steal
        {
            books.turn(Activity::Search);
        }
    }

    /// Arranges with thieves about tasks of its own: while it makes one, or while it takes one
    /// back.
    pub(crate) fn enter_queue(&self) -> Stay<'_> {
        let Some(books) = self.books() else { return Stay(None) };
        books.counts.queues.add(1);
        self.enter(if books.activity() == Activity::Get {
            Activity::GetQueue
        } else {
            Activity::SpawnQueue
        })
    }

    /// Sleeps until the answer is dropped.
    pub(crate) fn enter_park(&self) -> Stay<'_> {
        if let Some(books) = self.books() {
            books.counts.parks.add(1);
        }
        self.enter(Activity::Parked)
    }

    /// Runs a task from outside the pool.
    pub(crate) fn count_injected(&self) {
        if let Some(books) = self.books() {
            books.counts.injected.add(1);
        }
    }

    /// Runs a task that was sent to this worker alone.
    pub(crate) fn count_mailed(&self) {
        if let Some(books) = self.books() {
            books.counts.mailed.add(1);
        }
    }

    /// Is without work, and begins to search.
    pub(crate) fn count_search(&self) {
        if let Some(books) = self.books() {
            books.counts.searches.add(1);
        }
    }

    /// Somebody comes to this seat, to serve or to call.
    pub(crate) fn arrive(&self, activity: Activity) {
        if let Some(books) = self.books() {
            books.turn(activity);
            books.begin_at(super::Paths::default());
            books.begin_call();
        }
    }
}
