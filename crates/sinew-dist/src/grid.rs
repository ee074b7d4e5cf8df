//! Grids that are distributed over ranks, and their sweeps.
//!
//! The first dimension is cut: each rank has some layers of the grid (rows, if it has two
//! dimensions). A sweep makes each element a function of its neighbourhood, as
//! [`sinew::stencil`] does, which this rank's pool runs on its part.
//!
//! 1. A rank sends the layers that others need, its *halo* layers, and copies those at its ends.
//! 2. While they travel, its pool sweeps the layers that need no others.
//! 3. It receives the halo, and sweeps the layers at its ends.
//!
//! # Invariants
//!
//! - H1: a rank sends a layer to a rank once a sweep at most for each end, with the bytes of its
//!   elements and nothing else.
//! - H2: a layer that keeps its values, since its neighbourhood reaches beyond an edge, is at the
//!   end of every part of the grid that is swept.

use std::fmt;
use std::ops::Range;

use bytemuck::Pod;
use sinew::{Edge, Neighbourhood, stencil};

use crate::World;
use crate::array::{gather, receive};
use crate::link::Rank;
use crate::wire::{Plain, Way};
use crate::world::{Call, Purpose};

/// The shape of a grid before its elements are known.
#[derive(Debug, Clone, Copy)]
#[must_use = "a grid needs `init`"]
pub struct Shape<'w, const N: usize> {
    world: &'w World,
    shape: [usize; N],
}

/// This rank's layers of a grid that is distributed over all ranks.
///
/// All ranks call the same methods in the same order.
///
/// ```
/// use sinew::Edge;
///
/// // Heat spreads on a plate with a hot upper edge.
/// let world = sinew_dist::init()?;
/// let mut plate = world.grid([20, 30]).init(|[row, _]| if row == 0 { 100.0 } else { 0.0 });
/// plate.edges([Edge::Keep; 2]);
/// plate.sweeps::<1, _>(10, |t| 0.25 * (t[[-1, 0]] + t[[1, 0]] + t[[0, -1]] + t[[0, 1]]));
/// assert!(plate.gather()[30 + 1] > 0.0);
/// # Ok::<(), sinew_dist::InitError>(())
/// ```
pub struct Grid<'w, T, const N: usize> {
    world: &'w World,
    shape: [usize; N],
    edges: [Edge<T>; N],
    own: Vec<T>,
}

impl<T, const N: usize> fmt::Debug for Grid<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers = layers_of(self.world.rank(), self.world.size(), self.shape[0]);
        f.debug_struct("Grid").field("shape", &self.shape).field("layers", &layers).finish()
    }
}

impl World {
    /// Begins a grid with these sides that is distributed over all ranks by its first dimension.
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
    /// The grid whose element at `place` is `f(place)`.
    pub fn init<T: Copy>(self, f: impl Fn([usize; N]) -> T) -> Grid<'w, T, N> {
        let Self { world, shape } = self;
        let layer: usize = shape[1..].iter().product();
        let layers = layers_of(world.rank(), world.size(), shape[0]);
        let places = layers.start * layer..layers.end * layer;
        let own = places.map(|place| f(place_of(place, &shape))).collect();
        Grid { world, shape, edges: [Edge::Nearest; N], own }
    }
}

/// The indices of the element with this number.
fn place_of<const N: usize>(mut number: usize, shape: &[usize; N]) -> [usize; N] {
    let mut place = [0; N];
    for at in (0..N).rev() {
        place[at] = number % shape[at];
        number /= shape[at];
    }
    place
}

fn layers_of(rank: Rank, ranks: u32, layers: usize) -> Range<usize> {
    let at = |rank: Rank| (layers as u128 * u128::from(rank) / u128::from(ranks)) as usize;
    at(rank)..at(rank + 1)
}

/// An end of a rank's layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl End {
    /// The purpose of messages with the halo beyond this end of the receiver.
    fn purpose(self) -> Purpose {
        match self {
            Self::First => Purpose::HaloAfter,
            Self::Last => Purpose::HaloBefore,
        }
    }
}

