//! One report of the work of all ranks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::World;
use crate::link::Rank;
use crate::share::machine;
use crate::world::Traffic;

/// The work of a rank since its world was made. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankReport {
    /// The rank.
    pub rank: Rank,
    /// The name of its machine; empty if the system has none.
    pub machine: String,
    /// The worker slots of its pool.
    pub workers: usize,
    /// Calls in which all ranks take part.
    pub calls: u64,
    /// The time since the world was made.
    pub total_s: f64,
    /// The part of it in which the rank waited for messages.
    pub waited_s: f64,
    /// Waits in which it lent its cores.
    pub lent: u64,
    /// Its messages.
    pub traffic: Traffic,
    /// The counters of its pool.
    pub counters: BTreeMap<String, u64>,
}

impl World {
    /// The reports of all ranks, in their order, on all ranks. Taking part is a call like others.
    ///
    /// ```
    /// let world = sinew_dist::init()?;
    /// let reports = world.report();
    /// assert_eq!((reports.len(), reports[0].rank), (1, 0));
    /// # Ok::<(), sinew_dist::InitError>(())
    /// ```
    ///
    /// # Cost
    ///
    /// As [`all_gather`](Self::all_gather).
    pub fn report(&self) -> Vec<RankReport> {
        let (total, waits) = self.times();
        let counters = self.pool().counters();
        self.all_gather(&RankReport {
            rank: self.rank(),
            machine: machine(),
            workers: self.pool().max_threads(),
            calls: self.calls(),
            total_s: total.as_secs_f64(),
            waited_s: waits.waited.as_secs_f64(),
            lent: waits.lent,
            traffic: self.traffic(),
            counters: counters.iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        })
    }
}
