//! Tasks in order of arrival, of which a worker takes the oldest that is deep enough.
//!
//! The entries are in a list, oldest first. If the first entry is deep enough, or any depth will
//! do, the worker takes it. Otherwise a [tree](Depths) is built over the list; each inner node
//! holds the greatest depth below it. A search descends from the root, to the left if that half has
//! an entry that is deep enough. The tree stays up to date until the list is empty or has outgrown
//! it.
//!
//! A linear search would visit every shallow entry before the first deep one, each time, under the
//! lock of the queue. A bound on its length is no repair: a blocked worker may need the deep task
//! beyond the bound, and no other worker may be able to take that.
//!
//! # Invariants
//!
//! - O1: an inner node of the tree is the maximum of its two children.
//! - O2: a leaf of the tree is 0 if it has no entry, or its entry was taken.
//! - O3: neither the first nor the last entry was taken, and at most half of all were.
//!
//! # Cost
//!
//! Without searches for deep tasks: a list with a number per entry. A search among n entries visits
//! 2 log2 n nodes of the tree, or one if no entry is deep enough. Building the tree visits at most
//! 8 n nodes. It is built again when n entries were added, or half of all were taken from the
//! middle.
//!
//! # Tests
//!
//! In this file: against a plain list, with a count of the visits.

use std::collections::VecDeque;

use crate::task::Queued;

/// The least capacity of a tree.
const START: usize = if cfg!(any(loom, shuttle)) { 2 } else { 8 };

/// Identifies an entry while it is queued: the number of its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival(u64);

/// The queue.
#[derive(Debug, Default)]
pub(super) struct ByDepth {
    /// By arrival. `None`: taken.
    entries: VecDeque<(Arrival, Option<Queued>)>,
    /// Entries that were not taken.
    len: usize,
    next: u64,
    depths: Depths,
}

impl ByDepth {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a task at the end.
    pub(super) fn push(&mut self, queued: Queued) -> Arrival {
        let arrival = Arrival(self.next);
        self.next += 1;
        if self.depths.is_in_use() {
            self.depths.add(self.entries.len(), queued.depth);
        }
        self.entries.push_back((arrival, Some(queued)));
        self.len += 1;
        arrival
    }

    /// Takes the oldest task deeper than `above` (`None`: any task).
    pub(super) fn pop(&mut self, above: Option<u32>) -> Option<Queued> {
        let at = self.oldest(above)?;
        self.take(at)
    }

    /// Takes the newest task.
    pub(super) fn pop_newest(&mut self) -> Option<Queued> {
        let newest = self.entries.len().checked_sub(1)?; // O3
        self.take(newest)
    }

    /// Takes the task with that number, if it is still queued.
    pub(super) fn withdraw(&mut self, arrival: Arrival) -> Option<Queued> {
        let at = self.index_of(arrival)?;
        self.take(at)
    }

    /// The task with that number, if it is still queued.
    pub(super) fn find(&self, arrival: Arrival) -> Option<Queued> {
        self.index_of(arrival).and_then(|at| self.entries[at].1)
    }

    /// The index of that number in the list; its task may have been taken.
    fn index_of(&self, arrival: Arrival) -> Option<usize> {
        self.entries.binary_search_by_key(&arrival, |(arrival, _)| *arrival).ok()
    }

    /// Whether a task is deeper than `above` (`None`: whether there is any task).
    pub(super) fn has(&mut self, above: Option<u32>) -> bool {
        self.oldest(above).is_some()
    }

    /// The index of the oldest task deeper than `above`.
    fn oldest(&mut self, above: Option<u32>) -> Option<usize> {
        let (_, first) = self.entries.front()?;
        if above.is_none_or(|above| first.is_some_and(|first| first.depth > above)) {
            return Some(0); // O3
        }
        if !self.depths.is_in_use() {
            self.depths.build(self.entries.iter().map(|(_, entry)| entry.map(|entry| entry.depth)));
        }
        self.depths.first_above(above?)
    }

    /// Takes an entry, unless it was taken before.
    #[inline]
    fn take(&mut self, at: usize) -> Option<Queued> {
        if at == 0 { self.take_first() } else { self.take_later(at) }
    }

    #[inline]
    fn take_first(&mut self) -> Option<Queued> {
        if self.depths.is_in_use() {
            self.depths.remove(0);
            self.depths.begin += 1;
        }
        let (_, first) = self.entries.pop_front()?;
        self.len -= 1;
        if self.entries.len() > self.len {
            self.trim();
        }
        first // O3
    }

    #[inline]
    fn take_later(&mut self, at: usize) -> Option<Queued> {
        let (_, entry) = self.entries.get_mut(at)?;
        let queued = entry.take()?;
        self.len -= 1;
        if self.depths.is_in_use() {
            self.depths.remove(at);
        }
        if at + 1 == self.entries.len() {
            self.entries.pop_back();
        }
        if self.entries.len() > self.len {
            self.trim();
        }
        Some(queued)
    }

