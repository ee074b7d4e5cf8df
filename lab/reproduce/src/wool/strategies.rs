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

/// The publication's stack, which has a fence in every spawn and a test-and-set in every join. All
/// of its tasks are visible to thieves, so that a look at a worker sees its oldest one.
const OWN: StackKind = StackKind::TwoField;

/// Walks a private permutation, as the publication has it, so that no strategy pays for random
/// numbers.
pub(crate) const RAND: Strategy = strategy("RAND", "random", OWN);
/// Begins the walk again after 12 attempts and 4 thieves.
pub(crate) const SET: Strategy = strategy("SET", "set", OWN);
/// Looks at up to √p workers, stops at the first empty one, and does not look after a failure.
pub(crate) const SAMP: Strategy = strategy("SAMP", "sample", OWN);
/// Both.
pub(crate) const SAMP_SET: Strategy = strategy("SAMP+SET", "sample-set", OWN);
/// RAND on Sinew's stack, whose tasks are private until a thief asks for them.
pub(crate) const SPLIT: Strategy = strategy("RAND, split stack", "random", StackKind::Split);

/// All of them; the first is what one worker alone is timed under.
pub(crate) const STRATEGIES: [Strategy; 5] = [RAND, SET, SAMP, SAMP_SET, SPLIT];

impl Strategy {
    /// Its victims, in the notation of [`Victims`](sinew::Victims).
    pub(crate) fn victims(self) -> &'static str {
        self.victims
    }

    /// The pool for it.
    pub(crate) fn conditions(self, workers: usize) -> Conditions {
        super::conditions(workers).victims(self.victims).stack(self.stack)
    }

    /// The configuration of one worker, to which several are compared: the same stack, without
    /// victims.
    pub(crate) fn alone(self) -> Self {
        if self.stack == SPLIT.stack { SPLIT } else { RAND }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a strategy that is measured on another stack than the one that it is compared on.
    #[test]
    fn the_publications_strategies_have_its_stack() {
        assert!([RAND, SET, SAMP, SAMP_SET].iter().all(|strategy| strategy.stack == OWN));
        assert!(STRATEGIES.iter().all(|strategy| strategy.alone().stack == strategy.stack));
    }
}
