//! The rules for elements beyond the edges of a stencil's grid.

/// The rule for elements beyond an edge of a stencil's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Edge<T> {
    /// The opposite side: the grid is a ring along that dimension.
    Periodic,
    /// The nearest element of the grid, repeated.
    #[default]
    Nearest,
    /// This value.
    Constant(T),
    /// Nothing: elements whose neighbourhood reaches beyond the edge keep their values.
    Keep,
}

/// An element along a dimension: its index, or the constant beyond an edge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Element<'e, T> {
    Index(usize),
    Value(&'e T),
}

impl<T> Edge<T> {
    /// The element at `index` along a dimension of `length` elements, at least one.
    #[inline]
    pub(crate) fn at(&self, index: isize, length: usize) -> Element<'_, T> {
        // A negative index is larger than all lengths as a `usize`.
        if (index as usize) < length {
            return Element::Index(index as usize);
        }
        match self {
            Self::Periodic => Element::Index(wrap(index, length)),
            Self::Constant(value) => Element::Value(value),
            // No function is called near a `Keep` edge.
            Self::Nearest | Self::Keep => Element::Index(if index < 0 { 0 } else { length - 1 }),
        }
    }

    pub(crate) fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

/// An index modulo `length`. Without a division for less than one length beyond the edge.
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
                Element::Index(index) => index as i32,
                Element::Value(value) => -i32::from(*value),
            };
            (-7..=8).map(at).collect()
        };
        assert_eq!(along(Edge::Periodic), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(along(Edge::Nearest), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(
            along(Edge::Constant(9)),
            [-9, -9, -9, -9, -9, -9, -9, 0, 1, 2, -9, -9, -9, -9, -9, -9]
        );
        assert!(Edge::<u8>::Keep.is_keep() && !Edge::Constant(0).is_keep());
    }
}
