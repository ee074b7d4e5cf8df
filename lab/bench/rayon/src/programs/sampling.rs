//! Points drawn at random: how many of them lie in a circle.

use crate::answer::mix;
use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Whether point number `index` lies in the circle. Its place follows from its number, so all runs
/// draw the same.
fn hit(index: u64) -> bool {
    let bits = mix(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let part = |bits: u64| (bits & 0xffff_ffff) as f64 / f64::from(u32::MAX);
    let (x, y) = (part(bits), part(bits >> 32));
    x * x + y * y <= 1.0
}

pub(super) fn pi(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(2_000_000, 10_000),
        |points: &u64| (0..*points).filter(|index| hit(*index)).count(),
        |points| (0..*points).into_par_iter().filter(|index| hit(*index)).count(),
    )
}
