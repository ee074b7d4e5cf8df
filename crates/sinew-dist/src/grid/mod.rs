//! Grids that are distributed over ranks, and their sweeps.
//!
//! A grid is cut along any of its dimensions, so that the cuts have the least area: each rank has a
//! box of it. A sweep makes each element a function of its neighbourhood, as [`sinew::stencil`]
//! does, which this rank's pool runs on its part.
//!
//! 1. A rank sends the elements that others need, its *halo*: one message to each of them.
//! 2. While they travel, its pool sweeps the elements that need no others.
//! 3. It receives its own halo, and sweeps the slabs at the ends of its part.
//!
//! | file | contents |
//! |---|---|
//! | `cut` | which part each rank has |
//! | `halo` | what travels, where it is put, and what is beyond the edges |
//! | `spread` | a grid moves to more or fewer ranks |
//! | `star` | a neighbourhood without corners |

mod cut;
mod halo;
mod spread;
mod star;

use std::fmt;
use std::ops::Range;

use bytemuck::Pod;
use sinew::{Edge, Neighbourhood};
use sinew_loops::loops::sweep_part;

use crate::World;
use crate::array::gather;
use crate::wire::{Plain, Way};
use crate::world::{Call, Purpose};
use cut::{Cut, Ranges, rows, volume};
use halo::{Halo, Reach};
pub use star::Star;

/// The shape of a grid before its elements are known.
#[derive(Debug, Clone, Copy)]
#[must_use = "a grid needs `init`"]
pub struct Shape<'w, const N: usize> {
    world: &'w World,
    shape: [usize; N],
}

/// This rank's part of a grid that is distributed over all ranks.
///
/// All ranks call the same methods in the same order.
///
/// ```
/// use sinew::Edge;
/// use sinew_dist::Star;
///
/// // Heat spreads on a plate with a hot upper edge.
/// let world = sinew_dist::init()?;
/// let mut plate = world.grid([20, 30]).init(|[row, _]| if row == 0 { 100.0 } else { 0.0 });
/// plate.edges([Edge::Keep; 2]);
/// plate.star_sweeps(10, |t: Star<'_, f64, 2, 1>| {
///     0.25 * (t[[-1, 0]] + t[[1, 0]] + t[[0, -1]] + t[[0, 1]])
/// });
/// assert!(plate.gather()[30 + 1] > 0.0);
/// # Ok::<(), sinew_dist::InitError>(())
/// ```
pub struct Grid<'w, T, const N: usize> {
    world: &'w World,
    cut: Cut<N>,
    edges: [Edge<T>; N],
    own: Vec<T>,
    counts: HaloCounts,
}

/// The halos that a rank has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HaloCounts {
    /// Messages.
    pub messages: u64,
    /// Elements.
    pub elements: u64,
}

impl<T, const N: usize> fmt::Debug for Grid<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.cut.part(self.world.rank());
        f.debug_struct("Grid").field("shape", &self.cut.shape).field("part", &part).finish()
    }
}

impl World {
    /// Begins a grid with these sides that is distributed over all ranks, each of which has a box.
    ///
    /// # Panics
    ///
    /// If a side is 0.
    #[track_caller]
    pub fn grid<const N: usize>(&self, shape: [usize; N]) -> Shape<'_, N> {
        const { assert!(N > 0, "a grid has at least one dimension") };
        assert!(!shape.contains(&0), "a grid of {shape:?} has a side of 0: use at least 1");
        Shape { world: self, shape }
    }
}

impl<'w, const N: usize> Shape<'w, N> {
    /// The grid whose element at `point` is `f(point)`. Each rank computes its own.
    pub fn init<T: Copy>(self, f: impl Fn([usize; N]) -> T) -> Grid<'w, T, N> {
        let Self { world, shape } = self;
        let cut = Cut::new(world.size(), shape);
        let part = cut.part(world.rank());
        let point = |mut number: usize| {
            let mut point = [0; N];
            for side in (0..N).rev() {
                point[side] = part[side].start + number % part[side].len();
                number /= part[side].len();
            }
            point
        };
        let own = (0..volume(&part)).map(|number| f(point(number))).collect();
        let counts = HaloCounts::default();
        Grid { world, cut, edges: [Edge::Nearest; N], own, counts }
    }
}

