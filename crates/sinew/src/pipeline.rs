//! Pipelines and farms: stages process the items of an iterator.

use sinew_core::Cancelled;
use sinew_loops::Control;
use sinew_loops::iter::at_least_one;
use sinew_loops::iter::{Controlled, Mode, Uncontrolled};
use sinew_loops::stream::{self, Exit, Identity, Options, Parallel, Serial, Stages, TryExit};
use std::marker::PhantomData;

/// Begins a pipeline over the items of an iterator, which may be endless. Nothing runs until the
/// last call, which consumes the results.
///
/// Stages are added in the order in which an item goes through them. Any number of workers run a
/// parallel stage at once; a serial stage takes one item at a time. No stage has a thread of its
/// own. A worker takes an item through as many stages as it can, so one worker is enough for any
/// number of stages.
///
/// ```
/// let lines = ["1 2", "3", "4 5 6"];
/// let mut longest = 0;
/// let sums = sinew::pipeline(lines)
///     .parallel(|line| line.split(' ').map(|word| word.parse::<u32>().unwrap()).sum::<u32>())
///     .serial(|sum| { longest = longest.max(sum); sum }) // in order, one at a time
///     .collect();
/// assert_eq!((sums, longest), (vec![3, 3, 15], 15));
/// ```
pub fn pipeline<I: IntoIterator>(items: I) -> Pipeline<'static, I::IntoIter, Identity> {
    let options = Options::default();
    Pipeline { items: items.into_iter(), stages: Identity, options, mode: PhantomData }
}

/// Begins a farm: a pipeline of one parallel stage, which calls `f` for each item, on as many
/// workers as there are.
///
/// The results are in the order of the items ([`collect`](Pipeline::collect),
/// [`for_each`](Pipeline::for_each)), or as they are done
/// ([`collect_unordered`](Pipeline::collect_unordered),
/// [`for_each_unordered`](Pipeline::for_each_unordered)).
///
/// For the items of a slice or a range of known length [`over`](crate::over) costs less; a farm is
/// for iterators: a channel's, a file's lines, an endless search.
///
/// ```
/// assert_eq!(sinew::farm(1..=4, |x| x * x).collect(), [1, 4, 9, 16]);
/// ```
pub fn farm<I, R, F>(items: I, f: F) -> Pipeline<'static, I::IntoIter, Parallel<Identity, F>>
where
    I: IntoIterator,
    F: Fn(I::Item) -> R + Sync,
{
    pipeline(items).with(|stages| Parallel::new(stages, f))
}

/// A pipeline before its last call. `C` says whether it follows a control: see [`Mode`].
///
/// # Panics
///
/// Its last call panics if the iterator or a stage does, with the first payload, when no stage runs
/// any more. Items between stages are dropped.
///
/// # Cost
///
/// Three locks for each item, and one for each serial stage, all of them short: items should be
/// worth a microsecond or more.
///
/// # Blocking
///
/// Until all items have passed. The iterator and the stages may block as well; each then occupies
/// one worker.
#[derive(Debug, Clone)]
#[must_use = "nothing runs until the last call, for example `for_each`"]
pub struct Pipeline<'c, I, S, C = Uncontrolled> {
    items: I,
    stages: S,
    options: Options<'c>,
    mode: PhantomData<C>,
}

impl<'c, I, S> Pipeline<'c, I, S>
where
    I: Iterator<Item: Send> + Send,
    S: Stages<I::Item>,
{
    /// Lets `control` change the number of workers while the pipeline runs, and cancel it.
    ///
    /// A [`Snapshot`](crate::Snapshot) counts the finished items. Their total is the length of the
    /// iterator if that is known; otherwise the number of items taken so far.
    ///
    /// When it is cancelled, each worker ends after its present stage, and items between stages are
    /// dropped. An ordered stage has processed the first items, without a gap.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let control = Control::new();
    /// control.set_threads(2); // from any thread, at any time
    /// let prime = |n: &u64| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    /// let mut found = Vec::new();
    /// let ended = sinew::farm(2.., |n| Some(n).filter(prime)).control(&control).for_each(|n| {
    ///     found.extend(n);
    ///     if found.len() == 100 {
    ///         control.cancel();
    ///     }
    /// });
    /// assert_eq!((ended, found[99]), (Err(Cancelled), 541));
    /// ```
    pub fn control<'d>(self, control: &'d Control) -> Pipeline<'d, I, S, Controlled>
    where
        'c: 'd,
    {
        let Self { items, stages, options, .. } = self;
        let options: Options<'d> = Options { control: Some(control), ..options };
        Pipeline { items, stages, options, mode: PhantomData }
    }
}

impl<'c, I, S, C> Pipeline<'c, I, S, C> {
    fn with<T>(self, add: impl FnOnce(S) -> T) -> Pipeline<'c, I, T, C> {
        let Self { items, stages, options, mode } = self;
        Pipeline { items, stages: add(stages), options, mode }
    }
}

