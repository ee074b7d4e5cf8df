//! A mesh from a list of triangles: finds neighbours and segments, and flips edges until it is a
//! Delaunay triangulation.

use rustc_hash::FxHashMap;

use super::domain::Domain;
use super::geometry::{is_in_circle, twice_area};
use super::store::{Mesh, Store};
use super::triangle::{NONE, Point, Side, Triangle, Vertex, next};

/// A mesh in its text form.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) points: Vec<Point>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) segments: Vec<[u32; 2]>,
}

/// The error, and the index of the wrong part, from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    Triangle(usize, &'static str),
    Segment(usize, &'static str),
}

/// Sides by their ends.
type Sides = FxHashMap<[u32; 2], (usize, usize)>;

impl Parts {
    /// The mesh as a Delaunay triangulation, and its domain. The sides at the border become
    /// segments, if they are none.
    ///
    /// # Errors
    ///
    /// A triangle without an area or on top of another, a segment that is no side of a triangle.
    pub(super) fn build(mut self, angle: f64) -> Result<(Mesh, Domain), Flaw> {
        let mut triangles = self.counter_clockwise()?;
        let sides = sides(&triangles)?;
        link(&mut triangles, &sides);
        self.mark_segments(&mut triangles, &sides)?;
        self.segments.dedup();
        let domain = Domain::new(self.points, self.segments, angle);
        let vertices = domain.inputs.iter().map(|&at| Vertex { at, on: NONE }).collect();
        let mut mesh = Mesh { vertices, triangles };
        make_delaunay(&mut mesh);
        Ok((mesh, domain))
    }

    fn counter_clockwise(&self) -> Result<Vec<Triangle>, Flaw> {
        let turned = |(number, &[a, b, c]): (usize, &[u32; 3])| {
            let area = twice_area([a, b, c].map(|corner| self.points[corner as usize]));
            match area.total_cmp(&0.0) {
                _ if area == 0.0 => Err(Flaw::Triangle(number, "has no area")),
                std::cmp::Ordering::Less => Ok(Triangle { corners: [a, c, b], ..Triangle::NEVER }),
                _ => Ok(Triangle { corners: [a, b, c], ..Triangle::NEVER }),
            }
        };
        self.triangles.iter().enumerate().map(turned).collect()
    }

    /// Marks the sides that are segments, and notes those at the border that are not among the
    /// segments yet.
    fn mark_segments(&mut self, triangles: &mut [Triangle], sides: &Sides) -> Result<(), Flaw> {
        for (number, &[a, b]) in self.segments.iter().enumerate() {
            let both = [[a, b], [b, a]].map(|ends| sides.get(&ends));
            if both == [None, None] {
                return Err(Flaw::Segment(number, "is no side of a triangle"));
            }
            for &(slot, side) in both.into_iter().flatten() {
                triangles[slot].sides[side] = triangles[slot].sides[side].segment(true);
            }
        }
        self.segments.iter_mut().for_each(|ends| ends.sort_unstable());
        for triangle in triangles {
            let outside = (0..3).filter(|&side| triangle.sides[side].beyond().is_none());
            self.segments.extend(outside.map(|side| sorted(triangle.ends(side))));
        }
        self.segments.sort_unstable();
        Ok(())
    }
}

fn sorted(mut ends: [u32; 2]) -> [u32; 2] {
    ends.sort_unstable();
    ends
}

/// All sides; each belongs to one triangle.
fn sides(triangles: &[Triangle]) -> Result<Sides, Flaw> {
    let mut sides = Sides::default();
    for (slot, triangle) in triangles.iter().enumerate() {
        for side in 0..3 {
            if sides.insert(triangle.ends(side), (slot, side)).is_some() {
                return Err(Flaw::Triangle(slot, "lies on the same side of an edge as another"));
            }
        }
    }
    Ok(sides)
}

fn link(triangles: &mut [Triangle], sides: &Sides) {
    for triangle in triangles {
        for side in 0..3 {
            let [from, to] = triangle.ends(side);
            let beyond = sides.get(&[to, from]);
            triangle.sides[side] =
                beyond.map_or(Side::OUTSIDE, |&(slot, _)| Side::towards(slot as u32));
        }
    }
}

/// Lawson's flips: a side whose two triangles are not what Delaunay's would be is replaced by the
/// other diagonal, until there is none.
fn make_delaunay(mesh: &mut Mesh) {
    let all = 0..mesh.triangles.len() as u32;
    let mut suspects: Vec<(u32, usize)> =
        all.flat_map(|slot| [0, 1, 2].map(|side| (slot, side))).collect();
    while let Some((slot, side)) = suspects.pop() {
        if let Some(other) = wrong_diagonal(mesh, slot, side) {
            flip(mesh, slot, side, other);
            suspects.extend(
                [slot, other].into_iter().flat_map(|slot| [0, 1, 2].map(|side| (slot, side))),
            );
        }
    }
}

