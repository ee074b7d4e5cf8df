//! Scopes whose tasks are spawned into domains.

use sinew_core::{Scope, ScopeBuilder, ScopeQueues};

use crate::domains::Domains;
use crate::queues::{DomainOrder, DomainQueues};

/// A scope with a queue per locality domain: [`spawn_into`](Scope::spawn_into) spawns into one.
/// Made by [`domain_scope`], and by a [`ScopeBuilder`] with [`Domains::queues`].
///
/// The tasks of a domain begin in the order in which they were spawned into it.
pub type DomainScope<'scope, 'env> = Scope<'scope, 'env, ScopeQueues<DomainQueues>>;

/// Runs `body`, which may spawn tasks into the domains of the current pool, and returns when all
/// have ended.
///
/// Workers serve their own domain first, and the others in a ring when it has no task: no worker is
/// idle while a task waits. While it waits, the caller's worker runs tasks as in
/// [`scope`](sinew_core::scope).
///
/// # Panics
///
/// If the body or a task panics, after all have ended, with the payload of the first. At once, if
/// the current pool has another number of workers than the domains' pool.
///
/// # Cost
///
/// An allocation for each task, and two locks that are held for a few instructions.
pub fn domain_scope<'env, F, R>(domains: &Domains, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope DomainScope<'scope, 'env>) -> R + Send,
    R: Send,
{
    ScopeBuilder::new().queues(domains.queues(DomainOrder::Ring)).run(body)
}
