//! Where a worklist's threads sit, and where the pages lie that its workers are the first to touch.
//!
//! The rules are [`sinew_policy::worklist::places`]'; here they meet the machine. Threads are placed by their pool, so the mapping is chosen when that is built.
//! Pages follow a policy of the worker's thread for the time of the run; on a machine of one node nothing is done.

use sinew_policy::worklist::Pages;
use sinew_policy::worklist::places;
use sinew_topology::{Machine, Mapping, PlacedThread, Placement, place_pages_of_current_thread};

/// The mapping for a pool that runs worklists on `machine`: compact on several nodes, scatter on one.
///
/// Source: Góes (see the [room](super)), section 7.1.2.
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
    /// What the system was asked for last.
    asked: Option<Pages>,
    thread: Option<PlacedThread>,
}

impl Place {
    /// A worker begins, before any unit has added others.
    pub(super) fn new(chosen: Option<Pages>, several_nodes: bool) -> Self {
        let mut place = Self { several_nodes, chosen, adds_units: false, asked: None, thread: None };
        place.apply();
        place
    }

    /// The list's choice is this one now: later pages go elsewhere, if it is another.
    pub(super) fn choose(&mut self, chosen: Option<Pages>) {
        self.chosen = chosen;
        self.apply();
    }

    /// Its units add others: later pages go elsewhere, if nothing else was chosen.
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
        // Refused where a container forbids it: pages then lie as if nothing had been asked, and nothing else depends on it.
        self.thread = place_pages_of_current_thread(placement(pages)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: a placement taken for another.
    #[test]
    fn each_choice_has_its_placement() {
        let all = [Pages::FirstTouch, Pages::Cyclic, Pages::BindLocal].map(placement);
        assert_eq!(all, [Placement::FirstTouch, Placement::Cyclic, Placement::BindLocal]);
    }

    /// Would miss: a policy that is asked for on one node, where it costs a call of the kernel for each worker.
    #[test]
    fn one_node_is_left_alone() {
        let mut place = Place::new(None, false);
        place.adds_units();
        place.choose(Some(Pages::BindLocal));
        assert!(place.thread.is_none() && place.asked.is_none());
    }

    /// Would miss: a choice that waits for the next run, one that the rule overrules when units are added, and a rule that is forgotten.
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
