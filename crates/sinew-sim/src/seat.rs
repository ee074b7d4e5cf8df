//! A worker: its frames, its task stack, and what it is doing.
//!
//! The task stack is the direct one: the owner pushes and pops at the top, thieves take the oldest,
//! and what was taken stays where it is until its owner joins it, so that it can say who has it and
//! when it is done. Source: K.-F. Faxén, "Wool: A Work Stealing Library" (2008).
//!
//! # Invariants
//!
//! - T1: the entries below `bottom` have been stolen, those from there on have not.
//! - T3: bottom ≤ limit ≤ number of entries; those from `limit` on are private.
//! - T2: a frame that joins has as many entries of its own as it has yet to join, directly below
//!   those of the frames above it.

use crate::queue::Time;
use crate::report::Activity;

/// A task that has been created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<N> {
    pub(crate) node: N,
    /// Its serial number.
    pub(crate) id: u64,
    /// All work on the way from the root to its beginning.
    pub(crate) path: Time,
    pub(crate) depth: u32,
}

/// Where a stolen task lay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) victim: u32,
    pub(crate) slot: u32,
    /// When the thief got it.
    pub(crate) at: Time,
}

/// A task that a worker runs.
#[derive(Debug, Clone)]
pub(crate) struct Frame<N> {
    pub(crate) task: Task<N>,
    pub(crate) begun: bool,
    /// How many children it has, how many of them have been spawned or called, and how many are to
    /// be joined.
    pub(crate) children: u32,
    pub(crate) made: u32,
    pub(crate) joins: u32,
    /// The end of the longest way through it and what it has joined.
    pub(crate) end: Time,
    pub(crate) origin: Option<Origin>,
}

impl<N> Frame<N> {
    pub(crate) fn of(task: Task<N>, origin: Option<Origin>) -> Self {
        let end = task.path;
        Self { task, begun: false, children: 0, made: 0, joins: 0, end, origin }
    }
}

/// Who has a task that was spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Owner,
    Thief(u32),
    /// A thief had it, and has finished it; the task's path is where it ended.
    Done(u32),
}

/// A slot of the task stack.
#[derive(Debug, Clone)]
pub(crate) struct Entry<N> {
    pub(crate) task: Task<N>,
    pub(crate) holder: Holder,
}

/// What the owner finds at the top.
#[derive(Debug)]
pub(crate) enum Top<N> {
    Mine(Task<N>),
    /// It is with this thief.
    Stolen(usize),
    /// This thief has finished it, and so far is the way to its end.
    Done(usize, Time),
}

/// A worker's spawned tasks.
#[derive(Debug)]
pub(crate) struct TaskStack<N> {
    entries: Vec<Entry<N>>,
    bottom: usize,
    /// Thieves see what lies below.
    limit: usize,
}

impl<N: Copy> TaskStack<N> {
    /// A task that only its owner knows of until it is published.
    #[inline]
    pub(crate) fn push(&mut self, task: Task<N>) {
        self.entries.push(Entry { task, holder: Holder::Owner });
    }

    /// Shows thieves all tasks.
    #[inline]
    pub(crate) fn publish_all(&mut self) {
        self.limit = self.entries.len();
    }

    /// Shows thieves the older half of the private tasks, the larger one.
    pub(crate) fn publish_half(&mut self) {
        self.limit += self.hidden().div_ceil(2);
    }

    /// Shows thieves the oldest private tasks as long as they are such. Returns whether there were
    /// any.
    pub(crate) fn publish_while(&mut self, may_be_seen: impl Fn(&N) -> bool) -> bool {
        let before = self.limit;
        while self.entries.get(self.limit).is_some_and(|entry| may_be_seen(&entry.task.node)) {
            self.limit += 1;
        }
        self.limit > before
    }

    /// How many tasks are private.
    #[inline]
    pub(crate) fn hidden(&self) -> usize {
        self.entries.len() - self.limit
    }

    /// Whether the oldest task that is left lies above so many entries.
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

    /// Takes the youngest entry, unless it is with a thief, where it stays.
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

    /// Takes the oldest public task that has not been stolen, and says where it lay.
    #[inline]
    pub(crate) fn steal(&mut self, thief: usize) -> Option<(Task<N>, usize)> {
        let slot = self.bottom;
        let entry = self.entries[..self.limit].get_mut(slot)?;
        entry.holder = Holder::Thief(thief as u32);
        self.bottom += 1;
        Some((entry.task, slot))
    }

