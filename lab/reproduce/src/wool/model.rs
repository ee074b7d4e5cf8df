//! The bounds that work and span set, as speed-ups.
//!
//! A report says by how much the measured ones miss them.

use sinew_policy::span::Bounds;

/// The lowest and the highest speed-up that the model has for a parallelism of t₁/t∞: the former
/// holds for greedy scheduling at no cost, the latter always.
pub(crate) fn speed_ups(parallelism: f64, workers: usize) -> (f64, f64) {
    let bounds = Bounds::new(1.0, 1.0 / parallelism, workers);
    (1.0 / bounds.upper, 1.0 / bounds.lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: bounds that are exchanged, or that forget one of their terms.
    #[test]
    fn speed_up_lies_between_both_bounds() {
        assert_eq!(speed_ups(1.0, 1), (0.5, 1.0));
        assert_eq!(speed_ups(4.0, 4), (2.0, 4.0));
        assert_eq!(speed_ups(2.0, 8).1, 2.0);
        let (low, high) = speed_ups(1e9, 63);
        assert!(low > 62.9 && high == 63.0);
    }
}
