//! The order in which a worklist runs its units.

use std::fmt;
use std::sync::Arc;

/// The order in which a worklist runs its units; [`Worklist::order`](super::Worklist::order) sets
/// it.
///
/// The order is *relaxed*: it says which of its units a worker takes next, so two workers may run
/// two units in the other order. A result must never depend on it. With one worker a unit that is
/// taken is the one that the order names, but up to 64 short units are taken at once, and their
/// additions enter the list after the last of them.
///
/// | order | a worker takes | good for |
/// |---|---|---|
/// | [`Lifo`](Self::Lifo), the default | the newest unit, whose data is in its cache | units that conflict, trees |
/// | [`Fifo`](Self::Fifo) | the oldest unit | units that are wasted if they run too early |
/// | [`priority`](Self::priority) | a unit of the lowest bucket | shortest paths, best first |
///
/// Idle workers steal in all orders. With a priority, a worker also steals half of the lowest
/// bucket of another worker if its own lowest bucket is higher.
///
/// # Cost
///
/// A priority costs a call of the metric for each unit, a search in a tree for each unit that is
/// added above the lowest bucket, and some memory for each bucket in use. A long list of units is
/// dealt to the workers before the first of them runs, except with `Lifo`.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Order<U> {
    /// The newest unit first.
    #[default]
    Lifo,
    /// The oldest unit first.
    Fifo,
    /// A unit of the lowest bucket first; within a bucket, the oldest.
    Priority(Metric<U>),
}

/// The number of a unit's bucket.
pub type Metric<U> = Arc<dyn Fn(&U) -> u64 + Send + Sync>;

impl<U> Order<U> {
    /// Units of lower buckets first. `bucket` returns the number of a unit's bucket. It is called
    /// under a lock when the unit enters the list, or returns to it, so it should be short. Units
    /// with the same number are in any order, so the width of the buckets is the program's choice:
    /// divide a distance by it.
    ///
    /// Wide buckets cost less; narrow ones run fewer units too early. A panic of `bucket` is a
    /// panic of the run that called it.
    ///
    /// ```
    /// use sinew::worklist::{Order, Worklist};
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// // The shortest way from place 0 to all others; place n leads to n + 1 and to 2 n.
    /// const PLACES: u64 = 1_000;
    /// let shortest: Vec<_> = (0..PLACES).map(|_| AtomicU64::new(u64::MAX)).collect();
    /// shortest[1].store(0, Relaxed);
    /// let mut list = Worklist::from(vec![(1, 0)]).order(Order::priority(|&(_, way)| way / 4));
    /// list.run_plain(|&(place, way), more| {
    ///     if shortest[place as usize].load(Relaxed) < way {
    ///         return; // A shorter way was found meanwhile.
    ///     }
    ///     for (next, way) in [(place + 1, way + 3), (2 * place, way + 5)] {
    ///         if next < PLACES && shortest[next as usize].fetch_min(way, Relaxed) > way {
    ///             more.push((next, way));
    ///         }
    ///     }
    /// })?;
    /// assert_eq!(shortest[7].load(Relaxed), 3 + 3 + 5 + 3);
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    pub fn priority(bucket: impl Fn(&U) -> u64 + Send + Sync + 'static) -> Self {
        Self::Priority(Arc::new(bucket))
    }

    /// Whether it is the default.
    pub(super) fn is_lifo(&self) -> bool {
        matches!(self, Self::Lifo)
    }
}

impl<U> fmt::Debug for Order<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lifo => "Lifo",
            Self::Fifo => "Fifo",
            Self::Priority(_) => "Priority",
        })
    }
}
