//! Skeletons over two and three dimensions: blocks of index space, and tiles of mutable data.

use sinew_loops::Control;
use sinew_loops::data::TilesMut;
use sinew_loops::iter::{Controlled, Mode, Uncontrolled};
use sinew_loops::iter::{Over, at_least_one, sound};
use sinew_loops::loops::{self, Options, Site};
use sinew_loops::source::LoopMemory;
use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::{Mechanism, SplitRule};
use sinew_policy::split::Grid;
use std::marker::PhantomData;
use std::ops::Range;

/// Begins a skeleton over all pairs of a row and a column.
///
/// By default the space is halved across its longer side until there are a few pieces for each
/// worker ([`Schedule::Adaptive`]), so pieces are about square.
///
/// ```
/// let sum = sinew::over2(0..3, 0..4).map_reduce(|[i, j]| i * j, || 0, |a, b| a + b);
/// assert_eq!(sum, (0 + 1 + 2) * (0 + 1 + 2 + 3));
/// ```
#[inline]
#[track_caller]
pub fn over2(rows: Range<usize>, columns: Range<usize>) -> OverBlocks<'static, 2> {
    OverBlocks::new([rows, columns])
}

/// Begins a skeleton over all points of a box, the last dimension being the fastest; see [`over2`].
///
/// ```
/// let volume = sinew::over3(0..2, 0..3, 0..4).map_reduce(|_| 1, || 0, |a, b| a + b);
/// assert_eq!(volume, 24);
/// ```
#[inline]
#[track_caller]
pub fn over3(
    planes: Range<usize>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> OverBlocks<'static, 3> {
    OverBlocks::new([planes, rows, columns])
}

/// Begins a skeleton over the tiles of `data`, which holds rows of `columns` elements: mutable
/// blocks of `tile` = `[rows, columns]`, row by row of tiles. Those at the lower and right edges
/// may be smaller.
///
/// A tile returns its rows as slices, so code inside a block needs no `unsafe`.
///
/// # Panics
///
/// If the elements make no whole rows, or if a side of a tile is 0.
///
/// ```
/// use sinew::prelude::*;
///
/// // The transpose of a matrix of 100 rows and 60 columns. Tile by tile, each side is read and
/// // written in one place.
/// let matrix: Vec<u32> = (0..6_000).collect();
/// let mut transpose = vec![0; 6_000];
/// sinew::over_tiles(&mut transpose, 100, [16, 16]).for_each(|mut tile| {
///     let columns = tile.columns();
///     for (i, row) in tile.rows_mut() {
///         for (x, j) in row.iter_mut().zip(columns.clone()) {
///             *x = matrix[j * 60 + i];
///         }
///     }
/// });
/// assert_eq!(transpose[100 * 7 + 42], matrix[60 * 42 + 7]);
/// ```
#[track_caller]
pub fn over_tiles<T: Send>(
    data: &mut [T],
    columns: usize,
    tile: [usize; 2],
) -> Over<'static, TilesMut<'_, T>> {
    Over::new(TilesMut::new(data, columns, tile))
}

/// A skeleton over `N` dimensions before its last call. `C` says whether it follows a control: see
/// [`Mode`].
///
/// The function of a skeleton is called exactly once per point, or per block, on any worker of the
/// current pool, in any order.
///
/// # Panics
///
/// Every skeleton panics if its function does, with the payload of the first panic, once no worker
/// runs the function any more; and if there are more blocks than `usize::MAX`.
#[derive(Debug, Clone)]
#[must_use = "nothing runs until a skeleton is named, for example `for_each`"]
pub struct OverBlocks<'m, const N: usize, C = Uncontrolled> {
    space: [Range<usize>; N],
    grain: Option<[usize; N]>,
    options: Options<'m>,
    mode: PhantomData<C>,
}

impl<const N: usize> OverBlocks<'static, N> {
    #[track_caller]
    fn new(space: [Range<usize>; N]) -> Self {
        let site = Some(Site::caller());
        let options =
            Options { schedule: Schedule::Adaptive { grain: 1 }, site, ..Options::default() };
        Self { space, grain: None, options, mode: PhantomData }
    }
}

impl<'m, const N: usize> OverBlocks<'m, N> {
    /// Lets `control` change the skeleton while it runs; see [`Over::control`]. A change takes
    /// effect when the running blocks have ended.
    pub fn control<'c>(self, control: &'c Control) -> OverBlocks<'c, N, Controlled>
    where
        'm: 'c,
    {
        let Self { space, grain, options, .. } = self;
        let options: Options<'c> = Options { control: Some(control), ..options };
        OverBlocks { space, grain, options, mode: PhantomData }
    }
}

