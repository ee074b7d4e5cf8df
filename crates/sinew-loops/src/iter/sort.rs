//! Sorting in place.

use std::cmp::Ordering;

use super::{Over, Unmetered};
use crate::data::SliceMut;
use crate::sort::{sort_by, sort_by_under};

impl<T: Send, M: Unmetered> Over<'_, SliceMut<'_, T>, M> {
    /// Sorts the slice; equal elements keep their order. The schedule has no effect. After a
    /// cancellation the slice holds all its elements in some order.
    ///
    /// # Panics
    ///
    /// If a comparison does; the slice then holds all its elements in some order.
    ///
    /// # Cost
    ///
    /// Work O(n log n); a buffer of the slice's size, unless it is small.
    ///
    /// ```
    /// let mut xs = vec![3, 1, 2];
    /// sinew_loops::iter::over(&mut xs).sort();
    /// assert_eq!(xs, [1, 2, 3]);
    /// ```
    pub fn sort(self) -> M::Output<()>
    where
        T: Ord,
    {
        self.sort_by(T::cmp)
    }

    /// Sorts the slice by `compare`; see [`sort`](Self::sort).
    ///
    /// # Panics
    ///
    /// If `compare` does; the slice then holds all its elements in some order. If `compare` is not
    /// a total order, the result is in some order, too, or it may panic.
    ///
    /// ```
    /// let mut xs = vec![2.5, -1.0, 0.5];
    /// sinew_loops::iter::over(&mut xs).sort_by(f64::total_cmp);
    /// assert_eq!(xs, [-1.0, 0.5, 2.5]);
    ///
    /// let control = sinew_loops::Control::new();
    /// let controlled = sinew_loops::iter::over(&mut xs).control(&control);
    /// assert_eq!(controlled.sort_by(|a, b| b.total_cmp(a)), Ok(()));
    /// assert_eq!(xs, [2.5, 0.5, -1.0]);
    /// ```
    pub fn sort_by<C>(self, compare: C) -> M::Output<()>
    where
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        let Self { items, options, .. } = self;
        let slice = items.into_slice();
        M::output(sinew_core::run(|w| match options.control {
            Some(control) => sort_by_under(w, slice, options.threads, control, &compare),
            None => {
                sort_by(w, slice, options.threads, &compare);
                Ok(())
            }
        }))
    }

    /// Sorts the slice by a key of each element, computed at every comparison; see
    /// [`sort`](Self::sort).
    ///
    /// # Panics
    ///
    /// If `key` or a comparison does.
    pub fn sort_by_key<K, F>(self, key: F) -> M::Output<()>
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        self.sort_by(|a, b| key(a).cmp(&key(b)))
    }
}