impl<'c, I, S, C: Mode> Pipeline<'c, I, S, C>
where
    I: Iterator<Item: Send> + Send,
    S: Stages<I::Item>,
{
    /// Bounds the items in the pipeline: taken from the iterator and not finished by the last
    /// stage. Items that wait for an earlier item count. By default four for each worker.
    ///
    /// # Panics
    ///
    /// If `items` is 0.
    #[track_caller]
    pub fn bound(mut self, items: usize) -> Self {
        assert!(
            items > 0,
            "a pipeline with a bound of 0 items in flight never ends: use at least 1"
        );
        self.options.bound = Some(items);
        self
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

    /// A stage that any number of workers may run at once, each for another item.
    pub fn parallel<R, F>(self, f: F) -> Pipeline<'c, I, Parallel<S, F>, C>
    where
        R: Send,
        F: Fn(S::Out) -> R + Sync,
    {
        self.with(|stages| Parallel::new(stages, f))
    }

    /// A stage that takes the items one at a time, in their order.
    pub fn serial<R, F>(self, f: F) -> Pipeline<'c, I, Serial<S, F>, C>
    where
        R: Send,
        F: FnMut(S::Out) -> R + Send,
    {
        self.with(|stages| Serial::new(stages, f, true))
    }

    /// A stage that takes the items one at a time, as they come.
    ///
    /// ```
    /// let mut seen = Vec::new();
    /// sinew::farm(0..100, |x| x % 7).serial_unordered(|x| seen.push(x)).for_each_unordered(drop);
    /// seen.sort();
    /// assert_eq!((seen.len(), seen[0], seen[99]), (100, 0, 6));
    /// ```
    pub fn serial_unordered<R, F>(self, f: F) -> Pipeline<'c, I, Serial<S, F>, C>
    where
        R: Send,
        F: FnMut(S::Out) -> R + Send,
    {
        self.with(|stages| Serial::new(stages, f, false))
    }

    /// Calls `f` with the results, one at a time, in the order of the items.
    pub fn for_each<F>(self, f: F) -> C::Output<()>
    where
        F: FnMut(S::Out) + Send,
    {
        C::output(self.serial(f).run())
    }

    /// Calls `f` with the results, in any order, on any worker.
    pub fn for_each_unordered<F>(self, f: F) -> C::Output<()>
    where
        F: Fn(S::Out) + Sync,
    {
        C::output(self.parallel(f).run())
    }

    /// Calls `f` with the results, one at a time, in the order of the items, until a call fails.
    ///
    /// # Errors
    ///
    /// The first error of `f`. Items between stages are dropped.
    ///
    /// ```
    /// let mut sum = 0_u8;
    /// let overflow = sinew::farm(1.., |x: u8| 10 * x).try_for_each(|x| {
    ///     sum = sum.checked_add(x).ok_or(x)?;
    ///     Ok(())
    /// });
    /// assert_eq!((overflow, sum), (Err(70), 210));
    /// ```
    pub fn try_for_each<E, F>(self, mut f: F) -> C::TryOutput<(), E>
    where
        E: Send,
        F: FnMut(S::Out) -> Result<(), E> + Send,
    {
        // Another item may reach the stage before the first failure ends the pipeline.
        let mut failed = false;
        let until = |item| {
            let result = if failed { Ok(()) } else { f(item) };
            failed |= result.is_err();
            result
        };
        let Self { items, stages, options, .. } = self;
        let exit = TryExit::default();
        let end = Serial::new(stages, until, true).connect(&exit);
        let ended = sinew_core::run(|w| stream::run(w, items, &end, &options));
        drop(end);
        C::try_output(exit.into_result(ended))
    }

    /// Returns the results, in the order of the items.
    pub fn collect(self) -> C::Output<Vec<S::Out>> {
        C::output(self.run_collect(true))
    }

    /// Returns the results, in the order in which they were finished.
    ///
    /// ```
    /// let mut squares = sinew::farm(1..=4, |x| x * x).collect_unordered();
    /// squares.sort();
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// ```
    pub fn collect_unordered(self) -> C::Output<Vec<S::Out>> {
        C::output(self.run_collect(false))
    }

    fn run_collect(self, ordered: bool) -> Result<Vec<S::Out>, Cancelled> {
        let mut all = Vec::new();
        self.with(|stages| Serial::new(stages, |item| all.push(item), ordered)).run()?;
        Ok(all)
    }
}

impl<I, S, C> Pipeline<'_, I, S, C>
where
    I: Iterator<Item: Send> + Send,
    S: Stages<I::Item, Out = ()>,
{
    fn run(self) -> Result<(), Cancelled> {
        let Self { items, stages, options, .. } = self;
        let end = stages.connect(Exit);
        sinew_core::run(|w| stream::run(w, items, &end, &options))
    }
}
