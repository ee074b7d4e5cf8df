//! Quickhull: what lies beyond an edge is split at its farthest point, until nothing lies beyond
//! any edge.
//!
//! Both versions return candidates: all corners of the hull, perhaps a few more points, in any
//! order.
//!
//! # Invariants
//!
//! - I1: a point is forgotten only if it lies within, or on the edge of, a polygon whose corners
//!   are candidates.
//! - I2: what lies beyond an edge is fewer points than before the split, as the farthest is gone:
//!   the recursion ends.

use robust::orient2d;
use sinew::prelude::*;

use super::Point;
use crate::loops::{LoopSchedule, Scheduled};

/// Points are first taken in pieces of this many: half of a second-level cache.
const PIECE: usize = 1 << 14;

/// From this number of points on a round is a loop.
const LOOP: usize = 1 << 14;

#[derive(Clone, Copy)]
struct Edge {
    from: Point,
    to: Point,
}

impl Edge {
    /// Distance of a point from an edge that goes counter-clockwise, positive outside: roughly a
    /// multiple of the distance, with exactly the right sign.
    fn beyond(self, point: Point) -> f64 {
        orient2d(self.to, self.from, point)
    }

    fn split_at(self, corner: Point) -> [Self; 2] {
        [Self { from: self.from, to: corner }, Self { from: corner, to: self.to }]
    }
}

/// The points beyond an edge that one pass found.
struct Side {
    points: Vec<Point>,
    farthest: Farthest,
}

#[derive(Clone, Copy)]
struct Farthest {
    point: Point,
    distance: f64,
}

impl Farthest {
    fn of(self, other: Self) -> Self {
        if other.distance > self.distance { other } else { self }
    }
}

impl Side {
    /// Nothing lies beyond the edge yet; either end will do as the farthest.
    fn of(edge: Edge) -> Self {
        Self { points: Vec::new(), farthest: Farthest { point: edge.from, distance: 0.0 } }
    }

    fn push(&mut self, point: Point, distance: f64) {
        self.points.push(point);
        self.farthest = self.farthest.of(Farthest { point, distance });
    }
}

/// Gives each point to the first edge that it lies beyond, and forgets those within.
fn split<const EDGES: usize>(points: &[Point], edges: [Edge; EDGES]) -> [Side; EDGES] {
    let mut sides = edges.map(Side::of);
    for &point in points {
        for (side, edge) in sides.iter_mut().zip(edges) {
            let distance = edge.beyond(point);
            if distance > 0.0 {
                side.push(point, distance);
                break;
            }
        }
    }
    sides
}

/// The outermost points in four directions.
#[derive(Clone, Copy)]
struct Corners {
    west: Point,
    south: Point,
    east: Point,
    north: Point,
}

impl Corners {
    fn at(point: Point) -> Self {
        Self { west: point, south: point, east: point, north: point }
    }

    fn stretch(mut self, to: Point) -> Self {
        if to.x < self.west.x {
            self.west = to;
        }
        if to.y < self.south.y {
            self.south = to;
        }
        if to.x > self.east.x {
            self.east = to;
        }
        if to.y > self.north.y {
            self.north = to;
        }
        self
    }

    fn of(points: &[Point]) -> Self {
        points.iter().fold(Self::at(points[0]), |corners, &point| corners.stretch(point))
    }

    fn and(self, other: Self) -> Self {
        other.list().into_iter().fold(self, Self::stretch)
    }

    /// Counter-clockwise.
    fn list(self) -> [Point; 4] {
        [self.west, self.south, self.east, self.north]
    }

    fn edges(self) -> [Edge; 4] {
        let corners = self.list();
        std::array::from_fn(|at| Edge { from: corners[at], to: corners[(at + 1) % 4] })
    }
}

/// The candidates among at least one point.
pub(super) fn serial(points: &[Point]) -> Vec<Point> {
    let corners = Corners::of(points);
    let mut found = corners.list().to_vec();
    for (edge, side) in corners.edges().into_iter().zip(split(points, corners.edges())) {
        grow(edge, side, &mut found);
    }
    found
}

fn grow(edge: Edge, side: Side, found: &mut Vec<Point>) {
    if side.points.is_empty() {
        return;
    }
    found.push(side.farthest.point);
    let edges = edge.split_at(side.farthest.point);
    let sides = split(&side.points, edges);
    drop(side);
    for (edge, side) in edges.into_iter().zip(sides) {
        grow(edge, side, found);
    }
}

/// The candidates among at least one point.
pub(super) fn parallel(worker: &Worker, points: &[Point], schedule: LoopSchedule) -> Vec<Point> {
    let pieces = || points.par_chunks(PIECE).scheduled(schedule);
    let corners = pieces().map(Corners::of).reduce(|| Corners::at(points[0]), Corners::and);
    let edges = corners.edges();
    let found = pieces().map(|piece| split(piece, edges)).collect();
    let [west, south, east, north] = collect(edges, found);
    let grow = |w: &Worker, at: usize, side| grow_parallel(w, edges[at], side, schedule);
    let ((a, b), (c, d)) = worker.join(
        |w| w.join(|w| grow(w, 0, west), |w| grow(w, 1, south)),
        |w| w.join(|w| grow(w, 2, east), |w| grow(w, 3, north)),
    );
    [&corners.list()[..], &a, &b, &c, &d].concat()
}

/// The points beyond an edge, in the pieces in which a loop found them.
struct Spread {
    pieces: Vec<Vec<Point>>,
    farthest: Farthest,
}

impl Spread {
    fn length(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }

    fn push(&mut self, side: Side) {
        self.farthest = self.farthest.of(side.farthest);
        if !side.points.is_empty() {
            self.pieces.push(side.points);
        }
    }

    fn into_side(self) -> Side {
        Side { points: self.pieces.concat(), farthest: self.farthest }
    }
}

/// Puts together what a loop found beyond each edge.
fn collect<const EDGES: usize>(edges: [Edge; EDGES], found: Vec<[Side; EDGES]>) -> [Spread; EDGES] {
    let mut spreads =
        edges.map(|edge| Spread { pieces: Vec::new(), farthest: Side::of(edge).farthest });
    for sides in found {
        for (spread, side) in spreads.iter_mut().zip(sides) {
            spread.push(side);
        }
    }
    spreads
}

fn grow_parallel(worker: &Worker, edge: Edge, side: Spread, schedule: LoopSchedule) -> Vec<Point> {
    let mut found = Vec::new();
    if side.length() < LOOP {
        grow(edge, side.into_side(), &mut found);
        return found;
    }
    let corner = side.farthest.point;
    let edges = edge.split_at(corner);
    let sides = over(&side.pieces).scheduled(schedule).map(|piece| split(piece, edges)).collect();
    drop(side);
    let [first, second] = collect(edges, sides);
    let (first, second) = worker.join(
        |w| grow_parallel(w, edges[0], first, schedule),
        |w| grow_parallel(w, edges[1], second, schedule),
    );
    [&first[..], &second, &[corner]].concat()
}
