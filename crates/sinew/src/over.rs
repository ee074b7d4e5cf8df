//! The builder of skeletons over data.

use sinew_loops::Control;
use sinew_loops::data::{Chunk, Enumerate, IntoItems, Items, Zip};
use sinew_loops::loops::{self, Options};
use sinew_loops::source::LoopMemory;
use sinew_policy::chunk::Schedule;
use std::marker::PhantomData;
use std::panic::Location;

use crate::mode::{Controlled, Mode, Uncontrolled};

/// Begins a skeleton over `data`: a reference to a slice, vector or array, or a range of integers.
///
/// A shared reference gives items `&T`, a mutable one `&mut T`, a range its integers. Nothing runs
/// until the last call names the skeleton.
///
/// ```
/// let mut xs = vec![1, 2, 3];
/// sinew::over(&mut xs).for_each(|x| *x *= 10);
/// assert_eq!(sinew::over(&xs).map(|x| x + 1), [11, 21, 31]);
/// assert_eq!(sinew::over(0..4_u64).map_reduce(|i| i * i, || 0, |a, b| a + b), 14);
/// ```
#[inline]
#[track_caller]
pub fn over<D: IntoItems>(data: D) -> Over<'static, D::Items> {
    Over::new(data.into_items())
}

/// A skeleton before its last call: items and options.
///
/// A skeleton calls its function exactly once for each item, on any worker of the current pool, in
/// any order; results are in the order of the items.
///
/// `C` says whether it follows a control, and so what its last call returns: see [`Mode`].
///
/// # Panics
///
/// Every skeleton panics if its function does, with the payload of the first panic, once no worker
/// runs the function any more.
///
/// # Cost
///
/// A skeleton without helpers costs one [`join`](crate::join) and a few atomic operations.
/// [`for_each`](Self::for_each) allocates nothing.
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing runs until a skeleton is named, for example `for_each`"]
pub struct Over<'m, I, C = Uncontrolled> {
    pub(crate) items: I,
    pub(crate) options: Options<'m>,
    pub(crate) reproducible: bool,
    mode: PhantomData<C>,
}

impl<I> Over<'static, I> {
    #[track_caller]
    pub(crate) fn new(items: I) -> Self {
        let options = Options { site: Some(Location::caller()), open: true, ..Options::default() };
        Self { items, options, reproducible: false, mode: PhantomData }
    }
}

impl<'m, I: Items> Over<'m, I> {
    /// Lets `control` change the skeleton while it runs. The last call then returns
    /// [`Cancelled`](crate::Cancelled) if the control was cancelled before the skeleton was done.
    ///
    /// # Cost
    ///
    /// Some microseconds for the skeleton, and a read of the clock every 50 µs.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let (control, blocks) = (Control::new(), vec![1_u64; 100_000]);
    /// let sum = std::thread::scope(|s| {
    ///     let sum = s.spawn(|| over(&blocks).control(&control).reduce(|| 0, |a, b| a + b));
    ///     control.set_threads(1); // from any thread, at any time
    ///     control.set_schedule(Schedule::Dynamic { chunk: 64 });
    ///     sum.join().unwrap()
    /// });
    /// assert_eq!(sum, Ok(100_000));
    ///
    /// control.cancel();
    /// assert_eq!(over(&blocks).control(&control).map(|x| x + 1), Err(Cancelled));
    /// ```
    pub fn control<'c>(self, control: &'c Control) -> Over<'c, I, Controlled>
    where
        'm: 'c,
    {
        let Self { items, options, reproducible, .. } = self;
        let options: Options<'c> = Options { control: Some(control), ..options };
        Over { items, options, reproducible, mode: PhantomData }
    }
}

