//! How a grid is cut among ranks: the number of parts along each dimension.
//!
//! The elements that ranks exchange lie at the cuts. So the best cuts are those with the least
//! area. `MPI_Dims_create` makes parts as equal in number as possible and does not know the sides;
//! for a cube both agree.
//!
//! # Invariants
//!
//! - C1: the numbers of parts have the product `ranks`.
//! - C2: no other such numbers leave fewer ranks without elements; of those that leave as few, none
//!   has less area.
//!
//! # Cost
//!
//! All ways to write `ranks` as a product are compared.

/// The number of parts along each dimension of a grid with these sides, none of them 0. Of equally
/// good ones those that cut the slower dimensions, so that rows stay long.
///
/// ```
/// use sinew_policy::cuts::cuts;
///
/// assert_eq!(cuts(6, [1_000, 1_000]), [3, 2]);
/// assert_eq!(cuts(6, [100, 10_000]), [1, 6]);
/// assert_eq!(cuts(8, [50, 50, 50]), [2, 2, 2]);
/// ```
///
/// # Panics
///
/// If `ranks` is 0.
#[track_caller]
pub fn cuts<const N: usize>(ranks: u32, sides: [usize; N]) -> [u32; N] {
    assert!(ranks > 0, "a grid is cut among at least one rank");
    let mut best: Option<(Cost, [u32; N])> = None;
    factors(0, ranks, &mut [1; N], &mut |parts| {
        let cost = Cost::of(ranks, parts, &sides);
        if best.is_none_or(|(least, _)| cost.is_less(&least)) {
            best = Some((cost, *parts));
        }
    });
    best.map_or([1; N], |(_, parts)| parts)
}

/// Calls `each` for all ways to write `rest` as a product of the numbers from `side` on, the larger
/// first numbers first.
fn factors<const N: usize>(
    side: usize,
    rest: u32,
    parts: &mut [u32; N],
    each: &mut impl FnMut(&[u32; N]),
) {
    if side + 1 >= N {
        parts[side] = rest;
        return each(parts);
    }
    for part in (1..=rest).rev().filter(|part| rest.is_multiple_of(*part)) {
        parts[side] = part;
        factors(side + 1, rest / part, parts, each);
    }
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Ranks without elements.
    idle: u64,
    /// The area of all cuts, by the volume of the grid.
    area: f64,
}

impl Cost {
    fn of<const N: usize>(ranks: u32, parts: &[u32; N], sides: &[usize; N]) -> Self {
        let pairs = || parts.iter().zip(sides);
        let with = pairs().map(|(part, side)| u64::from(*part).min(*side as u64)).product::<u64>();
        let area = pairs().map(|(part, side)| f64::from(part - 1) / *side as f64).sum();
        Self { idle: u64::from(ranks) - with, area }
    }

    fn is_less(&self, other: &Self) -> bool {
        // Sums of the same fractions in another order differ by their rounding.
        self.idle < other.idle || self.idle == other.idle && self.area < other.area * (1.0 - 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: products that are not the ranks, and a way with less area that is missed (C1,
        /// C2).
        #[test]
        fn no_other_cuts_have_less_area(
            ranks in 1..40_u32,
            sides in [1..60_usize, 1..60, 1..60],
        ) {
            let found = cuts(ranks, sides);
            prop_assert_eq!(found.iter().product::<u32>(), ranks);
            let cost = Cost::of(ranks, &found, &sides);
            for first in 1..=ranks {
                for second in 1..=ranks {
                    let third = ranks / (first * second).max(1);
                    if first * second * third == ranks {
                        let other = Cost::of(ranks, &[first, second, third], &sides);
                        prop_assert!(!other.is_less(&cost), "{:?} {:?}", found, (first, second));
                    }
                }
            }
        }
    }

    /// Catches: columns that are cut where rows would do, and ranks without elements.
    #[test]
    fn cuts_suit_the_sides() {
        assert_eq!(cuts(7, [100, 100]), [7, 1]);
        assert_eq!(cuts(4, [100, 100]), [2, 2]);
        assert_eq!(cuts(2, [100, 100]), [2, 1]);
        assert_eq!(cuts(4, [3, 100]), [1, 4]);
        assert_eq!(cuts(4, [2, 2]), [2, 2]);
        assert_eq!(cuts(12, [100, 100, 100]), [3, 2, 2]);
        assert_eq!(cuts(12, [9]), [12]);
        assert_eq!(cuts(1, [5, 5]), [1, 1]);
    }
}
