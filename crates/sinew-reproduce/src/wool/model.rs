//! The bounds that work and span set to the time of a run, as the publication uses them.
//!
//! With work t₁ (stealing left out), span t∞ and p workers, max(t∞, t₁/p) is a true lower bound. t∞ + t₁/p is an upper bound for
//! greedy scheduling at no cost; real costs, and waiting workers that may not steal everything, can exceed it: a report says by
//! how much.

/// The lowest and the highest speed-up that the model has for a parallelism of t₁/t∞.
pub(crate) fn speed_ups(parallelism: f64, workers: f64) -> (f64, f64) {
    (1.0 / (1.0 / parallelism + 1.0 / workers), parallelism.min(workers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: bounds that are exchanged, or that forget one of their terms.
    #[test]
    fn speed_up_lies_between_both_bounds() {
        assert_eq!(speed_ups(1.0, 1.0), (0.5, 1.0));
        assert_eq!(speed_ups(4.0, 4.0), (2.0, 4.0));
        assert_eq!(speed_ups(2.0, 8.0).1, 2.0);
        let (low, high) = speed_ups(1e9, 63.0);
        assert!(low > 62.9 && high == 63.0);
    }
}
