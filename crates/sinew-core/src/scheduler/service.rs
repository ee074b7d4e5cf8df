//! Service of calls from outside that arrive while every worker has work.
//!
//! A worker without work takes a call at once. While all workers have work, a call would wait for
//! the end of a task, and a loop may be one task of several seconds. So a worker serves waiting
//! calls between two pieces of its work. Pieces are chunks of a loop, slices of a loop under a
//! control, leaves of sorts and of divide and conquer, items of streams, units of worklists, and
//! joins of a skeleton under a control. Between pieces, the frames of the skeleton hold no lock.
//!
//! A caller that finds no searching worker sets a reason in the poll words of all workers. A worker
//! that takes its reasons, possibly in the middle of a piece, stores the request
//! ([`Own::called`](crate::state::worker::Own)), and makes its next [limit
//! check](crate::state::limit_checks) due.
//!
//! Only calls are served in this way, the oldest of the highest priority first. A detached task may
//! take any time, and no thread waits for it.
//!
//! The work that a call interrupts cannot end before the call, which may take any time. So short
//! work is interrupted by calls of a higher priority only, and the others wait for it.
//! [`work`](crate::state::work) has the times.
//!
//! # Invariants
//!
//! - V1: while a call waits, some worker searches, or a sleeper without work has been woken, or all
//!   workers that serve are notified: each has the reason in its poll word, or has stored the
//!   request. Under a policy without service no worker is notified.
//! - V2: a worker clears its request only when the queue, under its lock, has no call. At the same
//!   moment the queue records that the workers are not notified, so the next call notifies them
//!   again.
//! - V3: at most [`NESTED`] calls are served one inside the other on one thread: each uses the
//!   stack of the work that it interrupts.
//!
//! # Orderings
//!
//! M12: a caller queues its call, `fence(SeqCst)`, reads the number of searchers ↔ a searcher
//! decrements it, `fence(SeqCst)`, looks for calls: either the caller reads zero, and notifies the
//! workers, or the searcher sees the call, and notifies them.
//!
//! # Cost
//!
//! None for a chunk of a loop and an item of a stream, which read both words anyway. A load and a
//! comparison for a slice, a leaf, and a half. A caller that finds all workers busy writes one word
//! of each, unless they are notified already.
//!
//! # Not handled
//!
//! - Work that has taken 0.3 ms waits for a call of its priority that is endless. Long
//!   work should have a lower priority than others, or these a higher one.
//! - A call waits while no worker ends a piece: in plain joins and scopes, in a long item, and in a
//!   plain loop of a single participant, which is one piece. Plain loops in a pool of one worker
//!   are of this kind.
//! - A deadlock: a call that needs a lock held by the caller of the interrupted loop, or that waits
//!   for a message which is sent after the loop or by a call below it on the stack. So no call is
//!   served under [`Wait::Descendants`](crate::Wait::Descendants) and
//!   [`Wait::Block`](crate::Wait::Block), where a worker that waits runs nothing unrelated either.
//!
//! # Tests
//!
//! `tests/calls/served.rs`, the crate `sinew`'s `tests/served.rs`; under random schedules in
//! `shuttle::calls`, with two planted bugs.

use sinew_deque::{Priority, Queued, Ticket};
use sinew_sync::atomic::{Ordering, fence};
use sinew_sync::clock::{now_ns, ticks};
use sinew_sync::plant::{Bug, planted};

use crate::scheduler::job::Job;
use crate::state::poll::PollReason;
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::worker::Worker;

/// Calls that are served one inside the other on one thread, at most (V3).
const NESTED: u32 = 4;

/// A call from outside waits: serve it between two pieces of work.
static CALLED: PollReason = PollReason::new(Worker::remember_calls);

impl PoolState {
    /// Queues a call, and notifies workers if none would take it (V1). `keeps_core` as for
    /// [`inject`](Self::inject). The ticket identifies the call while it is queued.
    pub(crate) fn inject_call(&self, call: Queued, priority: Priority, keeps_core: bool) -> Ticket {
        let ticket = self.injector.push_call(call, priority);
        self.tell_of_injected(keeps_core);
        self.announce_calls();
        ticket
    }

    /// Notifies the workers of waiting calls, if none searches and they are not notified yet (V1,
    /// V2). The caller has executed a fence since the call was queued, or since it was counted out
    /// (M12).
    fn announce_calls(&self) {
        let is_seen = self.is_of_another_process()
            || self.wait.allows_locks()
            || self.sleepers.are_searching();
        if !is_seen && self.injector.mark_announced() && !planted(Bug::SilentCall) {
            for worker in self.slots.iter().skip(self.first_server()) {
                worker.ask(&CALLED);
            }
        }
    }

    /// A worker has stopped searching: notifies the workers of calls that relied on it.
    pub(crate) fn hand_on_calls(&self) {
        fence(Ordering::SeqCst); // M12
        if !self.injector.is_empty() && !planted(Bug::KeptCall) {
            self.announce_calls();
        }
    }

    /// The first slot that serves calls in the middle of its work. An external thread serves calls
    /// only in a pool without other threads, since it should return its own result without delay.
    fn first_server(&self) -> usize {
        usize::from(self.takes_external_threads() && self.has_threads())
    }
}

impl Worker {
    /// A caller has notified this worker of its call.
    fn remember_calls(&self) {
        self.own.called.set(true);
        self.own.limit_checks.hurry();
    }

    /// For skeletons, between two pieces of work and without a lock: serves a call from outside, if
    /// this worker was notified of one. Returns whether it has served one. A
    /// [`safe_point`](Self::safe_point) before this call receives notifications, and so does each
    /// join.
    ///
    /// # Cost
    ///
    /// A load and a comparison, unless a call waits.
    #[inline]
    pub fn serve_calls(&self) -> bool {
        self.own.called.get() && self.serve_cold()
    }

    #[cold]
    #[inline(never)]
    fn serve_cold(&self) -> bool {
        let injector = &self.pool().injector;
        let least = if self.may_serve() { self.work.interruptible_by(ticks()) } else { None };
        let call = least.and_then(|least| injector.pop_call(least));
        if call.is_none() && !injector.has_calls() {
            self.own.called.set(false);
            return false;
        }
        // There may be more calls, or this one may be served later.
        self.own.limit_checks.hurry();
        call.map(|call| self.serve(call)).is_some()
    }

    /// Whether it may serve one more call here. A thread that has entered another pool, or works
    /// serially, may not.
    fn may_serve(&self) -> bool {
        let is_current = || tls::current().is_some_and(|worker| std::ptr::eq(worker, self));
        self.own.serving.get() < NESTED && is_current()
    }

    /// Runs a call in the middle of this worker's work. A call catches its own panic.
    fn serve(&self, call: Queued) {
        let own = &self.own;
        let (began, served_ns) = (now_ns(), own.served_ns.get());
        let nested = own.serving.get();
        own.serving.set(nested + 1);
        self.execute(Job::Injected(call));
        own.serving.set(nested);
        // The time includes that of nested calls.
        own.served_ns.set(served_ns + now_ns().saturating_sub(began));
    }

    /// How many nested calls it serves now. A skeleton uses the number to distinguish requests of
    /// its own work from those of a call that interrupts it.
    pub fn calls_served_now(&self) -> u32 {
        self.own.serving.get()
    }

    /// How long it has served calls in the middle of its work, in nanoseconds. A timed loop
    /// subtracts this time.
    pub fn served_ns(&self) -> u64 {
        self.own.served_ns.get()
    }
}
