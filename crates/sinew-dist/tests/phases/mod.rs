//! A program whose job grows and shrinks. Its array and its grid go with it. `tests/growth.rs` runs
//! it on threads, `tests/mpi.rs` over MPI.

use sinew::{Edge, Neighbourhood};
use sinew_dist::{Dist, Grid, Shrunk, World};

const LENGTH: usize = 5_000;
const SHAPE: [usize; 2] = [13, 9];

struct Data<'w> {
    /// Element `i` is `i` more than the number of the phase.
    array: Dist<'w, u64>,
    /// One sweep a phase.
    grid: Grid<'w, i64, 2>,
}

fn start([row, column]: [usize; 2]) -> i64 {
    (row * 31 + column * 17) as i64 % 11
}

fn sweep(t: Neighbourhood<'_, i64, 2, 1>) -> i64 {
    (t[[-1, 0]] * 2 + t[[1, 1]] - t[[0, -1]] * 3 + t[[0, 1]]) % 1_000
}

const EDGES: [Edge<i64>; 2] = [Edge::Constant(5), Edge::Periodic];

/// The grid after so many sweeps, computed serially.
fn serial(sweeps: usize) -> Vec<i64> {
    let mut grid: Vec<i64> =
        (0..SHAPE[0] * SHAPE[1]).map(|at| start([at / SHAPE[1], at % SHAPE[1]])).collect();
    sinew::stencil(&mut grid, SHAPE).edges(EDGES).sweeps(sweeps).run(sweep);
    grid
}

impl<'w> Data<'w> {
    fn new(world: &'w World) -> Self {
        let mut grid = world.grid(SHAPE).init(start);
        grid.edges(EDGES);
        Self { array: world.block(LENGTH).init(|i| i as u64), grid }
    }

    fn spread(world: &'w World, data: Option<Self>, ranks: u32) -> Self {
        let (array, grid) = data.map(|data| (data.array, data.grid)).unzip();
        let array = Dist::spread(world, array, ranks);
        Self { array, grid: Grid::spread(world, grid, ranks) }
    }

    /// The work of the phase after `phases` others.
    fn work(&mut self, world: &World, phases: usize) {
        self.array = self.array.map(|x| x + 1);
        self.grid.sweeps(1, sweep);
        let (first, length) = (1 + phases as u64, LENGTH as u64);
        let sum = (first..first + length).sum::<u64>();
        assert_eq!(self.array.reduce(0, |a, b| a + b), sum);
        assert!(self.array.gather().into_iter().eq(first..first + length));
        assert_eq!(self.grid.gather(), serial(phases + 1));
        let own: usize = world.all_reduce(self.grid.own().len(), |a, b| a + b);
        assert_eq!(own, SHAPE[0] * SHAPE[1]);
    }
}

/// Runs a phase, and one more after each change of the number of ranks. `check` is a part of each
/// phase. Returns the number of phases in which this rank took part.
pub(crate) fn run(world: &World, steps: &[i32], check: impl Fn(&World)) -> usize {
    let mut data = (!world.joined()).then(|| Data::new(world));
    let (mut phase, mut took_part) = (0, 0);
    loop {
        // Ranks that have joined or come back do not know the phase.
        phase = world.broadcast(&phase);
        let mut now = Data::spread(world, data, world.size());
        now.work(world, phase);
        check(world);
        took_part += 1;
        let Some(step) = steps.get(phase) else { return took_part };
        phase += 1;
        let count = step.unsigned_abs();
        if *step > 0 {
            data = Some(now);
            world.grow(count).unwrap_or_else(|error| panic!("{error}"));
            continue;
        }
        now = Data::spread(world, Some(now), world.size() - count);
        data = match world.shrink(count) {
            Shrunk::Stayed => Some(now),
            Shrunk::Returned => None,
            Shrunk::Over => return took_part,
        };
    }
}

/// Fails if a message was sent and not received. All ranks that there have been take part.
#[allow(dead_code, reason = "not every program knows when all take part")]
pub(crate) fn no_message_is_lost(world: &World) {
    world.barrier();
    let traffic = world.traffic();
    let (sent, received) = world
        .all_reduce((traffic.sent, traffic.received), |a: (u64, u64), b| (a.0 + b.0, a.1 + b.1));
    assert_eq!(sent, received);
}
