//! Stencils through the builder: their results with every option, cancelled, and what is refused.

use sinew::prelude::*;
use sinew::{Snapshot, stencil};

/// Catches: an option that is not passed on, or that changes the result.
#[test]
fn options_do_not_change_the_answer() {
    let shape = [37, 53];
    let start: Vec<i64> = (0..37 * 53).map(|i| i * i % 101).collect();
    let step = |c: sinew::Neighbourhood<'_, i64, 2, 1>| {
        (c[[-1, 0]] + 2 * c[[0, 1]] + 3 * c[[1, -1]]) % 1_009
    };
    let mut plain = start.clone();
    stencil(&mut plain, shape).edge(Edge::Periodic).sweeps(7).run(step);
    let control = Control::new();
    for schedule in [Schedule::Static, Schedule::Dynamic { chunk: 3 }, Schedule::Auto] {
        let mut grid = start.clone();
        let made = stencil(&mut grid, shape)
            .edges([Edge::Periodic; 2])
            .sweeps(7)
            .schedule(schedule)
            .threads(2);
        made.control(&control).run(step).unwrap();
        assert!(grid == plain, "{schedule}");
    }
    let Snapshot { total, done, loops, .. } = control.snapshot();
    assert_eq!((done, loops), (total, 0));
    let mut grid = start;
    assert_eq!(
        stencil(&mut grid, shape)
            .edge(Edge::Periodic)
            .sweeps(9)
            .run_until(step, |sweeps, _| sweeps == 7),
        7
    );
    assert!(grid == plain);
}

/// Catches: a sweep that a cancellation leaves half done, and tiles that stay expected though no
/// worker will run them.
#[test]
fn a_cancelled_stencil_leaves_whole_sweeps() {
    for at in 0..5 {
        let (control, mut grid) = (Control::new(), vec![0; 5_000]);
        let step = |c: sinew::Neighbourhood<'_, i32, 1, 1>| {
            if c[[0]] == at && c.point() == [2_500] {
                control.cancel();
            }
            c[[-1]].max(c[[1]]) + 1
        };
        let ended = stencil(&mut grid, [5_000]).sweeps(100).control(&control).run(step);
        assert_eq!(ended, Err(Cancelled));
        assert!(
            grid.iter().all(|&cell| cell == grid[0]) && (at..=at + 1).contains(&grid[0]),
            "{}",
            grid[0]
        );
    }
    let (control, mut grid) = (Control::new(), vec![0; 500]);
    let ended = stencil(&mut grid, [500])
        .sweeps(100)
        .control(&control)
        .run_until(|c| c[[0]] + 1, |sweeps, _| sweeps == 3);
    assert_eq!((ended, control.snapshot().fraction()), (Ok(3), 1.0));
}

/// Catches: dimensions beyond three, whose edges meet in many ways.
#[test]
fn four_dimensions_are_no_different() {
    let mut grid = vec![1_u64; 3 * 4 * 5 * 6];
    stencil(&mut grid, [3, 4, 5, 6])
        .edge(Edge::Constant(10))
        .run(|c| c[[-1, 0, 0, 0]] + c[[0, 0, 0, 1]]);
    assert_eq!(grid.iter().filter(|&&cell| cell == 2).count(), 2 * 4 * 5 * 5);
    assert_eq!(grid.iter().filter(|&&cell| cell == 20).count(), 4 * 5);
}

#[test]
#[should_panic(expected = "a grid of [3, 0] has a side of 0: use at least 1")]
fn a_side_of_zero_is_refused() {
    let _stencil = stencil(&mut [0_u8; 0], [3, 0]);
}

#[test]
#[should_panic(expected = "5 elements are no grid of [2, 3]")]
fn a_shape_that_does_not_fit_is_refused() {
    let _stencil = stencil(&mut [0; 5], [2, 3]);
}

#[test]
#[should_panic(expected = "are no grid of [18446744073709551615, 2]")]
fn a_shape_that_overflows_is_refused() {
    let _stencil = stencil(&mut [0; 5], [usize::MAX, 2]);
}

#[test]
#[should_panic(expected = "steps of [0, 2] in a stencil of radius 1: ask for a larger radius")]
fn a_step_that_is_too_long_is_refused() {
    stencil(&mut [0; 100], [10, 10]).run(|c| c[[0, 2]]);
}

#[test]
#[should_panic(expected = "a skeleton with 0 threads never ends")]
fn zero_threads_are_refused() {
    let _stencil = stencil(&mut [0; 4], [4]).threads(0);
}

#[test]
#[should_panic(expected = "schedule `dynamic:0` has chunks of 0 iterations")]
fn chunks_of_zero_are_refused() {
    let _stencil = stencil(&mut [0; 4], [4]).schedule(Schedule::Dynamic { chunk: 0 });
}
