//! Tasks in order of arrival, from which the oldest that lies deep enough is taken.
//!
//! The entries lie one behind the other in the order in which they came. Above them stands a binary
//! tree whose leaf says how deep an entry lies, and whose inner nodes say how deep the deepest
//! entry below them lies. A search goes down from the root, to the left wherever that half has an
//! entry that is deep enough.
//!
//! A search over the entries themselves would look at every shallow one before the first deep one,
//! under the lock of the queue. To end that search after some entries is no repair: a blocked
//! worker may need the deep task behind them, and nobody else may take that.
//!
//! # Invariants
//!
//! - O1: an inner node is the greater one of its two children.
//! - O2: a leaf is `None` beyond the last entry, and where an entry has been taken. The last entry
//!   has not been taken.
//!
//! # Cost
//!
//! With room for n entries: taking one is at most 2 log2 n looks at the tree, and so is adding one.
//! A full queue moves its entries together, and doubles its room if more than half of them are
//! left; so at least half of the room is free afterwards, and each entry pays for two others.
//!
//! # Tests
//!
//! Below: against a plain list, and the looks are counted.

use super::Queued;

/// Room for entries at the start.
const START: usize = if cfg!(any(loom, shuttle)) { 2 } else { 8 };

/// An entry for as long as it is queued: the number of its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

/// The queue.
#[derive(Debug)]
pub(crate) struct ByDepth {
    /// By ticket. An entry has been taken if its leaf is `None`.
    entries: Vec<(Ticket, Queued)>,
    /// Node 1 is the root, and the children of node `i` are `2 i` and `2 i + 1`. The second half
    /// are the leaves.
    deepest: Box<[Option<u32>]>,
    /// Entries that have not been taken.
    len: usize,
    next: u64,
    /// Nodes that have been looked at.
    #[cfg(test)]
    looks: std::cell::Cell<usize>,
}

impl ByDepth {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            deepest: Box::default(),
            len: 0,
            next: 0,
            #[cfg(test)]
            looks: std::cell::Cell::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a task at the end.
    pub(crate) fn push(&mut self, queued: Queued) -> Ticket {
        if self.entries.len() == self.room() {
            self.make_room();
        }
        let ticket = Ticket(self.next);
        self.next += 1;
        let at = self.entries.len();
        self.entries.push((ticket, queued));
        self.len += 1;
        self.raise(at, queued.depth);
        ticket
    }

    /// Takes the oldest task that lies deeper than `above` (`None`: any task).
    pub(crate) fn pop(&mut self, above: Option<u32>) -> Option<Queued> {
        let at = self.oldest(above)?;
        Some(self.take(at))
    }

    /// Takes the newest task.
    pub(crate) fn pop_newest(&mut self) -> Option<Queued> {
        let newest = self.entries.len().checked_sub(1)?; // O2
        Some(self.take(newest))
    }

