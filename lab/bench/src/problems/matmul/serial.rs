//! matmul without a runtime.

use super::Matrices;
use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    let mut matrices = Matrices::new(case);
    matrices.rows().multiply();
    matrices.sum()
}
