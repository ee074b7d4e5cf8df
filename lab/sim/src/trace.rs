//! The fingerprint of a run: runs with equal fingerprints took the same steps at the same times.

use crate::queue::Time;

/// The kind of a step, as the fingerprint sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    Works = 1,
    Spawns,
    Inlines,
    Finishes,
    Tries,
    Steals,
    Fails,
    Waits,
    Parks,
    Wakes,
    Fault,
}

/// A hash of all steps so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace(u64);

impl Trace {
    pub(crate) fn new(seed: u64) -> Self {
        Self(crate::random::mix(seed))
    }

    /// Adds a step of `worker`; `with` distinguishes it from others of its kind.
    #[inline]
    pub(crate) fn add(&mut self, time: Time, worker: usize, step: Step, with: u64) {
        let what = ((worker as u64) << 8) | step as u64;
        for word in [time, what ^ with.rotate_left(40)] {
            // Multiplication carries bits upwards; the rotation brings them down again.
            self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }

    pub(crate) fn hash(self) -> u64 {
        crate::random::mix(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a fingerprint that ignores the worker, the kind or the time of a step.
    #[test]
    fn every_part_of_a_step_is_seen() {
        let hash = |time, worker, step, with| {
            let mut trace = Trace::new(0);
            trace.add(time, worker, step, with);
            trace.add(100, 0, Step::Parks, 0);
            trace.hash()
        };
        let hashes = [
            hash(7, 3, Step::Steals, 5),
            hash(8, 3, Step::Steals, 5),
            hash(7, 4, Step::Steals, 5),
            hash(7, 3, Step::Fails, 5),
            hash(7, 3, Step::Steals, 6),
        ];
        assert!((1..hashes.len()).all(|at| !hashes[..at].contains(&hashes[at])), "{hashes:?}");
    }
}
