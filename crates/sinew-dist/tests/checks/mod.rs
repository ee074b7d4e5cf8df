//! Checks of every skeleton against a serial program, for any number of ranks. `tests/ranks.rs`
//! runs them on threads, the example `check` over MPI.

mod arrays;
mod graph;
mod grids;
mod worklist;

use sinew::Edge;
use sinew_dist::World;
use sinew_dist::bag::Out;

/// A name, and what fails on ranks that disagree.
type Check = (&'static str, fn(&World));

/// All checks.
pub(crate) const CHECKS: [Check; 17] = [
    ("values of all ranks", collectives),
    ("a bag", bag),
    ("a sum with the same bits", same_bits),
    ("a scan", scan),
    ("moved elements", redistribute),
    ("a plate with every edge", plate),
    ("a line and a cube", line_and_cube),
    ("cubes in boxes, with and without corners", grids::cubes),
    ("words that move", arrays::words),
    ("parts that follow the speeds of ranks", arrays::slow_ranks),
    ("parts that follow the costs of elements", arrays::uneven_elements),
    ("parts by measured times", arrays::measured_speeds),
    ("a message of a megabyte each way", large),
    ("shortest paths", worklist::shortest_paths),
    ("units of one home", worklist::one_home),
    ("units that wait for other ranks", worklist::waiting),
    ("transactions that conflict", worklist::conflicts),
];

fn collectives(world: &World) {
    let size = world.size();
    let names = world.all_gather(&format!("rank {}", world.rank()));
    assert!(names.iter().cloned().eq((0..size).map(|rank| format!("rank {rank}"))));
    assert_eq!(world.broadcast(&(world.rank() + 7)), 7);
    assert_eq!(world.all_reduce(1 << world.rank(), |a: u64, b| a | b), (1 << size) - 1);
    for _ in 0..5 {
        world.barrier();
    }
}

fn bag(world: &World) {
    let roots = (world.rank() == 0).then_some(16_u64);
    let (sum, counts) = world.bag(roots).run_counted(
        |height, out: &mut Out<'_, u64>, sum: &mut u64| {
            *sum += height;
            out.extend(0..height);
        },
        |a, b| a + b,
    );
    assert_eq!(sum, (1 << 16) - 1);
    let [sent, received] =
        [0, 1].map(|which| counts.iter().map(|one| [one.sent, one.received][which]).sum::<u64>());
    assert_eq!(sent, received);
    assert_eq!(counts.iter().map(|one| one.run).sum::<u64>(), 1 << 16);
}

/// Numbers whose sum depends on the order.
fn rough(i: usize) -> f64 {
    let (odd, power) = ((i * 2_654_435_761) % 1_000_003, i % 61);
    odd as f64 * 2_f64.powi(power as i32 - 30) * if i.is_multiple_of(3) { -1.0 } else { 1.0 }
}

fn same_bits(world: &World) {
    for length in [0, 1, 5, 4_096, 10_000] {
        let numbers = world.block(length).init(rough);
        assert_eq!(numbers.len(), length);
        let sum = numbers.reduce(0.0, |a, b| a + b);
        // A world of one on each rank has the bits that all numbers of ranks must have.
        let alone = alone(move |world| world.block(length).init(rough).reduce(0.0, |a, b| a + b));
        assert_eq!(sum.to_bits(), alone.to_bits(), "{length} numbers");
    }
}

fn alone<R: Send>(program: impl Fn(&World) -> R + Sync) -> R {
    sinew_dist::threads::Ranks::new(1).run(program).unwrap().remove(0)
}

fn scan(world: &World) {
    for length in [0, 1, 3, 9_000] {
        let numbers = world.block(length).init(|i| i as u64 % 10);
        let mut sum = 0;
        let expected: Vec<u64> = (0..length as u64)
            .map(|i| {
                sum += i % 10;
                sum
            })
            .collect();
        assert_eq!(numbers.scan(|a, b| a + b).gather(), expected);
        let rough_scan =
            |world: &World| world.block(length).init(rough).scan(|a, b| a + b).gather();
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(rough_scan(world)), bits(alone(rough_scan)));
    }
}

