//! A worker that has a numbered seat in a skeleton that is no loop, and does between two of its
//! items what participants of loops do between two slices. Skeletons without such seats go by
//! [`Participant`](super::Participant).

use sinew_sync::clock::{TICKS_A_US, ticks};

use super::{Control, Course, Working};
use crate::lodging::Guided;
use sinew_core::Worker;

/// Time between two looks around, in ticks, unless a single item takes longer: as long as a loop's
/// slice.
const SLICE: u64 = 50 * TICKS_A_US;

/// Items between two looks at the clock, at most.
const UNTIMED: u32 = 64;

/// A worker's seat in a skeleton that is no loop: it looks up now and then, and sits where its
/// [`Control`], if it has one, wants it. For whoever writes skeletons.
///
/// ```
/// use sinew_loops::{Control, Course, Occupant};
///
/// let control = Control::new();
/// let course = Course::begin(&control, 1_000)?;
/// sinew_core::run(|w| {
///     let mut part = Occupant::enter(w, Some(&course), 0);
///     assert_eq!(control.snapshot().working, 1);
///     for _ in 0..1_000 {
///         course.done(w, 1);
///         part.look_around();
///     }
/// });
/// course.end();
/// # Ok::<(), sinew_core::Cancelled>(())
/// ```
#[derive(Debug)]
pub struct Occupant<'c> {
    w: &'c Worker,
    guide: Option<(&'c Control, Guided<'c>, Working<'c>)>,
    looks: Looks,
}

impl<'c> Occupant<'c> {
    /// The worker takes part from now on, as the one of this number, which nobody else of the
    /// skeleton has meanwhile. Under a control it is moved to the place of that number.
    pub fn enter(w: &'c Worker, course: Option<&Course<'c>>, number: usize) -> Self {
        let guide = course.map(|course| {
            let control = course.control;
            (control, Guided::new(w, control.places(), number), course.work())
        });
        let mut part = Self { w, guide, looks: Looks::default() };
        part.follow();
        part
    }

    /// Between two items, without a lock: answers requests for tasks, follows the pool's mapping,
    /// has the pool see what quota and affinity leave, if it follows them, and serves a
    /// [call](Worker::serve_calls) from outside that waits. Each of it as often as loops do it
    /// between two slices, or whenever an item took longer. Returns whether this was such a moment,
    /// after which the thread may run on another processor.
    ///
    /// # Cost
    ///
    /// An addition and a comparison, mostly.
    #[inline]
    pub fn look_around(&mut self) -> bool {
        self.look_around_after(1)
    }

    /// The same after so many items, which may be up to
    /// [`items_until_look`](Self::items_until_look).
    #[inline]
    pub fn look_around_after(&mut self, items: u32) -> bool {
        let is_due = self.looks.is_due(items);
        if is_due {
            self.look_cold();
        }
        is_due
    }

    /// How many items may follow each other before it looks around again, going by how long the
    /// last ones took: 1 if they are long, and never more than some tens. At least 1.
    #[inline]
    pub fn items_until_look(&self) -> u32 {
        self.looks.left()
    }

    #[cold]
    fn look_cold(&mut self) {
        let now = ticks();
        self.looks.timed(now);
        self.w.safe_point();
        self.w.check_limits_at(now);
        self.w.serve_calls();
    }

    /// Moves the thread to where the control wants it now; to be called when its
    /// [version](Course::version) has changed.
    pub fn follow(&mut self) {
        if let Some((control, guided, _)) = &mut self.guide {
            guided.follow(control.wishes().1.pinning.as_ref());
        }
    }
}

/// When a participant looks around: it knows from the last looks how many items that is.
#[derive(Debug)]
struct Looks {
    items: u32,
    stride: u32,
    last: u64,
}

impl Default for Looks {
    fn default() -> Self {
        Self { items: 0, stride: 1, last: 0 }
    }
}

impl Looks {
    /// So many items have ended.
    #[inline]
    fn is_due(&mut self, items: u32) -> bool {
        self.items += items;
        self.items >= self.stride
    }

    /// Items until it is due, at least one.
    #[inline]
    fn left(&self) -> u32 {
        self.stride.saturating_sub(self.items).max(1)
    }

    /// It looks around, at `now`.
    fn timed(&mut self, now: u64) {
        let passed = now.saturating_sub(self.last);
        self.stride =
            if passed > SLICE { (self.stride / 2).max(1) } else { (2 * self.stride).min(UNTIMED) };
        (self.items, self.last) = (0, now);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Items of this length between the last two of some looks.
    fn between(looks: &mut Looks, length: u64) -> u32 {
        let mut now = looks.last;
        for _ in 0..20 {
            let mut items = 1;
            now += length;
            while !looks.is_due(1) {
                items += 1;
                now += length;
            }
            looks.timed(now);
            if looks.stride == items {
                return items;
            }
        }
        looks.stride
    }

    /// Catches: a clock that is asked after each short item, and a long item that ends without a
    /// look.
    #[test]
    fn long_items_are_followed_by_a_look_and_short_ones_are_not() {
        let mut looks = Looks::default();
        assert_eq!(between(&mut looks, 1), UNTIMED);
        assert_eq!(between(&mut looks, SLICE + 1), 1);
        assert_eq!(between(&mut looks, 1), UNTIMED);
    }
}