/// The triangle beyond a side, if its farther corner is in the circle of the one in `slot`.
fn wrong_diagonal(mesh: &Mesh, slot: u32, side: usize) -> Option<u32> {
    let triangle = mesh.triangles[slot as usize];
    let other = triangle.sides[side].beyond().filter(|_| !triangle.sides[side].is_segment())?;
    let [from, to] = triangle.ends(side);
    let beyond = mesh.triangles[other as usize];
    let corner = beyond.opposite(beyond.side([to, from])?);
    let circle = mesh.corners(&triangle).map(|corner| corner.at);
    is_in_circle(circle, mesh.vertex(corner).at).then_some(other)
}

/// Replaces the side between two triangles by the one between their other corners.
fn flip(mesh: &mut Mesh, slot: u32, side: usize, other: u32) {
    let one = mesh.triangles[slot as usize];
    let two = mesh.triangles[other as usize];
    let [from, to] = one.ends(side);
    let back = two.side([to, from]).expect("neighbours name each other (T1)");
    let (left, right) = (one.opposite(side), two.opposite(back));
    let [after, before] = [next(side), next(next(side))].map(|side| one.sides[side]);
    let [beyond_from, beyond_to] = [next(back), next(next(back))].map(|side| two.sides[side]);
    mesh.triangles[slot as usize] = Triangle {
        corners: [left, from, right],
        sides: [before, beyond_from, Side::towards(other)],
    };
    mesh.triangles[other as usize] =
        Triangle { corners: [right, to, left], sides: [beyond_to, after, Side::towards(slot)] };
    rename(mesh, beyond_from, [right, from], slot);
    rename(mesh, after, [left, to], other);
}

/// Sets the neighbour of the triangle beyond a side, which has these ends there.
fn rename(mesh: &mut Mesh, beyond: Side, ends: [u32; 2], now: u32) {
    let Some(slot) = beyond.beyond() else { return };
    let triangle = &mut mesh.triangles[slot as usize];
    let side = triangle.side(ends).expect("neighbours name each other (T1)");
    triangle.sides[side] = Side::towards(now).segment(beyond.is_segment());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(coordinates: &[(f64, f64)], triangles: &[[u32; 3]], segments: &[[u32; 2]]) -> Parts {
        let points = coordinates.iter().map(|&(x, y)| Point { x, y }).collect();
        Parts { points, triangles: triangles.to_vec(), segments: segments.to_vec() }
    }

    const KITE: [(f64, f64); 4] = [(0.0, 0.0), (1.0, -3.0), (2.0, 0.0), (1.0, 3.0)];

    /// Catches: a neighbour that was not told of the flip.
    #[test]
    fn a_wrong_diagonal_is_flipped() {
        // The long diagonal, and a triangle beyond each side of the kite.
        let mut coordinates = KITE.to_vec();
        coordinates.extend([(-9.0, -9.0), (9.0, -9.0), (9.0, 9.0), (-9.0, 9.0)]);
        let around = [[0, 4, 1], [1, 5, 2], [2, 6, 3], [3, 7, 0]];
        let triangles = [&[[1, 3, 0], [1, 2, 3]][..], &around].concat();
        let (mesh, domain) = parts(&coordinates, &triangles, &[]).build(20.0).unwrap();
        assert_eq!(domain.segments.len(), 8);
        for (slot, triangle) in (0..).zip(&mesh.triangles) {
            for side in 0..3 {
                let [from, to] = triangle.ends(side);
                assert_ne!([from.min(to), from.max(to)], [1, 3]);
                let Some(beyond) = triangle.sides[side].beyond() else { continue };
                let other = mesh.triangles[beyond as usize];
                assert_eq!(other.sides[other.side([to, from]).unwrap()].beyond(), Some(slot));
            }
        }
    }

    /// Catches: a flip across a segment, and a segment that is marked on one side only.
    #[test]
    fn segments_stay_where_they_are() {
        let (mesh, domain) = parts(&KITE, &[[3, 1, 0], [1, 2, 3]], &[[3, 1]]).build(20.0).unwrap();
        assert_eq!(domain.segments, [[0, 1], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(mesh.triangles[0].corners, [3, 0, 1]);
        assert!(
            mesh.triangles
                .iter()
                .all(|triangle| triangle.sides.iter().all(|side| side.is_segment()))
        );
    }

    /// Blind to: flaws that only later make the mesh fall apart.
    #[test]
    fn flaws_are_found() {
        let flaw = |triangles: &[[u32; 3]], segments: &[[u32; 2]]| {
            parts(&KITE, triangles, segments).build(20.0).err().unwrap()
        };
        let flat = flaw(&[[0, 1, 2], [0, 1, 0]], &[]);
        assert!(matches!(flat, Flaw::Triangle(1, why) if why.contains("area")));
        let folded = flaw(&[[0, 1, 2], [1, 2, 3]], &[]);
        assert!(matches!(folded, Flaw::Triangle(1, why) if why.contains("same side")));
        assert!(matches!(flaw(&[[0, 1, 2], [0, 2, 3]], &[[0, 1], [1, 3]]), Flaw::Segment(1, _)));
    }
}
