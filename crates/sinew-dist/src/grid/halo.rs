//! The elements that a rank needs of others for a sweep, and their places.
//!
//! A rank sweeps a *frame*: its part of the grid with `R` more elements at each end of each
//! dimension. An element of the frame beyond the part is one of
//!
//! - an element of the grid that another rank has: it *comes* in a message;
//! - a *copy* of an element that is in the frame already, since the grid is a ring or small, or the
//!   rule for its edge repeats the nearest one;
//! - the constant of an edge.
//!
//! All this holds for each dimension by itself: an element comes if it does along some dimension.
//!
//! # Invariants
//!
//! - H1: a rank sends an element to a rank once a sweep at most, with its bytes and nothing else,
//!   and only if a function with this reach can read it.
//! - H2: an element that keeps its value, since its neighbourhood reaches beyond an edge, needs
//!   nothing.
//! - H3: along a dimension each index of the grid comes to one place; others with that index are
//!   copies of it.

use std::ops::Range;

use sinew::Edge;

use super::cut::{Cut, Ranges, rows, volume};
use crate::link::Rank;

/// Which neighbours a function reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All, those across corners too.
    Box,
    /// Those along one dimension.
    Star,
}

/// Where a place beyond a part gets its element from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source<T> {
    Place(usize),
    Constant(T),
}

/// One dimension of a rank's frame. Places count from its beginning, `radius` before the part.
#[derive(Debug, Clone)]
struct Along<T> {
    radius: usize,
    own: Range<usize>,
    /// The indices that are swept: all but those that an edge keeps.
    swept: Range<usize>,
    /// The indices of other ranks, and their places.
    coming: Vec<(usize, usize)>,
    copies: Vec<(usize, Source<T>)>,
}

impl<T: Copy> Along<T> {
    fn new(side: usize, own: Range<usize>, edge: &Edge<T>, radius: usize) -> Self {
        let keeps = matches!(edge, Edge::Keep);
        let first = if keeps { radius } else { 0 };
        let last = if keeps { side.saturating_sub(radius) } else { side };
        let start = own.start.max(first);
        let swept = start..own.end.min(last).max(start);
        let mut along = Self { radius, own, swept, coming: Vec::new(), copies: Vec::new() };
        let ends = match along.swept.clone() {
            swept if swept.is_empty() => [0..0, 0..0],
            swept => [
                along.at(swept.start) - radius..radius,
                along.at(along.own.end)..along.at(swept.end) + radius,
            ],
        };
        for place in ends.into_iter().flatten() {
            along.add(place, side, edge);
        }
        along
    }

    /// The place of an index of the part.
    fn at(&self, index: usize) -> usize {
        index - self.own.start + self.radius
    }

    /// Finds the source of a place beyond the part (H3).
    fn add(&mut self, place: usize, side: usize, edge: &Edge<T>) {
        let index = (self.own.start + place) as isize - self.radius as isize;
        let index = match edge {
            _ if (0..side as isize).contains(&index) => index as usize,
            Edge::Constant(value) => {
                return self.copies.push((place, Source::Constant(*value)));
            }
            Edge::Periodic => index.rem_euclid(side as isize) as usize,
            _ => index.clamp(0, side as isize - 1) as usize,
        };
        let came = self.coming.iter().find(|(other, _)| *other == index);
        if self.own.contains(&index) {
            self.copies.push((place, Source::Place(self.at(index))));
        } else if let Some((_, other)) = came {
            self.copies.push((place, Source::Place(*other)));
        } else {
            self.coming.push((index, place));
        }
    }

    /// The indices, with their places, that a rank with the indices `from` has for this one.
    fn shared_by(&self, from: &Range<usize>) -> Vec<(usize, usize)> {
        self.coming.iter().copied().filter(|(index, _)| from.contains(index)).collect()
    }
}

/// A message with halo elements: the places of its elements along each dimension of the frame.
#[derive(Debug)]
pub(super) struct Packet<const N: usize> {
    pub(super) rank: Rank,
    places: [Vec<usize>; N],
    /// The runs of neighbouring places of the last dimension.
    runs: Vec<Range<usize>>,
}

impl<const N: usize> Packet<N> {
    fn new(rank: Rank, places: [Vec<usize>; N]) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for place in &places[N - 1] {
            match runs.last_mut() {
                Some(run) if run.end == *place => run.end += 1,
                _ => runs.push(*place..place + 1),
            }
        }
        Self { rank, places, runs }
    }

    pub(super) fn elements(&self) -> usize {
        self.places.iter().map(Vec::len).product()
    }

    pub(super) fn pack<T: Copy>(&self, frame: &[T], shape: &[usize; N]) -> Vec<T> {
        let mut elements = Vec::with_capacity(self.elements());
        for row in rows(&self.places, shape) {
            for run in &self.runs {
                elements.extend_from_slice(&frame[row + run.start..row + run.end]);
            }
        }
        elements
    }

    pub(super) fn unpack<T: Copy>(&self, mut elements: &[T], frame: &mut [T], shape: &[usize; N]) {
        for row in rows(&self.places, shape) {
            for run in &self.runs {
                let (first, rest) = elements.split_at(run.len());
                frame[row + run.start..row + run.end].copy_from_slice(first);
                elements = rest;
            }
        }
    }
}

/// A rank's frame, and the messages of a sweep.
#[derive(Debug)]
pub(super) struct Halo<T, const N: usize> {
    pub(super) shape: [usize; N],
    sides: [Along<T>; N],
    pub(super) leaving: Vec<Packet<N>>,
    pub(super) coming: Vec<Packet<N>>,
}

