//! Skeletons that report a breakdown of each thread's time.

use crate::mode::{Mode, Uncontrolled};
use crate::over::Over;
use sinew_core::{Cancelled, Worker};
use sinew_loops::data::Items;
use sinew_loops::loops::{self, LoopMetrics, Meter, Options};

impl<'m, I: Items, C: Mode> Over<'m, I, C> {
    /// Measures each thread: the time in which it participates, works and waits, and the number of
    /// its tasks. The last option; the call after it returns the [`LoopMetrics`] as well. The
    /// feature `csv` adds `LoopMetrics::write_csv`.
    ///
    /// # Cost
    ///
    /// As for a [control](Over::control), and two readings of the clock for each slice of work.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let (keys, table) = (vec![2, 0, 1], vec!["a", "b", "c"]);
    /// let (found, metrics) = over(&keys).metrics().map_array(&table, |k, t| t[*k]);
    /// assert_eq!((found, metrics.tasks()), (vec!["c", "a", "b"], 3));
    ///
    /// let file = std::env::temp_dir().join(format!("metrics-{}.csv", std::process::id()));
    /// metrics.write_csv(&file)?;
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(self) -> Metered<'m, I, C> {
        Metered { over: self }
    }

    /// Runs a loop, and returns its metrics as well.
    fn measure<R: Send>(
        self,
        run: impl FnOnce(&Worker, I, &Options<'_>) -> Result<R, Cancelled> + Send,
    ) -> Result<(R, LoopMetrics), Cancelled> {
        let Self { items, options, .. } = self;
        sinew_core::run(|w| {
            let meter = Meter::new(w.max_threads());
            let options = Options { meter: Some(&meter), ..options };
            let result = run(w, items, &options)?;
            Ok((result, meter.read()))
        })
    }
}

/// A skeleton before its last call whose threads are measured; see [`Over::metrics`].
///
/// # Panics
///
/// As [`Over`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing runs until a skeleton is named, for example `map_array`"]
pub struct Metered<'m, I, C = Uncontrolled> {
    over: Over<'m, I, C>,
}

impl<I: Items, C: Mode> Metered<'_, I, C> {
    /// [`Over::for_each`].
    pub fn for_each<F>(self, f: F) -> C::Output<LoopMetrics>
    where
        F: Fn(I::Item) + Sync,
    {
        let measured =
            self.over.measure(|w, items, options| loops::for_each(w, items, options, &f));
        C::output(measured.map(|((), metrics)| metrics))
    }

    /// [`Over::map`].
    pub fn map<R, F>(self, f: F) -> C::Output<(Vec<R>, LoopMetrics)>
    where
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        C::output(self.over.measure(|w, items, options| loops::map(w, items, options, &f)))
    }

    /// [`Over::map_array`].
    pub fn map_array<T, R, F>(self, table: &T, f: F) -> C::Output<(Vec<R>, LoopMetrics)>
    where
        T: Sync + ?Sized,
        R: Send,
        F: Fn(I::Item, &T) -> R + Sync,
    {
        self.map(|item| f(item, table))
    }
}
