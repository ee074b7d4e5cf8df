//! Medians and spreads of a few measured values, and what may be concluded from them.

/// The middle value, or the mean of both middle ones; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Half the distance between the lower and the upper quartile: half of all values lie that close to
/// the middle. `None` of less than two values.
pub fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / 2.0)
}

/// The standard deviation of the runs that these are a sample of. `None` of less than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The same as a part of their mean.
pub fn deviation(values: &[f64]) -> Option<f64> {
    Some(standard_deviation(values)? / mean(values)?)
}

/// The fewest rounds from which a report judges.
pub const ENOUGH_ROUNDS: usize = 3;

/// Whether differences lie beyond the noise: there are [enough](ENOUGH_ROUNDS) of them, and three
/// quarters of them lie on one side of 0, farther from it than `noise`.
pub fn is_beyond(differences: &[f64], noise: f64) -> bool {
    let above = differences.iter().filter(|&&difference| difference > noise).count();
    let below = differences.iter().filter(|&&difference| difference < -noise).count();
    differences.len() >= ENOUGH_ROUNDS && 4 * above.max(below) >= 3 * differences.len()
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value below which the share `at` of all values lies, between neighbours by straight lines.
pub fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let position = at * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(values[below] + (values[above] - values[below]) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a median of unsorted values, or one of an even number that takes a side.
    #[test]
    fn the_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[1.0, 4.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }

    /// Catches: a deviation of the sample instead of what it is taken from, or one that is not a
    /// part of the mean.
    #[test]
    fn a_deviation_is_a_part_of_the_mean() {
        assert_eq!(standard_deviation(&[2.0, 4.0]), Some(2_f64.sqrt()));
        assert_eq!(deviation(&[2.0, 4.0]), Some(2_f64.sqrt() / 3.0));
        assert_eq!((deviation(&[2.0]), mean(&[]), mean(&[1.0, 4.0])), (None, None, Some(2.5)));
    }

    /// Catches: a judgement from two rounds, from a median whose rounds do not agree, or of one
    /// side only.
    #[test]
    fn differences_count_where_most_rounds_exceed_the_noise() {
        assert!(!is_beyond(&[9.0, 9.0], 1.0));
        assert!(is_beyond(&[9.0, 2.0, 8.0], 1.0) && is_beyond(&[-9.0, -2.0, -8.0], 1.0));
        assert!(!is_beyond(&[9.0, 9.0, 9.0, -1.0, 0.0], 1.0));
        assert!(!is_beyond(&[9.0, 9.0, -0.5], 0.0) && is_beyond(&[9.0, 9.0, 9.0, -0.5], 0.0));
        assert!(!is_beyond(&[1.0, 1.0, 1.0], 1.0));
    }

    /// Catches: a spread that one stray value decides.
    #[test]
    fn the_spread_is_half_the_distance_of_the_quartiles() {
        assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0, 1000.0]), Some(1.0));
        assert_eq!(spread(&[2.0, 2.0]), Some(0.0));
        assert_eq!(spread(&[2.0]), None);
    }
}
