//! The source of a chain: items, and the options of the loop.

use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

use sinew_policy::chunk::Schedule;

use super::{Controlled, IndexedPositions, Metered, Mode, Positions, Uncontrolled};
use crate::Control;
use crate::data::{IntoItems, Items};
use crate::loops::{Options, Site};
use crate::source::LoopMemory;

/// Begins a chain over `data`, with the options of its loop.
///
/// A shared reference gives items `&T`, a mutable one `&mut T`, a vector its elements, a range its
/// integers. Nothing runs until the last call.
///
/// ```
/// use sinew_loops::iter::{ParIter, over};
///
/// let mut xs = vec![1, 2, 3];
/// over(&mut xs).for_each(|x| *x *= 10);
/// assert_eq!(over(&xs).map(|x| x + 1).collect::<Vec<_>>(), [11, 21, 31]);
/// assert_eq!(over(0..4_u64).map(|i| i * i).sum::<u64>(), 14);
/// ```
#[inline]
#[track_caller]
pub fn over<D: IntoItems>(data: D) -> Over<'static, D::Items> {
    Over::new(data.into_items())
}

/// The source of a chain: items, and the options of the loop that runs the chain.
///
/// A chain calls its functions exactly once for each item that it reaches, on any worker of the
/// current pool, in any order; results are in the order of the items.
///
/// `C` says what the last call returns: see [`Mode`].
///
/// # Panics
///
/// Every last call panics if a function of the chain does, with the payload of the first panic,
/// once no worker runs the chain any more.
///
/// # Cost
///
/// A chain without helpers costs one join and a few atomic operations.
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing runs before a last call, for example `for_each`"]
pub struct Over<'m, I, C = Uncontrolled> {
    pub(crate) items: I,
    pub(crate) options: Options<'m>,
    mode: PhantomData<C>,
}

impl<I> Over<'static, I> {
    /// A chain over `items`, with the options that a loop has by default.
    #[inline]
    #[track_caller]
    pub fn new(items: I) -> Self {
        let options = Options { site: Some(Site::caller()), open: true, ..Options::default() };
        Self { items, options, mode: PhantomData }
    }
}

impl<'m, I> Over<'m, I> {
    /// Lets `control` change the loop while it runs. The last call then returns
    /// [`Cancelled`](sinew_core::Cancelled) if the control was cancelled before the loop was done.
    ///
    /// # Cost
    ///
    /// Some microseconds for the loop, and a read of the clock every 50 µs.
    pub fn control<'c>(self, control: &'c Control) -> Over<'c, I, Controlled>
    where
        'm: 'c,
    {
        let options: Options<'c> = Options { control: Some(control), ..self.options };
        Over { items: self.items, options, mode: PhantomData }
    }
}

impl<'m, I, C: Mode> Over<'m, I, C> {
    /// Memory of the runs of this loop, for the schedules that use it: [`Schedule::Affinity`] and
    /// [`Schedule::Weighted`]. Keep one for each loop that runs repeatedly.
    pub fn memory<'n>(self, memory: &'n LoopMemory) -> Over<'n, I, C>
    where
        'm: 'n,
    {
        let mut over: Over<'n, I, C> = self;
        over.options.memory = Some(memory);
        over
    }

    /// Measures each thread: the time in which it participates, works and waits, and the number of
    /// its items. The last call returns the [`LoopMetrics`](crate::loops::LoopMetrics) as well. The
    /// feature `csv` adds `LoopMetrics::write_csv`.
    ///
    /// # Cost
    ///
    /// As for a [control](Over::control), and two readings of the clock for each slice of work.
    pub fn metrics(self) -> Over<'m, I, Metered<C>> {
        Over { items: self.items, options: self.options, mode: PhantomData }
    }

    /// The items and the options.
    pub fn into_parts(self) -> (I, Options<'m>) {
        (self.items, self.options)
    }
}

// SAFETY: positions are the indices of the items; C1 is I1 of the items.
unsafe impl<I: Items<Item: Send>, C: Mode> Positions for Over<'_, I, C> {
    type Item = I::Item;
    type Mode = C;

    #[inline]
    fn num_positions(&self) -> usize {
        self.items.length()
    }

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        I::EXACT.then(|| self.items.length())
    }

    #[inline]
    fn options(&self) -> Options<'_> {
        self.options
    }

    #[inline]
    fn change_options(&mut self, change: impl FnOnce(&mut Options<'_>)) {
        change(&mut self.options);
    }

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        unsafe { self.items.visit(positions, &mut sink) }
    }
}

// SAFETY: an item at each index, as the trait `Items` promises.
unsafe impl<I: Items<Item: Send, Piece: DoubleEndedIterator>, C: Mode> IndexedPositions
    for Over<'_, I, C>
{
    type Piece<'p>
        = I::Piece
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Rev<I::Piece>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.items.piece(positions) }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.items.piece(positions) }.rev()
    }
}

/// The schedule, after a check.
///
/// # Panics
///
/// If one of its chunks is 0.
#[track_caller]
pub fn sound(schedule: Schedule) -> Schedule {
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
pub fn at_least_one(threads: usize) -> usize {
    assert!(threads > 0, "a skeleton with 0 threads never ends: use at least 1");
    threads
}
