//! Grids over ranks that are threads, cut along one to three dimensions, against the serial
//! stencil; and what travels for a sweep against the least that can.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;
use sinew::{Edge, Neighbourhood};
use sinew_dist::threads::Ranks;
use sinew_dist::{HaloCounts, Star, World};

const RANKS: [u32; 7] = [1, 2, 3, 4, 6, 7, 8];

fn edge() -> impl Strategy<Value = Edge<i64>> {
    prop_oneof![
        Just(Edge::Periodic),
        Just(Edge::Nearest),
        (-99..99_i64).prop_map(Edge::Constant),
        Just(Edge::Keep)
    ]
}

fn cases() -> ProptestConfig {
    let deep = std::env::var_os("SINEW_DEEP").is_some();
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if deep { 1_000 } else { 24 })
    }
}

/// All steps of at most `R` along each dimension; in a star along one at a time.
fn steps<const N: usize, const R: usize>(star: bool) -> Vec<[isize; N]> {
    let width = 2 * R + 1;
    let step = |number: usize| {
        std::array::from_fn(|side| (number / width.pow(side as u32) % width) as isize - R as isize)
    };
    let straight = |steps: &[isize; N]| steps.iter().filter(|step| **step != 0).count() < 2;
    (0..width.pow(N as u32)).map(step).filter(|steps| !star || straight(steps)).collect()
}

fn value<const N: usize>(
    point: [usize; N],
    steps: &[[isize; N]],
    at: impl Fn([isize; N]) -> i64,
) -> i64 {
    let number = point.iter().fold(3, |number, at| number * 7 + *at as i64);
    let weight =
        |steps: &[isize; N]| steps.iter().fold(1, |weight, step| weight * 9 + *step as i64);
    let sum = steps.iter().fold(number, |sum: i64, steps| sum + weight(steps) * at(*steps));
    sum % 1_000_003
}

fn start<const N: usize>(point: [usize; N]) -> i64 {
    point.iter().fold(11, |number, at| (number * 37 + *at as i64) % 1_009)
}

fn points<const N: usize>(part: &[Range<usize>; N]) -> Vec<[usize; N]> {
    let mut points = vec![[0; N]];
    for side in 0..N {
        let along = |point: [usize; N]| {
            part[side].clone().map(move |at| {
                let mut point = point;
                point[side] = at;
                point
            })
        };
        points = points.into_iter().flat_map(along).collect();
    }
    points
}

/// The elements of other parts that `f` reads for a part, each counted once: no way to sweep needs
/// less.
fn needed<const N: usize, const R: usize>(
    part: &[Range<usize>; N],
    shape: [usize; N],
    edges: &[Edge<i64>; N],
    steps: &[[isize; N]],
) -> usize {
    let mut needed = BTreeSet::new();
    for point in points(part) {
        let near = |side: usize| point[side] < R || point[side] + R >= shape[side];
        if (0..N).any(|side| edges[side] == Edge::Keep && near(side)) {
            continue;
        }
        'next: for steps in steps {
            let mut index = [0; N];
            for side in 0..N {
                let (at, length) = (point[side] as isize + steps[side], shape[side] as isize);
                index[side] = match edges[side] {
                    _ if (0..length).contains(&at) => at,
                    Edge::Periodic => at.rem_euclid(length),
                    Edge::Constant(_) => continue 'next,
                    _ => at.clamp(0, length - 1),
                } as usize;
            }
            if (0..N).any(|side| !part[side].contains(&index[side])) {
                needed.insert(index);
            }
        }
    }
    needed.len()
}

/// The results of a rank: all elements, its part, the bytes and the halos that it has sent.
type End<const N: usize> = (Vec<i64>, [Range<usize>; N], u64, HaloCounts);

fn swept<const N: usize, const R: usize>(
    world: &World,
    shape: [usize; N],
    edges: [Edge<i64>; N],
    (star, sweeps): (bool, usize),
) -> End<N> {
    let steps = steps::<N, R>(star);
    let mut grid = world.grid(shape).init(start);
    grid.edges(edges);
    let before = world.traffic().bytes;
    if star {
        grid.star_sweeps(sweeps, |t: Star<'_, i64, N, R>| {
            value(t.point(), &steps, |steps| t[steps])
        });
    } else {
        grid.sweeps(sweeps, |t: Neighbourhood<'_, i64, N, R>| {
            value(t.point(), &steps, |steps| t[steps])
        });
    }
    let bytes = world.traffic().bytes - before;
    (grid.gather(), grid.part(), bytes, grid.halo_counts())
}