fn redistribute(world: &World) {
    let size = world.size();
    for length in [0, 2, 20, 10_000] {
        let numbers = world.block(length).init(|i| i as u32);
        let sum = numbers.reduce(0, |a, b| a + b);
        let weights: Vec<f64> = (0..size).map(|rank| f64::from(rank % 3)).collect();
        let weights = if size == 1 { vec![1.0] } else { weights };
        let moved = numbers.redistribute(&weights);
        if weights[world.rank() as usize] == 0.0 {
            assert!(moved.own().is_empty());
        }
        assert!(moved.gather().into_iter().eq(0..length as u32));
        assert_eq!(moved.reduce(0, |a, b| a + b), sum);
        let back = moved.map(|x| u64::from(*x)).redistribute(&vec![1.0; size as usize]);
        assert_eq!(back.gather().len(), length);
    }
}

fn plate(world: &World) {
    let edges = [Edge::Periodic, Edge::Nearest, Edge::Constant(5), Edge::Keep];
    for rows in [1, 2, 3, 8, 23] {
        for first in edges {
            for second in edges {
                let shape = [rows, 7];
                let start = |[row, column]: [usize; 2]| (row * 31 + column * 17) as i64 % 11;
                let mut grid = world.grid(shape).init(start);
                grid.edges([first, second]);
                grid.sweeps(4, |t: sinew::Neighbourhood<'_, i64, 2, 1>| {
                    t[[-1, 0]] * 2 + t[[1, 0]] - t[[0, -1]] * 3 + t[[0, 1]] + t[[-1, -1]] % 1_000
                });
                let mut serial: Vec<i64> =
                    (0..rows * 7).map(|at| start([at / 7, at % 7])).collect();
                sinew::stencil(&mut serial, shape).edges([first, second]).sweeps(4).run(|t| {
                    t[[-1, 0]] * 2 + t[[1, 0]] - t[[0, -1]] * 3 + t[[0, 1]] + t[[-1, -1]] % 1_000
                });
                assert_eq!(grid.gather(), serial, "{rows} rows, {first:?}, {second:?}");
            }
        }
    }
}

fn line_and_cube(world: &World) {
    let mut line = world.grid([40]).init(|[i]| i as u32 * 7 % 40);
    line.edges([Edge::Periodic]);
    line.sweeps::<3, _>(5, |x| x[[-3]].max(x[[2]]).wrapping_add(1));
    let mut serial: Vec<u32> = (0..40).map(|i| i * 7 % 40).collect();
    let plan = sinew::stencil(&mut serial, [40]).edge(Edge::Periodic).radius::<3>().sweeps(5);
    plan.run(|x| x[[-3]].max(x[[2]]).wrapping_add(1));
    assert_eq!(line.gather(), serial);

    let shape = [9, 4, 5];
    let mut cube = world.grid(shape).init(|[i, j, k]| (i * 20 + j * 5 + k) as f32);
    cube.sweeps::<1, _>(3, |x| 0.5 * (x[[-1, 0, 1]] + x[[1, -1, 0]]));
    let mut serial: Vec<f32> = (0..180).map(|at| at as f32).collect();
    let plan = sinew::stencil(&mut serial, shape).sweeps(3);
    plan.run(|x| 0.5 * (x[[-1, 0, 1]] + x[[1, -1, 0]]));
    assert_eq!(cube.gather(), serial);
}

/// Catches: ranks that wait for each other's receive, since messages are too long to be buffered.
fn large(world: &World) {
    let size = world.size() as usize;
    let numbers = world.block(1 << 20).init(|i| i as u64);
    let turned: Vec<f64> = (0..size).map(|rank| (size - rank) as f64).collect();
    let moved = numbers.redistribute(&turned);
    let last = moved.own().last().copied();
    let all = world.all_gather(&last);
    assert_eq!(all.into_iter().flatten().max(), Some((1 << 20) - 1));
}
