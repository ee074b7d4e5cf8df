//! The queues of a scope's domains, and the tokens that stand for their tasks.
//!
//! A task waits in the queue of its domain; a *token* for it lies where tasks are found: in its
//! spawner's deque. Whoever takes a token, in whatever order, runs the task that has waited longest
//! in the queue of its own domain, or else in another's. So the scope needs nothing of the search:
//! waits, wake-ups and thefts are those of any task.
//!
//! Strict scopes need more: the token may come to a worker for whose domain there is nothing. It
//! then leaves a *debt* at a queue that has tasks, and *calls* the workers of that domain: a call
//! is a task in a worker's inbox, of which each worker has at most one outstanding. Who answers a
//! call pays off a debt by running a task; who takes a token while its domain is indebted does so
//! as well, and queues the token again before it runs the task.
//!
//! # Invariants
//!
//! - Q1: the tasks in all queues are as many as the tokens that nobody has spent and the debts; a
//!   queue has at least as many tasks as debts. So whoever holds a token finds a task, or a queue
//!   that can take a debt, as often as it looks again: each time in vain, somebody else was served.
//! - Q2: while a queue is indebted, a call is outstanding at each worker of its domain, or one of
//!   them is about to look. A caller adds the debt and then raises the flag; who answers lowers the
//!   flag and then looks.
//!
//! # Cost
//!
//! A lock that is held for a few instructions, at a spawn and at a token. A debt costs an
//! allocation and a wake-up for each worker of the domain.
//!
//! # Tests
//!
//! `shuttle/locality.rs`, with three planted bugs; `tests/pool/locality.rs`.

use std::collections::VecDeque;
use std::fmt;
use std::ptr::NonNull;
use std::str::FromStr;
use std::sync::Arc;

use sinew_deque::{Queued, TaskRef};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering, spin_loop};
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};

use super::domains::Domains;
use crate::state::heap_task::HeapTask;
use crate::state::pool_state::PoolState;
use crate::state::queue::Header;
use crate::state::worker::Worker;

/// What a worker does when there is nothing for its own domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Serves the others around a circle, from its own on.
    #[default]
    Ring,
    /// Serves the others by distance, the nearest first.
    Nearest,
    /// Serves none: every task runs on a worker of its domain. Balance gives way to locality.
    /// Domains without a thread, as those of external threads only, are everybody's; so are all in
    /// pools with [`Wait::Descendants`](crate::Wait::Descendants) or
    /// [`Wait::Block`](crate::Wait::Block).
    Strict,
    /// There is one queue for all, and domains make no difference: for comparison.
    Together,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "ring",
            Self::Nearest => "nearest",
            Self::Strict => "strict",
            Self::Together => "together",
        })
    }
}

impl FromStr for Order {
    type Err = String;

    /// Reads `ring`, `nearest`, `strict` or `together`.
    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Ring, Self::Nearest, Self::Strict, Self::Together];
        let named = all.into_iter().find(|order| order.to_string() == text);
        named.ok_or_else(|| {
            format!("no order of queues `{text}`: choose ring, nearest, strict or together")
        })
    }
}

/// The queues of a scope.
#[repr(C)]
pub(super) struct Queues {
    header: Header,
    domains: Domains,
    order: Order,
    queues: Box<[CachePadded<Queue>]>,
    seats: Box<[CachePadded<Seat>]>,
}

/// One domain's tasks, the oldest first.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// How many they are. A hint: read without the lock.
    len: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<Queued>,
    debts: usize,
}

#[derive(Default)]
struct Seat {
    /// A call is outstanding.
    called: AtomicBool,
    /// It is held up in a spawn, and runs a task meanwhile.
    held_up: AtomicBool,
}

// SAFETY: locks, atomics and constants; tokens and calls hold a count of it, or point to it while
// it has tasks.
unsafe impl Sync for Queues {}
// SAFETY: as above.
unsafe impl Send for Queues {}

