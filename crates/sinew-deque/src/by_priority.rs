//! Tasks of three priorities: one list for each, of which a worker takes the oldest task of the
//! highest priority.
//!
//! A task that waits while others are taken from higher lists could wait for ever. So each list
//! counts the tasks that were taken from other lists while it had tasks. After [`MOST_OVERTAKING`]
//! the next task comes from that list.
//!
//! Some tasks are *calls*: a thread waits for each. Only calls have a priority other than
//! [`Normal`](Priority::Normal). The calls among the tasks of normal priority have their numbers in
//! a list of their own. A number stays there when [`pop`](ByPriority::pop) takes the call; a search
//! for a call drops it.
//!
//! # Invariants
//!
//! - R1: the lists of high and of low priority contain calls only.
//! - R2: at most [`MOST_OVERTAKING`] + 1 tasks of other lists are taken before a call that is the
//!   oldest task of its list. One of them may come from a list that is overdue as well. Takers that
//!   may not take the call do not count.
//!
//! # Cost
//!
//! Without tasks of high or low priority: a comparison.
//!
//! # Tests
//!
//! In this file: against a plain list. With a second thread: `loom.rs`.

use std::collections::VecDeque;

use sinew_sync::plant::{Bug, planted};

use crate::by_depth::{Arrival, ByDepth};
use crate::task::Queued;

/// How soon workers take a call, compared with other calls of its pool.
///
/// Calls of the same priority are taken in the order of arrival. Detached tasks have normal
/// priority.
///
/// A lower priority does not starve: at most 17 tasks of other priorities are taken before the
/// oldest call of a priority, by workers that have no other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// After all other calls.
    Low,
    /// Beside detached tasks.
    #[default]
    Normal,
    /// Before all other calls.
    High,
}

impl Priority {
    /// The next higher priority, if there is one.
    pub fn higher(self) -> Option<Self> {
        match self {
            Self::Low => Some(Self::Normal),
            Self::Normal => Some(Self::High),
            Self::High => None,
        }
    }

    /// The index of its list.
    fn list(self) -> usize {
        match self {
            Self::High => 0,
            Self::Normal => NORMAL,
            Self::Low => 2,
        }
    }
}

const NORMAL: usize = 1;
const LISTS: usize = 3;

/// How many tasks of higher lists are taken before the oldest task of a list.
const MOST_OVERTAKING: u8 = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// Identifies a task while it is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    priority: Priority,
    arrival: Arrival,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct ByPriority {
    /// The highest priority first.
    lists: [ByDepth; LISTS],
    /// For each list, how many tasks were taken from others since one was taken from it, or since
    /// it was empty.
    overtaken: [u8; LISTS],
    /// The calls of normal priority, in order, and some that were taken.
    calls: VecDeque<Arrival>,
}

impl ByPriority {
    pub(super) fn len(&self) -> usize {
        self.lists.iter().map(ByDepth::len).sum()
    }

    /// Adds a task of normal priority.
    pub(super) fn push(&mut self, task: Queued) -> Ticket {
        Ticket { priority: Priority::Normal, arrival: self.lists[NORMAL].push(task) }
    }

    /// Adds a call.
    pub(super) fn push_call(&mut self, call: Queued, priority: Priority) -> Ticket {
        let priority = if planted(Bug::LostPriority) { Priority::Normal } else { priority };
        // The list of calls begins with a waiting one, so it is no longer than the queue was since
        // that call arrived.
        let _first = self.first_normal_call();
        let arrival = self.lists[priority.list()].push(call);
        if priority == Priority::Normal {
            self.calls.push_back(arrival);
        }
        Ticket { priority, arrival }
    }

    /// Takes a task deeper than `above` (`None`: any task).
    #[inline]
    pub(super) fn pop(&mut self, above: Option<u32>) -> Option<Queued> {
        if self.is_all_normal() {
            if above.is_none() {
                // The oldest one is taken.
                self.overtaken[NORMAL] = 0;
            }
            return self.lists[NORMAL].pop(above);
        }
        match above {
            // Tasks that this worker may not take are not overtaken.
            Some(_) => self.lists.iter_mut().find_map(|list| list.pop(above)),
            None => {
                let list = self.choose(self.lists.each_ref().map(|list| list.len() > 0))?;
                self.lists[list].pop(None)
            }
        }
    }

    /// Takes a call of at least that priority.
    pub(super) fn pop_call(&mut self, least: Priority) -> Option<Queued> {
        let first = self.first_normal_call();
        let mut waits = self.lists.each_ref().map(|list| list.len() > 0); // R1
        waits[NORMAL] = first.is_some();
        waits[least.list() + 1..].fill(false);
        match (self.choose(waits)?, first) {
            (NORMAL, Some(first)) => self.lists[NORMAL].withdraw(first),
            (list, _) => self.lists[list].pop(None),
        }
    }

