//! Meshes of the shape of STAMP's inputs: random points in a convex polygon of 16 sides,
//! triangulated.
//!
//! Points are put in one by one, with the same holes that refinement digs. They come in rounds,
//! each twice as large as the one before and along a path through the plane. So each point is found
//! near the one before, and no round makes large holes. Source: Amenta, Choi and Rote, "Incremental
//! Constructions con BRIO" (2003).

use std::f64::consts::TAU;

use fastrand::Rng;

use super::build::Parts;
use super::cavity::{Cavity, Dug};
use super::domain::Domain;
use super::geometry::is_left;
use super::store::{Mesh, Store};
use super::triangle::{NONE, Point, Triangle, Vertex};

/// Sides of the polygon.
const SIDES: u32 = 16;

/// The fewest points: the polygon's.
pub(super) const FEWEST: u64 = SIDES as u64;

/// A mesh of `length` vertices, the same one each time.
pub(super) fn generate(length: usize, angle: f64) -> (Mesh, Domain) {
    let mut rng = Rng::with_seed(42);
    let (mesh, mut domain) = polygon(&mut rng).build(angle).expect("a fan is a mesh");
    domain.limit = u32::try_from(length).unwrap_or(u32::MAX);
    let mut growing = Growing { mesh, domain, cavity: Cavity::default(), last: 0 };
    let inside = random_points(&mut rng, &growing.domain.inputs, length - SIDES as usize);
    inside.into_iter().for_each(|point| growing.insert(point));
    let Growing { mesh, domain, .. } = growing;
    let inputs = mesh.vertices.iter().map(|vertex| vertex.at).collect();
    let domain = Domain::new(inputs, domain.segments, angle);
    (mesh, domain)
}

/// A polygon with its corners on a circle, as a fan.
fn polygon(rng: &mut Rng) -> Parts {
    let corner = |number: u32| {
        let turn = TAU * (f64::from(number) + 0.5 * rng.f64()) / f64::from(SIDES);
        Point { x: turn.cos(), y: turn.sin() }
    };
    let points = (0..SIDES).map(corner).collect();
    let triangles = (2..SIDES).map(|number| [0, number - 1, number]).collect();
    Parts { points, triangles, segments: Vec::new() }
}

/// Random points inside a convex polygon, in the order in which they are best put in.
fn random_points(rng: &mut Rng, polygon: &[Point], count: usize) -> Vec<Point> {
    let mut coordinate = || 2.0 * rng.f64() - 1.0;
    let square = std::iter::repeat_with(|| Point { x: coordinate(), y: coordinate() });
    let sides = || polygon.iter().zip(polygon.iter().cycle().skip(1));
    let mut points: Vec<Point> =
        square.filter(|&point| sides().all(|(&a, &b)| is_left(a, b, point))).take(count).collect();
    let mut rest = &mut points[..];
    while rest.len() > 1 {
        let (before, round) = rest.split_at_mut(rest.len() / 2);
        let rows = (round.len() as f64).sqrt() / 2.0 + 1.0;
        round.sort_by_cached_key(|point| along_a_snake(point, rows));
        rest = before;
    }
    points
}

/// The order along a path that goes through rows, one forth, the next back.
fn along_a_snake(point: &Point, rows: f64) -> (i64, i64) {
    let row = ((point.y + 1.0) / 2.0 * rows) as i64;
    let step = (point.x * 1e15) as i64;
    (row, if row % 2 == 0 { step } else { -step })
}

/// A mesh into which points are put.
struct Growing {
    mesh: Mesh,
    domain: Domain,
    cavity: Cavity,
    /// The position of the last point.
    last: u32,
}

impl Growing {
    /// Puts a point in, unless it is a vertex already.
    fn insert(&mut self, at: Point) {
        let Some(start) = self.find(at) else { return };
        let Ok(dug) = self.cavity.dig(&mut self.mesh, start, at, |_| false);
        if !matches!(dug, Dug::Whole) {
            return;
        }
        let Ok(filled) =
            self.cavity.fill(&mut self.mesh, &self.domain, Vertex { at, on: NONE }, |_| ());
        if filled {
            self.last = self.cavity.a_slot();
        }
    }

    /// The triangle in which a point lies, by walking towards it; in a Delaunay triangulation that
    /// ends.
    fn find(&self, at: Point) -> Option<(u32, Triangle)> {
        let mut slot = self.last;
        loop {
            let triangle = self.mesh.triangles[slot as usize];
            let is_behind = |side: usize| {
                let [from, to] = triangle.ends(side).map(|end| self.mesh.vertex(end).at);
                is_left(to, from, at)
            };
            match (0..3).find(|&side| is_behind(side)) {
                None => return Some((slot, triangle)),
                Some(side) => slot = triangle.sides[side].beyond()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yada::check;

    /// Catches: vertices that are lost, or an insertion that leaves no Delaunay triangulation.
    #[test]
    fn generated_meshes_are_delaunay_triangulations() {
        for length in [16, 17, 18, 40, 1000] {
            let (mesh, domain) = generate(length, 0.0);
            assert_eq!(mesh.vertices.len(), length);
            assert_eq!(mesh.triangles.len(), 2 * length - 2 - 16);
            check::shape(&mesh, &domain).unwrap_or_else(|wrong| panic!("{length}: {wrong}"));
        }
    }
}
