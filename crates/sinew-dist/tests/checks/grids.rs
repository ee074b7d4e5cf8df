//! Grids that are cut along several dimensions against the serial stencil.

use sinew::{Edge, Neighbourhood};
use sinew_dist::{Star, World};

const EDGES: [Edge<i64>; 4] = [Edge::Periodic, Edge::Nearest, Edge::Constant(5), Edge::Keep];

/// Weights that tell neighbours apart.
const WEIGHTS: [[[i64; 3]; 3]; 3] = [
    [[3, -5, 7], [11, 2, -13], [-17, 19, 4]],
    [[6, 23, -8], [-29, 1, 31], [9, -37, 10]],
    [[41, 12, -43], [14, -47, 15], [53, 16, -59]],
];

fn start(point: &[usize]) -> i64 {
    point.iter().fold(7, |number, at| number * 31 + *at as i64) % 1_009
}

fn all(t: Neighbourhood<'_, i64, 3, 1>) -> i64 {
    let [i, j, k] = t.point().map(|at| at as i64);
    let mut sum = i * 5 + j * 3 + k;
    for (a, layer) in (-1..).zip(&WEIGHTS) {
        for (b, row) in (-1..).zip(layer) {
            for (c, weight) in (-1..).zip(row) {
                sum += weight * t[[a, b, c]];
            }
        }
    }
    sum % 100_003
}

fn straight(t: impl Fn([isize; 3]) -> i64) -> i64 {
    let sum = t([-1, 0, 0]) * 3 - t([1, 0, 0]) * 5 + t([0, -1, 0]) * 7 - t([0, 1, 0]) * 11;
    (sum + t([0, 0, -1]) * 13 - t([0, 0, 1]) * 17 + t([0, 0, 0])) % 100_003
}

/// Catches: corners that come late or from elsewhere, edges of one dimension that win over those
/// of another, and positions that count from a rank's part.
pub(super) fn cubes(world: &World) {
    for (number, shape) in [[9, 8, 7], [3, 30, 5], [1, 6, 40], [2, 2, 2]].into_iter().enumerate() {
        for turn in 0..4 {
            let mut edges = [0, 1, 2].map(|side| EDGES[(turn + side * (number + 1)) % 4]);
            if edges[2] == Edge::Constant(5) {
                edges[2] = Edge::Constant(-8);
            }
            let first: Vec<i64> = (0..shape.iter().product())
                .map(|at: usize| {
                    start(&[at / shape[2] / shape[1], at / shape[2] % shape[1], at % shape[2]])
                })
                .collect();
            let mut grid = world.grid(shape).init(|point| start(&point));
            grid.edges(edges);
            grid.sweeps(3, all);
            let mut serial = first.clone();
            sinew::stencil(&mut serial, shape).edges(edges).sweeps(3).run(all);
            assert_eq!(grid.gather(), serial, "{shape:?}, {edges:?}");

            grid.star_sweeps(2, |t: Star<'_, i64, 3, 1>| straight(|steps| t[steps]));
            let plan = sinew::stencil(&mut serial, shape).edges(edges).sweeps(2);
            plan.run(|t| straight(|steps| t[steps]));
            assert_eq!(grid.gather(), serial, "a star of {shape:?}, {edges:?}");
        }
    }
}
