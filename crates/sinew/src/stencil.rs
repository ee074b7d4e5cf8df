//! Stencils: each element of a grid becomes a function of its neighbourhood.

use sinew_core::Cancelled;
use sinew_loops::Control;
use sinew_loops::data::Neighbourhood;
use sinew_loops::iter::{Controlled, Mode, Uncontrolled};
use sinew_loops::iter::{at_least_one, sound};
use sinew_loops::loops::{self, Edge, Options, Site, Sweeps};
use sinew_policy::chunk::Schedule;
use std::marker::PhantomData;

/// Begins a stencil over `grid`, of any number of dimensions. It is stored row by row and has the
/// sides `shape`, the slowest dimension first.
///
/// A sweep makes each element a function of its neighbourhood before the sweep: the elements at
/// most one step away along each dimension, or more with a [`radius`](Stencil::radius). An [`Edge`]
/// rule defines the elements beyond the edges.
///
/// # Panics
///
/// If a side is 0, or if the elements are not as many as the sides say.
///
/// ```
/// use sinew::Edge;
///
/// // Heat spreads on a plate with a hot upper edge: a hundred sweeps.
/// let (rows, columns) = (20, 30);
/// let mut plate = vec![0.0; rows * columns];
/// plate[..columns].fill(100.0);
/// sinew::stencil(&mut plate, [rows, columns])
///     .edge(Edge::Keep)
///     .sweeps(100)
///     .run(|t| 0.25 * (t[[-1, 0]] + t[[1, 0]] + t[[0, -1]] + t[[0, 1]]));
/// assert!(plate[columns + 1] > plate[2 * columns + 1] && plate[columns + 1] < 100.0);
/// ```
#[track_caller]
pub fn stencil<T, const N: usize>(grid: &mut [T], shape: [usize; N]) -> Stencil<'_, T, N, 1>
where
    T: Copy + Send + Sync,
{
    const { assert!(N > 0, "a grid has at least one dimension") };
    assert!(!shape.contains(&0), "a grid of {shape:?} has a side of 0: use at least 1");
    let elements = shape.iter().try_fold(1_usize, |elements, side| elements.checked_mul(*side));
    assert!(
        elements == Some(grid.len()),
        "{} elements are no grid of {shape:?}: give sides whose product is their number",
        grid.len()
    );
    let options = Options { site: Some(Site::caller()), ..Options::default() };
    Stencil { grid, shape, edges: [Edge::Nearest; N], sweeps: 1, options, mode: PhantomData }
}

/// A stencil before its last call. `C` says whether it follows a control: see [`Mode`].
///
/// # Panics
///
/// As its function does, with the first payload, when no worker runs the function any more. The
/// grid then holds the state after the last sweep that was finished.
///
/// # Cost
///
/// A second grid, and one loop a sweep. Except near both ends of a row the function's loads are
/// those of a loop written by hand. Near the ends it uses other strides or, if the radius is larger
/// than one, a copy of some elements. Each dimension but the last with a [constant](Edge::Constant)
/// edge needs a buffer of some rows.
#[derive(Debug)]
#[must_use = "nothing runs until `run`"]
pub struct Stencil<'g, T, const N: usize, const R: usize, C = Uncontrolled> {
    grid: &'g mut [T],
    shape: [usize; N],
    edges: [Edge<T>; N],
    sweeps: usize,
    options: Options<'g>,
    mode: PhantomData<C>,
}

impl<'g, T, const N: usize, const R: usize> Stencil<'g, T, N, R>
where
    T: Copy + Send + Sync,
{
    /// Lets `control` change the stencil while it runs, and cancel it. A
    /// [`Snapshot`](crate::Snapshot) counts the tiles of all sweeps. A cancelled stencil leaves the
    /// grid in the state after the last sweep that was finished.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let (control, mut cells) = (Control::new(), vec![0_u8; 1_000]);
    /// control.cancel();
    /// let plan = stencil(&mut cells, [10, 100]).sweeps(9).control(&control);
    /// let ended = plan.run(|c| c[[0, 0]] + 1);
    /// assert_eq!((ended, cells[7]), (Err(Cancelled), 0));
    /// ```
    pub fn control<'d>(self, control: &'d Control) -> Stencil<'d, T, N, R, Controlled>
    where
        'g: 'd,
    {
        let Self { grid, shape, edges, sweeps, options, .. } = self;
        let options: Options<'d> = Options { control: Some(control), ..options };
        Stencil { grid, shape, edges, sweeps, options, mode: PhantomData }
    }
}

