//! How a grid moves to more or fewer ranks.

use bytemuck::Pod;
use serde::{Deserialize, Serialize};
use sinew::Edge;

use super::Grid;
use super::cut::{Cut, Ranges, rows, volume};
use crate::World;
use crate::wire::{Plain, Way};
use crate::world::Purpose;

/// A grid as rank 0 describes it to ranks that have no part of it.
#[derive(Serialize, Deserialize)]
struct Known {
    shape: Vec<usize>,
    ranks: u32,
    edges: Vec<Rule>,
}

/// The rule of an edge; a constant as its bytes.
#[derive(Serialize, Deserialize)]
enum Rule {
    Periodic,
    Nearest,
    Keep,
    Constant(Vec<u8>),
}

impl Rule {
    fn of<T: Pod>(edge: &Edge<T>) -> Self {
        match edge {
            Edge::Periodic => Self::Periodic,
            Edge::Keep => Self::Keep,
            Edge::Constant(value) => Self::Constant(Plain::pack(&[*value])),
            _ => Self::Nearest,
        }
    }

    fn edge<T: Pod>(&self) -> Option<Edge<T>> {
        Some(match self {
            Self::Periodic => Edge::Periodic,
            Self::Nearest => Edge::Nearest,
            Self::Keep => Edge::Keep,
            Self::Constant(bytes) => Edge::Constant(Plain::unpack(bytes)?.pop()?),
        })
    }
}

impl<'w, T, const N: usize> Grid<'w, T, N>
where
    T: Pod + Send + Sync,
{
    /// The same grid in boxes on the first `ranks` ranks: after [`World::grow`] on all, and before
    /// [`World::shrink`] on those that stay. Ranks that have no part of it, since they are new or
    /// come back, give `None`.
    ///
    /// # Panics
    ///
    /// If there are fewer than `ranks` ranks, or none is to have the grid, or rank 0 gives `None`.
    ///
    /// # Cost
    ///
    /// A broadcast, and one message to each rank that gets elements from this one.
    #[track_caller]
    pub fn spread(world: &'w World, grid: Option<Self>, ranks: u32) -> Self {
        let size = world.size();
        assert!((1..=size).contains(&ranks), "a grid on {ranks} of {size} ranks");
        assert!(world.rank() > 0 || grid.is_some(), "rank 0 has no part of the grid");
        grid.iter().for_each(Self::check);
        let known = world.broadcast(&grid.as_ref().map(Self::known));
        let Known { shape, ranks: had, edges } = known.expect("rank 0 has a part");
        let edges: Option<Vec<_>> = edges.iter().map(Rule::edge).collect();
        let (shape, edges) = (shape.try_into().ok(), edges.and_then(|edges| edges.try_into().ok()));
        let (Some(shape), Some(edges)) = (shape, edges) else {
            world.abort("`Grid::spread` has grids of several types");
        };
        let (from, to) = (Cut::new(had, shape), Cut::new(ranks, shape));
        let (own, counts) = grid.map_or_else(Default::default, |grid| (grid.own, grid.counts));
        let own = exchange(world, &own, &from, &to);
        Self { world, cut: to, edges, own, counts }
    }

    fn known(&self) -> Known {
        let edges = self.edges.iter().map(Rule::of).collect();
        Known { shape: self.cut.shape.into(), ranks: self.cut.ranks(), edges }
    }
}

/// The elements that this rank has by `to`, of a grid that all ranks have by `from`.
fn exchange<T: Pod, const N: usize>(
    world: &World,
    own: &[T],
    from: &Cut<N>,
    to: &Cut<N>,
) -> Vec<T> {
    let (call, rank) = (world.call("spread"), world.rank());
    let (had, wanted) = (from.part(rank), to.part(rank));
    for other in (0..to.ranks()).filter(|other| *other != rank) {
        let leaving = common(&had, &to.part(other));
        if volume(&leaving) > 0 {
            call.send(other, Purpose::Move, Plain::pack(&take(own, &had, &leaving)));
        }
    }
    let mut new = vec![T::zeroed(); volume(&wanted)];
    for other in 0..from.ranks() {
        let coming = common(&wanted, &from.part(other));
        if volume(&coming) == 0 {
            continue;
        }
        let elements = match other == rank {
            true => Some(take(own, &had, &coming)),
            false => Plain::unpack(&call.receive(other, Purpose::Move)),
        };
        let elements = elements.filter(|elements| elements.len() == volume(&coming));
        put(&mut new, &wanted, &coming, &elements.unwrap_or_else(|| call.refuse()));
    }
    new
}

/// The indices that both have.
fn common<const N: usize>(a: &Ranges<N>, b: &Ranges<N>) -> Ranges<N> {
    std::array::from_fn(|side| {
        let start = a[side].start.max(b[side].start);
        start..a[side].end.min(b[side].end).max(start)
    })
}

/// Where the rows of `inner`, a part of `part`, begin in it.
fn places<const N: usize>(
    part: &Ranges<N>,
    inner: &Ranges<N>,
) -> impl Iterator<Item = usize> + use<N> {
    let first = inner[N - 1].start - part[N - 1].start;
    let within = |side: usize| {
        let start = part[side].start;
        inner[side].clone().map(|index| index - start).collect::<Vec<_>>()
    };
    let shape = part.each_ref().map(ExactSizeIterator::len);
    let starts: Vec<_> = rows(&std::array::from_fn(within), &shape).collect();
    starts.into_iter().map(move |row| row + first)
}

/// The elements of `inner`, of a rank that has `part`.
fn take<T: Copy, const N: usize>(own: &[T], part: &Ranges<N>, inner: &Ranges<N>) -> Vec<T> {
    let length = inner[N - 1].len();
    places(part, inner).flat_map(|at| &own[at..at + length]).copied().collect()
}

/// The reverse of [`take`].
fn put<T: Copy, const N: usize>(
    own: &mut [T],
    part: &Ranges<N>,
    inner: &Ranges<N>,
    elements: &[T],
) {
    let length = inner[N - 1].len();
    for (at, row) in places(part, inner).zip(elements.chunks_exact(length)) {
        own[at..at + length].copy_from_slice(row);
    }
}