    /// The thief of a slot has finished the task.
    pub(crate) fn finish(&mut self, slot: usize, thief: usize, end: Time) {
        let entry = &mut self.entries[slot];
        entry.holder = Holder::Done(thief as u32);
        entry.task.path = end;
    }

    /// Whether this slot is the youngest.
    pub(crate) fn is_top(&self, slot: usize) -> bool {
        slot + 1 == self.entries.len()
    }

    /// How many tasks a thief could take.
    #[inline]
    pub(crate) fn load(&self) -> usize {
        self.limit - self.bottom
    }

    /// The depth of the oldest of them.
    #[inline]
    pub(crate) fn oldest_depth(&self) -> Option<u32> {
        self.entries[..self.limit].get(self.bottom).map(|entry| entry.task.depth)
    }

    /// The depth of the oldest private task.
    pub(crate) fn oldest_hidden_depth(&self) -> Option<u32> {
        self.entries.get(self.limit.max(self.bottom)).map(|entry| entry.task.depth)
    }

    /// Forgets entries that nobody will join. All must have been stolen.
    pub(crate) fn abandon(&mut self) {
        debug_assert_eq!(self.bottom, self.entries.len(), "what is abandoned is with thieves");
        self.entries.clear();
        (self.bottom, self.limit) = (0, 0);
    }
}

/// What a worker's next event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It goes on with its youngest frame.
    Runs,
    /// It begins a search.
    Searches,
    /// Its rule named nobody, and it lets some time pass before it asks again.
    Pauses,
    /// It gets to a victim.
    Tries {
        victim: u32,
        /// By the policy's advice, not as the thief of what is waited for.
        advised: bool,
    },
    /// It waits in a join without doing anything; no event.
    Blocked,
    /// It sleeps until somebody spawns; no event.
    Parked,
    /// It has left; no event.
    Gone,
}

/// A worker.
#[derive(Debug)]
pub(crate) struct Seat<N> {
    pub(crate) frames: Vec<Frame<N>>,
    pub(crate) tasks: TaskStack<N>,
    pub(crate) state: State,
    /// It is to leave as soon as it has no task in hand.
    pub(crate) leaves: bool,
    /// By what everything it does takes longer.
    pub(crate) slowness: f64,
    /// Whether it counts among those who work, and what of its task's work is left to do then.
    pub(crate) is_crowding: bool,
    /// See there.
    pub(crate) work_left: Time,
    /// Rounds of this search that found nothing.
    pub(crate) in_vain: u32,
    /// Attempts in this round.
    pub(crate) attempts: u32,
    /// Since when a thief waits for it to publish something.
    pub(crate) asked: Option<Time>,
    /// The last call to everybody that it has answered.
    pub(crate) answered: u64,
    /// The loop that it took part in last.
    pub(crate) shares: Option<u32>,
    /// Until when a thief is busy with its oldest task, where stacks have two fields.
    pub(crate) busy_until: Time,
    doing: Activity,
    since: Time,
    spent: [Time; Activity::COUNT],
}

impl<N: Copy> Seat<N> {
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
            doing: Activity::Searches,
            since: 0,
            spent: [0; Activity::COUNT],
        }
    }

    /// From `now` on it does something else.
    #[inline]
    pub(crate) fn does(&mut self, doing: Activity, now: Time) {
        self.spent[self.doing as usize] += now - self.since;
        (self.doing, self.since) = (doing, now);
    }

    /// What it has spent its time with until `now`.
    pub(crate) fn spent(&self, now: Time) -> [Time; Activity::COUNT] {
        let mut spent = self.spent;
        spent[self.doing as usize] += now - self.since;
        spent
    }

    /// Whether it stands in a join.
    pub(crate) fn waits(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether it has nothing in hand, and was told to leave.
    pub(crate) fn is_about_to_leave(&self) -> bool {
        self.leaves && self.frames.is_empty()
    }

    /// What it does while it does nothing for a task.
    pub(crate) fn idleness(&self) -> Activity {
        if self.waits() { Activity::Waits } else { Activity::Searches }
    }

    /// Whether it has nothing and wants something.
    pub(crate) fn is_thief(&self) -> bool {
        matches!(self.state, State::Searches | State::Pauses | State::Tries { .. } | State::Parked)
    }
}
