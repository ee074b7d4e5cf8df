//! A number for a result, which plain MPI programs of the same problems print as well
//! (`lab/bench/rivals/mpi`).

/// FNV-1a over 64-bit words.
pub(crate) fn number(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |sum, word| (sum ^ word).wrapping_mul(0x0100_0000_01b3))
}