impl Queue {
    fn push(&self, queued: Queued) {
        let mut waiting = self.waiting.lock();
        waiting.tasks.push_back(queued);
        // Relaxed, here and below: a hint; what it must not miss is ordered by the queue that the
        // token came from.
        self.len.store(waiting.tasks.len(), Ordering::Relaxed);
    }

    /// The oldest task, and whether it pays off a debt.
    fn pop(&self) -> Option<(Queued, bool)> {
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let task = waiting.tasks.pop_front()?;
        self.len.store(waiting.tasks.len(), Ordering::Relaxed);
        let pays = waiting.debts > 0;
        waiting.debts -= usize::from(pays);
        Some((task, pays))
    }

    /// Takes a debt on, if there is a task for it (Q1). Answers the task's depth.
    fn owe(&self) -> Option<u32> {
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let depth = waiting.tasks.get(waiting.debts)?.depth;
        waiting.debts += 1;
        Some(depth)
    }

    /// The task of a debt.
    fn pay(&self) -> Option<Queued> {
        let mut waiting = self.waiting.lock();
        waiting.debts = waiting.debts.checked_sub(1)?;
        let task = waiting.tasks.pop_front()?;
        self.len.store(waiting.tasks.len(), Ordering::Relaxed);
        Some(task)
    }

    /// What a call for the debts that are left should say of its depth.
    fn depth_of_debt(&self) -> Option<u32> {
        let waiting = self.waiting.lock();
        waiting.tasks.front().filter(|_| waiting.debts > 0).map(|task| task.depth)
    }
}

impl Queues {
    /// The queues of a scope in `pool`, which has the seats that `domains` says.
    pub(super) fn new(domains: &Domains, order: Order, pool: &PoolState) -> Arc<Self> {
        let count = if order == Order::Together { 1 } else { domains.len() };
        // A worker that may hold a lock while it waits must not be called for a stranger's task.
        let strict = order == Order::Strict && !pool.wait.is_careful();
        Arc::new(Self {
            header: Header { run: if strict { Self::run_strict } else { Self::run } },
            domains: domains.clone(),
            order,
            queues: (0..count).map(|_| CachePadded::default()).collect(),
            seats: (0..domains.seats()).map(|_| CachePadded::default()).collect(),
        })
    }

    pub(super) fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Adds a task. Answers a token, to be queued where tasks are found.
    ///
    /// # Safety
    ///
    /// The queues outlive the task.
    pub(super) unsafe fn push(self: &Arc<Self>, domain: usize, queued: Queued) -> TaskRef {
        self.queues[if self.order == Order::Together { 0 } else { domain }].push(queued);
        self.token()
    }

    fn token(self: &Arc<Self>) -> TaskRef {
        // The pointer is that of the `Arc`, so that it may be counted later.
        let this = Arc::as_ptr(self).cast_mut();
        TaskRef::new(NonNull::new(this).expect("an `Arc` is never null"))
    }

    /// Whether a spawn on this worker may be held up: not while it is already, so that its stack
    /// stays bounded.
    pub(super) fn hold_up(&self, worker: &Worker, f: impl FnOnce()) -> bool {
        // Relaxed: only the worker's own thread looks and writes.
        let held_up = &self.seats[worker.index()].held_up;
        if held_up.load(Ordering::Relaxed) {
            return false;
        }
        held_up.store(true, Ordering::Relaxed);
        f();
        held_up.store(false, Ordering::Relaxed);
        true
    }

