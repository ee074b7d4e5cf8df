//! Points and triangles in the plane: what is decided exactly, and what is computed.
//!
//! On which side of a line and whether inside a circle is decided exactly (by Shewchuk's adaptive
//! predicates), for the shape of the mesh depends on it. The position of a new vertex and the size
//! of an angle are rounded: a vertex may be anywhere near.

use robust::{incircle, orient2d};

use super::triangle::{Point, next};

/// Coordinates may be as large as this, so that the predicates do not overflow.
pub(super) const LARGEST: f64 = 1e60;

/// Whether `p` is strictly to the left of the way from `a` to `b`. Exact.
pub(super) fn is_left(a: Point, b: Point, p: Point) -> bool {
    orient2d(a, b, p) > 0.0
}

/// Whether `p` is strictly inside the circle through the corners of a counter-clockwise triangle.
/// Exact.
pub(super) fn is_in_circle([a, b, c]: [Point; 3], p: Point) -> bool {
    incircle(a, b, c, p) > 0.0
}

pub(super) fn minus(a: Point, b: Point) -> Point {
    Point { x: a.x - b.x, y: a.y - b.y }
}

pub(super) fn dot(a: Point, b: Point) -> f64 {
    a.x * b.x + a.y * b.y
}

/// The square of the distance.
pub(super) fn distance2(a: Point, b: Point) -> f64 {
    let way = minus(a, b);
    dot(way, way)
}

pub(super) fn distance(a: Point, b: Point) -> f64 {
    distance2(a, b).sqrt()
}

/// The point that divides the way from `a` to `b`; halves are as exact as can be.
pub(super) fn between(a: Point, b: Point, part: f64) -> Point {
    Point { x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * part }
}

/// Whether `p` encroaches upon the segment from `a` to `b`: lies in the circle that has it as a
/// diameter.
pub(super) fn encroaches([a, b]: [Point; 2], p: Point) -> bool {
    dot(minus(a, p), minus(b, p)) < 0.0
}

/// The centre of the circle through three corners, unless they are too near a line.
pub(super) fn circumcentre([a, b, c]: [Point; 3]) -> Option<Point> {
    let (ab, ac) = (minus(b, a), minus(c, a));
    // Exactly, for the difference of the products is all that matters in a needle.
    let twice = 2.0 * orient2d(a, b, c);
    let (ab2, ac2) = (dot(ab, ab), dot(ac, ac));
    let x = (ac.y * ab2 - ab.y * ac2) / twice;
    let y = (ab.x * ac2 - ac.x * ab2) / twice;
    (x.is_finite() && y.is_finite()).then_some(Point { x: a.x + x, y: a.y + y })
}

/// Twice the area of a counter-clockwise triangle.
pub(super) fn twice_area([a, b, c]: [Point; 3]) -> f64 {
    orient2d(a, b, c)
}

/// The shortest side, opposite of which is the smallest angle.
pub(super) fn shortest_side(corners: [Point; 3]) -> usize {
    let length = |side: usize| distance2(corners[side], corners[next(side)]);
    let shorter = usize::from(length(1) < length(0));
    if length(2) < length(shorter) { 2 } else { shorter }
}

/// The ways from the corner opposite of a side to its ends.
fn arms(corners: [Point; 3], side: usize) -> [Point; 2] {
    let tip = corners[next(next(side))];
    [minus(corners[side], tip), minus(corners[next(side)], tip)]
}

/// Whether the angle opposite of a side is smaller than one whose cosine has this square.
pub(super) fn is_sharp(corners: [Point; 3], side: usize, cosine2: f64) -> bool {
    let [a, b] = arms(corners, side);
    let along = dot(a, b);
    along > 0.0 && along * along > cosine2 * dot(a, a) * dot(b, b)
}

/// The angle opposite of a side, in degrees.
pub(super) fn angle(corners: [Point; 3], side: usize) -> f64 {
    let [a, b] = arms(corners, side);
    (a.x * b.y - a.y * b.x).abs().atan2(dot(a, b)).to_degrees()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    const CORNERS: [Point; 3] =
        [Point { x: 0.0, y: 0.0 }, Point { x: 4.0, y: 0.0 }, Point { x: 0.0, y: 3.0 }];

    /// Catches: sides and corners that are mixed up.
    #[test]
    fn a_triangle_of_3_4_5_is_measured() {
        assert_eq!(circumcentre(CORNERS), Some(point(2.0, 1.5)));
        assert_eq!(shortest_side(CORNERS), 2);
        let right = [CORNERS[1], CORNERS[2], CORNERS[0]];
        assert_eq!(
            (shortest_side(right), shortest_side([CORNERS[2], CORNERS[0], CORNERS[1]])),
            (1, 0)
        );
        assert!((angle(CORNERS, 2) - 36.869_897_645_844).abs() < 1e-9);
        assert!((angle(CORNERS, 1) - 90.0).abs() < 1e-9);
        assert_eq!(twice_area(CORNERS), 12.0);
        let cosine2 = |degrees: f64| degrees.to_radians().cos().powi(2);
        assert!(is_sharp(CORNERS, 2, cosine2(36.9)) && !is_sharp(CORNERS, 2, cosine2(36.8)));
        assert!(!is_sharp(CORNERS, 1, cosine2(80.0)));
    }

    /// Catches: a circle of another size, or a test that is not strict.
    #[test]
    fn a_point_on_the_circle_does_not_encroach() {
        let ends = [point(-1.0, 0.0), point(1.0, 0.0)];
        assert!(!encroaches(ends, point(0.0, 1.0)) && encroaches(ends, point(0.0, 0.999)));
        assert!(!encroaches(ends, point(1.5, 0.0)));
    }

    /// Catches: a division by nothing.
    #[test]
    fn three_points_on_a_line_have_no_circle() {
        assert_eq!(circumcentre([point(0.0, 0.0), point(1.0, 1.0), point(2.0, 2.0)]), None);
    }
}