    /// Restores O3 after entries of the list were taken.
    #[cold]
    fn trim(&mut self) {
        while let Some((_, None)) = self.entries.front() {
            self.entries.pop_front();
            self.depths.begin += 1;
        }
        while let Some((_, None)) = self.entries.back() {
            self.entries.pop_back();
        }
        if self.entries.len() > 2 * self.len {
            self.entries.retain(|(_, entry)| entry.is_some());
            self.depths.forget();
        }
    }
}

/// The depths of a list's entries, by index.
#[derive(Debug, Default)]
struct Depths {
    /// Node 1 is the root, and the children of node `i` are `2 i` and `2 i + 1`. The second half
    /// are the leaves. Each is a depth plus one, or 0. Empty while it is not in use.
    nodes: Vec<u64>,
    /// The leaf of the first entry.
    begin: usize,
    /// Nodes visited so far.
    #[cfg(test)]
    visits: usize,
}

impl Depths {
    fn is_in_use(&self) -> bool {
        !self.nodes.is_empty()
    }

    fn forget(&mut self) {
        self.nodes.clear();
    }

    fn capacity(&self) -> usize {
        self.nodes.len() / 2
    }

    fn node(&mut self, node: usize) -> u64 {
        #[cfg(test)]
        {
            self.visits += 1;
        }
        self.nodes[node]
    }

    fn build(&mut self, depths: impl ExactSizeIterator<Item = Option<u32>>) {
        let capacity = (2 * depths.len()).next_power_of_two().max(START);
        self.nodes.clear();
        self.nodes.resize(capacity, 0);
        self.nodes.extend(depths.map(|depth| depth.map_or(0, |depth| u64::from(depth) + 1)));
        self.nodes.resize(2 * capacity, 0);
        self.begin = 0;
        for node in (1..capacity).rev() {
            self.nodes[node] = self.node(2 * node).max(self.node(2 * node + 1));
        }
    }

    /// The index of the first entry deeper than `above`.
    fn first_above(&mut self, above: u32) -> Option<usize> {
        let above = u64::from(above) + 1;
        if self.node(1) <= above {
            return None;
        }
        let mut node = 1;
        while node < self.capacity() {
            let left = 2 * node;
            // One of the two has such an entry (O1).
            node = if self.node(left) > above { left } else { left + 1 };
        }
        Some(node - self.capacity() - self.begin)
    }

    /// Adds the entry at that index, and raises the nodes above it (O1).
    fn add(&mut self, at: usize, depth: u32) {
        let (leaf, depth) = (self.begin + at, u64::from(depth) + 1);
        if leaf == self.capacity() {
            return self.forget();
        }
        let mut node = self.capacity() + leaf;
        while node > 0 && self.node(node) < depth {
            self.nodes[node] = depth;
            node /= 2;
        }
    }

