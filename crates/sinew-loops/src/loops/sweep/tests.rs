//! Stencils against the same, index by index.

use super::{Edge, Sweeps, sweep_part, sweeps, tile_of};
use crate::data::Neighbourhood;
use crate::loops::Options;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Edges<const N: usize> = [Edge<i64>; N];

fn edge() -> impl Strategy<Value = Edge<i64>> {
    prop_oneof![
        Just(Edge::Periodic),
        Just(Edge::Nearest),
        (-99..99_i64).prop_map(Edge::Constant),
        Just(Edge::Keep)
    ]
}

/// The element at `point` of the grid or beyond it, by the rules; the slowest dimension decides
/// first which constant it is.
fn at<const N: usize>(grid: &[i64], shape: [usize; N], edges: &Edges<N>, point: [isize; N]) -> i64 {
    let mut index = 0;
    // The rules are applied from the fastest of the slow dimensions on, then to the fastest.
    for side in (0..N.max(1) - 1).rev().chain([N - 1]) {
        if let (Edge::Constant(value), false) =
            (edges[side], (0..shape[side] as isize).contains(&point[side]))
        {
            return value;
        }
    }
    for side in 0..N {
        let (at, length) = (point[side], shape[side] as isize);
        let along = if edges[side] == Edge::Periodic {
            at.rem_euclid(length)
        } else {
            at.clamp(0, length - 1)
        };
        index = index * shape[side] + along as usize;
    }
    grid[index]
}

/// Weights that tell all neighbours apart.
fn weight<const N: usize>(steps: [isize; N]) -> i64 {
    steps.iter().fold(1, |weight, step| weight * 7 + *step as i64)
}

fn steps<const N: usize, const R: usize>() -> Vec<[isize; N]> {
    let width = 2 * R + 1;
    let step = |number: usize| {
        std::array::from_fn(|side| (number / width.pow(side as u32) % width) as isize - R as isize)
    };
    (0..width.pow(N as u32)).map(step).collect()
}

fn expected<const N: usize, const R: usize>(
    grid: &[i64],
    shape: [usize; N],
    edges: &Edges<N>,
) -> Vec<i64> {
    let each = |number: usize| {
        let mut rest = number;
        let mut point = [0_isize; N];
        for side in (0..N).rev() {
            (point[side], rest) = ((rest % shape[side]) as isize, rest / shape[side]);
        }
        let near = |side: usize| {
            point[side] < R as isize || point[side] + R as isize >= shape[side] as isize
        };
        if (0..N).any(|side| edges[side] == Edge::Keep && near(side)) {
            return grid[number];
        }
        let beside = |steps: &[isize; N]| {
            at(grid, shape, edges, std::array::from_fn(|side| point[side] + steps[side]))
        };
        let sum = steps::<N, R>().iter().fold(number as i64, |sum, steps| {
            sum.wrapping_add(weight(*steps).wrapping_mul(beside(steps)))
        });
        sum % 1_000_003
    };
    (0..grid.len()).map(each).collect()
}

