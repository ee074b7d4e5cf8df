//! An irregular loop without a runtime.

use super::Load;
use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    let load = Load::of(case);
    (0..load.length).fold(0, |sum, i| sum.wrapping_add(load.run(i)))
}
