//! A shortest path on a private copy of the grid.
//!
//! Waves of cells spread from one end, each one step farther away, until they meet the other end;
//! the way back leads from wave to wave, straight on where it can. Source: Lee, "An Algorithm for
//! Path Connections and Its Applications" (1961). Waves are numbered 1, 2, 3 and 1 again, which
//! distinguishes the wave before from the one after, as in Akers, "A Modification of Lee's Path
//! Connection Algorithm" (1967). So a cell is a byte, and most of a wave stays in the cache.
//!
//! # Cost
//!
//! A byte a cell is written for the copy, and at most seven are looked at for each cell that a wave
//! reaches. No allocation once the waves have grown.

use super::maze::Shape;

/// Cells from one end of a path to the other, both included.
pub(super) type Path = Vec<u32>;

const FREE: u8 = 0;
const WAVES: u8 = 3;
const TAKEN: u8 = u8::MAX;

/// A private copy of the grid.
#[derive(Debug)]
pub(super) struct Sketch {
    neighbours: [u32; 6],
    cells: Vec<u8>,
    wave: Vec<u32>,
    next: Vec<u32>,
}

impl Sketch {
    pub(super) fn new(shape: Shape) -> Self {
        // A multiple of what a word of the map has bits.
        let cells = vec![TAKEN; shape.cells().next_multiple_of(64)];
        Self { neighbours: shape.neighbours(), cells, wave: Vec::new(), next: Vec::new() }
    }

    /// Makes a copy of a map that has a bit for each cell, set where it is taken.
    pub(super) fn fill(&mut self, map: impl Iterator<Item = u64>) {
        for (cells, taken) in self.cells.as_chunks_mut::<64>().0.iter_mut().zip(map) {
            if taken == 0 {
                *cells = [FREE; 64];
            } else {
                *cells =
                    std::array::from_fn(|bit| if taken >> bit & 1 == 1 { TAKEN } else { FREE });
            }
        }
    }

    /// Takes one more cell.
    pub(super) fn take(&mut self, cell: u32) {
        self.cells[cell as usize] = TAKEN;
    }

    /// A shortest path through free cells; the ends may be taken. The copy has to be made anew for
    /// another one.
    pub(super) fn route(&mut self, [from, to]: [u32; 2]) -> Option<Path> {
        if from == to {
            return Some(vec![from]);
        }
        self.cells[to as usize] = FREE;
        self.spread(from, to).then(|| self.trace_back(from, to))
    }

    /// Whether waves from one cell reach the other.
    fn spread(&mut self, from: u32, to: u32) -> bool {
        self.wave.clear();
        self.wave.push(from);
        let mut number = 1;
        self.cells[from as usize] = number;
        while !self.wave.is_empty() {
            number = number % WAVES + 1;
            if self.advance(number, to) {
                return true;
            }
            std::mem::swap(&mut self.wave, &mut self.next);
        }
        false
    }

    /// Marks all free neighbours of a wave as the next one. Returns whether `to` is among them, and
    /// leaves the others then.
    fn advance(&mut self, number: u8, to: u32) -> bool {
        self.next.clear();
        for &cell in &self.wave {
            for step in self.neighbours {
                let neighbour = cell.wrapping_add(step);
                let mark = &mut self.cells[neighbour as usize];
                if *mark == FREE {
                    *mark = number;
                    self.next.push(neighbour);
                }
            }
            if self.cells[to as usize] != FREE {
                return true;
            }
        }
        false
    }

    /// The way back from wave to wave.
    fn trace_back(&self, from: u32, to: u32) -> Path {
        let (mut path, mut ahead) = (vec![to], self.neighbours[0]);
        let mut at = to;
        while at != from {
            ahead = self.step_back(at, ahead);
            at = at.wrapping_add(ahead);
            path.push(at);
        }
        path.reverse();
        path
    }

    /// The step to a cell of the wave before, in the direction `ahead` if there is one.
    fn step_back(&self, at: u32, ahead: u32) -> u32 {
        let before = (self.cells[at as usize] + 1) % WAVES + 1;
        let leads = |step: &u32| self.cells[at.wrapping_add(*step) as usize] == before;
        let mut steps = std::iter::once(ahead).chain(self.neighbours);
        steps.find(leads).expect("every cell of a wave has a neighbour in the one before")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::labyrinth::board::Map;
    use crate::labyrinth::maze::{Maze, Triple};

    /// The distance of two cells in steps, by a search that shares no code with the one above.
    fn distance(maze: &Maze, [from, to]: [Triple; 2]) -> Option<usize> {
        let mut steps = std::collections::HashMap::from([(from, 0)]);
        let mut queue = VecDeque::from([from]);
        while let Some(place) = queue.pop_front() {
            for axis in 0..3 {
                for by in [1, usize::MAX] {
                    let mut next = place;
                    next[axis] = next[axis].wrapping_add(by);
                    let taken = maze.walls.contains(&next) && next != to;
                    if maze.shape.holds(next) && !taken && !steps.contains_key(&next) {
                        steps.insert(next, steps[&place] + 1);
                        queue.push_back(next);
                    }
                }
            }
        }
        steps.get(&to).copied()
    }

    fn route(maze: &Maze, ends: [Triple; 2]) -> Option<Path> {
        let mut sketch = Sketch::new(maze.shape);
        sketch.fill(Map::new(maze).words());
        sketch.route(ends.map(|place| maze.shape.cell(place)))
    }

    /// Catches: a detour, a step through a wall or beyond an edge, a way that is not found.
    #[test]
    fn paths_are_as_short_as_possible_in_random_mazes() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let shape = Shape::new([0; 3].map(|_| rng.usize(1..8))).unwrap();
            let (mut place, cells) =
                (|| shape.size.map(|side| rng.usize(..side)), shape.size.iter().product::<usize>());
            let walls = (0..cells / 3).map(|_| place()).collect();
            let (ends, maze) = ([place(), place()], Maze { shape, walls, pairs: Vec::new() });
            let path = route(&maze, ends);
            assert_eq!(
                path.as_ref().map(|path| path.len() - 1),
                distance(&maze, ends),
                "{maze:?}, {ends:?}"
            );
            for pair in path.iter().flat_map(|path| path.windows(2)) {
                assert!(shape.neighbours().contains(&pair[1].wrapping_sub(pair[0])));
            }
        }
    }

    /// Blind to: ways with a bend at every step, which take the cells from more others.
    #[test]
    fn the_way_goes_straight_on_where_it_can() {
        let maze =
            Maze { shape: Shape::new([9, 9, 1]).unwrap(), walls: Vec::new(), pairs: Vec::new() };
        let path = route(&maze, [[1, 1, 0], [7, 7, 0]]).unwrap();
        let steps: Vec<u32> = path.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(steps.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1, "{steps:?}");
    }

    /// Catches: a copy that keeps waves of the path before.
    #[test]
    fn a_copy_can_be_made_again() {
        let maze =
            Maze { shape: Shape::new([5, 5, 2]).unwrap(), walls: Vec::new(), pairs: Vec::new() };
        let mut sketch = Sketch::new(maze.shape);
        let ends = [[0, 0, 0], [4, 0, 0]].map(|place| maze.shape.cell(place));
        let lengths = [false, true].map(|blocked| {
            sketch.fill(Map::new(&maze).words());
            if blocked {
                sketch.take(maze.shape.cell([2, 0, 0]));
            }
            sketch.route(ends).unwrap().len()
        });
        assert_eq!(lengths, [5, 7]);
    }
}
