//! The data from which the distance of two PUs is computed: the NUMA matrix, the separations that
//! occur, and one word for each PU. `distance` builds and reads them; this file knows no machine.

/// NUMA distances between nodes, by index, in the firmware's unit: 10 is "the same node".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matrix {
    nodes: usize,
    distances: Vec<u32>,
}

/// The firmware's convention, used if it gives no table.
pub(crate) const LOCAL: u32 = 10;
pub(crate) const REMOTE: u32 = 20;

impl Matrix {
    /// `None` unless the rows form a square in which no node is nearer to another than to itself.
    /// The larger one of a pair's two distances counts for both directions.
    pub(crate) fn new(rows: &[Vec<u32>]) -> Option<Self> {
        let nodes = rows.len();
        for (i, row) in rows.iter().enumerate() {
            if row.len() != nodes || row[i] == 0 || row.iter().any(|distance| *distance < row[i]) {
                return None;
            }
        }
        let mut distances = Vec::with_capacity(nodes * nodes);
        for (a, row) in rows.iter().enumerate() {
            for (b, &distance) in row.iter().enumerate() {
                distances.extend([distance.max(rows[b][a])]);
            }
        }
        Some(Self { nodes, distances })
    }

    pub(crate) fn between(&self, a: Option<usize>, b: Option<usize>) -> u32 {
        match (a, b) {
            (a, b) if a == b => LOCAL,
            (Some(a), Some(b)) => self.distances[a * self.nodes + b],
            _ => REMOTE,
        }
    }
}

/// The facts that separate two PUs; sorts from near to far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Separation {
    pub(crate) numa: u32,
    /// Levels from the core outwards to the innermost shared object: 1 for the core itself.
    pub(crate) up: u8,
}

/// Each PU's path down the tree as one word, so that a distance needs no walk. The word has a digit
/// for each distance, the farthest first; the digit counts the groups of PUs that are nearer than
/// that distance to each other. PUs with neighbouring numbers are neighbours in the tree, so the
/// first digit in which two PUs differ gives their distance.
#[derive(Debug, Clone)]
pub(crate) struct PathWords {
    words: Vec<u64>,
    /// The distance to which each bit belongs.
    bits: [u8; 64],
}

impl PathWords {
    /// `steps`: the distance of each PU but the first from the one before it, at most `levels`.
    /// `None` if a word has too few bits.
    pub(crate) fn of(steps: &[u8], levels: u8) -> Option<Self> {
        let numbers = count(steps, levels);
        let mut most = vec![0; usize::from(levels)];
        for digits in &numbers {
            for (most, &digit) in most.iter_mut().zip(digits) {
                *most = digit.max(*most);
            }
        }
        let (mut bits, mut shifts, mut used) = ([0; 64], vec![0; usize::from(levels)], 0);
        for (level, shift) in shifts.iter_mut().enumerate() {
            *shift = used;
            let width = (u32::BITS - most[level].leading_zeros()) as usize;
            bits.get_mut(used..used + width)?.fill(level as u8 + 1);
            used += width;
        }
        // A digit without bits is 0, and its shift may be beyond the last bit.
        let mut words = Vec::with_capacity(numbers.len());
        for digits in &numbers {
            let mut word = 0;
            for (digit, shift) in digits.iter().zip(&shifts) {
                word |= u64::from(*digit) << (shift % 64);
            }
            words.extend([word]);
        }
        Some(Self { words, bits })
    }

    /// The distance of two PUs by their numbers in the tree.
    #[inline]
    pub(crate) fn distance(&self, a: usize, b: usize) -> u8 {
        let differing = self.words[a] ^ self.words[b];
        // Two PUs never have the same word; a PU and itself differ in no bit.
        differing.checked_ilog2().map_or(0, |bit| self.bits[bit as usize])
    }
}

/// The digits of all PUs, the one for the nearest first.
fn count(steps: &[u8], levels: u8) -> Vec<Vec<u32>> {
    let mut digits = vec![0; usize::from(levels)];
    let mut all = vec![digits.clone()];
    for &step in steps {
        let (below, above) = digits.split_at_mut(usize::from(step) - 1);
        below.fill(0);
        above[0] += 1;
        all.push(digits.clone());
    }
    all
}

/// All distances of a machine: distance `d` is the separation at index `d - 1`.
#[derive(Debug, Clone, Default)]
pub(crate) struct DistanceTable {
    pub(crate) separations: Vec<Separation>,
    pub(crate) matrix: Option<Matrix>,
    /// `None` if there is a NUMA matrix, or a word has too few bits.
    pub(crate) path_words: Option<PathWords>,
}

#[cfg(test)]
mod tests {
    //! Blind to: wrong tables that are plausible.

    use super::*;

    #[test]
    fn a_table_that_is_not_square_or_has_a_nearer_remote_node_is_refused() {
        assert!(Matrix::new(&[vec![10, 20], vec![20]]).is_none());
        assert!(Matrix::new(&[vec![10, 5], vec![5, 10]]).is_none());
        assert!(Matrix::new(&[vec![0, 0], vec![0, 0]]).is_none());
    }

    #[test]
    fn an_uneven_pair_counts_with_its_larger_distance() {
        let matrix = Matrix::new(&[vec![10, 21], vec![17, 10]]).unwrap();
        assert_eq!(matrix.between(Some(0), Some(1)), 21);
        assert_eq!(matrix.between(Some(1), Some(0)), 21);
    }

    #[test]
    fn addresses_that_do_not_fit_into_a_word_are_left_out() {
        // The distances of a tree with two branches at each of 70 levels.
        let steps: Vec<u8> = (1..=70).collect();
        assert!(PathWords::of(&steps, 70).is_none());
        let all = PathWords::of(&steps[..64], 64).unwrap();
        assert_eq!((all.words.len(), all.words[64]), (65, 1 << 63));
    }
}
