//! The result: a path for each pair, or none; and its check.

use std::fmt;

use super::board::{Map, inner};
use super::lee::{Path, Sketch};
use super::maze::Maze;
use crate::problem::Wrong;

/// The paths in the order of the pairs. A missing path means that no way was left.
#[derive(Debug, Clone)]
pub(super) struct Paths(Vec<Option<Path>>);

/// Greatest number of missing paths that are named.
const NAMED: usize = 10;

impl Paths {
    pub(super) fn none(pairs: usize) -> Self {
        Self(vec![None; pairs])
    }

    pub(super) fn put(&mut self, at: usize, path: Option<Path>) {
        self.0[at] = path;
    }

    fn found(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().flatten()
    }

    /// The numbers of missing paths, counted from 1 as in the input.
    fn missing(&self) -> impl Iterator<Item = usize> {
        (1..).zip(&self.0).filter(|(_, path)| path.is_none()).map(|(number, _)| number)
    }

    /// Paths are contiguous, join the ends they should, go through no wall, and have no cell in
    /// common; and where one is missing, the others leave no way for it.
    pub(super) fn check(&self, maze: &Maze) -> Result<(), Wrong> {
        let (pairs, paths) = (maze.pairs.len(), self.0.len());
        Wrong::unless(pairs == paths, || format!("{paths} paths for {pairs} pairs"))?;
        let map = Map::new(maze);
        for (number, path) in (1..).zip(&self.0) {
            if let Some(path) = path {
                check_path(maze, number, path)?;
                let free = inner(path).iter().all(|cell| !map.is_taken(*cell)) && !repeats(path);
                Wrong::unless(free, || format!("path {number} goes where something else is"))?;
                map.enter(path);
            }
        }
        let mut sketch = Sketch::new(maze.shape);
        for number in self.missing() {
            sketch.fill(map.words());
            let way = sketch.route(maze.pairs[number - 1].map(|place| maze.shape.cell(place)));
            Wrong::unless(way.is_none(), || {
                format!("path {number} is missing, and there is a way")
            })?;
        }
        Ok(())
    }
}

/// The path joins the ends it should, and is contiguous.
fn check_path(maze: &Maze, number: usize, path: &Path) -> Result<(), Wrong> {
    let ends = maze.pairs[number - 1].map(|place| maze.shape.cell(place));
    let joined = path.first() == Some(&ends[0]) && path.last() == Some(&ends[1]);
    Wrong::unless(joined, || format!("path {number} does not join its ends"))?;
    let steps = maze.shape.neighbours();
    let contiguous = path.windows(2).all(|pair| steps.contains(&pair[1].wrapping_sub(pair[0])));
    Wrong::unless(contiguous, || format!("path {number} is not contiguous"))
}

/// Whether a path has a cell twice.
fn repeats(path: &Path) -> bool {
    let mut cells = path.clone();
    cells.sort_unstable();
    cells.windows(2).any(|pair| pair[0] == pair[1])
}

impl PartialEq for Paths {
    /// Answers to the same problem. The set of paths depends on the order in which they were laid;
    /// each result is checked by itself.
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
    }
}

impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, cells) = (self.found().count(), self.found().map(Vec::len).sum::<usize>());
        write!(f, "{found} of {} paths, {cells} cells", self.0.len())?;
        let missing = self.0.len() - found;
        for (at, number) in self.missing().take(NAMED).enumerate() {
            write!(f, "{} {number}", if at == 0 { "; no way for" } else { "," })?;
        }
        if missing > NAMED { write!(f, " and {} others", missing - NAMED) } else { Ok(()) }
    }
}
