//! The queues of a scope's domains, and the choice of the next task.
//!
//! A task waits in the queue of its domain; a worker's deque or the injector holds a *token* for it
//! ([`TaskQueues`]). A worker that takes a token, whichever task it was made for, runs the oldest
//! task in the queue of its own domain, or else in another's.
//!
//! In a strict scope a worker may take a token while its own domain has no task. It then exchanges
//! the token for a *debt* of a queue that has tasks, and *calls* the workers of that domain. A call
//! is a task for one worker, and each worker has at most one outstanding call. A worker that serves
//! a call pays one debt: it runs a task. A worker that takes a token while its own domain has debts
//! pays one as well, and queues the token again before it runs the task.
//!
//! # Invariants
//!
//! - Q1: the queues have as many tasks as there are unspent tokens and debts; each queue has at
//!   least as many tasks as debts. So a worker with a token eventually finds a task, or a queue
//!   that can take a debt: each failed search means that another worker took a task.
//! - Q2: while a queue has debts, a call is outstanding at each worker of its domain, or one of
//!   them is about to check. A caller adds the debt and then sets the flag; a called worker clears
//!   the flag and then checks.
//!
//! # Cost
//!
//! A lock that is held for a few instructions, at a spawn and at a token. A debt costs an
//! allocation and a wake-up for each worker of the domain.
//!
//! # Tests
//!
//! `shuttle.rs`, with three planted bugs; `tests/locality.rs`.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use sinew_core::{NextTask, ScopeQueues, ScopeTask, TaskQueues, Worker};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering, spin_loop};
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};

use crate::domains::Domains;

/// The order in which a worker serves other domains when its own has no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DomainOrder {
    /// Serves the others in cyclic order, from its own on.
    #[default]
    Ring,
    /// Serves the others by distance, the nearest first.
    Nearest,
    /// Serves none: every task runs on a worker of its domain, so locality has priority over
    /// balance. Domains without a thread, such as one that has the external slot alone, are served
    /// by all workers. So are all domains in pools that wait by [`Wait::Descendants`] or
    /// [`Wait::Block`].
    ///
    /// [`Wait::Descendants`]: sinew_core::Wait::Descendants
    /// [`Wait::Block`]: sinew_core::Wait::Block
    Strict,
    /// All domains share one queue: for comparison.
    Together,
}

impl fmt::Display for DomainOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ring => "ring",
            Self::Nearest => "nearest",
            Self::Strict => "strict",
            Self::Together => "together",
        })
    }
}

impl FromStr for DomainOrder {
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

impl Domains {
    /// Queues for a scope, one for each domain: the option [`ScopeBuilder::queues`] takes them.
    /// `order` is the order in which a worker serves other domains when its own has no task.
    ///
    /// [`ScopeBuilder::queues`]: sinew_core::ScopeBuilder::queues
    ///
    /// ```
    /// use sinew_core::{Pool, ScopeBuilder};
    /// use sinew_locality::{DomainKind, Domains, DomainOrder};
    ///
    /// let pool = Pool::builder().threads(2).build()?;
    /// let domains = Domains::new(&pool, DomainKind::Parts(2))?;
    /// let mut halves = [0; 2];
    /// pool.run(|_| {
    ///     let queues = domains.queues(DomainOrder::Nearest);
    ///     ScopeBuilder::new().queues(queues).max_pending(257).run(|s| {
    ///         for (domain, half) in halves.iter_mut().enumerate() {
    ///             s.spawn_into(domain, move |_| *half = domain + 1);
    ///         }
    ///     })
    /// });
    /// assert_eq!(halves, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queues(&self, order: DomainOrder) -> DomainQueues {
        DomainQueues::new(self, order)
    }
}

/// The queues of one scope, one for each domain, made by [`Domains::queues`].
pub struct DomainQueues {
    domains: Domains,
    order: DomainOrder,
    queues: Box<[CachePadded<Queue>]>,
    /// For each worker, whether it has an outstanding call.
    called: Box<[CachePadded<AtomicBool>]>,
}

/// One domain's tasks, the oldest first.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// The number of tasks. A hint: read without the lock.
    len: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<ScopeTask>,
    debts: usize,
}

impl Queue {
    fn push(&self, task: ScopeTask) {
        let mut waiting = self.waiting.lock();
        waiting.tasks.push_back(task);
        // Relaxed, here and below: a hint. The queue from which the token came orders the push of
        // its task before this load.
        self.len.store(waiting.tasks.len(), Ordering::Relaxed);
    }

    /// The oldest task, and whether it pays a debt.
    fn pop(&self) -> Option<(ScopeTask, bool)> {
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

    /// Adds a debt, if there is a task for it (Q1). Returns the task's depth.
    fn owe(&self) -> Option<u32> {
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let depth = waiting.tasks.get(waiting.debts)?.depth();
        waiting.debts += 1;
        Some(depth)
    }

    /// The task of a debt.
    fn pay(&self) -> Option<ScopeTask> {
        let mut waiting = self.waiting.lock();
        waiting.debts = waiting.debts.checked_sub(1)?;
        let task = waiting.tasks.pop_front()?;
        self.len.store(waiting.tasks.len(), Ordering::Relaxed);
        Some(task)
    }

    /// The depth of a call for the remaining debts; `None` without any.
    fn depth_of_debt(&self) -> Option<u32> {
        let waiting = self.waiting.lock();
        waiting.tasks.front().filter(|_| waiting.debts > 0).map(ScopeTask::depth)
    }
}

// SAFETY: a task is pushed, popped and run in the pool of the scope. Each token is spent once: with
// its task, or for a debt, which stands for a task that a call runs (Q1). `next_strict` counts the
// queues before it leaves a debt; other orders leave none.
unsafe impl TaskQueues for DomainQueues {
    const NAME: &'static str = "locality domain";

