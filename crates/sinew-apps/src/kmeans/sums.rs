//! What a step adds up: for each cluster the number of its points and their sum. Plainly, and shared by transactions.

use sinew_stm::{TArray, TVar, Tx, TxResult, atomically};

use super::points::{LANES, Points};

/// What one step has added up.
#[derive(Debug, Clone)]
pub(super) struct Totals {
    pub(super) counts: Vec<u64>,
    /// The sum of its points for each cluster.
    sums: Vec<f64>,
    /// Points that were in another cluster before.
    pub(super) changed: u64,
}

impl Totals {
    pub(super) fn zero(centers: &Points) -> Self {
        Self { counts: vec![0; centers.len()], sums: vec![0.0; centers.values.len()], changed: 0 }
    }

    pub(super) fn add(&mut self, cluster: usize, point: &[f32]) {
        self.counts[cluster] += 1;
        let sums = &mut self.sums[cluster * point.len()..][..point.len()];
        sums.iter_mut().zip(point).for_each(|(sum, value)| *sum += f64::from(*value));
    }

    /// The means of the clusters. One without points keeps its centre.
    pub(super) fn means(&self, centers: &Points) -> Points {
        let stride = centers.stride();
        let mut means = centers.clone();
        let clusters = means.values.chunks_exact_mut(stride).zip(self.sums.chunks_exact(stride));
        for ((mean, sums), &count) in clusters.zip(&self.counts).filter(|(_, count)| **count > 0) {
            mean.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = (sum / count as f64) as f32);
        }
        means
    }
}

/// Coordinates that are read and written as one value.
type Group = [f64; LANES];

/// The sums of a cluster.
#[derive(Debug)]
struct Cluster {
    count: TVar<u64>,
    sums: TArray<Group>,
}

/// Totals that transactions add to.
#[derive(Debug)]
pub(super) struct Shared {
    clusters: Vec<Cluster>,
    changed: TVar<u64>,
}

impl Shared {
    pub(super) fn zero(centers: &Points) -> Self {
        let groups = centers.stride() / LANES;
        let cluster = |_| Cluster { count: TVar::new(0), sums: TArray::new(groups, [0.0; LANES]) };
        Self { clusters: (0..centers.len()).map(cluster).collect(), changed: TVar::new(0) }
    }

    /// Adds a point to its cluster.
    pub(super) fn add<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, cluster: usize, point: &[f32]) -> TxResult<()> {
        let Cluster { count, sums } = &self.clusters[cluster];
        count.modify(tx, |count| count + 1)?;
        for (at, values) in point.as_chunks::<LANES>().0.iter().enumerate() {
            sums.modify(tx, at, |sum| std::array::from_fn(|i| sum[i] + f64::from(values[i])))?;
        }
        Ok(())
    }

    /// Adds to the number of points that have changed.
    pub(super) fn count_changed<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, points: u64) -> TxResult<()> {
        self.changed.modify(tx, |changed| changed + points)
    }

    /// All of them, which start from zero again.
    pub(super) fn take(&self) -> Totals {
        atomically(|tx| {
            let mut totals =
                Totals { counts: Vec::new(), sums: Vec::new(), changed: self.changed.replace(tx, 0)? };
            for Cluster { count, sums } in &self.clusters {
                totals.counts.push(count.replace(tx, 0)?);
                for at in 0..sums.len() {
                    totals.sums.extend(sums.get(tx, at)?);
                    sums.set(tx, at, [0.0; LANES])?;
                }
            }
            Ok(totals)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn centers() -> Points {
        Points { dimensions: 9, values: vec![7.0; 3 * 16] }
    }

    /// Would miss: a mean of nothing, and a point that went to a neighbouring cluster.
    #[test]
    fn a_cluster_without_points_keeps_its_centre() {
        let mut totals = Totals::zero(&centers());
        totals.add(1, &[1.0; 16]);
        totals.add(1, &[2.0; 16]);
        let means = totals.means(&centers());
        assert_eq!(
            [means.get(0)[0], means.get(1)[0], means.get(1)[15], means.get(2)[0]],
            [7.0, 1.5, 1.5, 7.0]
        );
    }

    /// Would miss: a coordinate that transactions add to another, and totals that are not reset.
    #[test]
    fn transactions_add_up_the_same_and_start_from_zero_again() {
        let (shared, mut plain) = (Shared::zero(&centers()), Totals::zero(&centers()));
        for round in 0..2 {
            let point: Vec<f32> = (0..16).map(|i| (i + round) as f32).collect();
            plain.add(2, &point);
            plain.changed += 1;
            atomically(|tx| {
                shared.add(tx, 2, &point)?;
                shared.count_changed(tx, 1)
            });
        }
        let taken = shared.take();
        assert_eq!((&taken.counts, &taken.sums, taken.changed), (&plain.counts, &plain.sums, 2));
        assert!(shared.take().counts.iter().all(|count| *count == 0));
    }
}
