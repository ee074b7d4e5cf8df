//! Local search for k-median: opens a centre wherever that saves more than it costs, until there is
//! no such point.
//!
//! A centre has a price. At a given price, candidates are tried in random order. Members that are
//! nearer would switch to the candidate, and centres whose members can switch for less than the
//! price are closed. A bisection over the price finds one at which the number of centres is as
//! wanted. Everything that looks at all points is a loop over blocks of them; sums are put together
//! in the order of blocks, so that decisions do not depend on how loops run. Source: O'Callaghan,
//! Mishra, Meyerson, Guha and Motwani, "Streaming-Data Algorithms for High-Quality Clustering"; the
//! first solution is that of Meyerson, "Online Facility Location". The constants are those of
//! PARSEC's streamcluster.

use std::ops::RangeInclusive;

use super::points::{Block, Point};
use crate::loops::Loops;

/// The wanted number of centres.
pub(super) const WANTED: RangeInclusive<usize> = 10..=20;

/// Numbers of centres at which a solution is worth refining.
const NEARLY_WANTED: RangeInclusive<usize> = 8..=22;

/// Candidates are 3 · k · ln k random points, for the largest k that is wanted.
const CANDIDATES: usize = 180;

/// A round that gains a smaller part of the cost is the last: while the price is sought, and when
/// it may be right.
const ROUGHLY: f64 = 0.1;
const FINELY: f64 = 0.001;

/// The bisection ends when prices are as near as that.
const SAME_PRICE: f64 = 0.999;

pub(super) struct Search<'p, L> {
    points: &'p [Point],
    loops: L,
    pub(super) blocks: Vec<Block<'p>>,
    /// The centres, as places in the list of points.
    pub(super) centers: Vec<usize>,
    price: f64,
    rng: fastrand::Rng,
}

impl<'p, L: Loops> Search<'p, L> {
    pub(super) fn new(points: &'p [Point], loops: L) -> Self {
        let blocks = points.chunks(Block::SIZE).map(Block::of).collect();
        let rng = fastrand::Rng::with_seed(42);
        Self { points, loops, blocks, centers: Vec::new(), price: 0.0, rng }
    }

    /// Searches until the number of centres is as wanted; every point is then with its nearest
    /// centre.
    pub(super) fn run(&mut self) {
        self.gather();
        let mut prices = 0.0..self.cost();
        self.start(&mut prices);
        let mut candidates = self.candidates();
        loop {
            self.improve(&mut candidates, ROUGHLY);
            if NEARLY_WANTED.contains(&self.centers.len()) {
                self.improve(&mut candidates, FINELY);
            }
            let count = self.centers.len();
            if WANTED.contains(&count) || prices.start >= SAME_PRICE * prices.end {
                break;
            }
            if count > *WANTED.end() {
                prices.start = self.price;
            } else {
                prices.end = self.price;
            }
            self.price = f64::midpoint(prices.start, prices.end);
        }
        self.settle();
    }

    /// A first solution with enough centres, at half the price until there is one.
    fn start(&mut self, prices: &mut std::ops::Range<f64>) {
        loop {
            self.price = f64::midpoint(prices.start, prices.end);
            self.found();
            if self.centers.len() >= *WANTED.start() || self.price < f64::MIN_POSITIVE {
                return;
            }
            prices.end = self.price;
        }
    }

    /// Each point in turn becomes a centre at random, with a probability that grows with its
    /// distance from the present centres.
    fn found(&mut self) {
        self.gather();
        for at in 1..self.points.len() {
            let cost = self.blocks[at / Block::SIZE].members[at % Block::SIZE].cost;
            if self.rng.f64() * self.price < f64::from(cost) {
                let (place, point) = (self.centers.len() as u32, &self.points[at]);
                self.centers.push(at);
                self.loops.each(&mut self.blocks, |block| block.open(place, point));
            }
        }
    }

    /// The first point is the only centre.
    fn gather(&mut self) {
        self.centers = vec![0];
        let point = &self.points[0];
        self.loops.each(&mut self.blocks, |block| block.gather(point));
    }

    /// Random points, all different.
    fn candidates(&mut self) -> Vec<usize> {
        let count = CANDIDATES.min(self.points.len());
        self.rng.choose_multiple(0..self.points.len(), count)
    }

    fn cost(&self) -> f64 {
        self.blocks.iter().map(Block::cost).sum::<f64>() + self.price * self.centers.len() as f64
    }

    /// Rounds of all candidates, until one gains less than `least` of the cost.
    fn improve(&mut self, candidates: &mut [usize], least: f64) {
        loop {
            self.rng.shuffle(candidates);
            let gain: f64 = candidates.iter().map(|&candidate| self.consider(candidate)).sum();
            if gain <= least * self.cost() {
                return;
            }
        }
    }

    /// Makes the candidate a centre if that gains anything. Returns what it gains.
    fn consider(&mut self, candidate: usize) -> f64 {
        if self.centers.contains(&candidate) {
            return 0.0;
        }
        let (point, count) = (&self.points[candidate], self.centers.len());
        self.loops.each(&mut self.blocks, |block| block.consider(point, count));
        let saved: f64 = self.blocks.iter().map(|block| block.saved).sum();
        let extra =
            |center: usize| self.blocks.iter().map(|block| block.extra[center]).sum::<f64>();
        let closing: Vec<f64> =
            (0..count).map(|center| (self.price - extra(center)).max(0.0)).collect();
        let gain = saved - self.price + closing.iter().sum::<f64>();
        if gain <= 0.0 {
            return 0.0;
        }
        self.adopt(candidate, &closing);
        gain
    }

    /// Opens the candidate, and closes all centres by whose closing something is gained.
    fn adopt(&mut self, candidate: usize, closing: &[f64]) {
        let mut open = 0..;
        let kept: Vec<Option<u32>> =
            closing.iter().map(|&gain| if gain > 0.0 { None } else { open.next() }).collect();
        let mut keep = kept.iter().map(Option::is_some);
        self.centers.retain(|_| keep.next().unwrap_or(true));
        let place = self.centers.len() as u32;
        self.centers.push(candidate);
        self.loops.each(&mut self.blocks, |block| block.adopt(place, &kept));
    }

    fn settle(&mut self) {
        let centers: Vec<&Point> = self.centers.iter().map(|&at| &self.points[at]).collect();
        self.loops.each(&mut self.blocks, |block| block.settle(&centers));
    }
}
