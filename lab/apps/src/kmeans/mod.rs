//! Points put into clusters by their nearest centre, after the program kmeans of the STAMP suite.
//!
//! Each step puts every point with its nearest centre, then moves each centre to the mean of its
//! points; it ends when few points change their cluster. Points are divided among the workers.
//! Workers share the sums from which the new centres are computed. A point is added to those of its
//! cluster in one transaction, so contention rises as the number of clusters falls. Source: Cao
//! Minh, Chung, Kozyrakis and Olukotun, "STAMP: Stanford Transactional Applications for
//! Multi-Processing" (2008), where 15 clusters are high contention and 40 low; the method is
//! Lloyd's.
//!
//! | | the assignment of points to workers |
//! |---|---|
//! | `serial` | one loop |
//! | `by_hand` | workers claim a few at a time, in a transaction |
//! | `listed` | a worklist of all points, filled again for each step |
//!
//! Sums are kept in double precision and centres in single: so the order in which points are added
//! hardly ever shows.
//!
//! # Not handled
//!
//! STAMP tries a range of numbers of clusters and keeps the best; published runs have a range of
//! one.

mod by_hand;
mod listed;
mod points;
mod sums;

use std::fmt;

use sinew::Worker;

use crate::app::App;
use crate::lettered::{Lettered, fraction, whole};
use crate::lists::Lists;
use crate::memory::room;
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use points::Points;
use sums::Totals;

const SIZES: &str = "high, low (contention), high++ or stamp, low++ (the same, larger), or parts \
                     of n16384-d24-c16-m15-t0.05: points, dimensions, groups, clusters, the part \
                     of \
                     all points that may \
                     still change (a file has points of its own)";

const LETTERS: Lettered<5> = Lettered {
    app: "kmeans",
    sizes: SIZES,
    named: &[
        ("high", "n2048-d16-c16-m15-t0.05"),
        ("low", "n2048-d16-c16-m40-t0.05"),
        ("high++", "n65536-d32-c16-m15-t0.00001"),
        ("low++", "n65536-d32-c16-m40-t0.00001"),
        ("stamp", "n65536-d32-c16-m15-t0.00001"),
    ],
    letters: [
        whole('n', [200.0, 2_048.0, 16_384.0], 1.0..=4e9),
        whole('d', [5.0, 16.0, 24.0], 1.0..=10_000.0),
        whole('c', [4.0, 16.0, 16.0], 1.0..=1e6),
        whole('m', [4.0, 15.0, 15.0], 1.0..=1e6),
        fraction('t', [0.05, 0.05, 0.05], 0.0..=1.0),
    ],
};

pub(crate) const APP: App = App {
    name: "kmeans",
    about: "points around centres: transactions that add points up, once a step",
    sizes: SIZES,
    demo: "n65536-d32-c16-m15-t0.00001",
    loops: false,
    reads_files: true,
    has_worklist: true,
    prepare,
};

/// Greatest number of steps.
const LIMIT: usize = 500;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    Ok(problem(KMeans::prepare(options)?))
}

struct KMeans {
    points: Points,
    /// The first centres, as places in the list of points.
    seeds: Vec<usize>,
    /// The part of all points that may change in the last step.
    threshold: f64,
    by_hand: bool,
    lists: Lists,
}

impl KMeans {
    fn prepare(options: &Options) -> Result<Self, Error> {
        let [length, dimensions, groups, clusters, threshold] = LETTERS.pick(&options.size)?;
        let mut points = match &options.path {
            Some(path) => Points::read(path)?,
            None => {
                // The points as they are generated and as they are kept, the groups, and what is
                // added up for each cluster.
                room(
                    APP.name,
                    ((12.0 * length + 4.0 * groups + 32.0 * clusters) * dimensions) as u64,
                )?;
                Points::random(length as usize, dimensions as usize, groups as usize)
            }
        };
        points.standardise();
        let seeds = seeds(points.len(), clusters as usize).ok_or_else(|| {
            LETTERS.impossible(format!("m{clusters} for {} points", points.len()))
        })?;
        Ok(Self { points, seeds, threshold, by_hand: options.by_hand, lists: Lists::of(options) })
    }

