//! A worker: its frames, its task stack, and its state.
//!
//! The task stack is a direct task stack. The owner pushes and pops at the top, and thieves take
//! the oldest task. A stolen entry stays until its owner joins it, and records the thief and
//! whether the task has finished. Source: K.-F. Faxén, "Wool: A Work Stealing Library" (2008).
//!
//! # Invariants
//!
//! - T1: the entries below `bottom` have been stolen; those from `bottom` on have not.
//! - T2: a frame that joins has one entry for each child that it has yet to join, directly below
//!   the entries of the frames above it.
//! - T3: bottom ≤ limit ≤ number of entries; those from `limit` on are private.

use crate::queue::Time;
use crate::report::Activity;

/// A part of a program's data, from `first` on, in units of 2⁻³¹ of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data {
    pub(crate) first: u32,
    pub(crate) length: u32,
}

impl Data {
    /// All of it.
    pub(crate) const ALL: Self = Self { first: 0, length: 1 << Self::BITS };

    /// The binary logarithm of its length.
    pub(crate) const BITS: u32 = 31;

    /// Part `number` of so many equal ones.
    pub(crate) fn part(self, number: u32, of: u32) -> Self {
        let length = self.length / of.max(1);
        Self { first: self.first + number * length, length }
    }
}

/// A created task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<N> {
    pub(crate) node: N,
    /// Its serial number.
    pub(crate) id: u64,
    /// All work on the path from the root to its beginning.
    pub(crate) path: Time,
    pub(crate) depth: u32,
    pub(crate) data: Data,
}

/// The origin of a stolen task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) victim: u32,
    pub(crate) slot: u32,
    /// Time of the steal.
    pub(crate) at: Time,
}

/// A task that a worker runs.
#[derive(Debug, Clone)]
pub(crate) struct Frame<N> {
    pub(crate) task: Task<N>,
    pub(crate) begun: bool,
    /// Number of children, of children that have been spawned or called, and of children yet to be
    /// joined.
    pub(crate) children: u32,
    pub(crate) made: u32,
    pub(crate) joins: u32,
    /// The end of the longest path through it and the tasks that it has joined.
    pub(crate) end: Time,
    pub(crate) origin: Option<Origin>,
}

impl<N> Frame<N> {
    pub(crate) fn of(task: Task<N>, origin: Option<Origin>) -> Self {
        let end = task.path;
        Self { task, begun: false, children: 0, made: 0, joins: 0, end, origin }
    }
}

/// The holder of a spawned task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Owner,
    Thief(u32),
    /// A thief that has finished it; the task's path is its end.
    Done(u32),
}

/// A slot of the task stack.
#[derive(Debug, Clone)]
pub(crate) struct Entry<N> {
    pub(crate) task: Task<N>,
    pub(crate) holder: Holder,
}

/// The entry at the top, as its owner sees it.
#[derive(Debug)]
pub(crate) enum Top<N> {
    Mine(Task<N>),
    /// A thief has it.
    Stolen(usize),
    /// A thief has finished it; the path to its end.
    Done(usize, Time),
}

/// A worker's spawned tasks.
#[derive(Debug)]
pub(crate) struct TaskStack<N> {
    entries: Vec<Entry<N>>,
    bottom: usize,
    /// Entries below this index are public.
    limit: usize,
}

impl<N: Copy> TaskStack<N> {
    /// Pushes a private task.
    #[inline]
    pub(crate) fn push(&mut self, task: Task<N>) {
        self.entries.push(Entry { task, holder: Holder::Owner });
    }

    /// Publishes all tasks.
    #[inline]
    pub(crate) fn publish_all(&mut self) {
        self.limit = self.entries.len();
    }

    /// Publishes the older half of the private tasks, rounded up.
    pub(crate) fn publish_half(&mut self) {
        self.limit += self.hidden().div_ceil(2);
    }

