//! The shortest round trip through some cities: branch and bound, with tasks in a scope and one
//! shared bound.
//!
//! The number of examined branches would depend on when a good tour is found. So the search begins
//! with a bound just above the best tour. It has to find that tour and to prove that there is no
//! better one: the same work in every run.

use crate::work::{Scale, Work, work};
use rayon::Scope;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Tours of fewer cities are continued by new tasks, longer ones serially.
const TASKS_UP_TO: u32 = 5;

struct Map {
    distances: Vec<Vec<u32>>,
    /// The shortest way out of each city.
    shortest: Vec<u32>,
    best: u32,
}

impl Map {
    fn new(cities: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(5);
        let places: Vec<(u32, u32)> =
            (0..cities).map(|_| (random.u32(..1000), random.u32(..1000))).collect();
        let row = |from: &(u32, u32)| {
            places.iter().map(|to| from.0.abs_diff(to.0) + from.1.abs_diff(to.1)).collect()
        };
        let distances: Vec<Vec<u32>> = places.iter().map(row).collect();
        let way_out = |(city, row): (usize, &Vec<u32>)| {
            let others = row.iter().enumerate().filter(|(other, _)| *other != city);
            others.map(|(_, distance)| *distance).min().unwrap_or(0)
        };
        let shortest = distances.iter().enumerate().map(way_out).collect();
        let best = best_by_sets(&distances);
        Self { distances, shortest, best }
    }
}

/// The length of the best tour, found in a different way: by the best path through every set of
/// cities.
fn best_by_sets(distances: &[Vec<u32>]) -> u32 {
    let cities = distances.len();
    let mut best = vec![vec![u32::MAX / 2; cities]; 1 << cities];
    best[1][0] = 0;
    for set in 1..1usize << cities {
        for last in (0..cities).filter(|last| set & (1 << last) != 0) {
            for next in (0..cities).filter(|next| set & (1 << next) == 0) {
                let length = best[set][last] + distances[last][next];
                let place = &mut best[set | (1 << next)][next];
                *place = length.min(*place);
            }
        }
    }
    let all = &best[(1 << cities) - 1];
    (1..cities).map(|last| all[last] + distances[last][0]).min().unwrap_or(0)
}

pub(super) fn program(scale: Scale) -> Box<dyn Work> {
    let parallel = |map: &Map| {
        let bound = AtomicU32::new(map.best + 1);
        let left = map.shortest.iter().sum();
        let search = Search { map, bound: &bound };
        rayon::scope(|scope| {
            search.extend(Some(scope), Tour { visited: 1, last: 0, length: 0, left });
        });
        bound.into_inner()
    };
    work(Map::new(scale.pick(13, 8)), |map| map.best, parallel)
}

/// A tour that has begun at the first city.
#[derive(Clone, Copy)]
struct Tour {
    visited: u32,
    last: usize,
    length: u32,
    /// The sum of the shortest ways out of the last city and of those not yet visited: no end of
    /// the tour is shorter.
    left: u32,
}

#[derive(Clone, Copy)]
struct Search<'m> {
    map: &'m Map,
    bound: &'m AtomicU32,
}

impl<'m> Search<'m> {
    /// Tries everything that may follow `tour`; in tasks, if there is a scope for them.
    fn extend(self, scope: Option<&Scope<'m>>, tour: Tour) {
        let map = self.map;
        if tour.visited.count_ones() as usize == map.distances.len() {
            // Relaxed: the bound is a number that stands for itself.
            self.bound.fetch_min(tour.length + map.distances[tour.last][0], Relaxed);
            return;
        }
        for next in (0..map.distances.len()).filter(|next| tour.visited & (1 << next) == 0) {
            let longer = Tour {
                visited: tour.visited | (1 << next),
                last: next,
                length: tour.length + map.distances[tour.last][next],
                left: tour.left - map.shortest[tour.last],
            };
            if longer.length + longer.left >= self.bound.load(Relaxed) {
                continue;
            }
            match scope.filter(|_| tour.visited.count_ones() < TASKS_UP_TO) {
                Some(scope) => scope.spawn(move |scope| self.extend(Some(scope), longer)),
                None => self.extend(None, longer),
            }
        }
    }
}
