//! Mazes: a grid, its walls, and the pairs of places that are to be joined. Generated, or read from
//! a file.
//!
//! Cells are numbered with a border of one cell around the grid, so that every cell of the grid has
//! six neighbours, at the same distances in memory.

use std::collections::HashSet;
use std::path::Path;

use crate::lines::{Lines, Record};
use crate::options::Error;

/// Cells along x, y and z, or a place: its distance from the corner along each.
pub(super) type Triple = [usize; 3];

/// The largest number of cells: their numbers, border included, have 32 bits.
pub(super) const MOST_CELLS: usize = 1 << 31;

/// A grid, as far as numbers of cells go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) size: Triple,
}

impl Shape {
    /// A grid of `x` · `y` · `z` cells; `None` if it has no cells, or too many.
    pub(super) fn new(size: Triple) -> Option<Self> {
        let cells =
            size.iter().try_fold(1_usize, |cells, side| cells.checked_mul(side.checked_add(2)?))?;
        (!size.contains(&0) && cells <= MOST_CELLS).then_some(Self { size })
    }

    /// Number of cells, including the border.
    pub(super) fn cells(self) -> usize {
        self.size.iter().map(|side| side + 2).product()
    }

    pub(super) fn holds(self, place: Triple) -> bool {
        place.iter().zip(self.size).all(|(at, side)| *at < side)
    }

    /// Distances in the array between neighbours along x, y and z.
    fn strides(self) -> Triple {
        let [width, height, _] = self.size.map(|side| side + 2);
        [1, width, width * height]
    }

    /// The number of the cell at a place of the grid.
    pub(super) fn cell(self, place: Triple) -> u32 {
        let along = place.iter().zip(self.strides()).map(|(at, stride)| (at + 1) * stride);
        along.sum::<usize>() as u32
    }

    /// The wrapping increments from the number of a cell to those of its neighbours.
    pub(super) fn neighbours(self) -> [u32; 6] {
        let [x, y, z] = self.strides().map(|stride| stride as u32);
        [x, x.wrapping_neg(), y, y.wrapping_neg(), z, z.wrapping_neg()]
    }

    /// The places of the grid, x fastest.
    pub(super) fn places(self) -> impl Iterator<Item = Triple> {
        let [width, height, depth] = self.size;
        (0..depth)
            .flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
    }
}

/// The problem to solve.
#[derive(Debug, Clone)]
pub(super) struct Maze {
    pub(super) shape: Shape,
    pub(super) walls: Vec<Triple>,
    /// The ends of the paths.
    pub(super) pairs: Vec<[Triple; 2]>,
}

impl Maze {
    /// A grid without walls, and pairs of random places, all different and the same ones each time.
    /// There are cells enough.
    pub(super) fn random(shape: Shape, pairs: usize) -> Self {
        let mut rng = fastrand::Rng::with_seed(42);
        let mut taken = HashSet::new();
        let mut place = || {
            loop {
                let place = shape.size.map(|side| rng.usize(..side));
                if taken.insert(place) {
                    return place;
                }
            }
        };
        Self { shape, walls: Vec::new(), pairs: (0..pairs).map(|_| [place(), place()]).collect() }
    }

    /// Reads a file of lines. `d x y z` is the size of the grid and comes first; `p x1 y1 z1 x2 y2
    /// z2` are the ends of a path; `w x y z` is a wall.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let lines = Lines::read(path)?;
        let mut maze: Option<Self> = None;
        for record in lines.records() {
            match (record.fields[0], &mut maze) {
                ("d", None) => maze = Some(Self::sized(&record)?),
                ("d", Some(_)) => {
                    return Err(record.wrong("the size of the grid is given a second time"));
                }
                ("p", Some(maze)) => maze.pairs.push(maze.shape.read_places(&record)?),
                ("w", Some(maze)) => maze.walls.extend(maze.shape.read_places::<1>(&record)?),
                ("p" | "w", None) => {
                    return Err(record.wrong("the size of the grid, `d x y z`, comes first"));
                }
                (other, _) => {
                    return Err(record
                        .wrong(format!("`{other}` is none of d (size), p (path) and w (wall)")));
                }
            }
        }
        maze.ok_or_else(|| lines.ends_before("the size of the grid, `d x y z`"))
    }

    fn sized(record: &Record<'_>) -> Result<Self, Error> {
        let [size] = triples(record)?;
        let shape = Shape::new(size).ok_or_else(|| {
            let [x, y, z] = size;
            record.wrong(format!(
                "a grid of {x} x {y} x {z} cells: give 1 to {MOST_CELLS} in all, border included"
            ))
        })?;
        Ok(Self { shape, walls: Vec::new(), pairs: Vec::new() })
    }
}

