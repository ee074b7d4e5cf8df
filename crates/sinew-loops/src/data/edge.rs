//! Elements beyond the edges of a grid.

/// The rule for elements beyond an edge of a stencil's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Edge<T> {
    /// The opposite side: the grid is a ring along that dimension.
    Periodic,
    /// The nearest element of the grid, again and again.
    #[default]
    Nearest,
    /// This value.
    Constant(T),
    /// Nothing: elements from which the stencil would reach beyond the edge keep their values.
    Keep,
}

/// The source of an element along a dimension.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum At<'e, T> {
    Index(usize),
    Value(&'e T),
}

impl<T> Edge<T> {
    /// The source of `index` along a dimension of `length` elements, at least one.
    #[inline]
    pub(crate) fn at(&self, index: isize, length: usize) -> At<'_, T> {
        // A negative one is larger than all lengths.
        if (index as usize) < length {
            return At::Index(index as usize);
        }
        match self {
            Self::Periodic => At::Index(wrap(index, length)),
            Self::Constant(value) => At::Value(value),
            // No function reads beyond an edge that is kept.
            Self::Nearest | Self::Keep => At::Index(if index < 0 { 0 } else { length - 1 }),
        }
    }

    pub(crate) fn keeps(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

/// An index beyond a ring, on the ring. Mostly it is once around, which takes no division.
#[inline]
fn wrap(index: isize, length: usize) -> usize {
    let length = length as isize;
    let once = if index < 0 { index + length } else { index - length };
    if (0..length).contains(&once) { once as usize } else { index.rem_euclid(length) as usize }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: an index that is off by one at either side, or farther away than the dimension
    /// is long.
    #[test]
    fn indices_beyond_an_edge_follow_its_rule() {
        let along = |edge: Edge<u8>| -> Vec<i32> {
            let at = |index| match edge.at(index, 3) {
                At::Index(index) => index as i32,
                At::Value(value) => -i32::from(*value),
            };
            (-7..=8).map(at).collect()
        };
        assert_eq!(along(Edge::Periodic), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(along(Edge::Nearest), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(
            along(Edge::Constant(9)),
            [-9, -9, -9, -9, -9, -9, -9, 0, 1, 2, -9, -9, -9, -9, -9, -9]
        );
        assert!(Edge::<u8>::Keep.keeps() && !Edge::Constant(0).keeps());
    }
}
