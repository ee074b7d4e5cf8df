//! Scopes whose tasks are spawned into domains.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use sinew_deque::Queued;

use super::domains::Domains;
use super::queues::{Order, Queues};
use crate::builder::global;
use crate::scheduler::job::Job;
use crate::scope::ScopeState;
use crate::state::tls;
use crate::state::worker::Worker;

/// A scope with a queue per locality domain: spawn tasks with [`spawn_into`](Self::spawn_into).
/// Made by [`domain_scope`] and [`DomainScopeBuilder`].
///
/// The tasks of a domain are begun in the order in which they were spawned into it.
pub struct DomainScope<'scope, 'env: 'scope> {
    state: ScopeState,
    queues: Arc<Queues>,
    max_pending: u64,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The options of a scope with domains.
///
/// ```
/// use sinew_core::Pool;
/// use sinew_core::locality::{DomainKind, DomainScopeBuilder, Domains, Order};
///
/// let pool = Pool::builder().threads(2).build()?;
/// let domains = Domains::new(&pool, DomainKind::Parts(2))?;
/// let mut halves = [0; 2];
/// pool.run(|_| {
///     DomainScopeBuilder::new(&domains).order(Order::Nearest).max_pending(257).run(|s| {
///         for (domain, half) in halves.iter_mut().enumerate() {
///             s.spawn_into(domain, move |_| *half = domain + 1);
///         }
///     })
/// });
/// assert_eq!(halves, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing runs before `run`"]
pub struct DomainScopeBuilder {
    domains: Domains,
    order: Order,
    max_pending: usize,
}

impl DomainScopeBuilder {
    /// A scope in which workers without a task of their own domain serve the others in a
    /// [ring](Order::Ring), and without a bound.
    pub fn new(domains: &Domains) -> Self {
        Self { domains: domains.clone(), order: Order::default(), max_pending: usize::MAX }
    }

    /// What a worker does when there is nothing for its own domain.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Bounds the number of spawned tasks that are not over, counted over all domains. At a spawn
    /// beyond it the spawner runs one task, chosen as ever: the oldest of its own domain first. 0
    /// runs a task at every spawn.
    ///
    /// The bound is exceeded by threads outside the pool, which cannot run tasks, by tasks that are
    /// run at such a spawn, and in [strict](Order::Strict) scopes by a spawner whose domain has
    /// none.
    pub fn max_pending(mut self, tasks: usize) -> Self {
        self.max_pending = tasks;
        self
    }

    /// Runs `body` with the scope, and waits for the tasks; see [`domain_scope`].
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first. At once,
    /// if the current pool has another number of seats than the domains' pool.
    pub fn run<'env, F, R>(self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope DomainScope<'scope, 'env>) -> R + Send,
        R: Send,
    {
        global::run(|worker| self.run_on(worker, body))
    }

    /// [`run`](Self::run) on a worker. The body stays here, so it need not be `Send` and may go on
    /// using the worker.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    pub fn run_on<'env, F, R>(self, worker: &Worker, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope DomainScope<'scope, 'env>) -> R,
    {
        let (theirs, ours) = (self.domains.seats(), worker.max_workers());
        assert!(
            theirs == ours || worker.pool().is_serial(),
            "these are the domains of a pool of {theirs} workers, and this one has {ours}"
        );
        let scope = DomainScope {
            state: ScopeState::new(worker.pool(), 1, false),
            queues: Queues::new(&self.domains, self.order, worker.pool()),
            max_pending: (self.max_pending as u64).saturating_add(1),
            scope: PhantomData,
            env: PhantomData,
        };
        scope.state.complete(|| body(&scope), || 1)
    }
}

/// Runs `body`, which may spawn tasks into the domains of the current pool, and returns when they
/// are over, too.
///
/// Workers serve their own domain first, and the others' in a ring when there is nothing for it: no
/// worker is idle while a task waits. While it waits, the caller's worker runs tasks as in
/// [`scope`](crate::scope).
///
/// # Panics
///
/// As [`DomainScopeBuilder::run`].
///
/// # Cost
///
/// An allocation a task, and two locks that are held for a few instructions.
pub fn domain_scope<'env, F, R>(domains: &Domains, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope DomainScope<'scope, 'env>) -> R + Send,
    R: Send,
{
    DomainScopeBuilder::new(domains).run(body)
}

impl<'scope> DomainScope<'scope, '_> {
    /// Spawns a task into a domain. From the body, from other tasks of the scope, or from any
    /// thread that borrows it.
    ///
    /// # Panics
    ///
    /// If there is no such domain.
    pub fn spawn_into<F>(&'scope self, domain: usize, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        let count = self.domains().len();
        assert!(
            domain < count,
            "there is no locality domain {domain}: they are numbered from 0 to {}",
            count - 1
        );
        let before = self.state.count_in(1);
        let inside = self.state.inside();
        if self.state.pool().is_serial() {
            // SAFETY: the task counts itself out, and is run once.
            return unsafe { self.state.queue(self.state.task(f, inside), inside) };
        }
        let depth = inside.map_or(self.state.depth(), Worker::depth) + 1;
        // SAFETY: the task is run once; the scope, with the queues and what `f` borrows, ends after
        // it.
        let token =
            unsafe { self.queues.push(domain, Queued { task: self.state.task(f, inside), depth }) };
        let token_here = Queued { task: token, depth };
        let held_up = before >= self.max_pending
            && inside.is_some_and(|worker| {
                let run =
                    || tls::with_current(worker, |worker| worker.execute(Job::Queued(token_here)));
                self.queues.hold_up(worker, run)
            });
        if !held_up {
            // SAFETY: the task counts itself out; the token is run once.
            unsafe { self.state.queue(token, inside) };
        }
    }

    /// The domains of the scope.
    pub fn domains(&self) -> &Domains {
        self.queues.domains()
    }
}

impl fmt::Debug for DomainScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending = self.state.pending().saturating_sub(1);
        f.debug_struct("DomainScope").field("pending", &pending).finish_non_exhaustive()
    }
}
