//! The CPUs of a worklist's threads, and the nodes of the pages that its workers are the first to
//! touch.
//!
//! The rules are [`sinew_policy::worklist::places`]'; here they meet the machine. Threads are
//! placed by their pool, so the mapping is chosen when that is built. Pages follow a policy of the
//! worker's thread for the time of the run; on a machine of one node nothing is done. Helpers are
//! pinned near their worker ([`HelperPin`](sinew_loops::HelperPin)). So workers record their CPUs
//! ([`Sites`]), again after each move.

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

/// The page policy of a worker's thread, as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    several_nodes: bool,
    /// The list's choice; `None` for the rule's.
    chosen: Option<Pages>,
    adds_units: bool,
    /// The last request to the system.
    asked: Option<Pages>,
    thread: Option<PlacedThread>,
}

impl Place {
    /// A worker begins, before any unit has added others.
    pub(super) fn new(chosen: Option<Pages>, several_nodes: bool) -> Self {
        let mut place =
            Self { several_nodes, chosen, adds_units: false, asked: None, thread: None };
        place.apply();
        place
    }

    /// The list's choice is this one now. If it is another one, later pages follow it.
    pub(super) fn choose(&mut self, chosen: Option<Pages>) {
        self.chosen = chosen;
        self.apply();
    }

    /// Its units add others: later pages go to its own node, unless something else was chosen.
    #[inline]
    pub(super) fn adds_units(&mut self) {
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
        // The one before first, as each restores what it found.
        self.thread = None;
        self.asked = Some(pages);
        // Refused where a container forbids it: pages then lie as if nothing had been asked, and
        // nothing else depends on it.
        self.thread = place_pages_of_current_thread(placement(pages)).ok();
    }
}

/// The CPUs to which the threads of a run's workers are pinned, for their helpers.
///
/// The successor of a worker that has left reports its own CPU, or runs on the same one.
#[derive(Debug)]
pub(super) struct Sites {
    /// For each slot the number of its CPU and one, or 0 for none. Only the worker of that slot
    /// writes.
    cpus: Box<[AtomicUsize]>,
    moves: AtomicU64,
}

impl Sites {
    pub(super) fn new(slots: usize) -> Self {
        Self { cpus: (0..slots).map(|_| AtomicUsize::new(0)).collect(), moves: AtomicU64::new(0) }
    }

    /// The thread at `slot` is pinned to this CPU from now on.
    pub(super) fn note(&self, slot: usize, cpu: Option<usize>) {
        let cpu = cpu.map_or(0, |cpu| cpu + 1);
        // Relaxed: one writer.
        if self.cpus[slot].load(Ordering::Relaxed) != cpu {
            self.cpus[slot].store(cpu, Ordering::Relaxed);
            // Release: pairs with `moves`, so that who sees the number finds the place.
            self.moves.fetch_add(1, Ordering::Release);
        }
    }

    /// A number that changes whenever a worker has moved.
    #[inline]
    pub(super) fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// The CPUs of the first `workers`.
    pub(super) fn of(&self, workers: usize) -> Vec<Option<usize>> {
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

    /// Catches: a move that helpers are not told of, a place that is taken for a move again and
    /// again, and CPU 0 taken for none.
    #[test]
    fn sites_count_moves_only() {
        let sites = Sites::new(3);
        assert_eq!((sites.of(2), sites.moves()), (vec![None, None], 0));
        for (cpu, moves) in [(Some(0), 1), (Some(0), 1), (Some(5), 2), (None, 3)] {
            sites.note(1, cpu);
            assert_eq!((sites.of(3), sites.moves()), (vec![None, cpu, None], moves));
        }
    }

    /// Catches: a placement taken for another.
    #[test]
    fn each_choice_has_its_placement() {
        let all = [Pages::FirstTouch, Pages::Cyclic, Pages::BindLocal].map(placement);
        assert_eq!(all, [Placement::FirstTouch, Placement::Cyclic, Placement::BindLocal]);
    }

    /// Catches: a policy that is asked for on one node, where it costs a call of the kernel for
    /// each worker.
    #[test]
    fn one_node_is_left_alone() {
        let mut place = Place::new(None, false);
        place.adds_units();
        place.choose(Some(Pages::BindLocal));
        assert!(place.thread.is_none() && place.asked.is_none());
    }

    /// Catches: a choice that waits for the next run, one that the rule overrules when units are
    /// added, and a rule that is forgotten.
    #[test]
    fn pages_follow_the_choice_and_otherwise_the_rule() {
        let mut place = Place::new(None, true);
        let steps: [fn(&mut Place); 4] = [
            |_| (),
            |place| place.choose(Some(Pages::FirstTouch)),
            Place::adds_units,
            |place| place.choose(None),
        ];
        let asked = steps.map(|step| {
            step(&mut place);
            place.asked
        });
        let wanted = [Pages::Cyclic, Pages::FirstTouch, Pages::FirstTouch, Pages::BindLocal];
        assert_eq!(asked, wanted.map(Some));
    }
}
