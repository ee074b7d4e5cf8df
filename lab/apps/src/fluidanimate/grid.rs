//! Cells as wide as the reach of a particle: all particles within reach are in its cell or in
//! neighbouring cells.
//!
//! Particles are kept in the order of their cells, row by row. Those of three neighbouring cells of
//! a row are contiguous, and all particles nearby are found in nine ranges, always in the same
//! order.

use std::ops::{Range, RangeInclusive};

use super::vector::Vector;

#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// The width of a cell, at least the reach.
    width: Vector,
    cells: [usize; 3],
    /// For each cell the place of its first particle, and the number of particles at the end.
    starts: Vec<u32>,
}

impl Grid {
    /// Divides a box that reaches from the origin to `size`.
    pub(super) fn new(size: Vector, reach: f64) -> Self {
        let cells = size.map(|side| ((side / reach) as usize).max(1));
        let width = std::array::from_fn(|axis| size[axis] / cells[axis] as f64);
        Self { width, cells, starts: Vec::new() }
    }

    fn coordinates(&self, position: Vector) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let cell = (position[axis] / self.width[axis]) as usize;
            cell.min(self.cells[axis] - 1)
        })
    }

    /// The first cell of a row along the first axis.
    fn row(&self, y: usize, z: usize) -> usize {
        (z * self.cells[1] + y) * self.cells[0]
    }

    pub(super) fn cell(&self, position: Vector) -> u32 {
        let [x, y, z] = self.coordinates(position);
        (self.row(y, z) + x) as u32
    }

    /// Notes how many particles each cell has. Returns the particles in the order of their cells,
    /// given the cell of each.
    pub(super) fn sort(&mut self, cells: &[u32]) -> Vec<u32> {
        self.starts.clear();
        self.starts.resize(self.cells.iter().product::<usize>() + 1, 0);
        for &cell in cells {
            self.starts[cell as usize + 1] += 1;
        }
        let mut before = 0;
        for start in &mut self.starts {
            before += *start;
            *start = before;
        }
        let mut next = self.starts.clone();
        let mut order = vec![0; cells.len()];
        for (particle, &cell) in (0..).zip(cells) {
            order[next[cell as usize] as usize] = particle;
            next[cell as usize] += 1;
        }
        order
    }

    /// The ranges of particles that may be within reach of a position.
    pub(super) fn near(&self, position: Vector) -> impl Iterator<Item = Range<usize>> {
        let at = self.coordinates(position);
        let [x, y, z] = [0, 1, 2].map(|axis| self.around(axis, at[axis]));
        z.flat_map(move |z| y.clone().map(move |y| (y, z))).map(move |(y, z)| {
            let row = self.row(y, z);
            self.starts[row + x.start()] as usize..self.starts[row + x.end() + 1] as usize
        })
    }

    fn around(&self, axis: usize, at: usize) -> RangeInclusive<usize> {
        at.saturating_sub(1)..=(at + 1).min(self.cells[axis] - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(count: usize, size: Vector) -> Vec<Vector> {
        let mut rng = fastrand::Rng::with_seed(1);
        (0..count).map(|_| size.map(|side| side * rng.f64())).collect()
    }

    /// Blind to: ranges that hold more particles than needed.
    #[test]
    fn whoever_is_within_reach_is_found_once() {
        let (size, reach) = ([1.0, 0.7, 0.3], 0.15);
        let mut grid = Grid::new(size, reach);
        let particles = random(300, size);
        let cells: Vec<u32> = particles.iter().map(|&particle| grid.cell(particle)).collect();
        let order = grid.sort(&cells);
        for here in &particles {
            let mut near: Vec<u32> =
                grid.near(*here).flat_map(|range| order[range].to_vec()).collect();
            let all = near.len();
            near.sort_unstable();
            near.dedup();
            assert_eq!(near.len(), all);
            let apart = |there: &Vector| {
                (0..3).map(|axis| (here[axis] - there[axis]).powi(2)).sum::<f64>().sqrt()
            };
            let within = (0..300).filter(|&there| apart(&particles[there as usize]) < reach);
            assert!(within.into_iter().all(|there| near.binary_search(&there).is_ok()));
        }
    }

    /// Blind to: other places on a border.
    #[test]
    fn the_upper_corner_belongs_to_the_last_cell() {
        let grid = Grid::new([1.0; 3], 0.3);
        assert_eq!((grid.cell([0.0; 3]), grid.cell([1.0; 3])), (0, 26));
    }

    /// Blind to: a box that is small in one direction only.
    #[test]
    fn a_box_smaller_than_the_reach_is_one_cell() {
        assert_eq!(Grid::new([0.1; 3], 0.3).cell([0.05; 3]), 0);
    }
}
