//! A convex polygon: built of candidates by a scan, and checked by exact orientation tests.
//!
//! Points are ordered by their x, and by their y where that is the same. In this order a convex
//! polygon goes up along its lower chain and down along its upper one. Each point between the ends
//! is above an edge of the one and below an edge of the other. Bisection finds both, so all points
//! are checked, not just a sample.

use std::cmp::Ordering;
use std::fmt;

use robust::orient2d;

use super::Point;
use crate::problem::Wrong;

/// Vertices, counter-clockwise from the first in order.
#[derive(Debug, PartialEq)]
pub(super) struct Polygon {
    vertices: Vec<Point>,
}

fn order(a: &Point, b: &Point) -> Ordering {
    a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y))
}

impl Polygon {
    /// Andrew's scan: the hull of `points`, without any that lie on its edges.
    pub(super) fn around(mut points: Vec<Point>) -> Self {
        points.sort_unstable_by(order);
        points.dedup();
        if points.len() < 2 {
            return Self { vertices: points };
        }
        let mut vertices = chain(points.iter());
        vertices.pop();
        vertices.extend(chain(points.iter().rev()));
        vertices.pop();
        Self { vertices }
    }

    #[cfg(test)]
    pub(super) fn of(vertices: Vec<Point>) -> Self {
        Self { vertices }
    }

    #[cfg(test)]
    pub(super) fn vertices(&self) -> &[Point] {
        &self.vertices
    }

    /// Convex, each corner a corner, and counter-clockwise from the first in order.
    pub(super) fn check_shape(&self) -> Result<(), Wrong> {
        let count = self.vertices.len();
        Wrong::unless(count > 0, || "the hull is empty".to_owned())?;
        let (lower, upper) = self.chains();
        let in_order = |chain: &[Point]| chain.is_sorted_by(|a, b| order(a, b).is_lt());
        let turns = |at: usize| {
            let [a, b, c] = [0, 1, 2].map(|next| self.vertices[(at + next) % count]);
            orient2d(a, b, c) > 0.0
        };
        let convex = in_order(&lower) && in_order(&upper) && (count < 3 || (0..count).all(turns));
        Wrong::unless(convex, || "the hull is not convex, or not counter-clockwise".to_owned())
    }

    /// No point lies outside, and each corner is one of the points. The shape must have been
    /// checked.
    pub(super) fn check_hull_of(&self, points: &[Point]) -> Result<(), Wrong> {
        let (lower, upper) = self.chains();
        let mut seen = [vec![false; lower.len()], vec![false; upper.len()]];
        for point in points {
            let inside = beside(&lower, point, &mut seen[0], 1.0)
                && beside(&upper, point, &mut seen[1], -1.0);
            Wrong::unless(inside, || format!("({}, {}) lies outside the hull", point.x, point.y))?;
        }
        let all_seen = seen.iter().flatten().all(|&seen| seen);
        Wrong::unless(all_seen, || "a corner of the hull is no point of the input".to_owned())
    }

    /// The lower and the upper chain, both from the first vertex in order to the last.
    fn chains(&self) -> (Vec<Point>, Vec<Point>) {
        let ends = self.vertices.iter().enumerate().max_by(|(_, a), (_, b)| order(a, b));
        let last = ends.map_or(0, |(at, _)| at);
        let lower = self.vertices[..=last].to_vec();
        let mut upper = self.vertices[last..].to_vec();
        if last > 0 {
            upper.push(self.vertices[0]);
        }
        upper.reverse();
        (lower, upper)
    }
}

/// The corners of one side of the hull of points that come in order or in reverse.
fn chain<'p>(points: impl Iterator<Item = &'p Point>) -> Vec<Point> {
    let mut chain: Vec<Point> = Vec::new();
    for &point in points {
        while let [.., a, b] = chain[..]
            && orient2d(a, b, point) <= 0.0
        {
            chain.pop();
        }
        chain.push(point);
    }
    chain
}

/// Whether a point lies on or to one side of a chain: above if `above` is 1, below if it is -1.
/// Notes a corner it is.
fn beside(chain: &[Point], point: &Point, seen: &mut [bool], above: f64) -> bool {
    let after = chain.partition_point(|corner| order(corner, point).is_le());
    let Some(before) = after.checked_sub(1) else { return false };
    if chain[before] == *point {
        seen[before] = true;
        return true;
    }
    chain.get(after).is_some_and(|&next| above * orient2d(chain[before], next, *point) >= 0.0)
}

impl fmt::Display for Polygon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} corners", self.vertices.len())?;
        match self.vertices.first() {
            Some(first) => write!(f, ", leftmost ({:.6}, {:.6})", first.x, first.y),
            None => Ok(()),
        }
    }
}