    /// Publishes the oldest private tasks while `may_be_seen` holds. Returns whether there were
    /// any.
    pub(crate) fn publish_while(&mut self, may_be_seen: impl Fn(&N) -> bool) -> bool {
        let before = self.limit;
        while self.entries.get(self.limit).is_some_and(|entry| may_be_seen(&entry.task.node)) {
            self.limit += 1;
        }
        self.limit > before
    }

    /// Number of private tasks.
    #[inline]
    pub(crate) fn hidden(&self) -> usize {
        self.entries.len() - self.limit
    }

    /// Whether the oldest unstolen task lies above `entries` entries.
    pub(crate) fn oldest_is_above(&self, entries: usize) -> bool {
        self.bottom >= entries
    }

    /// The youngest entry.
    #[inline]
    pub(crate) fn top(&self) -> Option<Top<N>> {
        let top = self.entries.last()?;
        Some(match top.holder {
            Holder::Owner => Top::Mine(top.task),
            Holder::Thief(thief) => Top::Stolen(thief as usize),
            Holder::Done(thief) => Top::Done(thief as usize, top.task.path),
        })
    }

    /// Pops the youngest entry, unless a thief has it; then the entry stays.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Top<N>> {
        let top = self.top()?;
        if !matches!(top, Top::Stolen(_)) {
            self.entries.pop();
            self.bottom = self.bottom.min(self.entries.len());
            self.limit = self.limit.min(self.entries.len());
        }
        Some(top)
    }

    /// Steals the oldest public task, and returns its slot as well.
    #[inline]
    pub(crate) fn steal(&mut self, thief: usize) -> Option<(Task<N>, usize)> {
        let slot = self.bottom;
        let entry = self.entries[..self.limit].get_mut(slot)?;
        entry.holder = Holder::Thief(thief as u32);
        self.bottom += 1;
        Some((entry.task, slot))
    }

    /// The thief of a slot has finished its task.
    pub(crate) fn finish(&mut self, slot: usize, thief: usize, end: Time) {
        let entry = &mut self.entries[slot];
        entry.holder = Holder::Done(thief as u32);
        entry.task.path = end;
    }

    /// Whether this slot is the youngest.
    pub(crate) fn is_top(&self, slot: usize) -> bool {
        slot + 1 == self.entries.len()
    }

    /// Number of tasks that a thief could take at once.
    #[inline]
    pub(crate) fn shown(&self) -> usize {
        self.limit - self.bottom
    }

    /// Number of tasks that wait, public or private.
    #[inline]
    pub(crate) fn load(&self) -> usize {
        self.entries.len() - self.bottom
    }

    /// The depth of the oldest of these.
    #[inline]
    pub(crate) fn oldest_depth(&self) -> Option<u32> {
        self.entries.get(self.bottom).map(|entry| entry.task.depth)
    }

    /// The number of the oldest of these tasks.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.entries[..self.limit].get(self.bottom).map(|entry| entry.task.id)
    }

    /// The depth of the oldest private task.
    pub(crate) fn oldest_hidden_depth(&self) -> Option<u32> {
        self.entries.get(self.limit.max(self.bottom)).map(|entry| entry.task.depth)
    }

    /// Drops entries that will not be joined. All must have been stolen.
    pub(crate) fn abandon(&mut self) {
        debug_assert_eq!(self.bottom, self.entries.len(), "what is abandoned is with thieves");
        self.entries.clear();
        (self.bottom, self.limit) = (0, 0);
    }
}