    #[track_caller]
    fn check(&self, worker: &Worker) {
        let (theirs, ours) = (self.domains.slots(), worker.max_threads());
        assert!(
            theirs == ours,
            "these are the domains of a pool of {theirs} threads, and this one has {ours}"
        );
    }

    fn count(&self) -> usize {
        self.domains.len()
    }

    fn push(&self, domain: usize, task: ScopeTask) {
        self.queues[if self.order == DomainOrder::Together { 0 } else { domain }].push(task);
    }

    fn next(queues: &ScopeQueues<Self>, worker: &Worker) -> NextTask {
        // A worker that may hold a lock while it waits must not be called for an unrelated task.
        if queues.order == DomainOrder::Strict && !worker.wait_policy().allows_locks() {
            return Self::next_strict(queues.clone(), worker);
        }
        loop {
            if let Some(task) = queues.oldest(worker) {
                return NextTask::Run(task);
            }
            if planted(Bug::OneCheck) {
                return NextTask::Leave;
            }
            spin_loop();
        }
    }
}

impl DomainQueues {
    pub(crate) fn new(domains: &Domains, order: DomainOrder) -> Self {
        let count = if order == DomainOrder::Together { 1 } else { domains.len() };
        Self {
            domains: domains.clone(),
            order,
            queues: (0..count).map(|_| CachePadded::default()).collect(),
            called: (0..domains.slots()).map(|_| CachePadded::default()).collect(),
        }
    }

    /// The domains of the scope.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// The task that `worker` should run next.
    fn oldest(&self, worker: &Worker) -> Option<ScopeTask> {
        if self.order == DomainOrder::Together {
            return self.queues[0].pop().map(|(task, _)| task);
        }
        let order = self.domains.order(worker.index(), self.order == DomainOrder::Nearest);
        order.iter().find_map(|&domain| self.queues[domain].pop()).map(|(task, _)| task)
    }

    /// Takes a task of the worker's own domain, or leaves a debt. A token whose task paid a debt
    /// stands for another task, so it is queued again.
    ///
    /// `queues` is owned: once this worker has left a debt, the scope may end at any moment.
    #[expect(clippy::needless_pass_by_value, reason = "the count is kept until the end")]
    fn next_strict(queues: ScopeQueues<Self>, worker: &Worker) -> NextTask {
        let order = queues.domains.order(worker.index(), true);
        let own = queues.domains.own(worker.index());
        loop {
            for (place, &domain) in order.iter().enumerate() {
                let queue = &queues.queues[domain];
                if place < own || !queues.has_workers(domain, worker) {
                    match queue.pop() {
                        Some((task, true)) if planted(Bug::KeptToken) => task.run(worker),
                        Some((task, true)) => return NextTask::RunAndRequeue(task),
                        Some((task, false)) => return NextTask::Run(task),
                        None => {}
                    }
                } else if let Some(depth) = queue.owe() {
                    Self::call(&queues, domain, depth, worker);
                    return NextTask::Leave;
                }
            }
            spin_loop();
        }
    }

    /// The workers of `domain` that have a thread now.
    fn served<'a>(
        &'a self,
        domain: usize,
        worker: &Worker,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let served = worker.served_slots();
        let workers = self.domains.slots_of(domain).iter().copied();
        workers.filter(move |worker| served.contains(worker))
    }

    fn has_workers(&self, domain: usize, worker: &Worker) -> bool {
        self.served(domain, worker).next().is_some()
    }

    /// Calls the workers of a domain with debts (Q2). A call also reaches a worker that stands down
    /// meanwhile.
    fn call(queues: &ScopeQueues<Self>, domain: usize, depth: u32, worker: &Worker) {
        for called in queues.served(domain, worker) {
            // AcqRel: pairs with the swap in `serve_call`, so that the worker that clears the flag
            // sees the debt.
            if !queues.called[called].swap(true, Ordering::AcqRel) {
                let queues = queues.clone();
                worker.spawn_on(called, depth, move |worker| Self::serve_call(&queues, worker));
            }
        }
    }

    /// Serves a call: runs the task of one debt, and calls again if there are more, so that a
    /// waiting worker soon sees what it waits for.
    fn serve_call(queues: &ScopeQueues<Self>, worker: &Worker) {
        let index = worker.index();
        let called = &queues.called[index];
        if !planted(Bug::LateServeRegistration) {
            called.swap(false, Ordering::AcqRel);
        }
        let own = &queues.domains.order(index, true)[..queues.domains.own(index)];
        let task = own.iter().find_map(|&domain| queues.queues[domain].pay());
        for &domain in own {
            if let Some(depth) = queues.queues[domain].depth_of_debt() {
                Self::call(queues, domain, depth, worker);
            }
        }
        if planted(Bug::LateServeRegistration) {
            called.swap(false, Ordering::AcqRel);
        }
        if let Some(task) = task {
            task.run(worker);
        }
    }
}

impl fmt::Debug for DomainQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DomainQueues")
            .field("domains", &self.domains)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}
