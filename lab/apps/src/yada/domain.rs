//! The region and the required quality of the mesh: the constant part of a problem.
//!
//! At small angles between segments no mesh has large angles, and halving the segments at each
//! other's vertices would never end. Both is solved as Ruppert proposes and Miller, Pav and
//! Walkington, "When and Why Delaunay Refinement Algorithms Work" (2005), prove for bounds up to 26
//! degrees:
//!
//! - Next to such a corner segments are cut at powers of two of their length (*shells*), so that
//!   their vertices come to lie at the same distances.
//! - A triangle is [exempt](Domain::is_exempt) in two cases: its smallest angle is one between two
//!   segments, or its shortest side joins two segments that meet at such a corner, at the same
//!   distance from it.

use rustc_hash::FxHashMap;

use super::geometry::{
    between, distance, distance2, dot, encroaches, is_sharp, minus, shortest_side,
};
use super::triangle::{NONE, Point, Triangle, Vertex, next};

/// The cosine of the angle below which segments get shells: a little above 60 degrees.
const SMALL: f64 = 0.49;

/// Distances that differ by no more than that part are the same. Shells differ by a half.
const SAME: f64 = 1e-3;

/// No two vertices come nearer than that part of the domain's extent, unless the input's are.
const NEAREST: f64 = 1.0 / (1_u64 << 44) as f64;

/// Multiple of the rounding error below which distances do not count.
const APART: f64 = 4.0;

/// A mesh may have this many vertices, plus a multiple of the input's number.
const ROOM: (u32, u32) = (1 << 20, 64);

/// Vertices of any mesh: triangles are twice as many, and slots have 31 bits.
const MOST: u32 = 1 << 29;

/// The constraints of a mesh.
#[derive(Debug)]
pub(super) struct Domain {
    /// The input's vertices, which are the first of any mesh.
    pub(super) inputs: Vec<Point>,
    /// The input's segments, by the numbers of their ends.
    pub(super) segments: Vec<[u32; 2]>,
    /// The smallest angle, in degrees.
    pub(super) angle: f64,
    cosine2: f64,
    /// The same segments, found by their ends, the smaller first.
    whole: FxHashMap<[u32; 2], u32>,
    /// Whether two segments meet at a small angle, for each of the input's vertices.
    small: Vec<bool>,
    /// The square of the distance that vertices keep.
    nearest2: f64,
    /// Greatest number of vertices.
    pub(super) limit: u32,
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

impl Domain {
    pub(super) fn new(inputs: Vec<Point>, segments: Vec<[u32; 2]>, angle: f64) -> Self {
        let numbered = segments.iter().zip(0..);
        let whole = numbered.map(|(&ends, segment)| (ordered(ends), segment)).collect();
        let length = u32::try_from(inputs.len()).unwrap_or(MOST);
        let (fixed, each) = ROOM;
        Self {
            cosine2: angle.to_radians().cos().powi(2),
            small: small_corners(&inputs, &segments),
            nearest2: (extent(&inputs) * NEAREST).max(rounding(&inputs) * APART).powi(2),
            limit: length.saturating_mul(each).saturating_add(fixed).min(MOST),
            inputs,
            segments,
            angle,
            whole,
        }
    }

    /// Whether two places are too near to be two vertices.
    pub(super) fn are_too_near(&self, a: Point, b: Point) -> bool {
        distance2(a, b) <= self.nearest2
    }

    /// The input's segment that a side is a part of, by the side's ends.
    pub(super) fn segment(&self, numbers: [u32; 2], ends: [&Vertex; 2]) -> Option<u32> {
        let on = ends.map(|end| end.on).into_iter().find(|on| *on != NONE);
        on.or_else(|| self.whole.get(&ordered(numbers)).copied())
    }

    /// The point at which to cut a part of a segment.
    pub(super) fn cut(&self, numbers: [u32; 2], [a, b]: [Point; 2]) -> Point {
        match numbers.map(|number| self.is_small(number)) {
            [true, false] => between(a, b, shell(distance(a, b))),
            [false, true] => between(b, a, shell(distance(a, b))),
            _ => between(a, b, 0.5),
        }
    }

    fn is_small(&self, number: u32) -> bool {
        self.small.get(number as usize) == Some(&true)
    }

    /// The side of a triangle that is a segment upon which the corner opposite encroaches.
    pub(super) fn encroached(&self, triangle: &Triangle, corners: &[Vertex; 3]) -> Option<usize> {
        let at = |corner: usize| corners[corner].at;
        (0..3).find(|&side| {
            let ends = [at(side), at(next(side))];
            triangle.sides[side].is_segment() && encroaches(ends, at(next(next(side))))
        })
    }

    /// Whether a triangle has an angle that is too small, and is not exempt.
    pub(super) fn is_skinny(&self, triangle: &Triangle, corners: &[Vertex; 3]) -> bool {
        let points = corners.map(|corner| corner.at);
        let shortest = shortest_side(points);
        is_sharp(points, shortest, self.cosine2) && !self.is_exempt(triangle, corners, shortest)
    }

    /// Whether a triangle's smallest angle, opposite of its shortest side, may be as small as it
    /// likes.
    pub(super) fn is_exempt(
        &self,
        triangle: &Triangle,
        corners: &[Vertex; 3],
        shortest: usize,
    ) -> bool {
        let arms = [next(shortest), next(next(shortest))];
        let between_segments = arms.iter().all(|&side| triangle.sides[side].is_segment());
        between_segments || self.is_on_a_shell(&corners[shortest], &corners[next(shortest)])
    }