fn check<const N: usize, const R: usize>(
    ranks: u32,
    shape: [usize; N],
    edges: [Edge<i64>; N],
    sweeps: usize,
    seed: u64,
) {
    for star in [false, true] {
        let steps = steps::<N, R>(star);
        let mut serial: Vec<i64> =
            points(&shape.map(|side| 0..side)).into_iter().map(start).collect();
        let plan = sinew::stencil(&mut serial, shape).radius::<R>().edges(edges).sweeps(sweeps);
        plan.run(|t| value(t.point(), &steps, |steps| t[steps]));
        let ranks = Ranks::new(ranks).delays(seed).workers(1 + seed as usize % 2);
        let ends = ranks.run(|world| swept::<N, R>(world, shape, edges, (star, sweeps))).unwrap();
        let (mut bytes, mut least) = (0, 0);
        for (grid, part, sent, counts) in ends {
            assert_eq!(grid, serial, "{shape:?}, {edges:?}, star: {star}");
            assert_eq!(sent, 8 * counts.elements);
            bytes += sent;
            least += 8 * sweeps * needed::<N, R>(&part, shape, &edges, &steps);
        }
        assert_eq!(bytes, least as u64, "{shape:?}, {edges:?}, star: {star}");
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Catches: an element near a cut that finds another value than the serial stencil's, with
    /// any edges, radius and sides; a byte that travels and is not needed.
    #[test]
    fn a_grid_in_boxes_is_the_grid_of_one_and_its_halos_are_the_least(
        ranks in prop::sample::select(RANKS.to_vec()),
        sides in [1..12_usize, 1..12, 1..9],
        edges in [edge(), edge(), edge()],
        sweeps in 0..4_usize,
        seed: u64,
    ) {
        let [a, b, c] = sides;
        check::<1, 3>(ranks, [a * b], [edges[1]], sweeps, seed);
        check::<2, 1>(ranks, [a, b * c], [edges[0], edges[1]], sweeps, seed);
        check::<2, 2>(ranks, [b, a], [edges[1], edges[2]], sweeps, seed);
        check::<3, 1>(ranks, sides, edges, sweeps, seed);
    }
}

/// Catches: a plate that is cut into strips, and corners that travel for a star.
#[test]
fn a_plate_is_cut_into_squares_and_a_star_has_no_corners() {
    let ends = Ranks::new(4).run(|world| {
        let sent = |star| {
            let edges = [Edge::Keep; 2];
            let (_, part, _, counts) = swept::<2, 1>(world, [40, 40], edges, (star, 10));
            (part.map(|range| range.len()), counts)
        };
        (sent(false), sent(true))
    });
    let halo = |messages, elements| HaloCounts { messages, elements };
    for (all, star) in ends.unwrap() {
        assert_eq!(all, ([20, 20], halo(30, 10 * 41)));
        assert_eq!(star, ([20, 20], halo(20, 10 * 38)));
    }
}

/// Catches: a function that reads corners which never came.
#[test]
fn a_star_refuses_neighbours_across_corners() {
    let lost = Ranks::new(2).run(|world| {
        let mut grid = world.grid([8, 8]).init(|_| 0_u8);
        grid.star_sweeps(1, |t: Star<'_, u8, 2, 1>| t[[1, 1]]);
    });
    assert!(lost.unwrap_err().why.contains("[1, 1] in a star"));
}

/// Catches: ranks that wait for each other, since one has no elements.
#[test]
fn more_ranks_than_elements_leave_some_idle() {
    for ranks in [5, 8] {
        check::<2, 1>(ranks, [1, 3], [Edge::Periodic, Edge::Nearest], 3, 1);
        check::<3, 1>(ranks, [1, 2, 1], [Edge::Periodic; 3], 3, 2);
    }
}
