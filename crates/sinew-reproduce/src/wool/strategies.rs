//! The four ways to choose a victim that the publication compares.

/// Names as in the publication, and as [`Victims`](sinew::Victims) is written.
///
/// RAND walks a private permutation, as the publication has it, so that no strategy pays for random numbers. SET begins again
/// after 12 attempts and 4 thieves; SAMP looks at up to √p workers, stops at the first empty one, and does not look after a failure.
pub(crate) const STRATEGIES: [(&str, &str); 4] =
    [("RAND", "random"), ("SET", "set"), ("SAMP", "sample"), ("SAMP+SET", "sample-set")];
