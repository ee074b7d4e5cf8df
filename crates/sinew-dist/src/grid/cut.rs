//! Which part of a grid each rank has: a box of it.
//!
//! The ranks form a grid as well, whose sides `sinew_policy::cuts` chooses. Rank 0 has the first
//! part; the last dimension counts fastest.

use std::ops::Range;

use sinew_policy::cuts::cuts;

use crate::link::Rank;

/// A range along each dimension.
pub(super) type Ranges<const N: usize> = [Range<usize>; N];

#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<const N: usize> {
    pub(super) shape: [usize; N],
    /// The number of parts along each dimension.
    parts: [u32; N],
}

impl<const N: usize> Cut<N> {
    pub(super) fn new(ranks: u32, shape: [usize; N]) -> Self {
        Self { shape, parts: cuts(ranks, shape) }
    }

    /// The place of a rank's part among the parts.
    pub(super) fn place(&self, rank: Rank) -> [u32; N] {
        let (mut place, mut rest) = ([0; N], rank);
        for side in (0..N).rev() {
            place[side] = rest % self.parts[side];
            rest /= self.parts[side];
        }
        place
    }

    /// The indices of a part along a dimension; none if there are more parts than indices.
    pub(super) fn along(&self, side: usize, part: u32) -> Range<usize> {
        let at = |part: u32| {
            let indices = self.shape[side] as u128 * u128::from(part);
            (indices / u128::from(self.parts[side])) as usize
        };
        at(part)..at(part + 1)
    }

    /// The number of parts: ranks behind have none.
    pub(super) fn ranks(&self) -> u32 {
        self.parts.iter().product()
    }

    /// The part of a rank.
    pub(super) fn part(&self, rank: Rank) -> Ranges<N> {
        if rank >= self.ranks() {
            return std::array::from_fn(|_| 0..0);
        }
        let place = self.place(rank);
        std::array::from_fn(|side| self.along(side, place[side]))
    }

    /// The elements of all ranks, one part after the other, as a grid.
    pub(super) fn assemble<T: Copy>(&self, parts: Vec<T>) -> Vec<T> {
        if self.parts[1..].iter().all(|parts| *parts == 1) {
            return parts;
        }
        let mut grid = parts.clone();
        let mut rest = parts.as_slice();
        for part in (0..self.ranks()).map(|rank| self.part(rank)) {
            let row = part[N - 1].len();
            for at in rows(&part.each_ref().map(|range| range.clone().collect()), &self.shape) {
                let (first, behind) = rest.split_at(row);
                grid[at + part[N - 1].start..][..row].copy_from_slice(first);
                rest = behind;
            }
        }
        grid
    }
}

/// The number of elements of a box.
pub(super) fn volume<const N: usize>(part: &Ranges<N>) -> usize {
    part.iter().map(Range::len).product()
}

/// The beginnings of rows in a grid with these sides, for all combinations of indices of the slower
/// dimensions.
pub(super) fn rows<const N: usize>(
    indices: &[Vec<usize>; N],
    shape: &[usize; N],
) -> impl Iterator<Item = usize> {
    let slower = &indices[..N - 1];
    let count = if indices[N - 1].is_empty() { 0 } else { slower.iter().map(Vec::len).product() };
    (0..count).map(move |mut number: usize| {
        let (mut row, mut stride) = (0, shape[N - 1]);
        for (indices, side) in slower.iter().zip(shape).rev() {
            row += indices[number % indices.len()] * stride;
            number /= indices.len();
            stride *= side;
        }
        row
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: parts that overlap, leave gaps, or are put together elsewhere.
    #[test]
    fn parts_make_the_grid_again() {
        for ranks in 1..13 {
            let cut = Cut::new(ranks, [5, 4, 7]);
            let numbers = |part: Ranges<3>| {
                let columns = part[2].clone();
                let row = move |row: usize| columns.clone().map(move |column| row + column);
                rows(&part.map(Range::collect), &[5, 4, 7]).flat_map(row).collect::<Vec<_>>()
            };
            let all = (0..ranks).flat_map(|rank| numbers(cut.part(rank))).collect::<Vec<_>>();
            assert!(cut.assemble(all).into_iter().eq(0..140), "{cut:?}");
        }
    }
}
