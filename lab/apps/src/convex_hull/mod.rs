//! The convex hull of random points in a disc, by quickhull.
//!
//! The outermost points in four directions span a quadrangle; points within it are dropped, and the
//! others belong to the edge that they lie beyond. So it goes on: of the points beyond an edge the
//! farthest becomes a corner, which makes two edges of one. Three of four points are forgotten in
//! each round, so the first rounds are nearly all of the work: loops over pieces of the points.
//! Below them the two edges are tasks.
//!
//! Exact predicates decide the sides, so no point outside is ever dropped. The distance of a point
//! is rounded. If a point is chosen that is not a corner, the scan at the end drops it. The result
//! is therefore *the* hull, the same one in any order of search. Source: Barber, Dobkin and
//! Huhdanpaa, "The Quickhull Algorithm for Convex Hulls". Differences: the first quadrangle, which
//! is Akl and Toussaint's, and the final scan, which is Andrew's.

mod polygon;
mod quickhull;

use robust::Coord;
use sinew::{Schedule, Worker};

use crate::app::App;
use crate::loops::LoopSchedule;
use crate::memory::room;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use polygon::Polygon;

type Point = Coord<f64>;

const SIZES: &str = "1 to 100000000000 points";

const NUMBERS: Numbers = Numbers {
    app: "convex-hull",
    sizes: SIZES,
    tiny: 5_000,
    small: 500_000,
    full: 40_000_000,
    range: 1..=100_000_000_000,
};

pub(crate) const APP: App = App {
    name: "convex-hull",
    about: "the hull of random points in a disc: loops that leave less each time, then nested \
        joins",
    sizes: SIZES,
    demo: "5_000_000",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let length = NUMBERS.pick(&options.size)?;
    // The input, and at most as much again for what lies outside the quadrangle.
    room(APP.name, length.saturating_mul(2 * size_of::<Point>() as u64))?;
    let schedule = options.schedule_or(Schedule::Stealing);
    Ok(problem(ConvexHull { points: disc(length as usize), schedule }))
}

/// Random points in the unit disc, the same ones each time.
fn disc(length: usize) -> Vec<Point> {
    let mut rng = fastrand::Rng::with_seed(42);
    let mut coordinate = move || 2.0 * rng.f64() - 1.0;
    let square = std::iter::repeat_with(move || Point { x: coordinate(), y: coordinate() });
    let mut points = Vec::with_capacity(length);
    points.extend(square.filter(|point| point.x * point.x + point.y * point.y <= 1.0).take(length));
    points
}

struct ConvexHull {
    points: Vec<Point>,
    schedule: LoopSchedule,
}

impl Solve for ConvexHull {
    type Input = ();
    type Answer = Polygon;

    fn size(&self) -> String {
        format!("{} points", self.points.len())
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Polygon {
        Polygon::around(quickhull::serial(&self.points))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Polygon {
        Polygon::around(quickhull::parallel(worker, &self.points, self.schedule))
    }

    fn check(&self, hull: &Polygon) -> Result<(), Wrong> {
        hull.check_shape()?;
        hull.check_hull_of(&self.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(coordinates: &[(f64, f64)]) -> Vec<Point> {
        coordinates.iter().map(|&(x, y)| Point { x, y }).collect()
    }

    fn prepared(points: Vec<Point>) -> ConvexHull {
        ConvexHull { points, schedule: Schedule::Dynamic { chunk: 1 }.into() }
    }

    fn hull(input: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let problem = prepared(points(input));
        let hull = problem.serial(());
        problem.check(&hull).unwrap();
        hull.vertices().iter().map(|point| (point.x, point.y)).collect()
    }

    /// Blind to: a wrong hull of points in general position; the checks of random ones see that.
    #[test]
    fn awkward_inputs_have_the_right_hull() {
        assert_eq!(hull(&[(1.0, 2.0)]), [(1.0, 2.0)]);
        assert_eq!(hull(&[(1.0, 2.0); 7]), [(1.0, 2.0)]);
        assert_eq!(
            hull(&[(2.0, 2.0), (0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]),
            [(0.0, 0.0), (2.0, 2.0)]
        );
        assert_eq!(hull(&[(3.0, 1.0), (3.0, 5.0), (3.0, 2.0)]), [(3.0, 1.0), (3.0, 5.0)]);
        assert_eq!(
            hull(&[(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)]),
            [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
        );
    }

    /// Blind to: points that leave an edge by less than rounding; the next test sees those.
    #[test]
    fn points_on_an_edge_are_no_corners() {
        let grid: Vec<(f64, f64)> =
            (0..49).map(|at| (f64::from(at % 7), f64::from(at / 7))).collect();
        assert_eq!(hull(&grid), [(0.0, 0.0), (6.0, 0.0), (6.0, 6.0), (0.0, 6.0)]);
    }

    /// Hardly any of these points are in general position, and many are duplicates. Blind to: what
    /// the exact checks, which are the oracle here, do not look at.
    #[test]
    fn hulls_of_small_grids_are_right() {
        let mut rng = fastrand::Rng::with_seed(1);
        for length in (1..200).map(|round| 1 + round % 20) {
            let mut coordinate = || f64::from(rng.u8(..5));
            let problem =
                prepared((0..length).map(|_| Point { x: coordinate(), y: coordinate() }).collect());
            problem
                .check(&problem.serial(()))
                .unwrap_or_else(|wrong| panic!("{:?}: {wrong}", problem.points));
        }
    }

    /// Nearly collinear points, whose sides a determinant in plain floating-point arithmetic gets
    /// wrong. Catches: predicates that are wrong only where the checker, which asks the same
    /// crate, is wrong as well.
    #[test]
    fn points_that_hardly_leave_a_line_are_judged_exactly() {
        let near = |at: usize| 0.5 + (at * 7919 % 64) as f64 * f64::EPSILON;
        let mut input: Vec<Point> =
            (0..4096).map(|at| Point { x: near(at), y: near(at / 64) }).collect();
        input.extend(points(&[(12.0, 12.0), (24.0, 24.0)]));
        let problem = prepared(input);
        problem.check(&problem.serial(())).unwrap();
    }

    /// Blind to: rounds with more points than these have.
    #[test]
    fn loops_and_joins_find_the_serial_hull() {
        let problem = prepared(disc(200_000));
        let pool = sinew::Pool::builder().threads(3).build().unwrap();
        assert!(pool.run(|worker| problem.parallel(worker, ())) == problem.serial(()));
    }

    /// Blind to: a corner moved so far that it hides a neighbour; that is no longer convex, or
    /// leaves points outside.
    #[test]
    fn a_missing_foreign_or_misplaced_corner_is_noticed() {
        let problem = prepared(disc(1000));
        let right = problem.serial(());
        problem.check(&right).unwrap();
        let wrong = |tamper: fn(&mut Vec<Point>)| {
            let mut vertices = right.vertices().to_vec();
            tamper(&mut vertices);
            problem.check(&Polygon::of(vertices)).unwrap_err().to_string()
        };
        assert!(wrong(|v| _ = v.remove(3)).contains("outside"));
        assert!(
            wrong(|v| (v[3].x, v[3].y) = (1.000_001 * v[3].x, 1.000_001 * v[3].y))
                .contains("no point")
        );
        assert!(wrong(|v| v.swap(3, 4)).contains("convex"));
        assert!(wrong(|v| v.reverse()).contains("convex"));
        assert!(wrong(|v| v.extend_from_within(..)).contains("convex"));
        assert!(wrong(Vec::clear).contains("empty"));
    }
}
