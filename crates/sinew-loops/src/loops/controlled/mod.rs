//! Loops that are changed while they run: those with a [`Control`]. Other loops use the `driver`
//! alone, and pay nothing for this; only those with a meter or with rounds come here as well.
//!
//! Participants have *ranks*; the caller has rank 0. Between two slices of work a participant
//! compares the version of the control's requests with the one that it follows, and updates the
//! loop's [plan](plan::Plan) if it has changed:
//!
//! - A new schedule or number of threads closes the source and replaces it.
//! - When the number of threads falls, the highest ranks leave. When it rises, the first
//!   participant that notices recruits others for the free ranks.
//! - A new mapping moves each participant's thread before its next slice (`affinity`).
//! - The pool's limit counts as a request for threads, and its schedule for an open loop as a
//!   requested schedule. The pool may cancel the loop as its control may.
//!
//! | file | contents |
//! |---|---|
//! | `slices`, `claims` | a participant's slices of work, and the claims that they come from |
//! | `plan` | the settings in force, and the replacement of the source |
//! | `iterations` | the iterations of a source, as a set |
//!
//! # Invariants
//!
//! - D1 to D3 of the [`driver`](super::driver), by P1 of the [`plan`] and because every participant
//!   is a task of one scope.
//! - K1: whatever is requested, all iterations are run. Rank 0, the caller's, is always wanted, and
//!   the caller enters the loop again if all participants have left and iterations remain.
//!
//! # Cost
//!
//! Some allocations for the loop and one for each participant. Two loads, an addition and a reading
//! of the clock for a slice of about 50 µs; a claim for each shorter chunk.
//!
//! # Not handled
//!
//! A running slice: it ends when its iterations do.

mod claims;
mod iterations;
#[cfg(all(test, loom))]
mod loom;
mod plan;
#[cfg(all(test, shuttle))]
mod shuttle;
mod slices;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use super::auto::{self, Trial};
use super::body::Body;
use super::ending::Ending;
use super::meter::Meter;
use super::options::Options;
use super::phases::Phases;
use crate::Control;
use crate::participants::{Participants, Registration};
use crate::recruit;
use crate::source::LoopMemory;
use claims::Shared;
use plan::{LoopSettings, Plan};
use sinew_core::{CancelRegistration, Cancelled, Scope, Worker};
use slices::Slices;
use std::ops::{ControlFlow, Range};

/// A loop that follows a control.
pub(super) struct Controlled<'r> {
    shared: Shared<'r>,
    body: &'r dyn Body,
    /// Iterations done by the participants that have left.
    done: AtomicUsize,
    /// The trial of a loop with `Schedule::Auto`.
    trial: Option<Trial>,
    /// The first iteration: participants count from 0.
    start: usize,
    meter: Option<&'r Meter>,
}

/// Runs `body` on several workers, which together run `0..n`.
///
/// # Errors
///
/// If the control or the pool cancelled the loop before all iterations were done.
///
/// # Panics
///
/// With the payload of the first body that panicked, after all participants have left.
pub(super) fn run(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    body: &dyn Body,
) -> Result<(), Cancelled> {
    let Some(rounds) = options.rounds else {
        return run_round(w, 0..n, options, body).map(|_| ());
    };
    Phases::run(options, n as u64, |phases| {
        for round in rounds.of(n, w.max_threads()) {
            phases.next(round.len() as u64)?;
            // A cancellation stops a round, too, and ends the loop before the next one.
            if run_round(w, round, options, body)?.is_break() && !phases.is_cancelled() {
                break;
            }
        }
        Ok(())
    })
}

/// Runs `body` on several workers, which together run the iterations of `round`. Returns `Break` if
/// the body has stopped the loop.
fn run_round(
    w: &Worker,
    round: Range<usize>,
    options: &Options<'_>,
    body: &dyn Body,
) -> Result<ControlFlow<()>, Cancelled> {
    let n = round.len();
    if n == 0 {
        return Ok(ControlFlow::Continue(()));
    }
    // A loop without a control gets one that nothing changes.
    let unused_control;
    let (control, cancel_registration) = match options.control {
        Some(control) => (control, CancelRegistration::register()),
        None => {
            unused_control = Control::new();
            (&unused_control, CancelRegistration::default())
        }
    };
    if control.is_cancelled() {
        return Err(Cancelled);
    }
    let running = Running::begin(control, n);
    let run = Controlled::new(w, round, options, (control, cancel_registration), body);
    while !run.shared.is_over() {
        w.scope(|s| run.run_caller(w, s));
    }
    let ended = run.end(n, options.memory);
    drop(running);
    control.report_end();
    ended
}

