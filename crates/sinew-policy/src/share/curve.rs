//! How fast a program is on how many cores, as it was measured while it ran.
//!
//! A [`Curve`] is a few points: so many items a second on so many cores. Between points it is a
//! straight line; above the last one, a program is as fast as there. Below the first, each core is
//! worth the same. What was not measured is taken as best as it can be, a core as good as the
//! first: so more cores are tried. A program of which nothing is known has an equal part (`count`).
//!
//! Source: speed-up curves as the malleable-scheduling literature measures them. Difference:
//! measured while programs run, at the numbers they happen to have.

/// How many points a curve has at most.
pub const POINTS: usize = 8;

/// A new measurement counts for so much beside what was known of the same number of cores.
const FRESH: f64 = 0.25;

/// Items a second on a number of cores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Speed {
    /// The cores, at least 1.
    pub cores: u32,
    /// Items a second.
    pub rate: f32,
}

/// Measured speeds, by number of cores in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Curve {
    points: [Speed; POINTS],
    used: usize,
}

impl Curve {
    /// A curve through measured points. Those without cores, or without a rate, are left out.
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

    /// The program did `rate` items a second on `cores` cores. A full curve forgets the point whose
    /// neighbours say most of it.
    pub fn learn(&mut self, cores: u32, rate: f64) {
        if cores == 0 || !(1e-30..1e30).contains(&rate) {
            return;
        }
        let at = self.points().partition_point(|point| point.cores < cores);
        if let Some(point) = self.points[..self.used].get_mut(at)
            && point.cores == cores
        {
            point.rate += ((rate - f64::from(point.rate)) * FRESH) as f32;
            return;
        }
        let mut points: Vec<Speed> = self.points().to_vec();
        points.insert(at, Speed { cores, rate: rate as f32 });
        if points.len() > POINTS {
            points.remove(dullest(&points, cores));
        }
        self.used = points.len();
        self.points[..self.used].copy_from_slice(&points);
    }

    /// Items a second on `cores` cores, or, where nothing was measured, the number of cores.
    pub fn rate(&self, cores: u32) -> f64 {
        let (points, n) = (self.points(), f64::from(cores));
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return n };
        if cores <= first.cores {
            return f64::from(first.rate) * n / f64::from(first.cores);
        }
        let above = points.partition_point(|point| point.cores < cores);
        match points.get(above) {
            Some(above_point) => between(points[above - 1], *above_point, n),
            // One point says nothing about more cores; two or more say that it may have come to its
            // end.
            None if points.len() == 1 => f64::from(first.rate) * n / f64::from(first.cores),
            None => beyond(points[points.len() - 2], *last, n),
        }
    }

    /// How many times as fast as on one core.
    pub fn speed_up(&self, cores: u32) -> f64 {
        self.rate(cores) / self.rate(1).max(f64::MIN_POSITIVE)
    }
}

/// The point, other than that of `fresh`, that is nearest to the line through its neighbours, by
/// cores.
fn dullest(points: &[Speed], fresh: u32) -> usize {
    let error = |i: usize| {
        let line = between(points[i - 1], points[i + 1], f64::from(points[i].cores));
        (f64::from(points[i].rate) - line).abs()
    };
    let inner = (1..points.len() - 1).filter(|&i| points[i].cores != fresh);
    inner.min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(points.len() - 2)
}

fn between(a: Speed, b: Speed, cores: f64) -> f64 {
    let part = (cores - f64::from(a.cores)) / f64::from(b.cores - a.cores);
    f64::from(a.rate) + part * (f64::from(b.rate) - f64::from(a.rate))
}

/// Above the last point: as the last piece went on, but not downwards.
fn beyond(before: Speed, last: Speed, cores: f64) -> f64 {
    between(before, last, cores).max(f64::from(last.rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Catches: wrong pieces of the line, and numbers of cores that were not measured.
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

    /// Catches: a single odd measurement that is believed at once, and a change that is never
    /// believed.
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
        /// Catches: nonsense that gets in, points out of order, and a curve that grows.
        #[test]
        fn a_curve_stays_in_order_and_finite(points in proptest::collection::vec((any::<u32>(), any::<f64>()), 0..40)) {
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
