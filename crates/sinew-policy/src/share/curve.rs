//! Measured speeds of a program, by number of cores.
//!
//! A [`Curve`] is a few points: items per second on a number of cores. It is linear between points
//! and constant above the last one. Below the first, each core is worth the same. An unmeasured
//! core counts as much as the first one, so that more cores are tried. A program without
//! measurements has an equal part (`count`).
//!
//! Source: speed-up curves of the malleable-scheduling literature. Difference: measured while
//! programs run, at the numbers of cores that they have.

/// The most points of a curve.
pub const POINTS: usize = 8;

/// The weight of a new measurement against earlier ones of the same number of cores.
const NEW_WEIGHT: f64 = 0.25;

/// Items per second on a number of cores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Speed {
    /// The cores, at least 1.
    pub cores: u32,
    /// Items per second.
    pub rate: f32,
}

/// Measured speeds, by number of cores in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Curve {
    points: [Speed; POINTS],
    used: usize,
}

impl Curve {
    /// A curve through measured points. Points without cores or without a rate are skipped.
    pub fn from_points(points: impl IntoIterator<Item = Speed>) -> Self {
        let mut curve = Self::default();
        for Speed { cores, rate } in points {
            curve.learn(cores, f64::from(rate));
        }
        curve
    }

    /// The points.
    pub fn points(&self) -> &[Speed] {
        &self.points[..self.used]
    }

    /// Records `rate` items per second on `cores` cores. A full curve drops the point that its
    /// neighbours predict best.
    pub fn learn(&mut self, cores: u32, rate: f64) {
        if cores == 0 || !(1e-30..1e30).contains(&rate) {
            return;
        }
        let at = self.points().partition_point(|point| point.cores < cores);
        if let Some(point) = self.points[..self.used].get_mut(at)
            && point.cores == cores
        {
            point.rate += ((rate - f64::from(point.rate)) * NEW_WEIGHT) as f32;
            return;
        }
        let mut points: Vec<Speed> = self.points().to_vec();
        points.insert(at, Speed { cores, rate: rate as f32 });
        if points.len() > POINTS {
            points.remove(most_redundant(&points, cores));
        }
        self.used = points.len();
        self.points[..self.used].copy_from_slice(&points);
    }

    /// Items per second on `cores` cores; without measurements, the number of cores.
    pub fn rate(&self, cores: u32) -> f64 {
        let (points, n) = (self.points(), f64::from(cores));
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return n };
        if cores <= first.cores {
            return f64::from(first.rate) * n / f64::from(first.cores);
        }
        let above = points.partition_point(|point| point.cores < cores);
        match points.get(above) {
            Some(above_point) => between(points[above - 1], *above_point, n),
            // A single point does not show a trend; with two or more, the speed may have reached
            // its maximum.
            None if points.len() == 1 => f64::from(first.rate) * n / f64::from(first.cores),
            None => beyond(points[points.len() - 2], *last, n),
        }
    }

    /// The speed relative to one core.
    pub fn speed_up(&self, cores: u32) -> f64 {
        self.rate(cores) / self.rate(1).max(f64::MIN_POSITIVE)
    }
}

/// The point that is nearest to the line through its neighbours, other than the one of `new`
/// cores.
fn most_redundant(points: &[Speed], new: u32) -> usize {
    let error = |i: usize| {
        let line = between(points[i - 1], points[i + 1], f64::from(points[i].cores));
        (f64::from(points[i].rate) - line).abs()
    };
    let inner = (1..points.len() - 1).filter(|&i| points[i].cores != new);
    inner.min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(points.len() - 2)
}

fn between(a: Speed, b: Speed, cores: f64) -> f64 {
    let part = (cores - f64::from(a.cores)) / f64::from(b.cores - a.cores);
    f64::from(a.rate) + part * (f64::from(b.rate) - f64::from(a.rate))
}

/// Above the last point: continues the last piece, but never downwards.
fn beyond(before: Speed, last: Speed, cores: f64) -> f64 {
    between(before, last, cores).max(f64::from(last.rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Catches: wrong pieces of the line, and wrong values between measured numbers of cores.
    #[test]
    fn speeds_between_measurements_lie_on_lines() {
        let speed = |cores, rate| Speed { cores, rate };
        let curve = Curve::from_points([speed(4, 300.0), speed(2, 200.0), speed(8, 300.0)]);
        for (cores, rate) in
            [(1, 100.0), (2, 200.0), (3, 250.0), (4, 300.0), (6, 300.0), (16, 300.0)]
        {
            assert_eq!(curve.rate(cores), rate, "{cores}");
        }
        assert_eq!(curve.speed_up(4), 3.0);
        assert_eq!((Curve::default().rate(3), Curve::default().speed_up(3)), (3.0, 3.0));
    }

    /// Catches: a single outlier that replaces the value, and a change that is never learned.
    #[test]
    fn the_same_number_of_cores_is_learned_little_by_little() {
        let mut curve = Curve::default();
        curve.learn(2, 100.0);
        curve.learn(2, 200.0);
        assert_eq!(curve.rate(2), 125.0);
        (0..40).for_each(|_| curve.learn(2, 200.0));
        assert!((curve.rate(2) - 200.0).abs() < 0.1);
    }

    proptest! {
        /// Catches: invalid values that get in, points out of order, and a curve that grows.
        #[test]
        fn a_curve_stays_in_order_and_finite(
            points in proptest::collection::vec((any::<u32>(), any::<f64>()), 0..40),
        ) {
            let mut curve = Curve::default();
            for (cores, rate) in points {
                curve.learn(cores, rate);
            }
            prop_assert!(curve.points().len() <= POINTS);
            prop_assert!(curve.points().is_sorted_by(|a, b| a.cores < b.cores));
            for cores in [1, 2, 3, 100, u32::MAX] {
                prop_assert!(curve.rate(cores).is_finite() && curve.rate(cores) >= 0.0);
            }
            prop_assert_eq!(Curve::from_points(curve.points().iter().copied()), curve);
        }
    }
}