    /// Takes the newest task of normal priority.
    #[inline]
    pub(super) fn pop_newest(&mut self) -> Option<Queued> {
        self.lists[NORMAL].pop_newest()
    }

    /// Takes the task with that ticket, if it is still queued.
    pub(super) fn withdraw(&mut self, ticket: Ticket) -> Option<Queued> {
        self.lists[ticket.priority.list()].withdraw(ticket.arrival)
    }

    /// The task with that ticket, if it is still queued.
    pub(super) fn find(&self, ticket: Ticket) -> Option<Queued> {
        self.lists[ticket.priority.list()].find(ticket.arrival)
    }

    /// Whether a task is deeper than `above` (`None`: whether there is any task).
    pub(super) fn has(&mut self, above: Option<u32>) -> bool {
        self.lists.iter_mut().any(|list| list.has(above))
    }

    /// Whether a call is queued.
    pub(super) fn has_calls(&mut self) -> bool {
        !self.is_all_normal() || self.first_normal_call().is_some() // R1
    }

    fn is_all_normal(&self) -> bool {
        self.len() == self.lists[NORMAL].len()
    }

    /// The oldest call of normal priority. Drops taken calls before it.
    fn first_normal_call(&mut self) -> Option<Arrival> {
        while let Some(call) = self.calls.front().copied() {
            if self.lists[NORMAL].find(call).is_some() {
                return Some(call);
            }
            self.calls.pop_front();
        }
        None
    }

