//! A decision that takes two epochs.
//!
//! Source: the counter R of figures 6.3 and 6.4 in Góes, "Automatic Skeleton-Driven Performance
//! Optimizations for Transactional Memory", which takes the values -1, 0 and +1. Difference: it
//! returns to 0 after a decision, so that the next state does not begin with half a confirmation.
//!
//! # Tests
//!
//! All eight sequences of three epochs.

/// Waits for two epochs in a row with the same verdict. A contrary one resets the count, and does
/// not count itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Confirm(Option<bool>);

impl Confirm {
    /// The decision after an epoch with this `verdict`, if there is one.
    pub(super) fn record(&mut self, verdict: bool) -> Option<bool> {
        match self.0.take() {
            None => {
                self.0 = Some(verdict);
                None
            }
            Some(first) => (first == verdict).then_some(verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a decision on one epoch, a contrary epoch that counts as a first one, and a count
    /// that outlives its decision.
    #[test]
    fn two_in_a_row_decide_and_a_contrary_one_resets() {
        let decided = |verdicts: [bool; 3]| {
            let mut confirm = Confirm::default();
            verdicts.map(|verdict| confirm.record(verdict))
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(decided([true, true, true]), [None, yes, None]);
        assert_eq!(decided([true, true, false]), [None, yes, None]);
        assert_eq!(decided([true, false, true]), [None, None, None]);
        assert_eq!(decided([true, false, false]), [None, None, None]);
        assert_eq!(decided([false, true, true]), [None, None, None]);
        assert_eq!(decided([false, true, false]), [None, None, None]);
        assert_eq!(decided([false, false, true]), [None, no, None]);
        assert_eq!(decided([false, false, false]), [None, no, None]);
    }
}
