//! Paths through a grid that do not cross, after the program labyrinth of the STAMP suite.
//!
//! Pairs of cells are to be joined by paths that have no cell in common, as the wires of a circuit.
//! For each pair Lee's algorithm finds a shortest path on a private copy of the grid, because the
//! search reads nearly all cells. Then its cells are claimed in the shared grid. All of that is one
//! transaction, the longest of the suite. A worker that finds a cell taken has searched on an old
//! copy, and searches again. Source: Cao Minh, Chung, Kozyrakis and Olukotun, "STAMP: Stanford
//! Transactional Applications for Multi-Processing" (2008); Watson, Kirkham and Luján, "A Study of
//! a Transactional Parallel Routing Algorithm" (2007).
//!
//! | file | contents |
//! |---|---|
//! | `maze` | the input |
//! | `lee` | a path on a copy |
//! | `board` | the shared grid: claiming a path |
//! | `by_hand`, `listed` | the assignment of paths to workers: a queue, a worklist |
//! | `paths` | the result and its check |
//!
//! Ends are taken from the beginning, so no path goes through the ends of another. Short pairs come
//! first. The paths that are found, and whether all are, depend on the order in which they are
//! laid.
//!
//! # Frequency of conflicts
//!
//! Aborted attempts per hundred paths, including those of the queue, by two workers on an otherwise
//! busy machine (60 runs of the first two inputs, 6 of the third, one of the last):
//!
//! | | by hand | worklist |
//! |---|---|---|
//! | `x32-y32-z3-n96` | 4.5 | 7.7 |
//! | `x48-y48-z3-n64` | 5.9 | 8.5 |
//! | `x128-y128-z5-n128` | 4.2 | 4.2 |
//! | `x512-y512-z7-n512` | 2.9 | 1.6 |
//!
//! Each conflict costs a search. Tried against it: another order. In the smallest and most crowded
//! grid, the order "long pairs first" conflicts half as often again as "short ones first" (6.6 and
//! 11.3); the order of the input lies between (5.2 and 8.4). In the other grids the difference is
//! within the variation between runs. So short ones are first.

mod board;
mod by_hand;
mod lee;
mod listed;
mod maze;
mod paths;

use sinew::Worker;

use crate::app::App;
use crate::lettered::{Lettered, whole};
use crate::lists::Lists;
use crate::memory::room;
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use board::Board;
use lee::Sketch;
use maze::{MOST_CELLS, Maze, Shape};
use paths::Paths;

const SIZES: &str = "stamp (x512-y512-z7-n512), or parts of x48-y48-z3-n64: cells along x, y and \
    z, and paths (a file says all of that itself)";

const SIDE: std::ops::RangeInclusive<f64> = 1.0..=1e9;

const LETTERS: Lettered<4> = Lettered {
    app: "labyrinth",
    sizes: SIZES,
    named: &[("stamp", "x512-y512-z7-n512")],
    letters: [
        whole('x', [10.0, 32.0, 48.0], SIDE),
        whole('y', [9.0, 32.0, 48.0], SIDE),
        whole('z', [2.0, 3.0, 3.0], SIDE),
        whole('n', [12.0, 96.0, 64.0], 1.0..=1e9),
    ],
};

pub(crate) const APP: App = App {
    name: "labyrinth",
    about: "paths through a grid that do not cross: long transactions, one a path",
    sizes: SIZES,
    demo: "x128-y128-z5-n128",
    loops: false,
    reads_files: true,
    has_worklist: true,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    Ok(problem(Labyrinth::prepare(options)?))
}

struct Labyrinth {
    maze: Maze,
    /// The ends of each path.
    ends: Vec<[u32; 2]>,
    /// The paths in the order in which they are to be laid: short ones first.
    order: Vec<usize>,
    by_hand: bool,
    lists: Lists,
}

impl Labyrinth {
    fn prepare(options: &Options) -> Result<Self, Error> {
        let maze = match &options.path {
            Some(path) => Maze::read(path)?,
            None => generate(options)?,
        };
        fits(maze.shape, maze.pairs.len() as u64)?;
        let ends = maze.pairs.iter().map(|pair| pair.map(|place| maze.shape.cell(place))).collect();
        let mut order: Vec<usize> = (0..maze.pairs.len()).collect();
        order.sort_by_key(|&at| {
            let [from, to] = maze.pairs[at];
            from.iter().zip(to).map(|(from, to)| from.abs_diff(to).pow(2)).sum::<usize>()
        });
        Ok(Self { maze, ends, order, by_hand: options.by_hand, lists: Lists::of(options) })
    }
}

/// A maze of the size that was asked for.
fn generate(options: &Options) -> Result<Maze, Error> {
    let [x, y, z, pairs] = LETTERS.pick(&options.size)?;
    let size = [x, y, z].map(|side| side as usize);
    let fitting = Shape::new(size).filter(|_| 2.0 * pairs <= x * y * z);
    let shape = fitting.ok_or_else(|| {
        LETTERS.impossible(format!(
            "x{x}-y{y}-z{z}-n{pairs}, whose ends need as many cells, of {MOST_CELLS} at most"
        ))
    })?;
    fits(shape, pairs as u64)?;
    Ok(Maze::random(shape, pairs as usize))
}

/// Whether the transactional array, a map and the copies of two workers fit; and for each path its
/// ends and its state.
fn fits(shape: Shape, pairs: u64) -> Result<(), Error> {
    room(APP.name, 13 * shape.cells() as u64 + 256 * pairs)
}

impl Solve for Labyrinth {
    type Input = Board;
    type Answer = Paths;

    fn size(&self) -> String {
        let Maze { shape, walls, pairs } = &self.maze;
        let [x, y, z] = shape.size;
        let size = format!("{x} x {y} x {z} cells, {} paths", pairs.len());
        if walls.is_empty() { size } else { format!("{size}, {} walls", walls.len()) }
    }

    fn input(&self) -> Board {
        Board::new(&self.maze)
    }

    fn serial(&self, board: Board) -> Paths {
        let (map, mut sketch) = (&board.map, Sketch::new(self.maze.shape));
        let mut paths = Paths::none(self.ends.len());
        for &at in &self.order {
            sketch.fill(map.words());
            let path = sketch.route(self.ends[at]);
            path.iter().for_each(|path| map.enter(path));
            paths.put(at, path);
        }
        paths
    }

    fn parallel(&self, worker: &Worker, board: Board) -> Paths {
        if self.by_hand {
            by_hand::solve(self, worker, &board)
        } else {
            listed::solve(self, &board)
        }
    }

    /// All paths are right, and where one is missing there is no way left.
    fn check(&self, paths: &Paths) -> Result<(), Wrong> {
        paths.check(&self.maze)
    }
}

#[cfg(test)]
mod tests;