    /// Removes the entry at that index. Recomputes the nodes above it as long as they change (O1).
    fn remove(&mut self, at: usize) {
        let mut node = self.capacity() + self.begin + at;
        self.nodes[node] = 0;
        while node > 1 {
            node /= 2;
            let deepest = self.node(2 * node).max(self.node(2 * node + 1));
            if self.nodes[node] == deepest {
                break;
            }
            self.nodes[node] = deepest;
        }
        if self.nodes[1] == 0 {
            self.forget();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::VecDeque;
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
        Pop(Option<u32>),
        PopNewest,
        Withdraw(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            5 => (0_u32..6).prop_map(Step::Push),
            1 => Just(Step::Push(u32::MAX)),
            3 => prop::option::of(0_u32..6).prop_map(Step::Pop),
            1 => Just(Step::Pop(Some(u32::MAX))),
            1 => Just(Step::PopNewest),
            1 => any::<prop::sample::Index>().prop_map(Step::Withdraw),
        ]
    }

    /// Each task has its own number in the model; the queue identifies it by its arrival.
    type Model = VecDeque<(Arrival, u32)>;

    fn taken_from(model: &mut Model, at: Option<usize>) -> Option<Queued> {
        at.and_then(|at| model.remove(at)).map(|(_, depth)| queued(depth))
    }

    fn check(queue: &mut ByDepth, model: &Model) {
        let entries = queue.entries.iter();
        let left = entries.filter_map(|(arrival, entry)| entry.map(|e| (*arrival, e.depth)));
        assert!(left.eq(model.iter().copied()));
        assert_eq!(queue.len(), model.len());
        let leaves = queue.depths.nodes.iter().skip(queue.depths.capacity() + queue.depths.begin);
        for ((_, entry), leaf) in queue.entries.iter().zip(leaves) {
            assert_eq!(entry.map_or(0, |entry| u64::from(entry.depth) + 1), *leaf);
        }
        assert!(queue.entries.len() <= 2 * queue.len());
        for above in [None, Some(0), Some(3), Some(5), Some(u32::MAX)] {
            assert_eq!(queue.has(above), model.iter().any(|(_, depth)| Some(*depth) > above));
        }
    }

    proptest! {
        /// Catches: a task lost, given twice, or given out of order, also after withdrawals and
        /// compaction of the queue.
        #[test]
        fn it_is_a_list_from_which_the_oldest_deep_one_is_taken(
            steps in prop::collection::vec(step(), 0..400),
            // A search for a deep task builds the tree, so only some runs check after each step.
            checks: bool,
        ) {
            let (mut queue, mut model) = (ByDepth::default(), Model::new());
            let mut arrivals = Vec::new();
            for step in steps {
                match step {
                    Step::Push(depth) => {
                        let arrival = queue.push(queued(depth));
                        model.push_back((arrival, depth));
                        arrivals.push(arrival);
                    }
                    Step::Pop(above) => {
                        let at = model.iter().position(|(_, depth)| Some(*depth) > above);
                        let expected = taken_from(&mut model, at);
                        prop_assert_eq!(queue.pop(above), expected);
                    }
                    Step::PopNewest => {
                        let expected = model.pop_back().map(|(_, depth)| queued(depth));
                        prop_assert_eq!(queue.pop_newest(), expected);
                    }
                    Step::Withdraw(index) if !arrivals.is_empty() => {
                        let arrival = *index.get(&arrivals);
                        let at = model.iter().position(|(other, _)| *other == arrival);
                        let expected = taken_from(&mut model, at);
                        prop_assert_eq!(queue.withdraw(arrival), expected);
                    }
                    Step::Withdraw(_) => {}
                }
                if checks {
                    check(&mut queue, &model);
                }
            }
        }
    }

    /// Counts the nodes that `f` visits.
    fn visits_of<R>(queue: &mut ByDepth, f: impl FnOnce(&mut ByDepth) -> R) -> (usize, R) {
        queue.depths.visits = 0;
        let result = f(queue);
        (queue.depths.visits, result)
    }

    /// Catches: a search that visits every task that is too shallow.
    #[test]
    fn a_deep_task_behind_ten_thousand_others_costs_some_looks() {
        let mut queue = ByDepth::default();
        (0..10_000).for_each(|_| _ = queue.push(queued(0)));
        // The tree is built.
        assert_eq!(queue.pop(Some(0)), None);
        assert_eq!(visits_of(&mut queue, |queue| queue.pop(Some(0))), (1, None));
        let arrival = queue.push(queued(7));
        queue.push(queued(3));
        // 15 levels: one visit each on the way down, two on the way back.
        let (visits, task) = visits_of(&mut queue, |queue| queue.pop(Some(6)));
        assert!(visits <= 3 * 16, "{visits} visits");
        assert_eq!(task, Some(queued(7)));
        assert_eq!(queue.withdraw(arrival), None);
        assert_eq!(queue.pop(Some(0)), Some(queued(3)));
    }

    /// Catches: a tree that is built too often.
    #[test]
    fn searches_beside_a_growing_and_a_falling_queue_cost_some_looks_each() {
        let mut queue = ByDepth::default();
        let (visits, ()) = visits_of(&mut queue, |queue| {
            for _ in 0..10_000 {
                queue.push(queued(0));
                assert_eq!(queue.pop(Some(0)), None);
            }
            for _ in 0..10_000 {
                assert!(queue.pop(None).is_some() && queue.pop(Some(0)).is_none());
            }
        });
        assert!(visits <= 20 * 20_000, "{visits} visits");
    }

    /// Catches: a capacity that grows although the queue does not, and searches that grow with it.
    #[test]
    fn a_queue_that_stays_short_keeps_its_capacity_and_its_cost() {
        let mut queue = ByDepth::default();
        queue.push(queued(0));
        let (visits, ()) = visits_of(&mut queue, |queue| {
            for depth in 0..10_000 {
                queue.push(queued(1 + depth % 3));
                assert_eq!(queue.pop(Some(0)), Some(queued(1 + depth % 3)));
            }
        });
        assert!(visits <= 30 * 10_000, "{visits} visits");
        assert_eq!((queue.depths.capacity(), queue.len()), (START, 1));
        assert_eq!(queue.pop(None), Some(queued(0)));
        // Without a search for deep tasks there is no tree.
        (0..100).for_each(|_| _ = queue.push(queued(0)));
        assert!((0..100).all(|_| queue.pop(None).is_some()) && !queue.depths.is_in_use());
    }
}
