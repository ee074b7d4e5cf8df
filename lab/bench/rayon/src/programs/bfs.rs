//! Distances in a random graph, level by level.

use crate::work::{Scale, Work, work};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const FAR: u32 = u32::MAX;

struct Graph {
    neighbours: Vec<Vec<u32>>,
}

impl Graph {
    fn new(vertices: u32) -> Self {
        let mut random = fastrand::Rng::with_seed(11);
        let mut some = || (0..8).map(|_| random.u32(0..vertices)).collect();
        Self { neighbours: (0..vertices).map(|_| some()).collect() }
    }
}

pub(super) fn program(scale: Scale) -> Box<dyn Work> {
    work(Graph::new(scale.pick(60_000, 2_000)), serially, by_levels)
}

fn serially(graph: &Graph) -> Vec<u32> {
    let mut distances = vec![FAR; graph.neighbours.len()];
    distances[0] = 0;
    let mut queue = VecDeque::from([0u32]);
    while let Some(vertex) = queue.pop_front() {
        for next in &graph.neighbours[vertex as usize] {
            if distances[*next as usize] == FAR {
                distances[*next as usize] = distances[vertex as usize] + 1;
                queue.push_back(*next);
            }
        }
    }
    distances
}

fn by_levels(graph: &Graph) -> Vec<u32> {
    let distances: Vec<AtomicU32> = graph.neighbours.iter().map(|_| AtomicU32::new(FAR)).collect();
    // Relaxed, here and below: a distance stands for itself, and the levels are apart by rayon's
    // own synchronisation.
    distances[0].store(0, Relaxed);
    let (mut level, mut distance) = (vec![0u32], 0);
    while !level.is_empty() {
        distance += 1;
        let reach = |vertex: &u32| {
            let neighbours = graph.neighbours[*vertex as usize].iter();
            neighbours.filter(|next| claim(&distances[**next as usize], distance)).copied()
        };
        level = level.par_iter().flat_map_iter(reach).collect();
    }
    distances.into_iter().map(AtomicU32::into_inner).collect()
}

/// Whether this call was the first to reach the vertex.
fn claim(place: &AtomicU32, distance: u32) -> bool {
    place.load(Relaxed) == FAR && place.compare_exchange(FAR, distance, Relaxed, Relaxed).is_ok()
}
