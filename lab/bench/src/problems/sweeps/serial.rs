//! Sweeps without a runtime.

use super::{Sweep, WIDTH};
use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    Sweep::drive(case, |sweep, data| {
        data.chunks_mut(WIDTH).enumerate().for_each(|(number, row)| sweep.row(number, row));
    })
}
