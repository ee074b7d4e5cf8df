//! Sparse square matrices as trees: a matrix is empty, a small dense block, or four matrices of
//! half its side.
//!
//! Every node is owned by its parent, so disjoint parts of a matrix can be changed at the same time
//! without any further ado. All matrices of one calculation have the same side, a power of two
//! times [`SIDE`], and hence the same shape. Of two matrices that meet, both are blocks, or both
//! are quadrants, or one is empty.

/// Rows and columns of a dense block.
pub(crate) const SIDE: usize = 4;

/// A dense block, row by row.
pub(crate) type Block = [[f64; SIDE]; SIDE];

/// Quadrants in the order of reading: upper left, upper right, lower left, lower right.
pub(crate) type Quadrants = [Tree; 4];

/// A sparse matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Tree {
    /// All zeros.
    #[default]
    Empty,
    Block(Box<Block>),
    Quadrants(Box<Quadrants>),
}

impl Tree {
    /// The block in place, of zeros if it was empty.
    pub(crate) fn block_mut(&mut self) -> &mut Block {
        if let Self::Empty = self {
            *self = Self::Block(Box::default());
        }
        match self {
            Self::Block(block) => block,
            _ => unreachable!("matrices of one calculation have the same shape"),
        }
    }

    /// The quadrants in place, empty ones if it was empty.
    pub(crate) fn quadrants_mut(&mut self) -> &mut Quadrants {
        if let Self::Empty = self {
            *self = Self::Quadrants(Box::default());
        }
        match self {
            Self::Quadrants(quadrants) => quadrants,
            _ => unreachable!("matrices of one calculation have the same shape"),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Makes one element of a matrix of `side` rows what it shall be.
    pub(crate) fn set(&mut self, side: usize, row: usize, column: usize, value: f64) {
        if side == SIDE {
            self.block_mut()[row][column] = value;
        } else {
            let half = side / 2;
            let quadrant = &mut self.quadrants_mut()[2 * (row / half) + column / half];
            quadrant.set(half, row % half, column % half, value);
        }
    }

    /// Calls `visit` with row, column and value of every element that is not 0.
    pub(crate) fn each(&self, side: usize, visit: &mut impl FnMut(usize, usize, f64)) {
        self.each_from(side, (0, 0), visit);
    }

    fn each_from(
        &self,
        side: usize,
        (top, left): (usize, usize),
        visit: &mut impl FnMut(usize, usize, f64),
    ) {
        match self {
            Self::Empty => {}
            Self::Block(block) => {
                for (row, columns) in (top..).zip(&**block) {
                    for (column, &value) in
                        (left..).zip(columns).filter(|(_, value)| **value != 0.0)
                    {
                        visit(row, column, value);
                    }
                }
            }
            Self::Quadrants(quadrants) => {
                let half = side / 2;
                let corners = [(0, 0), (0, half), (half, 0), (half, half)];
                for (quadrant, (down, right)) in quadrants.iter().zip(corners) {
                    quadrant.each_from(half, (top + down, left + right), visit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an element that lands in another quadrant, or that is visited twice or not at
    /// all.
    #[test]
    fn what_is_set_is_visited_where_it_was_set() {
        let mut tree = Tree::default();
        let mut set = vec![
            (0, 0, 1.0),
            (3, 5, 2.0),
            (32, 31, 3.0),
            (35, 60, 4.0),
            (60, 0, 5.0),
            (63, 63, 6.0),
        ];
        for &(row, column, value) in &set {
            tree.set(64, row, column, value);
        }
        tree.set(64, 3, 5, 7.0);
        set[1].2 = 7.0;
        let mut visited = Vec::new();
        tree.each(64, &mut |row, column, value| visited.push((row, column, value)));
        visited.sort_by_key(|&(row, column, _)| (row, column));
        assert_eq!(visited, set);
    }

    /// Catches: memory for parts of a matrix where there is nothing.
    #[test]
    fn parts_without_elements_stay_empty() {
        let mut tree = Tree::default();
        assert!(tree.is_empty());
        tree.set(64, 0, 0, 1.0);
        let [inner, rest @ ..] = tree.quadrants_mut();
        assert!(!inner.is_empty() && rest.iter().all(Tree::is_empty));
    }
}