    /// Takes the task of that ticket, if it is still queued.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) -> Option<Queued> {
        let at = self.entries.binary_search_by_key(&ticket.0, |(ticket, _)| ticket.0).ok()?;
        self.depth_at(at)?;
        Some(self.take(at))
    }

    /// Whether a task lies deeper than `above` (`None`: any task).
    pub(crate) fn has(&self, above: Option<u32>) -> bool {
        self.len > 0 && self.node(1) > above
    }

    fn room(&self) -> usize {
        self.deepest.len() / 2
    }

    fn node(&self, node: usize) -> Option<u32> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        self.deepest[node]
    }

    fn depth_at(&self, at: usize) -> Option<u32> {
        self.deepest[self.room() + at]
    }

    /// Where the oldest task deeper than `above` lies. `None` is less than any depth.
    fn oldest(&self, above: Option<u32>) -> Option<usize> {
        if !self.has(above) {
            return None;
        }
        let mut node = 1;
        while node < self.room() {
            let left = 2 * node;
            // One of the two has such an entry (O1).
            node = if self.node(left) > above { left } else { left + 1 };
        }
        Some(node - self.room())
    }

    fn take(&mut self, at: usize) -> Queued {
        let (_, queued) = self.entries[at];
        self.len -= 1;
        self.clear(at);
        while self.entries.len().checked_sub(1).is_some_and(|last| self.depth_at(last).is_none()) {
            self.entries.pop();
        }
        queued
    }

    /// A leaf gets a depth: the nodes above it are at least as deep (O1).
    fn raise(&mut self, at: usize, depth: u32) {
        let mut node = self.room() + at;
        while node > 0 && self.node(node) < Some(depth) {
            self.deepest[node] = Some(depth);
            node /= 2;
        }
    }

    /// A leaf loses its depth. As long as that changes a node, the one above is computed anew (O1).
    fn clear(&mut self, at: usize) {
        let mut node = self.room() + at;
        self.deepest[node] = None;
        while node > 1 {
            node /= 2;
            let deepest = self.node(2 * node).max(self.node(2 * node + 1));
            if self.deepest[node] == deepest {
                break;
            }
            self.deepest[node] = deepest;
        }
    }

    /// Moves the entries together, into as much room that at least half of it is free.
    #[cold]
    fn make_room(&mut self) {
        let (room, deepest) = (self.room(), &self.deepest);
        let mut at = 0;
        self.entries.retain(|_| {
            at += 1;
            deepest[room + at - 1].is_some()
        });
        let room = (2 * self.len).next_power_of_two().max(START);
        self.deepest = vec![None; 2 * room].into();
        for (at, (_, queued)) in self.entries.iter().enumerate() {
            self.deepest[room + at] = Some(queued.depth);
        }
        for node in (1..room).rev() {
            self.deepest[node] = self.deepest[2 * node].max(self.deepest[2 * node + 1]);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::VecDeque;
    use std::ptr::NonNull;

    use proptest::prelude::*;

    use super::*;
    use crate::queue::{Header, TaskRef};

    unsafe fn never(_: NonNull<Header>, _: &crate::worker::Worker) {}
    static HEADER: Header = Header { run: never };

    fn queued(depth: u32) -> Queued {
        Queued { task: TaskRef(NonNull::from(&HEADER)), depth }
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

    /// Every task has a number of its own in the model; the queue shows it by its ticket.
    type Model = VecDeque<(Ticket, u32)>;

    fn taken_from(model: &mut Model, at: Option<usize>) -> Option<Queued> {
        at.and_then(|at| model.remove(at)).map(|(_, depth)| queued(depth))
    }

    fn check(queue: &ByDepth, model: &Model) {
        let left = queue.entries.iter().zip(0..).filter(|(_, at)| queue.depth_at(*at).is_some());
        let left = left.map(|((ticket, queued), _)| (*ticket, queued.depth));
        assert!(left.eq(model.iter().copied()));
        assert_eq!(queue.len(), model.len());
        for above in [None, Some(0), Some(3), Some(5), Some(u32::MAX)] {
            assert_eq!(queue.has(above), model.iter().any(|(_, depth)| Some(*depth) > above));
        }
    }

    proptest! {
        /// Catches: a task lost, given twice, or given out of turn, also after withdrawals and
        /// where the queue moves its entries together.
        #[test]
        fn it_is_a_list_from_which_the_oldest_deep_one_is_taken(
            steps in prop::collection::vec(step(), 0..400),
        ) {
            let (mut queue, mut model) = (ByDepth::new(), Model::new());
            let mut tickets = Vec::new();
            for step in steps {
                match step {
                    Step::Push(depth) => {
                        let ticket = queue.push(queued(depth));
                        model.push_back((ticket, depth));
                        tickets.push(ticket);
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
                    Step::Withdraw(index) if !tickets.is_empty() => {
                        let ticket = *index.get(&tickets);
                        let at = model.iter().position(|(other, _)| *other == ticket);
                        let expected = taken_from(&mut model, at);
                        prop_assert_eq!(queue.withdraw(ticket), expected);
                    }
                    Step::Withdraw(_) => {}
                }
                check(&queue, &model);
            }
        }
    }

    /// Looks at the tree that `f` costs.
    fn looks_of<R>(queue: &mut ByDepth, f: impl FnOnce(&mut ByDepth) -> R) -> (usize, R) {
        queue.looks.set(0);
        let result = f(queue);
        (queue.looks.get(), result)
    }

    /// Catches: a search that looks at every task which lies too near the root.
    #[test]
    fn a_deep_task_behind_ten_thousand_others_costs_some_looks() {
        let mut queue = ByDepth::new();
        (0..10_000).for_each(|_| _ = queue.push(queued(0)));
        let (nothing, task) = looks_of(&mut queue, |queue| queue.pop(Some(0)));
        assert_eq!((nothing, task), (1, None));
        let ticket = queue.push(queued(7));
        queue.push(queued(3));
        let (there, is_there) = looks_of(&mut queue, |queue| queue.has(Some(6)));
        assert_eq!((there, is_there), (1, true));
        // 14 levels: one look at each on the way down, two on the way back.
        let (taken, task) = looks_of(&mut queue, |queue| queue.pop(Some(6)));
        assert!(taken <= 3 * 15, "{taken} looks");
        assert_eq!(task, Some(queued(7)));
        assert_eq!(queue.withdraw(ticket), None);
        assert_eq!(queue.pop(Some(0)), Some(queued(3)));
    }

    /// Catches: room that grows although the queue does not, and searches that grow with it.
    #[test]
    fn a_queue_that_stays_short_keeps_its_room_and_its_cost() {
        let mut queue = ByDepth::new();
        queue.push(queued(0));
        for depth in 0..10_000 {
            queue.push(queued(1 + depth % 3));
            let (looks, task) = looks_of(&mut queue, |queue| queue.pop(Some(0)));
            assert_eq!(task, Some(queued(1 + depth % 3)));
            assert!(looks <= 12, "{looks} looks");
        }
        assert_eq!((queue.room(), queue.len()), (START, 1));
        assert_eq!(queue.pop(None), Some(queued(0)));
    }
}