impl<T: Copy, const N: usize> Halo<T, N> {
    /// Of `rank`, one of `ranks`.
    ///
    /// # Cost
    ///
    /// A look at each other rank.
    pub(super) fn new(
        cut: &Cut<N>,
        (rank, ranks): (Rank, u32),
        edges: &[Edge<T>; N],
        (radius, reach): (usize, Reach),
    ) -> Self {
        let sides_of = |rank: Rank| {
            let part = cut.part(rank);
            std::array::from_fn::<_, N, _>(|side| {
                Along::new(cut.shape[side], part[side].clone(), &edges[side], radius)
            })
        };
        let others = || (0..ranks).filter(|other| *other != rank);
        let sides = sides_of(rank);
        let leaving = others().filter_map(|to| {
            let indices = exchanged(cut, rank, to, &sides_of(to), reach)?.map(indices);
            let places = |side: usize| {
                let at = |index: &usize| sides[side].at(*index);
                indices[side].iter().map(at).collect()
            };
            Some(Packet::new(to, std::array::from_fn(places)))
        });
        let leaving = leaving.collect();
        let coming = others().filter_map(|from| {
            Some(Packet::new(from, exchanged(cut, from, rank, &sides, reach)?.map(places)))
        });
        let coming = coming.collect();
        let shape = sides.each_ref().map(|along| along.own.len() + 2 * radius);
        Self { shape, sides, leaving, coming }
    }

    /// The place of the part in the frame.
    pub(super) fn own(&self) -> Ranges<N> {
        self.sides.each_ref().map(|along| along.radius..along.radius + along.own.len())
    }

    /// The index of the frame's beginning along a dimension is this less the radius.
    pub(super) fn first(&self) -> [usize; N] {
        self.sides.each_ref().map(|along| along.own.start)
    }

    /// The places that are swept. If `alone`, those that need nothing that comes.
    pub(super) fn swept(&self, alone: bool) -> Ranges<N> {
        self.sides.each_ref().map(|along| {
            let swept = &along.swept;
            let mut places = swept.start + along.radius..swept.end + along.radius;
            places.start -= along.own.start;
            places.end -= along.own.start;
            if alone && !along.coming.is_empty() {
                let start = places.start.max(2 * along.radius);
                places = start..places.end.min(along.own.len()).max(start);
            }
            places
        })
    }

    /// The rest of what is swept, which needs what comes: slabs around `alone`.
    pub(super) fn slabs(&self, alone: &Ranges<N>) -> Vec<Ranges<N>> {
        let swept = self.swept(false);
        if volume(alone) == 0 {
            return vec![swept];
        }
        let (mut slabs, mut rest) = (Vec::new(), swept);
        for side in 0..N {
            let (inner, outer) = (alone[side].clone(), rest[side].clone());
            for end in [outer.start..inner.start, inner.end..outer.end] {
                rest[side] = end;
                if volume(&rest) > 0 {
                    slabs.push(rest.clone());
                }
            }
            rest[side] = inner;
        }
        slabs
    }

    /// Fills the places that are copies or constants: along all dimensions, or those along which
    /// nothing comes.
    ///
    /// Each dimension overwrites what the ones before it have filled. Their order is that in which
    /// [`Edge::Constant`] gives way, the last dimension first.
    pub(super) fn fill(&self, frame: &mut [T], all: bool) {
        for side in std::iter::once(N - 1).chain(0..N - 1) {
            let along = &self.sides[side];
            if !all && !along.coming.is_empty() {
                continue;
            }
            let inner: usize = self.shape[side + 1..].iter().product();
            let layer = self.shape[side] * inner;
            for (place, source) in &along.copies {
                for layer in frame.chunks_exact_mut(layer) {
                    let to = place * inner..(place + 1) * inner;
                    match source {
                        Source::Constant(value) => layer[to].fill(*value),
                        Source::Place(from) => {
                            layer.copy_within(from * inner..(from + 1) * inner, to.start);
                        }
                    }
                }
            }
        }
    }
}

type Places = Vec<(usize, usize)>;

fn indices(pairs: Places) -> Vec<usize> {
    pairs.into_iter().map(|(index, _)| index).collect()
}

fn places(pairs: Places) -> Vec<usize> {
    pairs.into_iter().map(|(_, place)| place).collect()
}

/// The part of `from` that `to` needs, whose frame is `sides`, along each dimension: indices, and
/// their places in that frame (H1).
fn exchanged<T: Copy, const N: usize>(
    cut: &Cut<N>,
    from: Rank,
    to: Rank,
    sides: &[Along<T>; N],
    reach: Reach,
) -> Option<[Places; N]> {
    if sides.iter().any(|along| along.swept.is_empty()) {
        return None;
    }
    let (from, to) = (cut.place(from), cut.place(to));
    let crossed = (0..N).filter(|side| from[*side] != to[*side]).count();
    if reach == Reach::Star && crossed > 1 {
        return None;
    }
    let pairs: [Places; N] = std::array::from_fn(|side| {
        let along = &sides[side];
        let both = match reach {
            Reach::Box => along.own.clone(),
            Reach::Star => along.swept.clone(),
        };
        if from[side] == to[side] {
            both.map(|index| (index, along.at(index))).collect()
        } else {
            along.shared_by(&cut.along(side, from[side]))
        }
    });
    pairs.iter().all(|pairs| !pairs.is_empty()).then_some(pairs)
}