    /// Steps until few points change.
    fn settle(&self, mut step: impl FnMut(&Points) -> Totals) -> Clusters {
        let mut centers = self.points.select(&self.seeds);
        for steps in 1.. {
            let totals = step(&centers);
            let moved = totals.means(&centers);
            if self.is_settled(totals.changed) || steps == LIMIT {
                let Totals { counts, changed, .. } = totals;
                return Clusters { before: centers, centers: moved, counts, changed, steps };
            }
            centers = moved;
        }
        unreachable!("the number of steps is limited")
    }

    fn is_settled(&self, changed: u64) -> bool {
        changed as f64 <= self.threshold * self.points.len() as f64
    }

    /// The sums of all points, each put with the nearest of some centres; `members` says where they
    /// were before.
    fn gather(&self, centers: &Points, members: &mut [usize]) -> Totals {
        let mut totals = Totals::zero(centers);
        for (point, member) in self.points.iter().zip(members) {
            let cluster = centers.nearest(point);
            totals.changed += u64::from(std::mem::replace(member, cluster) != cluster);
            totals.add(cluster, point);
        }
        totals
    }
}

/// Different points, the same ones each time; none if there are not as many.
fn seeds(points: usize, clusters: usize) -> Option<Vec<usize>> {
    let mut rng = fastrand::Rng::with_seed(7);
    (clusters <= points).then(|| rng.choose_multiple(0..points, clusters))
}

/// The cluster to which each point has settled.
#[derive(Debug, Clone)]
struct Clusters {
    centers: Points,
    /// Number of points of each cluster.
    counts: Vec<u64>,
    /// The centres that points were nearest to.
    before: Points,
    /// Points that changed their cluster in the last step.
    changed: u64,
    steps: usize,
}

/// Centres of standardised points are the same if no coordinate differs by more.
const TOLERANCE: f32 = 1e-3;

impl PartialEq for Clusters {
    /// The same centres: what was added up in another order may differ a little.
    fn eq(&self, other: &Self) -> bool {
        self.centers.agree(&other.centers)
    }
}

impl Points {
    fn agree(&self, other: &Self) -> bool {
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= TOLERANCE;
        self.values.len() == other.values.len() && self.values.iter().zip(&other.values).all(near)
    }
}

impl fmt::Display for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counts, steps, changed, .. } = self;
        let (small, large) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
        let clusters = counts.len();
        write!(
            f,
            "{clusters} clusters of {small} to {large} points after {steps} steps, {changed} \
             changed in the last"
        )
    }
}

impl Solve for KMeans {
    type Input = ();
    type Answer = Clusters;

    fn size(&self) -> String {
        let Self { points, seeds, threshold, .. } = self;
        let (length, dimensions) = (points.len(), points.dimensions);
        format!(
            "{length} points, {dimensions} dimensions, {} clusters, threshold {threshold}",
            seeds.len()
        )
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Clusters {
        let mut members = vec![usize::MAX; self.points.len()];
        self.settle(|centers| self.gather(centers, &mut members))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Clusters {
        if self.by_hand { by_hand::solve(self, worker) } else { listed::solve(self) }
    }

    /// Every point was counted, with the centre that was nearest to it, and the centres are the
    /// means of their points.
    fn check(&self, clusters: &Clusters) -> Result<(), Wrong> {
        let (total, all) = (clusters.counts.iter().sum::<u64>(), self.points.len() as u64);
        Wrong::unless(total == all, || format!("there are {all} points, {total} were counted"))?;
        let totals = self.gather(&clusters.before, &mut vec![0; self.points.len()]);
        for (cluster, (count, right)) in clusters.counts.iter().zip(&totals.counts).enumerate() {
            Wrong::unless(count == right, || {
                format!("cluster {cluster} has {right} points, not {count}")
            })?;
        }
        let means = totals.means(&clusters.before).agree(&clusters.centers);
        Wrong::unless(means, || "a centre is not the mean of its points".to_owned())?;
        let settled = self.is_settled(clusters.changed) || clusters.steps == LIMIT;
        Wrong::unless(settled, || format!("{} points still change", clusters.changed))
    }
}

#[cfg(test)]
mod tests;