    /// Whether two vertices were put on two segments at the same distance from a small corner of
    /// both.
    fn is_on_a_shell(&self, a: &Vertex, b: &Vertex) -> bool {
        if a.on == NONE || b.on == NONE || a.on == b.on {
            return false;
        }
        let [one, other] = [a.on, b.on].map(|on| self.segments[on as usize]);
        let Some(&corner) = one.iter().find(|end| other.contains(end)) else { return false };
        let apex = self.inputs[corner as usize];
        let [near, far] = [a.at, b.at].map(|at| distance(at, apex));
        self.is_small(corner) && (near - far).abs() <= SAME * near
    }
}

/// The part of a length that is a power of two and nearest to a half.
fn shell(length: f64) -> f64 {
    let power = (length / 2.0).log2().round().exp2();
    power / length
}

/// The longer side of the box around points.
pub(super) fn extent(points: &[Point]) -> f64 {
    let longer = |of: fn(&Point) -> f64| {
        let values = points.iter().map(of);
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        high - low
    };
    longer(|point| point.x).max(longer(|point| point.y))
}

/// Distance by which rounding may move a point among these off its line, when segments are halved
/// repeatedly.
pub(super) fn rounding(points: &[Point]) -> f64 {
    let sizes = points.iter().map(|point| point.x.abs().max(point.y.abs()));
    8.0 * f64::EPSILON * sizes.fold(0.0, f64::max)
}

/// The vertices at which two segments meet at a small angle.
fn small_corners(points: &[Point], segments: &[[u32; 2]]) -> Vec<bool> {
    let mut ways: FxHashMap<u32, Vec<Point>> = FxHashMap::default();
    for &[a, b] in segments {
        let way = minus(points[b as usize], points[a as usize]);
        ways.entry(a).or_default().push(way);
        ways.entry(b).or_default().push(Point { x: -way.x, y: -way.y });
    }
    let is_small = |a: &Point, b: &Point| dot(*a, *b) > SMALL * (dot(*a, *a) * dot(*b, *b)).sqrt();
    let mut small = vec![false; points.len()];
    for (corner, ways) in ways {
        let mut pairs =
            ways.iter().enumerate().flat_map(|(at, a)| ways[..at].iter().map(move |b| (a, b)));
        small[corner as usize] = pairs.any(|(a, b)| is_small(a, b));
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(coordinates: &[(f64, f64)]) -> Vec<Point> {
        coordinates.iter().map(|&(x, y)| Point { x, y }).collect()
    }

    /// A wedge of 45 degrees.
    fn wedge() -> Domain {
        let inputs = points(&[(0.0, 0.0), (3.0, 0.0), (3.0, 3.0)]);
        Domain::new(inputs, vec![[0, 1], [1, 2], [2, 0]], 20.0)
    }

    /// Catches: a right angle that is taken for a small one, and shells at the wrong end.
    #[test]
    fn segments_are_cut_in_shells_around_small_corners_only() {
        let domain = wedge();
        assert_eq!(domain.small, [true, false, true]);
        let cut = |a: u32, b: u32| {
            let ends = [a, b].map(|number| domain.inputs[number as usize]);
            let cut = domain.cut([a, b], ends);
            (cut.x, cut.y)
        };
        assert_eq!(cut(0, 1), (2.0, 0.0));
        assert_eq!(cut(1, 0), (2.0, 0.0));
        assert_eq!(cut(1, 2), (3.0, 1.0));
        assert_eq!(cut(0, 2), (1.5, 1.5));
    }

    /// Blind to: shells of which one is much shorter than the other part.
    #[test]
    fn a_shell_is_a_power_of_two_near_the_middle() {
        for length in (1..200).map(|step| 0.013 * f64::from(step)) {
            let part = shell(length);
            assert!((0.35..0.71).contains(&part), "{length}: {part}");
            let power = (part * length).log2();
            assert!((power - power.round()).abs() < 1e-9, "{length}: {part}");
        }
    }

    /// Catches: an exemption for vertices on one segment, or at different distances.
    #[test]
    fn vertices_at_the_same_distance_of_a_small_corner_are_on_a_shell() {
        let domain = wedge();
        let vertex = |x, y, on| Vertex { at: Point { x, y }, on };
        let one = vertex(1.0, 0.0, 0);
        let diagonal = 0.5_f64.sqrt();
        assert!(domain.is_on_a_shell(&one, &vertex(diagonal, diagonal, 2)));
        assert!(!domain.is_on_a_shell(&one, &vertex(diagonal / 2.0, diagonal / 2.0, 2)));
        assert!(!domain.is_on_a_shell(&one, &vertex(2.0, 0.0, 0)));
        assert!(!domain.is_on_a_shell(&one, &vertex(diagonal, diagonal, NONE)));
        // A right angle.
        assert!(!domain.is_on_a_shell(&vertex(2.0, 0.0, 0), &vertex(3.0, 1.0, 1)));
    }

    /// Catches: a part that is found by one end only.
    #[test]
    fn parts_of_segments_know_the_whole() {
        let domain = wedge();
        let input = |number: u32| Vertex { at: domain.inputs[number as usize], on: NONE };
        let middle = Vertex { at: Point { x: 1.5, y: 1.5 }, on: 2 };
        assert_eq!(domain.segment([1, 0], [&input(1), &input(0)]), Some(0));
        assert_eq!(domain.segment([0, 9], [&input(0), &middle]), Some(2));
        assert_eq!(domain.segment([9, 0], [&middle, &input(0)]), Some(2));
        assert_eq!(domain.segment([0, 0], [&input(0), &input(0)]), None);
    }
}