impl<'m, const N: usize, C: Mode> OverBlocks<'m, N, C> {
    /// The sides of a block. With [`Schedule::Simple`] no side is longer and most are longer than
    /// half of it. With [`Schedule::Adaptive`] no shorter side is cut. Other schedules assign
    /// blocks of this size as they assign iterations, row by row. By default all sides are the
    /// grain of the schedule, or 1 if it has none.
    ///
    /// # Panics
    ///
    /// If a side is 0.
    ///
    /// ```
    /// use sinew::over2;
    /// use sinew::prelude::*;
    ///
    /// over2(0..1_000, 0..1_000)
    ///     .grain([64, 256])
    ///     .schedule(Schedule::Dynamic { chunk: 1 })
    ///     .for_each_block(|[rows, columns]| assert!(rows.len() <= 64 && columns.len() <= 256));
    /// ```
    #[track_caller]
    pub fn grain(mut self, grain: [usize; N]) -> Self {
        assert!(!grain.contains(&0), "a grain of {grain:?} has a side of 0: use at least 1");
        self.grain = Some(grain);
        self
    }

    /// The schedule of the blocks; [`Schedule::Adaptive`] by default.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.options.schedule = sound(schedule);
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

    /// Memory of the runs of this loop; see [`Over::memory`].
    pub fn memory<'n>(self, memory: &'n LoopMemory) -> OverBlocks<'n, N, C>
    where
        'm: 'n,
    {
        let mut over: OverBlocks<'n, N, C> = self;
        over.options.memory = Some(memory);
        over
    }

    /// Calls `f` with every block.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let area = AtomicUsize::new(0);
    /// sinew::over2(0..300, 0..200).for_each_block(|[rows, columns]| {
    ///     area.fetch_add(rows.len() * columns.len(), Ordering::Relaxed);
    /// });
    /// assert_eq!(area.into_inner(), 60_000);
    /// ```
    #[inline]
    #[track_caller]
    pub fn for_each_block<F>(self, f: F) -> C::Output<()>
    where
        F: Fn([Range<usize>; N]) + Sync,
    {
        let (grain, Self { space, options, .. }) = (self.sides(), self);
        C::output(sinew_core::run(|w| loops::for_each_block(w, space, grain, &options, &f)))
    }

    /// Calls `f` with every point, row by row within a block.
    #[inline]
    #[track_caller]
    pub fn for_each<F>(self, f: F) -> C::Output<()>
    where
        F: Fn([usize; N]) + Sync,
    {
        self.for_each_block(|block| points(&block, &f))
    }

    /// Combines `map` of all points; `identity()` if there are none.
    ///
    /// `op` must be associative and commutative, since blocks have no natural order, and
    /// `identity()` its neutral element.
    #[inline]
    #[track_caller]
    pub fn map_reduce<A, M, Z, F>(self, map: M, identity: Z, op: F) -> C::Output<A>
    where
        A: Send,
        M: Fn([usize; N]) -> A + Sync,
        Z: Fn() -> A + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        let (grain, Self { space, options, .. }) = (self.sides(), self);
        let fold = |partial, block: [Range<usize>; N]| {
            let mut partial = Some(partial);
            points(&block, |point| {
                // `None` only while `op` runs.
                let before = partial.take().expect("put back by the point before");
                partial = Some(op(before, map(point)));
            });
            partial.expect("put back by the last point")
        };
        C::output(sinew_core::run(|w| {
            loops::fold_blocks(w, space, grain, &options, &identity, fold, &op)
        }))
    }

    /// The sides of a block.
    ///
    /// # Panics
    ///
    /// If the schedule numbers the blocks, and there are more than `usize::MAX`.
    #[track_caller]
    fn sides(&self) -> [usize; N] {
        let side = match Mechanism::of(self.options.schedule) {
            Mechanism::Joins { grain, .. } => grain,
            _ => 1,
        };
        let grain = self.grain.unwrap_or([side; N]);
        assert!(
            !self.numbers_blocks(&grain) || Grid::new(self.space.clone(), grain).is_some(),
            "{:?} has more than usize::MAX blocks of {grain:?}: give a larger grain",
            self.space
        );
        grain
    }

    /// Whether the loop runs over the numbers of its blocks. Other schedules cut the space itself.
    fn numbers_blocks(&self, grain: &[usize; N]) -> bool {
        let Options { schedule, threads, control, .. } = self.options;
        match Mechanism::of(schedule) {
            Mechanism::Joins { rule: SplitRule::Adaptive, .. } => false,
            Mechanism::Tuned => grain.iter().any(|side| *side > 1),
            Mechanism::Joins { rule: SplitRule::Simple, .. } => {
                threads < usize::MAX || control.is_some()
            }
            Mechanism::Shares
            | Mechanism::Counter(_)
            | Mechanism::Ranges
            | Mechanism::Partition(_) => true,
        }
    }
}

/// Calls `f` with every point of a block, the last dimension being the fastest.
#[inline]
fn points<const N: usize>(block: &[Range<usize>; N], mut f: impl FnMut([usize; N])) {
    let Some(fastest) = N.checked_sub(1) else { return f([0; N]) };
    if block.iter().any(Range::is_empty) {
        return;
    }
    let mut point: [usize; N] = std::array::from_fn(|side| block[side].start);
    loop {
        for last in block[fastest].clone() {
            point[fastest] = last;
            f(point);
        }
        // The next row: the slowest digits of a number with mixed bases.
        let Some(side) = (0..fastest).rev().find(|&side| point[side] + 1 < block[side].end) else {
            return;
        };
        point[side] += 1;
        (side + 1..fastest).for_each(|faster| point[faster] = block[faster].start);
    }
}
