//! Bodies that attract each other, for a few steps. Accelerations are whole numbers once computed,
//! so that they can be added in any order.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;

/// Units of an acceleration of one.
const FINE: f64 = 1e12;
const STEP: f64 = 1e-3;

type Place = [f64; 3];
type Pull = [i64; 3];

struct Bodies {
    places: Vec<Place>,
    steps: usize,
}

impl Bodies {
    fn new(scale: Scale) -> Self {
        let mut random = fastrand::Rng::with_seed(3);
        let mut place = || [random.f64(), random.f64(), random.f64()];
        Self {
            places: (0..scale.pick(600, 40)).map(|_| place()).collect(),
            steps: scale.pick(3, 2),
        }
    }

    /// Moves the bodies step by step, with `pulls` to say where to.
    fn run(&self, pulls: impl Fn(&[Place]) -> Vec<Pull>) -> Vec<Place> {
        let mut places = self.places.clone();
        let mut speeds = vec![[0.0; 3]; places.len()];
        for _ in 0..self.steps {
            let pulls = pulls(&places);
            for ((place, speed), pull) in places.iter_mut().zip(&mut speeds).zip(pulls) {
                for axis in 0..3 {
                    speed[axis] += pull[axis] as f64 / FINE * STEP;
                    place[axis] += speed[axis] * STEP;
                }
            }
        }
        places
    }
}

/// The attraction of `one` by `other`; softened, so that a body does not attract itself.
fn pull(one: &Place, other: &Place) -> Pull {
    let away: Place = std::array::from_fn(|axis| other[axis] - one[axis]);
    let square: f64 = away.iter().map(|part| part * part).sum::<f64>() + 1e-4;
    let strength = FINE * 1e-3 / (square * square.sqrt());
    away.map(|part| (part * strength) as i64)
}

fn add(to: &mut Pull, pull: Pull, sign: i64) {
    for (to, part) in to.iter_mut().zip(pull) {
        *to += sign * part;
    }
}

fn pulls_at(one: &Place, places: &[Place]) -> Pull {
    let mut sum = [0; 3];
    places.iter().for_each(|other| add(&mut sum, pull(one, other), 1));
    sum
}

pub(super) fn by_rows(scale: Scale) -> Box<dyn Work> {
    let serial = |bodies: &Bodies| {
        bodies.run(|places| places.iter().map(|one| pulls_at(one, places)).collect())
    };
    let parallel = |bodies: &Bodies| {
        bodies.run(|places| places.par_iter().map(|one| pulls_at(one, places)).collect())
    };
    work(Bodies::new(scale), serial, parallel)
}

/// Adds what body `index` and each one after it do to each other.
fn pairs_of(index: usize, places: &[Place], mut sums: Vec<Pull>) -> Vec<Pull> {
    for other in index + 1..places.len() {
        let pull = pull(&places[index], &places[other]);
        add(&mut sums[index], pull, 1);
        add(&mut sums[other], pull, -1);
    }
    sums
}

pub(super) fn by_pairs(scale: Scale) -> Box<dyn Work> {
    let serial = |bodies: &Bodies| {
        bodies.run(|places| {
            (0..places.len()).fold(nothing(places), |sums, index| pairs_of(index, places, sums))
        })
    };
    let parallel = |bodies: &Bodies| {
        bodies.run(|places| {
            (0..places.len())
                .into_par_iter()
                .fold(|| nothing(places), |sums, index| pairs_of(index, places, sums))
                .reduce(|| nothing(places), merged)
        })
    };
    work(Bodies::new(scale), serial, parallel)
}

fn nothing(places: &[Place]) -> Vec<Pull> {
    vec![[0; 3]; places.len()]
}

fn merged(mut sums: Vec<Pull>, others: Vec<Pull>) -> Vec<Pull> {
    sums.iter_mut().zip(others).for_each(|(to, pull)| add(to, pull, 1));
    sums
}
