//! The version that is written by hand: workers claim points, a few at a time, from a shared
//! counter.
//!
//! The claim is a transaction, each point's addition is one, and so is each worker's report of how
//! many points have changed, as in the program of the suite.

use sinew::Worker;
use sinew_stm::{TVar, Transaction};
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::points::Points;
use super::sums::Shared;
use super::{Clusters, KMeans};

/// Points that are claimed at once.
const CHUNK: usize = 3;

/// The state that workers share.
struct Team<'p> {
    points: &'p Points,
    /// The cluster of each point, written by the worker that claims it.
    members: Vec<AtomicUsize>,
    /// The first unclaimed point.
    next: TVar<usize>,
    shared: Shared,
    how: Transaction,
}

pub(super) fn solve(kmeans: &KMeans, worker: &Worker) -> Clusters {
    let points = &kmeans.points;
    let members = points.iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
    let shared = Shared::zero(&points.select(&kmeans.seeds));
    let how = kmeans.lists.transaction();
    let team = Team { points, members, next: TVar::new(0), shared, how };
    kmeans.settle(|centers| {
        team.next.store(0);
        worker.scope(|scope| {
            for _ in 0..worker.max_threads() {
                scope.spawn(|_| team.work(centers));
            }
        });
        team.shared.take()
    })
}

impl Team<'_> {
    fn work(&self, centers: &Points) {
        let mut changed = 0;
        loop {
            let start = self.how.atomically(|tx| {
                let start = self.next.get(tx)?;
                self.next.set(tx, start + CHUNK)?;
                Ok(start)
            });
            if start >= self.points.len() {
                break;
            }
            let claimed = start..self.points.len().min(start + CHUNK);
            changed += claimed.map(|at| self.put(at, centers)).sum::<u64>();
        }
        self.how.atomically(|tx| self.shared.count_changed(tx, changed));
    }

    /// Puts a point with its nearest centre; returns 1 if that is another than before.
    fn put(&self, at: usize, centers: &Points) -> u64 {
        let point = self.points.get(at);
        let cluster = centers.nearest(point);
        self.how.atomically(|tx| self.shared.add(tx, cluster, point));
        // Relaxed: a point is claimed by one worker a step, and the scope's end lies between two
        // steps.
        let before = self.members[at].load(Ordering::Relaxed);
        self.members[at].store(cluster, Ordering::Relaxed);
        u64::from(before != cluster)
    }
}