/// A layer of a halo.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layer<T> {
    Of(usize),
    Constant(T),
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

    /// This rank's elements, layer by layer.
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// All elements, on all ranks.
    pub fn gather(&self) -> Vec<T> {
        gather(self.world, &self.own)
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
    /// A sweep sends `R` layers from each end of a rank's part, unless that is shorter.
    pub fn sweeps<const R: usize, F>(&mut self, sweeps: usize, f: F)
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        let call = self.world.call("sweeps");
        for _ in 0..sweeps {
            self.send_halos(&call, R);
            if self.layers().len() > 2 * R {
                self.sweep_overlapped(&call, &f);
            } else {
                self.sweep_whole(&call, &f);
            }
        }
    }

    fn layers(&self) -> Range<usize> {
        self.layers_of(self.world.rank())
    }

    fn layers_of(&self, rank: Rank) -> Range<usize> {
        layers_of(rank, self.world.size(), self.shape[0])
    }

    /// Elements of a layer.
    fn layer(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// The layers beyond an end of `rank`'s part, in the order of the grid. With [`Edge::Keep`]
    /// there are none beyond the edge (H2).
    fn halo(&self, rank: Rank, end: End, radius: usize) -> Vec<Layer<T>> {
        let (own, sides) = (self.layers_of(rank), self.shape[0] as isize);
        let (start, radius) = (own.start as isize, radius as isize);
        let range = match end {
            _ if own.is_empty() => 0..0,
            End::First => start - radius..start,
            End::Last => own.end as isize..own.end as isize + radius,
        };
        let one = |at: isize| match self.edges[0] {
            _ if (0..sides).contains(&at) => Some(Layer::Of(at as usize)),
            Edge::Periodic => Some(Layer::Of(at.rem_euclid(sides) as usize)),
            Edge::Nearest => Some(Layer::Of(at.clamp(0, sides - 1) as usize)),
            Edge::Constant(value) => Some(Layer::Constant(value)),
            // `edges` refuses rules that are not listed here.
            _ => None,
        };
        range.filter_map(one).collect()
    }

    /// H1.
    fn send_halos(&self, call: &Call<'_>, radius: usize) {
        let (own, layer) = (self.layers(), self.layer());
        for rank in 0..self.world.size() {
            for end in [End::First, End::Last] {
                let mut elements = Vec::new();
                for at in self.halo(rank, end, radius) {
                    if let Layer::Of(at) = at
                        && own.contains(&at)
                    {
                        elements.extend_from_slice(&self.own[(at - own.start) * layer..][..layer]);
                    }
                }
                if !elements.is_empty() {
                    call.send(rank, end.purpose(), Plain::pack(&elements));
                }
            }
        }
    }

    fn receive_halo(&self, call: &Call<'_>, end: End, radius: usize) -> Vec<T> {
        let (halo, layer) = (self.halo(self.world.rank(), end, radius), self.layer());
        let owner = |at: usize| (0..self.world.size()).find(|r| self.layers_of(*r).contains(&at));
        let owners: Vec<Option<Rank>> =
            halo.iter().map(|at| if let Layer::Of(at) = at { owner(*at) } else { None }).collect();
        let mut elements = vec![T::zeroed(); halo.len() * layer];
        for (at, to) in halo.iter().zip(elements.chunks_mut(layer)) {
            if let Layer::Constant(value) = at {
                to.fill(*value);
            }
        }
        for rank in 0..self.world.size() {
            let count = owners.iter().filter(|owner| **owner == Some(rank)).count();
            if count == 0 {
                continue;
            }
            let got: Vec<T> = receive(call, rank, end.purpose(), count * layer);
            let places = elements.chunks_mut(layer).zip(&owners);
            let places = places.filter(|(_, owner)| **owner == Some(rank));
            places.zip(got.chunks(layer)).for_each(|((to, _), from)| to.copy_from_slice(from));
        }
        elements
    }

    /// Sweeps `part`, some layers, except for `R` at each end.
    fn sweep_part<const R: usize, F>(&self, part: &mut [T], f: &F)
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        let (mut shape, mut edges) = (self.shape, self.edges);
        shape[0] = part.len() / self.layer();
        edges[0] = Edge::Keep;
        self.world.pool().run(|_| stencil(part, shape).radius::<R>().edges(edges).run(f));
    }

    fn sweep_overlapped<const R: usize, F>(&mut self, call: &Call<'_>, f: &F)
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        let (end, all) = (R * self.layer(), self.own.len());
        let first = self.own[..2 * end].to_vec();
        let last = self.own[all - 2 * end..].to_vec();
        let mut own = std::mem::take(&mut self.own);
        self.sweep_part(&mut own, f);
        let mut before = self.receive_halo(call, End::First, R);
        let halo = before.len();
        before.extend(first);
        self.sweep_part(&mut before, f);
        own[..end].copy_from_slice(&before[halo..halo + end]);
        let mut behind = last;
        behind.extend(self.receive_halo(call, End::Last, R));
        self.sweep_part(&mut behind, f);
        own[all - end..].copy_from_slice(&behind[end..2 * end]);
        self.own = own;
    }

    /// As [`sweep_overlapped`](Self::sweep_overlapped) for a part that needs its whole halo.
    fn sweep_whole<const R: usize, F>(&mut self, call: &Call<'_>, f: &F)
    where
        F: Fn(Neighbourhood<'_, T, N, R>) -> T + Sync,
    {
        if self.own.is_empty() {
            return;
        }
        let mut part = self.receive_halo(call, End::First, R);
        let halo = part.len();
        part.extend_from_slice(&self.own);
        part.extend(self.receive_halo(call, End::Last, R));
        self.sweep_part(&mut part, f);
        let own = self.own.len();
        self.own.copy_from_slice(&part[halo..halo + own]);
    }
}