impl Shape {
    fn read_places<const N: usize>(self, record: &Record<'_>) -> Result<[Triple; N], Error> {
        let places = triples(record)?;
        match places.iter().find(|place| !self.holds(**place)) {
            None => Ok(places),
            Some([x, y, z]) => {
                let [width, height, depth] = self.size;
                let grid = format!("{width} x {height} x {depth} cells, counted from 0");
                Err(record.wrong(format!("the place {x} {y} {z} is outside of the grid of {grid}")))
            }
        }
    }
}

/// The numbers of a line, by threes.
fn triples<const N: usize>(record: &Record<'_>) -> Result<[Triple; N], Error> {
    let numbers = record.numbers("whole number from 0", |_: &usize| true)?;
    let (triples, rest) = numbers.as_chunks();
    let exactly = triples.try_into().ok().filter(|_| rest.is_empty());
    exactly.ok_or_else(|| {
        let (letter, given) = (record.fields[0], numbers.len());
        record.wrong(format!("{given} numbers behind `{letter}`, where {} are expected", 3 * N))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Maze, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("maze.txt");
        std::fs::write(&path, text).unwrap();
        Maze::read(&path).map_err(|error| error.to_string())
    }

    /// Catches: numbers that are read into the wrong place.
    #[test]
    fn a_file_has_the_size_the_ends_of_paths_and_walls() {
        let maze =
            read("# size\nd 4 3 2\n\n  # ends\np 0 1 0   3 2 1\nw 2 2 0 # a wall\n").unwrap();
        assert_eq!(maze.shape.size, [4, 3, 2]);
        assert_eq!((maze.pairs, maze.walls), (vec![[[0, 1, 0], [3, 2, 1]]], vec![[2, 2, 0]]));
    }

    /// Catches: a file that lies about its size, and one that is cut off.
    #[test]
    fn a_bad_file_is_refused_with_its_line() {
        let cases = [
            ("", "line 1: the file ends before the size"),
            ("# d 3 3 3\n", "line 2: the file ends before the size"),
            ("p 0 0 0 1 1 1\n", "line 1: the size of the grid, `d x y z`, comes first"),
            ("d 3 3 3\nd 3 3 3\n", "line 2: the size of the grid is given a second time"),
            ("d 3 3\n", "line 1: 2 numbers behind `d`, where 3 are expected"),
            ("d 3 0 3\n", "line 1: a grid of 3 x 0 x 3 cells: give 1 to"),
            ("d 9999999 9999999 9999999\n", "line 1: a grid of 9999999 x"),
            ("d 3 3 18446744073709551615\n", "line 1: a grid of 3 x 3 x"),
            ("d 3 3 1\np 0 0 0 1 1\n", "line 2: 5 numbers behind `p`, where 6 are expected"),
            ("d 3 3 1\np 0 0 0 1 1 0 1\n", "line 2: 7 numbers behind `p`, where 6 are expected"),
            (
                "d 3 3 1\n\np 0 0 0 1 1 1\n",
                "line 3: the place 1 1 1 is outside of the grid of 3 x 3 x 1",
            ),
            ("d 3 3 1\nw 3 0 0\n", "line 2: the place 3 0 0 is outside"),
            ("d 3 3 1\np 0 0 0 1 -1 0\n", "line 2: `-1` is no whole number from 0"),
            ("d 3 3 1\nq 1\n", "line 2: `q` is none of d (size), p (path) and w (wall)"),
        ];
        for (text, expected) in cases {
            let message = read(text).unwrap_err();
            assert!(message.contains(expected) && message.contains("maze.txt"), "{message}");
        }
    }

    /// Catches: neighbours beyond an edge, which a border keeps apart.
    #[test]
    fn cells_are_numbered_with_a_border_around_them() {
        let shape = Shape::new([4, 3, 2]).unwrap();
        assert_eq!(shape.cells(), 6 * 5 * 4);
        let cells: HashSet<u32> = shape.places().map(|place| shape.cell(place)).collect();
        assert_eq!(cells.len(), 4 * 3 * 2);
        for place in shape.places() {
            let around = shape.neighbours().map(|step| shape.cell(place).wrapping_add(step));
            let inside = around.iter().filter(|cell| cells.contains(cell)).count();
            let edges = place
                .iter()
                .zip(shape.size)
                .map(|(at, side)| usize::from(*at == 0) + usize::from(at + 1 == side));
            assert_eq!(inside, 6 - edges.sum::<usize>(), "{place:?}");
            assert!(around.iter().all(|cell| (*cell as usize) < shape.cells()));
        }
    }

    /// Catches: a maze that only seems full of different places.
    #[test]
    fn generated_ends_are_all_different() {
        let maze = Maze::random(Shape::new([3, 2, 2]).unwrap(), 6);
        let ends: HashSet<Triple> = maze.pairs.iter().flatten().copied().collect();
        assert_eq!(ends.len(), 12);
    }
}