impl<'m, I: Items, C: Mode> Over<'m, I, C> {
    /// The schedule of the items; [`Schedule::Stealing`] by default.
    ///
    /// It has priority over the pool's schedule
    /// ([`PoolControl::set_schedule`](crate::PoolControl::set_schedule)) and over a granted one
    /// (`PoolBuilder::coordinate`). A loop without a schedule, or with [`Schedule::Auto`] or
    /// [`default_schedule`](Self::default_schedule), follows the pool's: from the next loop on, and
    /// with a [`control`](Over::control) at once.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let tapered = over(0..1_000_u64).schedule(Schedule::Tapered { min: 16 });
    /// let sum = tapered.reduce(|| 0, |a, b| a + b);
    /// assert_eq!(sum, 499_500);
    /// // Chosen by measurements of earlier runs of this call site.
    /// for _ in 0..10 {
    ///     over(0..1_000).schedule(Schedule::Auto).for_each(drop);
    /// }
    /// ```
    #[track_caller]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.options.schedule = sound(schedule);
        self.options.open = schedule == Schedule::Auto;
        self
    }

    /// The default schedule of the items. The pool's schedule
    /// ([`PoolControl::set_schedule`](crate::PoolControl::set_schedule)), or a granted one
    /// (`PoolBuilder::coordinate`), replaces it.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let pool = Pool::builder().threads(2).build()?;
    /// let chunks = || pool.run(|_| {
    ///     let before = pool.counters().chunks;
    ///     over(0..100).default_schedule(Schedule::Dynamic { chunk: 10 }).for_each(drop);
    ///     pool.counters().chunks - before
    /// });
    /// assert_eq!(chunks(), 10);
    /// pool.control().set_schedule(Schedule::Dynamic { chunk: 50 });
    /// assert_eq!(chunks(), 2);
    /// # Ok::<(), sinew::BuildError>(())
    /// ```
    #[track_caller]
    pub fn default_schedule(mut self, schedule: Schedule) -> Self {
        self.options.schedule = sound(schedule);
        self.options.open = true;
        self
    }

    /// Memory of the runs of this loop, for the schedules that use it: [`Schedule::Affinity`] and
    /// [`Schedule::Weighted`]. Keep one for each loop that runs repeatedly.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let (mut plate, memory) = (vec![0.0_f64; 100_000], LoopMemory::new());
    /// for step in 0..10 {
    ///     // Every worker finds in its caches what it left there in the step before.
    ///     over(&mut plate)
    ///         .schedule(Schedule::Affinity)
    ///         .memory(&memory)
    ///         .for_each(|point| *point += f64::from(step));
    /// }
    /// assert!(plate.iter().all(|&point| point == 45.0));
    /// ```
    pub fn memory<'n>(self, memory: &'n LoopMemory) -> Over<'n, I, C>
    where
        'm: 'n,
    {
        let mut over: Over<'n, I, C> = self;
        over.options.memory = Some(memory);
        over
    }

    /// Sets the maximum number of workers, the caller included; by default all of the pool.
    ///
    /// # Panics
    ///
    /// If `threads` is 0.
    #[track_caller]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = at_least_one(threads);
        self
    }

    /// Chunks of `size` items instead of single ones; the last may be shorter.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    ///
    /// ```
    /// let xs: Vec<u32> = (0..10).collect();
    /// assert_eq!(sinew::over(&xs).chunks(4).map(|chunk| chunk.iter().sum::<u32>()), [6, 22, 17]);
    /// ```
    #[track_caller]
    pub fn chunks(self, size: usize) -> Over<'m, I::Chunks, C>
    where
        I: Chunk,
    {
        self.with(|items| items.into_chunks(size))
    }

    /// Pairs with the items of `other`, as many as the shorter has.
    ///
    /// ```
    /// let (xs, mut ys) = ([1, 2, 3], [10, 20, 30]);
    /// sinew::over(&mut ys).zip(&xs).for_each(|(y, x)| *y += x);
    /// assert_eq!(ys, [11, 22, 33]);
    /// ```
    pub fn zip<D: IntoItems>(self, other: D) -> Over<'m, Zip<I, D::Items>, C> {
        self.with(|items| Zip::new(items, other.into_items()))
    }

    /// Pairs of each item's number, from 0, and the item.
    pub fn enumerate(self) -> Over<'m, Enumerate<I>, C> {
        self.with(Enumerate::new)
    }

    /// Makes [`reduce`](Self::reduce), [`map_reduce`](Self::map_reduce) and [`scan`](Self::scan)
    /// combine in an order that follows from the number of items alone.
    ///
    /// Sums of floating-point numbers are then bitwise identical for any number of threads and any
    /// schedule.
    pub fn reproducible(mut self) -> Self {
        self.reproducible = true;
        self
    }

    fn with<J>(self, adapt: impl FnOnce(I) -> J) -> Over<'m, J, C> {
        let Self { items, options, reproducible, mode } = self;
        Over { items: adapt(items), options, reproducible, mode }
    }

    /// Calls `f` with every item.
    ///
    /// # Cost
    ///
    /// Allocates nothing. The inner loop is one over a slice or range and is optimised like it.
    ///
    /// Several threads share the values that `f` borrows, so these must allow that:
    ///
    /// ```compile_fail
    /// let count = std::cell::Cell::new(0);
    /// sinew::over(0..9).for_each(|_| count.set(count.get() + 1)); // a `Cell` is not `Sync`
    /// ```
    #[inline]
    pub fn for_each<F>(self, f: F) -> C::Output<()>
    where
        F: Fn(I::Item) + Sync,
    {
        let Self { items, options, .. } = self;
        C::output(sinew_core::run(|w| loops::for_each(w, items, &options, &f)))
    }

    /// Calls `f` with items until one call fails.
    ///
    /// # Errors
    ///
    /// The first error of any worker; items that have not begun are skipped.
    ///
    /// ```
    /// let texts = ["1", "x", "3"];
    /// let parsed = sinew::over(&texts).try_for_each(|text| text.parse::<u8>().map(drop));
    /// assert!(parsed.is_err());
    /// ```
    #[inline]
    pub fn try_for_each<E, F>(self, f: F) -> C::TryOutput<(), E>
    where
        E: Send,
        F: Fn(I::Item) -> Result<(), E> + Sync,
    {
        let Self { items, options, .. } = self;
        C::try_output(sinew_core::run(|w| loops::try_for_each(w, items, &options, &f)))
    }

    /// A vector with `f` of every item.
    ///
    /// # Cost
    ///
    /// One allocation for the vector, and small records of what was written if `R` has drop glue.
    #[inline]
    pub fn map<R, F>(self, f: F) -> C::Output<Vec<R>>
    where
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        let Self { items, options, .. } = self;
        C::output(sinew_core::run(|w| loops::map(w, items, &options, &f)))
    }

    /// A vector with `f` of every item, or an error.
    ///
    /// # Errors
    ///
    /// The first error of any worker; results that exist by then are dropped.
    ///
    /// ```
    /// let texts = ["1", "2", "3"];
    /// let numbers: Result<Vec<u8>, _> = sinew::over(&texts).try_map(|text| text.parse());
    /// assert_eq!(numbers.unwrap(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn try_map<R, E, F>(self, f: F) -> C::TryOutput<Vec<R>, E>
    where
        R: Send,
        E: Send,
        F: Fn(I::Item) -> Result<R, E> + Sync,
    {
        let Self { items, options, .. } = self;
        C::try_output(sinew_core::run(|w| loops::try_map(w, items, &options, &f)))
    }

    /// A vector with `f` of every item and `table`, of which every call may read all elements.
    ///
    /// ```
    /// let (keys, table) = (vec![2, 0, 1], vec!["a", "b", "c"]);
    /// assert_eq!(sinew::over(&keys).map_array(&table, |k, t| t[*k]), ["c", "a", "b"]);
    /// ```
    #[inline]
    pub fn map_array<T, R, F>(self, table: &T, f: F) -> C::Output<Vec<R>>
    where
        T: Sync + ?Sized,
        R: Send,
        F: Fn(I::Item, &T) -> R + Sync,
    {
        self.map(|item| f(item, table))
    }
}

/// The schedule, after a check.
///
/// # Panics
///
/// If one of its chunks is 0.
#[track_caller]
pub(crate) fn sound(schedule: Schedule) -> Schedule {
    match schedule.check() {
        Ok(schedule) => schedule,
        // Not in a closure, whose location the panic would name instead of the caller's.
        Err(error) => panic!("{error}"),
    }
}

/// The number of threads, after a check.
///
/// # Panics
///
/// If it is 0.
#[track_caller]
pub(crate) fn at_least_one(threads: usize) -> usize {
    assert!(threads > 0, "a skeleton with 0 threads never ends: use at least 1");
    threads
}