/// The meaning of a worker's next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Continues with its youngest frame.
    Runs,
    /// Begins a search.
    Searches,
    /// The policy chose no victim, and the worker waits before it asks again.
    Pauses,
    /// Reaches a victim.
    Tries {
        victim: u32,
        /// Chosen by the policy, not as the thief of an awaited task.
        advised: bool,
    },
    /// Blocks in a join; no event.
    Blocked,
    /// Parked until a spawn; no event.
    Parked,
    /// Has left; no event.
    Gone,
}

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker<N> {
    pub(crate) frames: Vec<Frame<N>>,
    pub(crate) tasks: TaskStack<N>,
    pub(crate) state: State,
    /// Leaves as soon as it has no frame.
    pub(crate) leaves: bool,
    /// Slow-down factor of everything it does.
    pub(crate) slowness: f64,
    /// Whether it counts as busy in its package, under contention.
    pub(crate) is_crowding: bool,
    /// The rest of its task's work, under contention.
    pub(crate) work_left: Time,
    /// Failed rounds of this search.
    pub(crate) in_vain: u32,
    /// Attempts in this round.
    pub(crate) attempts: u32,
    /// Time of the pending steal request, if any.
    pub(crate) asked: Option<Time>,
    /// The last request to all workers that it has served.
    pub(crate) answered: u64,
    /// The loop in which it took part last.
    pub(crate) shares: Option<u32>,
    /// Time until which a thief is taking its oldest task, on two-field stacks.
    pub(crate) busy_until: Time,
    /// The victims that it tried last, and their oldest tasks then; the last one is the latest.
    pub(crate) tried: Vec<(u32, Option<u64>)>,
    doing: Activity,
    since: Time,
    spent: [Time; Activity::COUNT],
}

impl<N: Copy> Worker<N> {
    pub(crate) fn new() -> Self {
        Self {
            frames: Vec::new(),
            tasks: TaskStack { entries: Vec::new(), bottom: 0, limit: 0 },
            state: State::Searches,
            leaves: false,
            slowness: 1.0,
            is_crowding: false,
            work_left: 0,
            in_vain: 0,
            attempts: 0,
            asked: None,
            answered: 0,
            shares: None,
            busy_until: 0,
            tried: Vec::new(),
            doing: Activity::Searches,
            since: 0,
            spent: [0; Activity::COUNT],
        }
    }

    /// Changes its activity at time `now`.
    #[inline]
    pub(crate) fn does(&mut self, doing: Activity, now: Time) {
        self.spent[self.doing as usize] += now - self.since;
        (self.doing, self.since) = (doing, now);
    }

    /// Time spent until `now`, by activity.
    pub(crate) fn spent(&self, now: Time) -> [Time; Activity::COUNT] {
        let mut spent = self.spent;
        spent[self.doing as usize] += now - self.since;
        spent
    }

    /// Whether it is in a join.
    pub(crate) fn waits(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether it has no frame and was told to leave.
    pub(crate) fn is_about_to_leave(&self) -> bool {
        self.leaves && self.frames.is_empty()
    }

    /// Its activity while it has nothing to do.
    pub(crate) fn idleness(&self) -> Activity {
        if self.waits() { Activity::Waits } else { Activity::Searches }
    }

    /// Whether it is looking for a task.
    pub(crate) fn is_thief(&self) -> bool {
        matches!(self.state, State::Searches | State::Pauses | State::Tries { .. } | State::Parked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: private tasks that thieves cannot see, or can take.
    #[test]
    fn a_load_has_private_tasks_that_no_thief_can_take_yet() {
        let mut tasks = Worker::<()>::new().tasks;
        assert_eq!((tasks.load(), tasks.oldest_depth()), (0, None));
        for depth in [4, 5, 6] {
            tasks.push(Task { node: (), id: 0, path: 0, depth, data: Data::ALL });
        }
        assert_eq!((tasks.load(), tasks.shown(), tasks.oldest_depth()), (3, 0, Some(4)));
        assert!(tasks.steal(1).is_none());
        tasks.publish_half();
        assert_eq!((tasks.load(), tasks.shown()), (3, 2));
        assert!(tasks.steal(1).is_some());
        assert_eq!((tasks.load(), tasks.shown(), tasks.oldest_depth()), (2, 1, Some(5)));
    }
}