impl<'r> Controlled<'r> {
    fn new(
        w: &'r Worker,
        Range { start, end }: Range<usize>,
        options: &Options<'r>,
        (control, cancel_registration): (&'r Control, CancelRegistration),
        body: &'r dyn Body,
    ) -> Self {
        let (n, workers) = (end - start, w.max_threads());
        let own =
            LoopSettings { threads: options.threads.clamp(1, workers), schedule: options.schedule };
        let limit = w.limit();
        let open = options.open;
        let settings = own.requested(
            open,
            limit,
            workers.min(limit.requested_threads()),
            &control.requests().1,
        );
        let is_auto = settings.schedule == Schedule::Auto;
        let mut trial = is_auto.then(|| Trial::begin(options, n, settings.threads));
        // Controlled loops have no serial part.
        let auto = trial.as_mut().map_or_else(
            || auto::best(options, n, settings.threads),
            |trial| trial.schedule_after(0),
        );
        let settings = settings.resolved(auto);
        let first = settings.slot(workers, w.index(), 0);
        let plan = Mutex::new(Plan::new(n, workers, settings, first, options.memory));
        let ending = Ending::default();
        let participants = Participants::with_ranks(workers);
        let shared = Shared {
            control,
            limit,
            own,
            cancel_registration,
            open,
            auto,
            workers,
            participants,
            plan,
            ending,
        };
        let done = AtomicUsize::new(0);
        Self { shared, body, done, trial, start, meter: options.meter }
    }

    /// Runs the caller as a participant, and recruits the others.
    fn run_caller<'scope>(&'scope self, w: &Worker, s: &'scope Scope<'scope, '_>) {
        if let Some(registration) = self.shared.register() {
            self.recruit(s);
            self.run_participant(w, s, registration);
        }
    }

    /// Spawns a participant for each free rank that is wanted.
    fn recruit<'scope>(&'scope self, s: &'scope Scope<'scope, '_>) {
        while !self.shared.ending.is_stopped()
            && let Some(registration) = self.shared.register()
        {
            s.spawn(move |w| self.run_participant(w, s, registration));
        }
    }

    /// Runs one participant.
    fn run_participant<'scope>(
        &'scope self,
        w: &Worker,
        s: &'scope Scope<'scope, '_>,
        registration: Registration<'scope>,
    ) {
        let (rank, recruit) = (registration.rank(), || self.recruit(s));
        self.shared.ending.guard(|| {
            if let Some(mut slices) = Slices::enter(self, w, &recruit, registration)
                && let Some(first) = slices.next_slice()
            {
                let grow = || self.grow(w, s, rank);
                recruit::with(w, self.shared.control.identity(), &grow, || {
                    self.body.run(&mut slices, first);
                });
            }
        });
    }

    /// Called when the body of this participant has requested a number of threads: recruits more at
    /// once and not after the slice.
    #[cold]
    fn grow<'scope>(&'scope self, w: &Worker, s: &'scope Scope<'scope, '_>, rank: usize) {
        if self.shared.grow(w.index(), rank) {
            self.recruit(s);
        }
    }

    /// A participant that has done `done` iterations leaves.
    fn finished(&self, done: usize) {
        self.shared.control.end_work();
        // Relaxed: the end of the scope orders it before the load in `end`.
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// Ends the loop, when no participant is left.
    fn end(self, n: usize, memory: Option<&LoopMemory>) -> Result<ControlFlow<()>, Cancelled> {
        let done = self.done.load(Ordering::Relaxed);
        let cancelled = done < n && self.shared.is_cancelled(self.shared.control.version());
        if let Some(trial) = self.trial {
            trial.end(done == n && self.shared.plan.lock().is_unchanged());
        }
        if let Some(memory) = memory {
            self.shared.plan.into_inner().save_to(memory, done == n);
        }
        self.shared.ending.rethrow();
        match self.shared.ending.is_stopped() {
            _ if cancelled => Err(Cancelled),
            true => Ok(ControlFlow::Break(())),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}

/// Counts the loop in its control's running loops, until this is dropped.
struct Running<'c>(&'c Control);

impl<'c> Running<'c> {
    fn begin(control: &'c Control, n: usize) -> Self {
        control.begin_loop(n);
        Self(control)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end_loop();
    }
}
