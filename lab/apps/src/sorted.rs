//! The common part of the sorting programs: input, result, and its check.

use std::fmt;

use crate::memory;
use crate::options::Error;
use crate::problem::Wrong;

/// Random numbers, the same ones each time.
pub(crate) fn random(app: &'static str, length: u64) -> Result<Vec<u32>, Error> {
    // Three times: the input, and a result of each version.
    memory::room(app, 3 * size_of::<u32>() as u64 * length)?;
    let mut rng = fastrand::Rng::with_seed(42);
    Ok((0..length).map(|_| rng.u32(..)).collect())
}

/// Numbers in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sorted(pub(crate) Vec<u32>);

impl fmt::Display for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [first, .., last] => write!(f, "{} in order, {first} to {last}", self.0.len()),
            short => write!(f, "{short:?}"),
        }
    }
}

impl Sorted {
    /// Whether these are the numbers of `unsorted`, in order.
    pub(crate) fn check(&self, unsorted: &[u32]) -> Result<(), Wrong> {
        if let Some(at) = self.0.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Wrong(format!("elements {at} and {} are out of order", at + 1)));
        }
        let same = self.0.len() == unsorted.len() && fingerprint(&self.0) == fingerprint(unsorted);
        Wrong::unless(same, || "the elements are not those of the input".to_owned())
    }
}

/// Does not depend on the order; two different inputs hardly ever share it.
fn fingerprint(numbers: &[u32]) -> u64 {
    let scramble = |x: u32| (u64::from(x) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    numbers
        .iter()
        .fold(0, |sum: u64, &x| sum.wrapping_add(scramble(x).wrapping_mul(0xD6E8_FEB8_6659_FD93)))
}

/// The inputs on which sorting goes wrong: none, one, equal, in order, in reverse, a pipe organ, a
/// saw.
#[cfg(test)]
pub(crate) fn awkward() -> Vec<Vec<u32>> {
    let organ = (0..2500).chain((0..2500).rev()).collect();
    let saw = (0..5000).map(|x| x % 7).collect();
    let random = random("test", 5000).unwrap();
    vec![
        vec![],
        vec![1],
        vec![7; 5000],
        (0..5000).collect(),
        (0..5000).rev().collect(),
        organ,
        saw,
        random,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a check that looks at the order or at the elements alone.
    #[test]
    fn a_lost_or_misplaced_element_is_noticed() {
        Sorted(vec![1, 2, 3]).check(&[3, 1, 2]).unwrap();
        for wrong in [vec![1, 3, 2], vec![1, 2], vec![1, 2, 2], vec![1, 1, 4]] {
            assert!(Sorted(wrong).check(&[3, 1, 2]).is_err());
        }
    }

    /// Catches: an input that aborts the program instead of being refused.
    #[test]
    fn an_input_beyond_all_memory_is_refused() {
        assert!(matches!(random("test", u64::MAX / 100), Err(Error::Memory { .. })));
    }
}
