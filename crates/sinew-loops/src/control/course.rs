//! Skeletons that are no loops, as their control sees them.

use sinew_sync::atomic::Ordering;

use super::Control;
use super::crew::Crew;
use sinew_core::{Cancelled, Enrolled, Worker};

/// A skeleton under way that follows a [`Control`] and is no loop: what is to be done, what is
/// done, and what is wished. For whoever writes skeletons.
///
/// ```
/// use sinew_core::Cancelled;
/// use sinew_loops::{Control, Course};
///
/// let control = Control::new();
/// let course = Course::begin(&control, 10)?;
/// for item in 0..10 {
///     if course.is_cancelled() {
///         return Err(Cancelled);
///     }
///     sinew_core::run(|w| course.done(w, 1));
/// }
/// course.end();
/// assert_eq!(control.snapshot().fraction(), 1.0);
/// # Ok::<(), Cancelled>(())
/// ```
#[derive(Debug)]
pub struct Course<'c> {
    pub(super) control: &'c Control,
    enrolled: Enrolled,
    pub(super) crew: Crew,
}

impl<'c> Course<'c> {
    /// A skeleton with so many items begins, in the pool whose worker the calling thread is; there
    /// may be more later.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] if the control was cancelled already.
    pub fn begin(control: &'c Control, items: u64) -> Result<Self, Cancelled> {
        if control.is_cancelled() {
            return Err(Cancelled);
        }
        control.state.loops.fetch_add(1, Ordering::Relaxed);
        let course = Self { control, enrolled: Enrolled::here(), crew: Crew::default() };
        course.expect(items);
        Ok(course)
    }

    /// So many more items are to be done.
    pub fn expect(&self, items: u64) {
        self.control.expect(items);
    }

    /// So many items less are to be done, for example because a loop begins that counts them
    /// itself.
    pub fn expect_less(&self, items: u64) {
        self.control.expect_less(items);
    }

    /// The worker `w` is done with so many items. Called between two items, without a lock, because
    /// it calls the callback of [`Control::on_progress`] if that is due.
    ///
    /// # Panics
    ///
    /// If the callback does.
    ///
    /// # Cost
    ///
    /// An addition to a word that few others write.
    #[inline]
    pub fn done(&self, w: &Worker, items: usize) {
        self.count(w, items);
        self.tell();
    }

    /// The first half of [`done`](Self::done): the items are counted, and nobody is called.
    #[inline]
    pub fn count(&self, w: &Worker, items: usize) {
        self.control.count(w.index(), items);
    }

    /// The other half: calls the callback, if that is due.
    ///
    /// # Panics
    ///
    /// If the callback does.
    #[inline]
    pub fn tell(&self) {
        self.control.tell(self.control.version());
    }

    /// Whether the skeleton is to end: its control was cancelled, or its pool has
    /// [cancelled](sinew_core::PoolControl::cancel) what it runs.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.control.is_cancelled() || self.enrolled.is_cancelled()
    }

    /// A number that changes with every wish. Not 0.
    #[inline]
    pub fn version(&self) -> u64 {
        // Two bits at the bottom say other things.
        self.control.version() | 1 << 63
    }

    /// The number of threads wished, if any, for somebody who works under it from now on. A mapping
    /// that is wished as well counts as followed only with [`follow`](Self::follow).
    pub fn threads(&self) -> Option<usize> {
        let (version, wishes) = self.control.wishes();
        if wishes.pinning.is_none() {
            self.control.is_followed(version);
        }
        wishes.threads
    }

    /// Somebody works, until the answer is dropped, and is placed nowhere; see
    /// [`take_part`](Self::take_part).
    pub fn work(&self) -> Working<'c> {
        self.control.begin_work();
        Working { control: self.control }
    }

    /// The skeleton has ended, in whichever way but a panic.
    ///
    /// # Panics
    ///
    /// If a callback of [`Control::on_progress`] does.
    pub fn end(self) {
        let control = self.control;
        drop(self);
        control.tell_end();
    }
}

impl Drop for Course<'_> {
    fn drop(&mut self) {
        self.control.end_loop();
    }
}

/// A participant of a skeleton, as its control counts it; see [`Course::work`].
#[derive(Debug)]
pub struct Working<'c> {
    control: &'c Control,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.control.end_work();
    }
}
