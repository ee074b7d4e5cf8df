//! Skeletons that say what each thread did with its time.

use crate::controlled::Controlled;
use crate::over::{Over, certain};
use sinew_core::data::Items;
use sinew_core::loops::{self, LoopMetrics, Meter, Options};
use sinew_core::{Cancelled, Worker};

impl<'m, I: Items> Over<'m, I> {
    /// Measures what each thread does: how long it takes part, works, waits, and how many tasks it
    /// does. Comes last before the skeleton is named, which then answers the [`LoopMetrics`] as
    /// well.
    ///
    /// # Cost
    ///
    /// That of a [control](Self::control), and two looks at the time for each slice of work.
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
    pub fn metrics(self) -> Metered<'m, I> {
        Metered { over: self }
    }
}

impl<'c, I: Items> Controlled<'c, I> {
    /// Measures what each thread does: see [`Over::metrics`].
    pub fn metrics(self) -> ControlledMetered<'c, I> {
        ControlledMetered { over: self.over }
    }
}

/// A skeleton in the making whose threads are measured; see [`Over::metrics`].
///
/// # Panics
///
/// As [`Over`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing runs until a skeleton is named, for example `map_array`"]
pub struct Metered<'m, I> {
    over: Over<'m, I>,
}

impl<I: Items> Metered<'_, I> {
    /// [`Over::for_each`].
    pub fn for_each<F>(self, f: F) -> LoopMetrics
    where
        F: Fn(I::Item) + Sync,
    {
        certain(self.over.measure(|w, items, options| loops::for_each(w, items, options, &f))).1
    }

    /// [`Over::map`].
    pub fn map<R, F>(self, f: F) -> (Vec<R>, LoopMetrics)
    where
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        certain(self.over.measure(|w, items, options| loops::map(w, items, options, &f)))
    }

    /// [`Over::map_array`].
    pub fn map_array<T, R, F>(self, table: &T, f: F) -> (Vec<R>, LoopMetrics)
    where
        T: Sync + ?Sized,
        R: Send,
        F: Fn(I::Item, &T) -> R + Sync,
    {
        self.map(|item| f(item, table))
    }
}

/// A skeleton in the making that follows a [`Control`](crate::Control) and whose threads are
/// measured; see [`Over::metrics`].
///
/// # Errors
///
/// As [`Controlled`].
///
/// # Panics
///
/// As [`Over`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing runs until a skeleton is named, for example `map_array`"]
pub struct ControlledMetered<'c, I> {
    over: Over<'c, I>,
}

#[expect(clippy::missing_errors_doc, reason = "they are all the same, and told at the type")]
impl<I: Items> ControlledMetered<'_, I> {
    /// [`Over::for_each`].
    pub fn for_each<F>(self, f: F) -> Result<LoopMetrics, Cancelled>
    where
        F: Fn(I::Item) + Sync,
    {
        let measured =
            self.over.measure(|w, items, options| loops::for_each(w, items, options, &f));
        measured.map(|((), metrics)| metrics)
    }

    /// [`Over::map`].
    pub fn map<R, F>(self, f: F) -> Result<(Vec<R>, LoopMetrics), Cancelled>
    where
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        self.over.measure(|w, items, options| loops::map(w, items, options, &f))
    }

    /// [`Over::map_array`].
    pub fn map_array<T, R, F>(self, table: &T, f: F) -> Result<(Vec<R>, LoopMetrics), Cancelled>
    where
        T: Sync + ?Sized,
        R: Send,
        F: Fn(I::Item, &T) -> R + Sync,
    {
        self.map(|item| f(item, table))
    }
}

impl<I: Items> Over<'_, I> {
    /// Runs a loop, and answers what its threads did as well.
    fn measure<R: Send>(
        self,
        run: impl FnOnce(&Worker, I, &Options<'_>) -> Result<R, Cancelled> + Send,
    ) -> Result<(R, LoopMetrics), Cancelled> {
        let Self { items, options, .. } = self;
        crate::run(|w| {
            let meter = Meter::new(w.max_workers());
            let options = Options { meter: Some(&meter), ..options };
            let answer = run(w, items, &options)?;
            Ok((answer, meter.read()))
        })
    }
}
