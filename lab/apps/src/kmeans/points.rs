//! Points in any number of dimensions: generated, or read from a file with a point on each line.

use std::path::Path;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};

use crate::lines::Lines;
use crate::options::Error;

/// Coordinates that are worked on at once. Points are filled up with zeros to a multiple of that.
const LANES: usize = 8;

/// Distance of points from the middle of their group, along each dimension.
const SPREAD: f32 = 0.0002;

/// Any number of points, one behind the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Points {
    pub(super) dimensions: usize,
    pub(super) values: Vec<f32>,
}

impl Points {
    /// Points from as many coordinates as there are dimensions for each.
    fn pack(dimensions: usize, coordinates: &[f32]) -> Self {
        let mut points = Self { dimensions, values: Vec::new() };
        let filling = points.stride() - dimensions;
        for point in coordinates.chunks_exact(dimensions) {
            points.values.extend(point.iter().copied().chain(std::iter::repeat_n(0.0, filling)));
        }
        points
    }

    /// Values a point, zeros included.
    pub(super) fn stride(&self) -> usize {
        self.dimensions.next_multiple_of(LANES)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.stride()
    }

    pub(super) fn get(&self, at: usize) -> &[f32] {
        let stride = self.stride();
        &self.values[at * stride..][..stride]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.stride())
    }

    /// Some of them.
    pub(super) fn select(&self, places: &[usize]) -> Self {
        let values = places.iter().flat_map(|&at| self.get(at)).copied().collect();
        Self { values, ..*self }
    }

    /// The place of the nearest point: of equally near ones, the first.
    pub(super) fn nearest(&self, point: &[f32]) -> usize {
        let mut best = (0, f32::INFINITY);
        for (at, other) in self.iter().enumerate() {
            let distance = distance(point, other);
            if distance < best.1 {
                best = (at, distance);
            }
        }
        best.0
    }

    /// Moves and stretches all dimensions alike: mean 0, and variance 1 where values differ at all.
    pub(super) fn standardise(&mut self) {
        let (stride, count) = (self.stride(), self.len() as f64);
        for at in 0..self.dimensions {
            let values =
                || self.values.iter().skip(at).step_by(stride).map(|&value| f64::from(value));
            let mean = values().sum::<f64>() / count;
            let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            let scale = if variance > 0.0 { variance.sqrt().recip() } else { 1.0 };
            for value in self.values.iter_mut().skip(at).step_by(stride) {
                *value = ((f64::from(*value) - mean) * scale) as f32;
            }
        }
    }

    /// Points in groups whose middles lie in the unit cube, the same ones each time.
    pub(super) fn random(length: usize, dimensions: usize, groups: usize) -> Self {
        let mut rng = fastrand::Rng::with_seed(42);
        let mut normal = SmallRng::seed_from_u64(42);
        let middles: Vec<f32> = (0..groups * dimensions).map(|_| rng.f32()).collect();
        let mut coordinates = Vec::with_capacity(length * dimensions);
        for _ in 0..length {
            let middle = &middles[rng.usize(..groups) * dimensions..][..dimensions];
            coordinates.extend(middle.iter().map(|middle| {
                let away: f32 = StandardNormal.sample(&mut normal);
                middle + SPREAD * away
            }));
        }
        Self::pack(dimensions, &coordinates)
    }

    /// Points from a file: a name and the coordinates on each line.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let lines = Lines::read(path)?;
        let mut dimensions = 0;
        let mut coordinates = Vec::new();
        for record in lines.records() {
            let point = record.numbers("finite number", |value: &f32| value.is_finite())?;
            let given = point.len();
            if given == 0 {
                return Err(record
                    .wrong("a point has its name and at least one number, this line a name only"));
            }
            if dimensions != 0 && given != dimensions {
                let problem = format!(
                    "{given} numbers behind the name, where the first point has {dimensions}"
                );
                return Err(record.wrong(problem));
            }
            dimensions = given;
            coordinates.extend(point);
        }
        if dimensions == 0 {
            Err(lines.ends_before("the first point"))
        } else {
            Ok(Self::pack(dimensions, &coordinates))
        }
    }
}

/// The squared distance, added up in a fixed order that suits vector units.
fn distance(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (a - b) * (a - b);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Points, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.txt");
        std::fs::write(&path, text).unwrap();
        Points::read(&path).map_err(|error| error.to_string())
    }

    /// Catches: coordinates taken from a neighbouring point, or the name for one.
    #[test]
    fn a_file_has_a_name_and_coordinates_on_each_line() {
        let points = read("1 0.5 -2 3e-1\n\n# remark\n2\t4 5 6\n").unwrap();
        assert_eq!((points.len(), points.dimensions), (2, 3));
        assert_eq!(points.get(1), [4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(points.get(0)[..3], [0.5, -2.0, 0.3]);
    }

    /// Catches: points that are silently cut or filled up.
    #[test]
    fn a_bad_file_is_refused_with_its_line() {
        let cases = [
            ("", "line 1: the file ends before the first point"),
            ("# nothing\n", "line 2: the file ends before the first point"),
            ("1 2 3\n2 4\n", "line 2: 1 numbers behind the name, where the first point has 2"),
            ("1 2\n2 4 5\n", "line 2: 2 numbers behind the name, where the first point has 1"),
            ("1\n", "line 1: a point has its name"),
            ("1 2\n\n2 x\n", "line 3: `x` is no finite number"),
            ("1 inf\n", "line 1: `inf` is no finite number"),
            ("1 1e99\n", "line 1: `1e99` is no finite number"),
        ];
        for (text, expected) in cases {
            let message = read(text).unwrap_err();
            assert!(message.contains(expected) && message.contains("points.txt"), "{message}");
        }
    }

    /// Catches: dimensions that are mixed up, and a division by a variance of zero.
    #[test]
    fn standardised_points_have_mean_zero_and_variance_one() {
        let mut points = Points::pack(2, &[1.0, 7.0, 3.0, 7.0]);
        points.standardise();
        assert_eq!(
            (points.get(0)[..2].to_vec(), points.get(1)[..2].to_vec()),
            (vec![-1.0, 0.0], vec![1.0, 0.0])
        );
    }

    /// Blind to: groups that run into each other.
    #[test]
    fn generated_points_lie_in_tight_groups() {
        let points = Points::random(100, 5, 3);
        assert_eq!((points.len(), points.dimensions), (100, 5));
        let near = |a: &[f32]| points.iter().filter(|b| distance(a, b) < 1e-4).count();
        let sizes: usize = points.iter().map(|point| usize::from(near(point) < 10)).sum();
        assert_eq!(sizes, 0, "no point is alone");
        assert!(
            points.iter().any(|point| distance(point, points.get(0)) > 0.01),
            "more than one group"
        );
    }

    /// Blind to: the order of points that are equally near.
    #[test]
    fn the_nearest_point_is_the_first_of_several() {
        let points = Points::pack(1, &[5.0, 1.0, 3.0]);
        let at = |x: f32| points.nearest(Points::pack(1, &[x]).get(0));
        assert_eq!([at(9.0), at(0.0), at(2.0), at(4.0)], [0, 1, 1, 0]);
    }
}
