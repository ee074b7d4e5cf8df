//! Stencils beside the same by hand, by dimension and by what lies beyond the edges: on one thread,
//! and on all of them.
//!
//! The mean of the neighbours along each dimension, of a million elements, twenty sweeps a run.
//! Every run of ours and by hand goes on from where the one before has ended, and both are compared
//! bit by bit before they are timed.
//!
//! | file | contents |
//! |---|---|
//! | `by_hand` | what one would write without the skeleton |

mod by_hand;

use super::line::Line;
use super::pairs;
use crate::problem::Scale;
use crate::runtimes::sinew::Pool;
use by_hand::ByHand;
use sinew::{Edge, Neighbourhood, stencil};

const EDGES: [(Edge<f64>, &str); 4] = [
    (Edge::Keep, "kept"),
    (Edge::Nearest, "nearest"),
    (Edge::Periodic, "periodic"),
    (Edge::Constant(1.5), "constant"),
];

const BAR: (f64, &str) = (1.05, "at most 1.05 of a loop by hand");

/// Measures every dimension with every kind of edge.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = Pool::builder().build().map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (edge, name) in EDGES {
        let case = |dimensions| Case {
            pool: &pool,
            scale,
            edge,
            name: format!("{dimensions}, {name} edges"),
        };
        let line = |c: Neighbourhood<'_, f64, 1, 1>| (c[[-1]] + c[[1]]) * (1.0 / 2.0);
        lines.extend(case("1-D").run::<1, 0>([scale.pick(1_000_000, 1_000)], line)?);
        let plane = |c: Neighbourhood<'_, f64, 2, 1>| {
            (c[[0, -1]] + c[[0, 1]] + c[[-1, 0]] + c[[1, 0]]) * (1.0 / 4.0)
        };
        lines.extend(case("2-D").run::<2, 2>([scale.pick(1_000, 30); 2], plane)?);
        let space = |c: Neighbourhood<'_, f64, 3, 1>| {
            let layer = c[[0, 0, -1]] + c[[0, 0, 1]] + c[[0, -1, 0]] + c[[0, 1, 0]];
            (layer + c[[-1, 0, 0]] + c[[1, 0, 0]]) * (1.0 / 6.0)
        };
        lines.extend(case("3-D").run::<3, 4>([scale.pick(100, 10); 3], space)?);
    }
    Ok(lines)
}

/// One dimension and one kind of edge.
struct Case<'p> {
    pool: &'p Pool,
    scale: Scale,
    edge: Edge<f64>,
    name: String,
}

impl Case<'_> {
    /// `BESIDE` rows lie beside each, which is two for every dimension but the last.
    fn run<const N: usize, const BESIDE: usize>(
        &self,
        shape: [usize; N],
        f: impl Fn(Neighbourhood<'_, f64, N, 1>) -> f64 + Sync,
    ) -> Result<Vec<Line>, String> {
        let Self { pool, scale, edge, ref name } = *self;
        let start = start(shape.iter().product());
        let (sweeps, rounds) = (scale.pick(20, 2), scale.pick(41, 2));
        let ours = |grid: &mut [f64], threads: usize| {
            let made = stencil(grid, shape).edge(edge).sweeps(sweeps).threads(threads);
            pool.run(|_| made.run(&f));
        };
        let mut lines = Vec::new();
        for threads in [1, pool.max_threads()] {
            let (mut grid, mut by_hand) =
                (start.clone(), ByHand::<BESIDE>::new(start.clone(), &shape, edge));
            let hands = |by_hand: &mut ByHand<BESIDE>| match threads {
                1 => by_hand.run(sweeps),
                _ => by_hand.run_on(pool, sweeps),
            };
            ours(&mut grid, threads);
            hands(&mut by_hand);
            same(&grid, by_hand.grid(), name)?;
            let (ours, hands) = (|| ours(&mut grid, threads), || hands(&mut by_hand));
            lines.extend(pairs::compare(
                format!("{name}, threads: {threads}"),
                rounds,
                hands,
                ours,
                BAR,
            ));
        }
        Ok(lines)
    }
}

/// Numbers of about the same size, so that none becomes so small that it takes longer.
fn start(elements: usize) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..elements).map(|_| 1.0 + random.f64()).collect()
}

fn same(ours: &[f64], by_hand: &[f64], name: &str) -> Result<(), String> {
    match ours.iter().zip(by_hand).position(|(ours, hand)| ours != hand) {
        None if ours.len() == by_hand.len() => Ok(()),
        place => Err(format!("{name}: element {place:?} is another one by hand")),
    }
}
