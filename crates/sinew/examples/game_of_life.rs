//! Conway's game of life: a glider moves one field down and right in four generations.
//!
//! Shows: `stencil` with a neighbourhood of eight, and an edge where everything is dead.

use sinew::prelude::*;

const ROWS: usize = 20;
const COLUMNS: usize = 40;
const GLIDER: [[usize; 2]; 5] = [[1, 2], [2, 3], [3, 1], [3, 2], [3, 3]];

fn main() {
    let mut world = vec![0_u8; ROWS * COLUMNS];
    for [row, column] in GLIDER {
        world[row * COLUMNS + column] = 1;
    }
    stencil(&mut world, [ROWS, COLUMNS]).edge(Edge::Constant(0)).sweeps(40).run(|at| {
        let rows = [-1, 0, 1].map(|row| at[[row, -1]] + at[[row, 0]] + at[[row, 1]]);
        match rows.iter().sum::<u8>() - at[[0, 0]] {
            3 => 1,
            2 => at[[0, 0]],
            _ => 0,
        }
    });
    for row in world.chunks(COLUMNS) {
        println!(
            "{}",
            row.iter().map(|cell| if *cell == 1 { '#' } else { '·' }).collect::<String>()
        );
    }
    assert_eq!(world.iter().map(|cell| usize::from(*cell)).sum::<usize>(), GLIDER.len());
    assert!(GLIDER.iter().all(|[row, column]| world[(row + 10) * COLUMNS + column + 10] == 1));
}
