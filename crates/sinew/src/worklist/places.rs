//! The CPUs of a worklist's threads, and the nodes of the pages that its workers are the first to
//! touch.
//!
//! This file applies the rules of [`sinew_policy::worklist::places`]. The pool pins the threads of
//! workers, by the mapping that it is built with. The page policy of a worker's thread is set for
//! the time of the run; not on a machine of one node. Helpers are pinned near their worker
//! ([`HelperPin`](sinew_loops::HelperPin)), so workers record their CPUs ([`WorkerCpus`]) after
//! each move.

use sinew_policy::worklist::Pages;
use sinew_policy::worklist::places;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_topology::{Machine, Mapping, PlacedThread, Placement, place_pages_of_current_thread};

/// The mapping for a pool that runs worklists on `machine`: compact on several nodes, scatter on
/// one.
///
/// Source: Góes (see [`worklist`](super)), section 7.1.2.
///
/// ```
/// use sinew::worklist::{Worklist, mapping_for};
/// use sinew_topology::Machine;
///
/// let pool = sinew::Pool::builder().mapping(mapping_for(Machine::host())).build()?;
/// let report = pool.run(|_| Worklist::from(vec![1, 2, 3]).run(|_, _| Ok(())));
/// assert_eq!(report.map(|report| report.commits), Ok(3));
/// # Ok::<(), sinew::BuildError>(())
/// ```
pub fn mapping_for(machine: &Machine) -> Mapping {
    match places::Mapping::for_nodes(machine.nodes().len()) {
        places::Mapping::Compact => Mapping::Compact,
        places::Mapping::Scatter => Mapping::Scatter,
    }
}

fn placement(pages: Pages) -> Placement {
    match pages {
        Pages::FirstTouch => Placement::FirstTouch,
        Pages::Cyclic => Placement::Cyclic,
        Pages::BindLocal => Placement::BindLocal,
    }
}

/// Sets the page policy of a worker's thread until it is dropped.
#[derive(Debug)]
pub(super) struct PagePolicy {
    several_nodes: bool,
    /// The policy set for the list; `None` for the rule's.
    chosen: Option<Pages>,
    /// Whether the worker's units have added units.
    adds_units: bool,
    /// The last policy requested from the system.
    asked: Option<Pages>,
    thread: Option<PlacedThread>,
}

impl PagePolicy {
    /// The policy of a worker whose units have not added units.
    pub(super) fn new(chosen: Option<Pages>, several_nodes: bool) -> Self {
        let mut policy =
            Self { several_nodes, chosen, adds_units: false, asked: None, thread: None };
        policy.apply();
        policy
    }

    /// Follows a change of the list's policy, for later pages.
    pub(super) fn choose(&mut self, chosen: Option<Pages>) {
        self.chosen = chosen;
        self.apply();
    }

    /// A unit has added units: later pages go to the worker's node, unless the list has a policy.
    #[inline]
    pub(super) fn unit_added(&mut self) {
        if !self.adds_units {
            self.adds_units = true;
            self.apply();
        }
    }

    #[cold]
    fn apply(&mut self) {
        let pages = self.chosen.unwrap_or(Pages::for_run(self.adds_units));
        if !self.several_nodes || self.asked == Some(pages) {
            return;
        }
        // Dropped first, because each policy restores the one that it replaced.
        self.thread = None;
        self.asked = Some(pages);
        // A container may forbid it. Pages are then placed by default.
        self.thread = place_pages_of_current_thread(placement(pages)).ok();
    }
}

/// The CPUs to which the threads of a run's workers are pinned, for their helpers.
///
/// The worker that takes a slot over records its own CPU.
#[derive(Debug)]
pub(super) struct WorkerCpus {
    /// For each slot the number of its CPU plus one, or 0 for none. Only the worker of that slot
    /// writes.
    cpus: Box<[AtomicUsize]>,
    moves: AtomicU64,
}

impl WorkerCpus {
    pub(super) fn new(slots: usize) -> Self {
        Self { cpus: (0..slots).map(|_| AtomicUsize::new(0)).collect(), moves: AtomicU64::new(0) }
    }

    /// Records that the thread of `slot` is pinned to `cpu`.
    pub(super) fn record(&self, slot: usize, cpu: Option<usize>) {
        let cpu = cpu.map_or(0, |cpu| cpu + 1);
        // Relaxed: one writer.
        if self.cpus[slot].load(Ordering::Relaxed) != cpu {
            self.cpus[slot].store(cpu, Ordering::Relaxed);
            // Release: pairs with `moves`, so that a helper that reads the number reads the CPU.
            self.moves.fetch_add(1, Ordering::Release);
        }
    }

    /// A number that changes whenever a worker has moved.
    #[inline]
    pub(super) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// The CPUs of the first `workers`.
    pub(super) fn first(&self, workers: usize) -> Vec<Option<usize>> {
        // Relaxed: ordered by `moves`.
        self.cpus
            .iter()
            .take(workers)
            .map(|cpu| cpu.load(Ordering::Relaxed).checked_sub(1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a move that is not counted, a repeated CPU that is, and CPU 0 taken for none.
    #[test]
    fn only_moves_are_counted() {
        let worker_cpus = WorkerCpus::new(3);
        assert_eq!((worker_cpus.first(2), worker_cpus.moves()), (vec![None, None], 0));
        for (cpu, moves) in [(Some(0), 1), (Some(0), 1), (Some(5), 2), (None, 3)] {
            worker_cpus.record(1, cpu);
            assert_eq!((worker_cpus.first(3), worker_cpus.moves()), (vec![None, cpu, None], moves));
        }
    }

    /// Catches: a placement taken for another.
    #[test]
    fn each_choice_has_its_placement() {
        let all = [Pages::FirstTouch, Pages::Cyclic, Pages::BindLocal].map(placement);
        assert_eq!(all, [Placement::FirstTouch, Placement::Cyclic, Placement::BindLocal]);
    }

    /// Catches: a system call for each worker on a machine of one node.
    #[test]
    fn no_policy_is_set_on_one_node() {
        let mut policy = PagePolicy::new(None, false);
        policy.unit_added();
        policy.choose(Some(Pages::BindLocal));
        assert!(policy.thread.is_none() && policy.asked.is_none());
    }

    /// Catches: a choice that takes effect in the next run only, one that the rule overrides when
    /// units are added, and a rule that is lost.
    #[test]
    fn pages_follow_the_choice_and_otherwise_the_rule() {
        let mut policy = PagePolicy::new(None, true);
        let steps: [fn(&mut PagePolicy); 4] = [
            |_| (),
            |policy| policy.choose(Some(Pages::FirstTouch)),
            PagePolicy::unit_added,
            |policy| policy.choose(None),
        ];
        let asked = steps.map(|step| {
            step(&mut policy);
            policy.asked
        });
        let wanted = [Pages::Cyclic, Pages::FirstTouch, Pages::FirstTouch, Pages::BindLocal];
        assert_eq!(asked, wanted.map(Some));
    }
}
