//! Calls from outside that come while every worker has work: who serves them, and where.
//!
//! A worker without work takes a call at once. While all have work, a call would wait for the end
//! of a task, and a loop may be one task for seconds. So a worker that is told of waiting calls
//! serves one between two pieces of its work. Pieces are chunks of a loop, slices of a loop under a
//! control, leaves of sorts and of divide and conquer, items of streams, units of worklists, and
//! joins of a skeleton under a control. There the frames of the work hold no lock of their own.
//!
//! A caller that finds nobody searching tells all workers through their poll words, which these
//! look at anyway. A worker that looks up remembers it
//! ([`Own::called`](crate::state::worker::Own)), because it may do so in the middle of a piece, and
//! asks for a look at its next [limit check](crate::state::limit_checks).
//!
//! Only calls are served so. A detached task may be as long as it likes, and nobody waits for it.
//!
//! # Invariants
//!
//! - V1: while a call waits, some worker searches, or a sleeper without work has been woken, or all
//!   workers that serve are told: each has the reason in its poll word or remembers it. Under
//!   a policy that serves nobody none is told.
//! - V2: a worker forgets only when the queue, under its lock, has no call. The queue forgets at
//!   the same moment that it has told the workers, so the next call tells them again.
//! - V3: at most [`NESTED`] calls are served one inside the other on one thread: each lies on the
//!   stack of the work that it interrupts.
//!
//! # Orderings
//!
//! M12: a caller queues its call, `fence(SeqCst)`, reads that somebody searches ↔ a searcher counts
//! itself out, `fence(SeqCst)`, looks for calls: either the caller sees that nobody searches, and
//! tells the workers, or the searcher sees the call, and does.
//!
//! # Cost
//!
//! None for a chunk of a loop and an item of a stream, which look at both words anyway. A load and
//! a comparison for a slice, a leaf, and a half. A caller that finds all workers at work writes one
//! word of each, unless it knows that they are told.
//!
//! # Not handled
//!
//! - A call waits while no worker comes to such a place: in plain joins and scopes, in a long item,
//!   and in a plain loop of a single participant, which is one piece. A pool of one runs its plain
//!   loops so.
//! - A call that takes a lock which the caller of the interrupted loop holds never ends, and nor
//!   does the loop. The same holds for a call that waits for a message which is sent after the
//!   loop, or by a call below it on the stack. So nothing is served under
//!   [`Wait::Descendants`](crate::Wait::Descendants) and [`Wait::Block`](crate::Wait::Block), where
//!   a worker that waits runs nothing unrelated either.
//!
//! # Tests
//!
//! `tests/calls/served.rs`, the crate `sinew`'s `tests/served.rs`; under random schedules in
//! `shuttle::calls`, with two planted bugs.

use sinew_deque::{Queued, Ticket};
use sinew_sync::atomic::{Ordering, fence};
use sinew_sync::clock::now_ns;
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
    /// Queues a call, and sees to it that a worker takes it (V1). `keeps_core` as for
    /// [`inject`](Self::inject). The ticket stands for the call while it is queued.
    pub(crate) fn inject_call(&self, call: Queued, keeps_core: bool) -> Ticket {
        let ticket = self.injector.push_call(call);
        self.tell_of_injected(keeps_core);
        self.announce_calls();
        ticket
    }

    /// Tells the workers of calls that wait, if nobody searches and they are not told yet (V1, V2).
    /// The caller has executed a fence since the call was queued, or since it was counted out
    /// (M12).
    fn announce_calls(&self) {
        let is_seen =
            self.is_of_another_process() || self.wait.is_careful() || self.sleepers.are_searching();
        if !is_seen && self.injector.announces() && !planted(Bug::SilentCall) {
            for worker in self.slots.iter().skip(self.first_server()) {
                worker.ask(&CALLED);
            }
        }
    }

    /// A worker has stopped to search: tells the workers of calls that relied on it.
    pub(crate) fn hand_on_calls(&self) {
        fence(Ordering::SeqCst); // M12
        if !self.injector.is_empty() && !planted(Bug::KeptCall) {
            self.announce_calls();
        }
    }

    /// The first slot that serves calls in the middle of its work. An external thread does so only
    /// where there is no thread: what it runs is its own affair, and it wants to have its answer
    /// and leave.
    fn first_server(&self) -> usize {
        usize::from(self.takes_external_threads() && self.has_threads())
    }
}

impl Worker {
    /// A caller has told this worker of its call.
    fn remember_calls(&self) {
        self.own.called.set(true);
        self.own.limit_checks.hurry();
    }

    /// Between two pieces of work, and without a lock: serves a call from outside, if this worker
    /// was told that one waits. Returns whether it has. For whoever writes skeletons; a
    /// [`safe_point`](Self::safe_point) before it hears of calls, and so does each join.
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
        let call = if self.may_serve() { injector.pop_call() } else { None };
        if call.is_none() && !injector.has_calls() {
            self.own.called.set(false);
            return false;
        }
        // There may be more, or this one may be served later.
        self.own.limit_checks.hurry();
        call.map(|call| self.serve(call)).is_some()
    }

    /// Whether it may serve one more call here. A thread that has entered another pool, or works
    /// serially, is in the middle of something.
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
        // This time contains that of calls inside the call.
        own.served_ns.set(served_ns + now_ns().saturating_sub(began));
    }

    /// How many calls it serves now in the middle of its work, one inside the other. A skeleton
    /// tells by it whether a request comes from its own work, or from a call that interrupts it.
    pub fn calls_served_now(&self) -> u32 {
        self.own.serving.get()
    }

    /// How long it has served calls in the middle of its work, in nanoseconds: time that a loop
    /// which is timed does not count as its own.
    pub fn served_ns(&self) -> u64 {
        self.own.served_ns.get()
    }
}