impl<T, const N: usize> Grid<'_, T, N>
where
    T: Pod + Send + Sync,
{
    /// The rules for elements beyond the edges of each dimension, as [`sinew::Stencil::edges`] has
    /// them; [`Edge::Nearest`] by default.
    ///
    /// # Panics
    ///
    /// If a rule is none of [`Edge::Periodic`], [`Edge::Nearest`], [`Edge::Constant`] and
    /// [`Edge::Keep`].
    #[track_caller]
    pub fn edges(&mut self, edges: [Edge<T>; N]) {
        let known = |edge: &Edge<T>| {
            matches!(edge, Edge::Periodic | Edge::Nearest | Edge::Constant(_) | Edge::Keep)
        };
        assert!(edges.iter().all(known), "a rule for edges that ranks do not know");
        self.edges = edges;
    }

    /// This rank's elements, row by row of its [part](Self::part).
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// The indices of this rank's elements along each dimension.
    pub fn part(&self) -> [Range<usize>; N] {
        self.cut.part(self.world.rank())
    }

    /// The halos that this rank has sent until now.
    pub fn halo_counts(&self) -> HaloCounts {
        self.counts
    }

    /// All elements, on all ranks.
    ///
    /// # Cost
    ///
    /// Rank 0 receives one message of each rank, and sends all to the ranks below it.
    pub fn gather(&self) -> Vec<T> {
        self.check();
        self.cut.assemble(gather::<T, Plain>(self.world, &self.own))
    }

    /// Sweeps the grid so many times with `f`, which gets the neighbourhood of an element, with
    /// `R` steps along each dimension: `around[[-1, 0]]` is the element above. `R` is named as in
    /// `sweeps::<1, _>`, or by the type of the closure's argument.
    ///
    /// # Panics
    ///
    /// As `f` does. That ends the job.
    ///
    /// # Cost
    ///
    /// A sweep sends each rank in whose reach it has elements one message with these, for a grid
    /// that is cut along two dimensions to eight ranks; fewer by
    /// [`star_sweeps`](Self::star_sweeps). Each call copies the part twice and back. A function
    /// with a name should be `#[inline]`, so that the compiler sees it in the loop, as it sees
    /// closures.
    pub fn sweeps<const R: usize, F>(&mut self, sweeps: usize, f: F)
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        self.sweep(sweeps, Reach::Box, f);
    }

    /// As [`sweeps`](Self::sweeps), for functions that read no neighbours across corners: no
    /// corners travel, and there are at most two messages for each dimension that is cut.
    pub fn star_sweeps<const R: usize, F>(&mut self, sweeps: usize, f: F)
    where
        F: Fn(Star<'_, T, N, R>) -> T + Sync,
    {
        self.sweep(sweeps, Reach::Star, |around| f(Star(around)));
    }

    /// Panics if parts are on ranks that rest.
    #[track_caller]
    fn check(&self) {
        assert!(
            self.cut.ranks() <= self.world.size(),
            "a grid has elements on ranks that rest: use `Grid::spread` before `World::shrink`"
        );
    }

    fn sweep<const R: usize, F>(&mut self, sweeps: usize, reach: Reach, f: F)
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        self.check();
        let (rank, ranks) = (self.world.rank(), self.cut.ranks());
        let call = self.world.call("sweeps");
        if self.own.is_empty() {
            return;
        }
        let halo = Halo::new(&self.cut, (rank, ranks), &self.edges, (R, reach));
        let first = halo.first();
        let f = |around: Neighbourhood<'_, T, N, R>| {
            let place = around.point();
            f(around.at(std::array::from_fn(|side| first[side] + place[side] - R)))
        };
        let mut now = self.frame(&halo);
        let mut next = now.clone();
        for _ in 0..sweeps {
            self.sweep_once(&call, &halo, (&mut now, &mut next), &f);
            std::mem::swap(&mut now, &mut next);
        }
        self.keep(&halo, &now);
        let count = |elements: u64| elements * sweeps as u64;
        self.counts.messages += count(halo.leaving.len() as u64);
        self.counts.elements += count(halo.leaving.iter().map(|p| p.elements() as u64).sum());
    }

    fn sweep_once<const R: usize, F>(
        &self,
        call: &Call<'_>,
        halo: &Halo<T, N>,
        (now, next): (&mut [T], &mut [T]),
        f: &F,
    ) where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        for part in &halo.leaving {
            call.send(part.rank, Purpose::Halo, Plain::pack(&part.pack(now, &halo.shape)));
        }
        halo.fill(now, false);
        let alone = halo.swept(true);
        self.sweep_boxes(halo, (now, next), std::slice::from_ref(&alone), f);
        if halo.coming.is_empty() {
            return;
        }
        for part in &halo.coming {
            let elements = Plain::unpack(&call.receive(part.rank, Purpose::Halo));
            let elements = elements.filter(|elements: &Vec<T>| elements.len() == part.elements());
            let elements = elements.unwrap_or_else(|| call.refuse());
            part.unpack(&elements, now, &halo.shape);
        }
        halo.fill(now, true);
        self.sweep_boxes(halo, (now, next), &halo.slabs(&alone), f);
    }

    fn sweep_boxes<const R: usize, F>(
        &self,
        halo: &Halo<T, N>,
        (now, next): (&[T], &mut [T]),
        boxes: &[Ranges<N>],
        f: &F,
    ) where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        self.world.pool().run(|w| {
            for part in boxes {
                let ended = sweep_part(w, (now, &mut *next), halo.shape, part, f);
                ended.expect("nothing cancels a sweep without a control");
            }
        });
    }

    /// This rank's part, with places for its halo.
    fn frame(&self, halo: &Halo<T, N>) -> Vec<T> {
        let mut frame = vec![self.own[0]; halo.shape.iter().product()];
        let part = halo.own();
        let row = part[N - 1].clone();
        let places = part.map(Range::collect);
        for (at, own) in rows(&places, &halo.shape).zip(self.own.chunks_exact(row.len())) {
            frame[at + row.start..at + row.end].copy_from_slice(own);
        }
        frame
    }

    /// Takes the part out of its frame.
    fn keep(&mut self, halo: &Halo<T, N>, frame: &[T]) {
        let part = halo.own();
        let row = part[N - 1].clone();
        let places = part.map(Range::collect);
        let own = self.own.chunks_exact_mut(row.len());
        for (at, own) in rows(&places, &halo.shape).zip(own) {
            own.copy_from_slice(&frame[at + row.start..at + row.end]);
        }
    }
}