fn check<const N: usize, const R: usize>(shape: [usize; N], edges: &Edges<N>, times: usize) {
    let mut grid: Vec<i64> =
        (0..shape.iter().product::<usize>() as i64).map(|i| i * i % 1_009).collect();
    let mut right = grid.clone();
    (0..times).for_each(|_| right = expected::<N, R>(&right, shape, edges));
    let f = |around: Neighbourhood<'_, i64, N, R>| {
        let number =
            around.point().iter().zip(&shape).fold(0, |number, (at, side)| number * side + at)
                as i64;
        steps::<N, R>().iter().fold(number, |sum, steps| {
            sum.wrapping_add(weight(*steps).wrapping_mul(around[*steps]))
        }) % 1_000_003
    };
    let plan = Sweeps { shape, edges, sweeps: times };
    let ended =
        sinew_core::run(|w| sweeps(w, &mut grid, &plan, &Options::default(), f, |_, _| false));
    assert_eq!((ended, grid), (Ok(times), right), "{plan:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: an element near an edge that finds another value than the rules say, in any
    /// dimension, with grids smaller than the stencil's reach. A sweep that reads its own output.
    /// An odd number of sweeps that ends in the wrong grid.
    #[test]
    fn every_element_finds_what_the_rules_say(
        sides in [1..9_usize, 1..12, 1..9],
        edges in [edge(), edge(), edge()],
        long in 1..900_usize,
        times in 0..4_usize,
    ) {
        check::<1, 1>([long], &[edges[0]], times);
        check::<1, 3>([sides[0]], &[edges[0]], times);
        check::<2, 1>([sides[0], long], &[edges[0], edges[1]], times);
        check::<2, 2>([sides[0], sides[1]], &[edges[0], edges[1]], times);
        check::<3, 1>(sides, &edges, times);
        check::<3, 2>([sides[0], sides[1], 3], &edges, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: an element that is left out, or one outside that is written.
    #[test]
    fn a_part_is_swept_and_nothing_else(
        sides in [3..12_usize, 3..200, 3..9],
        cuts in [0..9_usize, 0..9, 0..9],
        lengths in [0..9_usize, 0..200, 0..9],
    ) {
        let within = std::array::from_fn(|side| {
            let start = 1 + cuts[side] % (sides[side] - 2);
            start..(start + lengths[side]).min(sides[side] - 1)
        });
        let now: Vec<i64> =
            (0..sides.iter().product::<usize>() as i64).map(|i| i * i % 1_009).collect();
        let mut next = vec![-1; now.len()];
        let f = |around: Neighbourhood<'_, i64, 3, 1>| {
            steps::<3, 1>().iter().map(|steps| weight(*steps) * around[*steps]).sum()
        };
        let ended = sinew_core::run(|w| sweep_part(w, (&now, &mut next), sides, &within, f));
        prop_assert_eq!(ended, Ok(()));
        let index = |[i, j, k]: [usize; 3]| (i * sides[1] + j) * sides[2] + k;
        for (number, &found) in next.iter().enumerate() {
            let rest = number / sides[2];
            let point = [rest / sides[1], rest % sides[1], number % sides[2]];
            let beside = |steps: &[isize; 3]| {
                let at = std::array::from_fn(|side| point[side].wrapping_add_signed(steps[side]));
                weight(*steps) * now[index(at)]
            };
            let is_within = (0..3).all(|side| within[side].contains(&point[side]));
            let right = if is_within { steps::<3, 1>().iter().map(beside).sum() } else { -1 };
            prop_assert_eq!(found, right, "{:?} of {:?} in {:?}", point, within, sides);
        }
    }
}

/// Catches: a state after half a sweep that is left to the caller.
#[test]
fn a_panic_leaves_the_state_after_whole_sweeps() {
    for (bad, times) in [(1, 4), (2, 4), (3, 3)] {
        let mut grid = vec![0; 10_000];
        let plan = Sweeps { shape: [100, 100], edges: &[Edge::Nearest; 2], sweeps: times };
        let f = |around: Neighbourhood<'_, i32, 2, 1>| {
            if around[[0, 0]] == bad - 1 && around.point() == [60, 7] {
                std::panic::resume_unwind(Box::new(bad));
            }
            around[[0, 0]] + 1
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            sinew_core::run(|w| sweeps(w, &mut grid, &plan, &Options::default(), f, |_, _| false))
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&bad));
        assert!(grid.iter().all(|&cell| cell == bad - 1));
    }
}

/// Catches: tiles of nothing, tiles that leave workers without work, and tiles that are too
/// small to be worth it.
#[test]
fn tiles_suit_the_grid() {
    sinew_core::Pool::builder().threads(2).build().unwrap().run(|w| {
        assert_eq!(tile_of(w, [1_000_000]), [1, 8_192]);
        assert_eq!(tile_of(w, [1_000]), [1, 64]);
        assert_eq!(tile_of(w, [1]), [1, 64]);
        assert_eq!(tile_of(w, [1_024, 1_024]), [4, 1_024]);
        assert_eq!(tile_of(w, [64, 64]), [4, 64]);
        assert_eq!(tile_of(w, [2, 100_000]), [1, 8_192]);
        assert_eq!(tile_of(w, [100, 100, 100]), [40, 100]);
    });
}

/// Catches: a product of sides that wraps to the number of elements, after which rows are looked
/// for beyond the grid.
#[test]
fn a_shape_whose_product_wraps_is_refused() {
    for shape in
        [[1 << 63, 2, 0], [(1 << 62) + 1, 4, 1], [1 << 32, 1 << 32, 1], [4, 0, 1], [3, 1, 1]]
    {
        let mut grid = vec![0_u8; 4];
        let plan = Sweeps { shape, edges: &[Edge::Nearest; 3], sweeps: 1 };
        let f = |around: Neighbourhood<'_, u8, 3, 1>| around[[0, 0, 1]];
        let run = || {
            sinew_core::run(|w| sweeps(w, &mut grid, &plan, &Options::default(), f, |_, _| false))
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{shape:?}");
    }
}
