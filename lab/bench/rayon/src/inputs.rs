//! Inputs of the programs.

/// Numbers that look random and are the same in every run.
pub(crate) fn numbers(count: usize) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(count as u64);
    (0..count).map(|_| random.u32(..)).collect()
}