    /// # Safety
    ///
    /// `header` is the first field of `Queues`; called once for each push, in the pool of the
    /// scope.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        // SAFETY: the token is not spent, so a task waits (Q1), and its scope is there. After the
        // task nothing is touched.
        let queues = unsafe { header.cast::<Self>().as_ref() };
        loop {
            if let Some(task) = queues.oldest(worker) {
                return worker.run_task(task);
            }
            if planted(Bug::OneLook) {
                return;
            }
            spin_loop();
        }
    }

    /// The task that `worker` should run next.
    fn oldest(&self, worker: &Worker) -> Option<Queued> {
        if self.order == Order::Together {
            return self.queues[0].pop().map(|(task, _)| task);
        }
        let order = self.domains.order(worker.index(), self.order == Order::Nearest);
        order.iter().find_map(|&domain| self.queues[domain].pop()).map(|(task, _)| task)
    }

    /// # Safety
    ///
    /// As for [`run`](Self::run), and the queues lie in an `Arc`.
    unsafe fn run_strict(header: NonNull<Header>, worker: &Worker) {
        let this = header.cast::<Self>().as_ptr().cast_const();
        // SAFETY: the token is not spent, so a task waits (Q1), its scope is there, and so is its
        // count. When this worker has left a debt the scope may end at any moment, so it takes a
        // count of its own.
        let queues = unsafe {
            Arc::increment_strong_count(this);
            Arc::from_raw(this)
        };
        while !queues.spend(worker) {
            spin_loop();
        }
    }

    /// Runs a task of the worker's own domain, or leaves a debt. A token that has brought the task
    /// of a debt stands for another one now, which others may take meanwhile. Answers false if
    /// there was nothing to be had.
    fn spend(self: &Arc<Self>, worker: &Worker) -> bool {
        let pool = worker.pool();
        let order = self.domains.order(worker.index(), true);
        let own = self.domains.own(worker.index());
        for (place, &domain) in order.iter().enumerate() {
            let queue = &self.queues[domain];
            if place < own || !self.has_workers(domain, pool) {
                if let Some((task, pays)) = queue.pop() {
                    let keeps = pays && planted(Bug::KeptToken);
                    if pays && !keeps {
                        worker.queue(Queued { task: self.token(), depth: task.depth });
                    }
                    worker.run_task(task);
                    return !keeps;
                }
            } else if let Some(depth) = queue.owe() {
                self.call(domain, depth, pool);
                return true;
            }
        }
        false
    }

    /// The seats of `domain` that somebody serves for sure: external threads come and go, and
    /// workers above the limit stand down.
    fn served_seats<'a>(
        &'a self,
        domain: usize,
        pool: &'a PoolState,
    ) -> impl Iterator<Item = usize> + 'a {
        let threads = pool.broadcast_slots().start..pool.active_limit();
        let seats = self.domains.seats_of(domain).iter().copied();
        seats.filter(move |seat| threads.contains(seat) && !pool.is_of_another_process())
    }

    fn has_workers(&self, domain: usize, pool: &PoolState) -> bool {
        self.served_seats(domain, pool).next().is_some()
    }

    /// Calls the workers of an indebted domain (Q2). Should they all stand down meanwhile, their
    /// calls still reach them.
    fn call(self: &Arc<Self>, domain: usize, depth: u32, pool: &PoolState) {
        for seat in self.served_seats(domain, pool) {
            // AcqRel: pairs with the same in `answer`, so that whoever lowers the flag sees the
            // debt.
            if self.seats[seat].called.swap(true, Ordering::AcqRel) {
                continue;
            }
            let queues = Arc::clone(self);
            // SAFETY: delivered, and run once. It owns what it uses; the tasks that it runs are
            // those of a scope that waits for them.
            let task =
                unsafe { HeapTask::on_heap(move |worker: &Worker| queues.answer(worker), None) };
            pool.deliver(seat, Queued { task, depth });
        }
    }

    /// Answers a call: runs the task of one debt, and calls again if there are more, so that a
    /// waiting worker soon sees what it waits for.
    fn answer(self: &Arc<Self>, worker: &Worker) {
        let seat = worker.index();
        let called = &self.seats[seat].called;
        if !planted(Bug::LateAnswer) {
            called.swap(false, Ordering::AcqRel);
        }
        let own = &self.domains.order(seat, true)[..self.domains.own(seat)];
        let task = own.iter().find_map(|&domain| self.queues[domain].pay());
        for &domain in own {
            if let Some(depth) = self.queues[domain].depth_of_debt() {
                self.call(domain, depth, worker.pool());
            }
        }
        if planted(Bug::LateAnswer) {
            called.swap(false, Ordering::AcqRel);
        }
        if let Some(task) = task {
            worker.run_task(task);
        }
    }
}
