//! The parts of a mesh: vertices, triangles that name their corners and neighbours, and bad
//! triangles.
//!
//! A triangle is a value of 24 bytes, so it fits into one variable: a read returns all of it, with
//! one entry in the read set.
//!
//! # Invariants
//!
//! - T1: corners are counter-clockwise. Side `i` goes from corner `i` to the next, and what is
//!   beyond it names this triangle on the same side, reversed.
//! - T2: a slot holds a triangle from when it is first written. Triangles change and move on, so a
//!   [`Bad`] one is known by its corners as well.

use robust::Coord;

/// A place in the plane.
pub(super) type Point = Coord<f64>;

/// No segment.
pub(super) const NONE: u32 = u32::MAX;

/// A vertex: it never moves and never goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vertex {
    pub(super) at: Point,
    /// The input's segment that it was put on, or [`NONE`].
    pub(super) on: u32,
}

impl Vertex {
    /// A number that stands for no vertex.
    pub(super) const NOWHERE: Self = Self { at: Point { x: f64::NAN, y: f64::NAN }, on: NONE };
}

/// The neighbour at a side of a triangle: the slot of a triangle, or the outside. A side may be a
/// part of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side(u32);

impl Side {
    const SEGMENT: u32 = 1 << 31;
    const NOBODY: u32 = Self::SEGMENT - 1;
    /// The outside, behind a segment.
    pub(super) const OUTSIDE: Self = Self(Self::SEGMENT | Self::NOBODY);

    /// A side that is no segment, with the triangle in a slot beyond.
    pub(super) fn towards(slot: u32) -> Self {
        debug_assert!(slot < Self::NOBODY, "slots have 31 bits");
        Self(slot)
    }

    /// The same, as a segment or not.
    pub(super) fn segment(self, is: bool) -> Self {
        Self(self.0 & !Self::SEGMENT | if is { Self::SEGMENT } else { 0 })
    }

    pub(super) fn is_segment(self) -> bool {
        self.0 & Self::SEGMENT != 0
    }

    /// The slot of the triangle beyond.
    pub(super) fn beyond(self) -> Option<u32> {
        let slot = self.0 & Self::NOBODY;
        (slot != Self::NOBODY).then_some(slot)
    }
}

/// A triangle (T1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Triangle {
    pub(super) corners: [u32; 3],
    pub(super) sides: [Side; 3],
}

impl Triangle {
    /// The content of a slot before its first triangle.
    pub(super) const NEVER: Self = Self { corners: [NONE; 3], sides: [Side::OUTSIDE; 3] };

    /// The ends of a side.
    pub(super) fn ends(&self, side: usize) -> [u32; 2] {
        [self.corners[side], self.corners[next(side)]]
    }

    /// The corner that a side does not have.
    pub(super) fn opposite(&self, side: usize) -> u32 {
        self.corners[next(next(side))]
    }

    /// The side from one corner to another.
    pub(super) fn side(&self, ends: [u32; 2]) -> Option<usize> {
        (0..3).find(|&side| self.ends(side) == ends)
    }
}

/// The corner or side behind another.
pub(super) fn next(of: usize) -> usize {
    (of + 1) % 3
}

/// A triangle that is to be made better, unless it is gone by then (T2): a unit of work.
///
/// Ordered by urgency: first those whose segment is encroached upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bad {
    urgent_and_slot: u32,
    pub(super) corners: [u32; 3],
}

impl Bad {
    const URGENT: u32 = 1 << 31;

    pub(super) fn new(urgent: bool, slot: u32, triangle: &Triangle) -> Self {
        let urgent = if urgent { Self::URGENT } else { 0 };
        Self { urgent_and_slot: urgent | slot, corners: triangle.corners }
    }

    pub(super) fn slot(&self) -> u32 {
        self.urgent_and_slot & !Self::URGENT
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.urgent_and_slot & Self::URGENT != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a slot that is taken for the outside, and a flag that changes the slot.
    #[test]
    fn a_side_keeps_slot_and_segment_apart() {
        for slot in [0, 1, (1 << 31) - 2] {
            let side = Side::towards(slot);
            assert_eq!((side.beyond(), side.is_segment()), (Some(slot), false));
            let side = side.segment(true);
            assert_eq!((side.beyond(), side.is_segment()), (Some(slot), true));
            assert_eq!(side.segment(false), Side::towards(slot));
        }
        assert_eq!((Side::OUTSIDE.beyond(), Side::OUTSIDE.is_segment()), (None, true));
    }

    /// Catches: an order by slots first.
    #[test]
    fn what_is_urgent_comes_first() {
        let triangle = Triangle { corners: [3, 4, 5], ..Triangle::NEVER };
        let (urgent, other) = (Bad::new(true, 1, &triangle), Bad::new(false, 9, &triangle));
        assert!(urgent > other && urgent.is_urgent() && !other.is_urgent());
        assert_eq!((urgent.slot(), other.slot()), (1, 9));
    }
}