    /// The list from which a worker takes the next task, of those that have one for it.
    fn choose(&mut self, waits: [bool; LISTS]) -> Option<usize> {
        let waiting = || (0..LISTS).filter(|list| waits[*list]);
        let overdue = waiting().find(|list| self.overtaken[*list] >= MOST_OVERTAKING);
        let chosen = overdue.or_else(|| waiting().next())?;
        for (list, overtaken) in self.overtaken.iter_mut().enumerate() {
            let stays = list != chosen && self.lists[list].len() > 0;
            *overtaken = if stays { overtaken.saturating_add(1) } else { 0 };
        }
        Some(chosen)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::ptr::NonNull;

    use proptest::prelude::*;

    use super::*;
    use crate::task::TaskRef;

    fn queued(depth: u32) -> Queued {
        Queued { task: TaskRef::new(NonNull::<u8>::dangling()), depth }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(u32),
        PushCall(Priority),
        Pop(Option<u32>),
        PopCall,
        PopNewest,
        Withdraw(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        use Priority::{High, Low, Normal};
        prop_oneof![
            2 => (0_u32..3).prop_map(Step::Push),
            6 => prop::sample::select(vec![High, High, Normal, Low]).prop_map(Step::PushCall),
            4 => prop::option::weighted(0.2, 0_u32..3).prop_map(Step::Pop),
            2 => Just(Step::PopCall),
            1 => Just(Step::PopNewest),
            1 => any::<prop::sample::Index>().prop_map(Step::Withdraw),
        ]
    }

    #[derive(Debug, Clone, Copy)]
    struct Entry {
        ticket: Ticket,
        is_call: bool,
        task: Queued,
        /// How many tasks of other priorities were taken while it was the oldest task of its own.
        overtaken: u8,
    }

    impl Entry {
        fn list(&self) -> usize {
            self.ticket.priority.list()
        }
    }

    /// Each task has a depth of its own, by which the model knows it.
    const DEEPER: u32 = 1_000;

    /// The queue, and a plain list of the same tasks, oldest first.
    #[derive(Default)]
    struct World {
        queue: ByPriority,
        model: Vec<Entry>,
        pushed: u32,
    }

    impl World {
        fn push(&mut self, depth: u32, call: Option<Priority>) {
            let task = queued(depth * DEEPER + self.pushed);
            self.pushed += 1;
            let ticket = match call {
                Some(priority) => self.queue.push_call(task, priority),
                None => self.queue.push(task),
            };
            self.model.push(Entry { ticket, is_call: call.is_some(), task, overtaken: 0 });
        }

        fn remove(&mut self, task: Queued) -> Entry {
            let at = self.model.iter().position(|entry| entry.task == task);
            self.model.remove(at.expect("a task is queued until it is taken once"))
        }

        /// `take` takes a task of those that `allows` names: R2, and the order.
        fn take(
            &mut self,
            take: impl FnOnce(&mut ByPriority) -> Option<Queued>,
            allows: impl Fn(&Entry) -> bool,
        ) {
            let oldest: Vec<Entry> = (0..LISTS)
                .filter_map(|list| self.model.iter().find(|e| e.list() == list && allows(e)))
                .copied()
                .collect();
            let is_overdue = self.queue.overtaken.map(|overtaken| overtaken >= MOST_OVERTAKING);
            let Some(taken) = take(&mut self.queue) else { return assert!(oldest.is_empty()) };
            let taken = self.remove(taken);
            let place = oldest.iter().position(|entry| entry.task == taken.task);
            let place = place.expect("the oldest of its list is taken");
            assert!(place == 0 || is_overdue[taken.list()], "a higher one waits");
            for list in (0..LISTS).filter(|list| *list != taken.list()) {
                if let Some(entry) = self.model.iter_mut().find(|e| e.list() == list)
                    && entry.is_call
                {
                    entry.overtaken += 1;
                    assert!(entry.overtaken <= MOST_OVERTAKING + 1);
                }
            }
        }

        fn step(&mut self, step: &Step) {
            match step {
                Step::Push(depth) => self.push(*depth, None),
                Step::PushCall(priority) => self.push(0, Some(*priority)),
                Step::Pop(None) => self.take(|queue| queue.pop(None), |_| true),
                Step::Pop(Some(above)) => {
                    let above = (above + 1) * DEEPER - 1;
                    let taken = self.queue.pop(Some(above));
                    let deep = self.model.iter().find(|entry| entry.task.depth > above);
                    assert_eq!(taken, deep.map(|entry| entry.task));
                    taken.into_iter().for_each(|task| _ = self.remove(task));
                }
                Step::PopCall => {
                    self.take(|queue| queue.pop_call(Priority::Low), |entry| entry.is_call);
                }
                Step::PopNewest => {
                    let mut tasks = self.model.iter().rev();
                    let newest = tasks.find(|e| e.ticket.priority == Priority::Normal);
                    let newest = newest.map(|entry| entry.task);
                    assert_eq!(self.queue.pop_newest(), newest);
                    newest.into_iter().for_each(|task| _ = self.remove(task));
                }
                Step::Withdraw(index) if !self.model.is_empty() => {
                    let entry = *index.get(&self.model);
                    assert_eq!(self.queue.withdraw(entry.ticket), Some(entry.task));
                    assert_eq!(self.queue.withdraw(entry.ticket), None);
                    self.remove(entry.task);
                }
                Step::Withdraw(_) => {}
            }
            assert_eq!(self.queue.len(), self.model.len());
            assert_eq!(self.queue.has_calls(), self.model.iter().any(|entry| entry.is_call));
            assert_eq!(self.queue.has(None), !self.model.is_empty());
        }
    }

    proptest! {
        /// Catches: a task lost or given twice, a call that a higher one should have preceded, one
        /// that starves, and a detached task that is given as a call.
        #[test]
        fn the_oldest_of_the_highest_priority_is_taken_unless_another_is_overdue(
            steps in prop::collection::vec(step(), 0..600),
        ) {
            let mut world = World::default();
            steps.iter().for_each(|step| world.step(step));
            while !world.model.is_empty() {
                world.step(&Step::Pop(None));
            }
        }
    }

    /// Catches: a call that higher ones overtake for ever, and a bound that is not the documented
    /// one.
    #[test]
    fn sixteen_calls_overtake_a_lower_one_and_one_more_if_two_are_overdue() {
        for take in [(|queue| queue.pop(None)) as fn(&mut ByPriority) -> _, |queue| {
            queue.pop_call(Priority::Low)
        }] {
            let mut queue = ByPriority::default();
            queue.push_call(queued(1), Priority::Low);
            queue.push_call(queued(2), Priority::Normal);
            let mut next = || {
                queue.push_call(queued(0), Priority::High);
                take(&mut queue).expect("a task").depth
            };
            let taken: Vec<u32> = (0..20).map(|_| next()).collect();
            assert!(taken[..16].iter().all(|depth| *depth == 0));
            assert_eq!(taken[16..], [2, 1, 0, 0]);
        }
    }

    /// Catches: detached tasks that calls of the same priority overtake.
    #[test]
    fn detached_tasks_keep_their_order_among_calls_of_normal_priority() {
        let mut queue = ByPriority::default();
        queue.push(queued(1));
        queue.push_call(queued(2), Priority::Normal);
        queue.push(queued(3));
        queue.push_call(queued(4), Priority::Low);
        let taken: Vec<u32> =
            std::iter::from_fn(|| queue.pop(None)).map(|task| task.depth).collect();
        assert_eq!(taken, [1, 2, 3, 4]);
    }
}
