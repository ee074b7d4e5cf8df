//! The version as a worklist: a unit is a point, and the list is filled again for each step.

use sinew::worklist::{More, Work};
use sinew_stm::{Tx, TxResult};
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::points::Points;
use super::sums::Shared;
use super::{Clusters, KMeans};

/// One step.
struct Step<'env> {
    points: &'env Points,
    centers: &'env Points,
    /// The cluster of each point.
    members: &'env [AtomicUsize],
    shared: &'env Shared,
}

pub(super) fn solve(kmeans: &KMeans) -> Clusters {
    let points = &kmeans.points;
    let members: Vec<AtomicUsize> = points.iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
    let shared = Shared::zero(&points.select(&kmeans.seeds));
    let mut list = kmeans.lists.list();
    let order = kmeans.lists.ordered(0..points.len());
    kmeans.settle(|centers| {
        list.extend(order.iter().copied());
        let step = Step { points, centers, members: &members, shared: &shared };
        kmeans.lists.run(&mut list, &step);
        shared.take()
    })
}

impl<'env> Work<'env> for Step<'env> {
    type Unit = usize;
    /// A point and its cluster.
    type Value = (usize, usize);
    /// Number of points that have changed.
    type Local = u64;

    fn init(&self, _worker: usize) -> u64 {
        0
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        at: &usize,
        _: &mut u64,
        _: &mut More<usize>,
    ) -> TxResult<(usize, usize)> {
        let point = self.points.get(*at);
        let cluster = self.centers.nearest(point);
        self.shared.add(tx, cluster, point)?;
        Ok((*at, cluster))
    }

    fn fold(&self, changed: &mut u64, (at, cluster): (usize, usize)) {
        // Relaxed: a point is one unit a step, and the run's end lies between two steps.
        let before = self.members[at].load(Ordering::Relaxed);
        self.members[at].store(cluster, Ordering::Relaxed);
        *changed += u64::from(before != cluster);
    }

    fn update<'tx>(&self, tx: &mut Tx<'tx, 'env>, changed: &u64) -> TxResult<()> {
        self.shared.count_changed(tx, *changed)
    }
}