impl<'g, T, const N: usize, const R: usize, C: Mode> Stencil<'g, T, N, R, C>
where
    T: Copy + Send + Sync,
{
    /// Sets the radius: the function reaches `FAR` steps along each dimension; one by default.
    ///
    /// ```
    /// let mut xs: Vec<u32> = (0..10).collect();
    /// sinew::stencil(&mut xs, [10]).radius::<2>().run(|x| x[[-2]].max(x[[2]]));
    /// assert_eq!(xs, [2, 3, 4, 5, 6, 7, 8, 9, 9, 9]);
    /// ```
    ///
    /// It is 65,536 at most, and `(2 FAR + 1)^(N - 1)`, the number of rows around an element,
    /// 1,048,576 at most. The compiler refuses more:
    ///
    /// ```
    /// sinew::stencil(&mut [1, 2], [2]).radius::<65_536>().run(|x| x[[0]]);
    /// sinew::stencil(&mut [1, 2], [1, 1, 2]).radius::<511>().run(|x| x[[0, 0, 0]]);
    /// ```
    /// ```compile_fail
    /// sinew::stencil(&mut [1, 2], [2]).radius::<65_537>().run(|x| x[[0]]);
    /// ```
    /// ```compile_fail
    /// // `2 FAR + 1` wraps to 1 in 64 bits.
    /// sinew::stencil(&mut [1, 2], [2]).radius::<{ 1 << 63 }>().run(|x| x[[0]]);
    /// ```
    /// ```compile_fail
    /// sinew::stencil(&mut [1, 2], [1, 1, 2]).radius::<512>().run(|x| x[[0, 0, 0]]);
    /// ```
    pub fn radius<const FAR: usize>(self) -> Stencil<'g, T, N, FAR, C> {
        let Self { grid, shape, edges, sweeps, options, mode } = self;
        Stencil { grid, shape, edges, sweeps, options, mode }
    }

    /// The rule for elements beyond all edges; [`Edge::Nearest`] by default.
    pub fn edge(self, edge: Edge<T>) -> Self {
        self.edges([edge; N])
    }

    /// The rule for elements beyond the edges of each dimension. An element beyond two edges is a
    /// constant if either rule is one (the first from the back, the fastest dimension last), and is
    /// kept if either keeps.
    ///
    /// ```
    /// use sinew::Edge;
    ///
    /// // A cylinder.
    /// let mut cells = vec![1, 2, 3, 4, 5, 6];
    /// sinew::stencil(&mut cells, [2, 3])
    ///     .edges([Edge::Constant(0), Edge::Periodic])
    ///     .run(|c| c[[-1, 0]] + c[[0, -1]]);
    /// assert_eq!(cells, [3, 1, 2, 7, 6, 8]);
    /// ```
    pub fn edges(mut self, edges: [Edge<T>; N]) -> Self {
        self.edges = edges;
        self
    }

    /// The number of sweeps; one by default. Each sweep reads the state after the one before.
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.sweeps = sweeps;
        self
    }

    /// The schedule of a sweep's tiles, of some thousand elements; [`Schedule::Stealing`] by
    /// default.
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

    /// Sweeps the grid with `f`, which gets the neighbourhood of an element: `around[[-1, 0]]` is
    /// the element above, `around[[0, 0]]` the element itself.
    pub fn run<F>(self, f: F) -> C::Output<()>
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        C::output(self.sweep(f, |_, _| false).map(drop))
    }

    /// As [`run`](Self::run), until `until` returns true, which is called after each sweep with the
    /// number of sweeps and the grid. Returns that number.
    ///
    /// ```
    /// let mut cells = vec![0, 0, 9, 0, 0];
    /// let sweeps = sinew::stencil(&mut cells, [5])
    ///     .sweeps(100)
    ///     .run_until(
    ///         |c| c[[-1]].max(c[[0]]).max(c[[1]]),
    ///         |_, cells| cells.iter().all(|&c| c == 9),
    ///     );
    /// assert_eq!(sweeps, 2);
    /// ```
    pub fn run_until<F, U>(self, f: F, until: U) -> C::Output<usize>
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
        U: FnMut(usize, &[T]) -> bool + Send,
    {
        C::output(self.sweep(f, until))
    }

    fn sweep<F, U>(self, f: F, until: U) -> Result<usize, Cancelled>
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
        U: FnMut(usize, &[T]) -> bool + Send,
    {
        let Self { grid, shape, edges, sweeps, options, .. } = self;
        let (plan, f) = (Sweeps { shape, edges: &edges, sweeps }, &f);
        sinew_core::run(|w| loops::sweeps(w, grid, &plan, &options, f, until))
    }
}
