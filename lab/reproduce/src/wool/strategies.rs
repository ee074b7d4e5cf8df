//! The ways to choose a victim that the publication compares, and its task stack.

use sinew::StackKind;

use crate::common::Conditions;

/// The victim policy, and the kind of task stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// As in the publication.
    pub(crate) name: &'static str,
    /// In the notation of [`Victims`](sinew::Victims).
    victims: &'static str,
    stack: StackKind,
}

const fn strategy(name: &'static str, victims: &'static str, stack: StackKind) -> Strategy {
    Strategy { name, victims, stack }
}

/// Walks a private permutation, as the publication has it, so that no strategy pays for random
/// numbers.
pub(crate) const RAND: Strategy = strategy("RAND", "random", StackKind::Split);
/// Begins the walk again after 12 attempts and 4 thieves.
pub(crate) const SET: Strategy = strategy("SET", "set", StackKind::Split);
/// Looks at up to √p workers, stops at the first empty one, and does not look after a failure.
pub(crate) const SAMP: Strategy = strategy("SAMP", "sample", StackKind::Split);
/// Both.
pub(crate) const SAMP_SET: Strategy = strategy("SAMP+SET", "sample-set", StackKind::Split);
/// RAND on the publication's two-field task stack, which has a fence in every spawn and a
/// test-and-set in every join.
pub(crate) const TWO_FIELD: Strategy =
    strategy("RAND, two-field stack", "random", StackKind::TwoField);

/// All of them; the first is what one worker alone is timed under.
pub(crate) const STRATEGIES: [Strategy; 5] = [RAND, SET, SAMP, SAMP_SET, TWO_FIELD];

impl Strategy {
    /// The pool for it.
    pub(crate) fn conditions(self, workers: usize) -> Conditions {
        super::conditions(workers).victims(self.victims).stack(self.stack)
    }

    /// The configuration of one worker to which several are compared: the same stack, without
    /// victims.
    pub(crate) fn alone(self) -> Self {
        if self.stack == TWO_FIELD.stack { TWO_FIELD } else { RAND }
    }
}
