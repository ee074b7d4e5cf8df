//! Where a program's data lie.
//!
//! The data are divided as the tasks are: the children of a task have equal parts of its data, in
//! their order, and what it does after a join has all of it again. So the pieces of a loop that
//! runs again touch what they touched before. A region of the data is in the package whose worker
//! touched it last, as if in that package's caches. Only tasks without children touch theirs.
//!
//! # Not handled
//!
//! Sizes of caches and of data, pages that stay where they were touched first, and data that
//! several packages read.

use super::Simulation;
use crate::costs::{Costs, times};
use crate::queue::Time;
use crate::worker::Data;
use crate::workload::Workload;

/// Number of regions, as a power of two.
const REGIONS: u32 = 10;

/// A region that nobody has touched.
const NOWHERE: u32 = u32::MAX;

/// Regions that nobody has touched; none if no cost depends on them.
pub(super) fn untouched(costs: &Costs) -> Vec<u32> {
    if costs.far.is_empty() { Vec::new() } else { vec![NOWHERE; 1 << REGIONS] }
}

impl<W: Workload> Simulation<'_, W> {
    /// The duration of the youngest frame's work, which reads its data from the packages that have
    /// them. They are in this worker's package from now on.
    #[inline]
    pub(super) fn with_distance_of_data(&mut self, me: usize, work: Time) -> Time {
        match self.workers[me].frames.last() {
            Some(frame) if !self.homes.is_empty() && frame.children == 0 && work > 0 => {
                let data = frame.task.data;
                let last = data.first + data.length.saturating_sub(1);
                let region = |at: u32| (at >> (Data::BITS - REGIONS)) as usize;
                self.touch(me, region(data.first)..region(last) + 1, work)
            }
            _ => work,
        }
    }

    fn touch(&mut self, me: usize, regions: std::ops::Range<usize>, work: Time) -> Time {
        let own = self.places.package(me) as u32;
        let (mut factors, many) = (0.0, regions.len());
        for home in &mut self.homes[regions] {
            factors += match *home {
                NOWHERE => 1.0,
                home if home == own => 1.0,
                home => self.setup.costs.far(self.places.beyond(own as usize, home as usize)),
            };
            *home = own;
        }
        times(work, factors / many.max(1) as f64)
    }
}
