//! Loops that are changed while they run.
//!
//! A loop with a [`Control`] is driven in another way than the others, which so pay nothing for it.
//! Its participants have *ranks*: the caller is 0. Each asks for one slice of work after the other
//! and compares the version of the control's requests in between. A participant that finds it
//! changed updates the loop's [plan](plan::Plan). A new schedule or number of threads closes the
//! source and puts another in its place. When the number of threads falls, those with the highest
//! ranks leave; when it rises, the first participant that notices recruits others for the free
//! ranks. A new mapping moves each participant's thread before its next slice (`affinity`). Without
//! a requested schedule, an open loop follows the one that the pool was given or granted. When the
//! pool cancels what it runs, the loop ends as if its control had. The pool's own limit is followed
//! like a request, and read anew meanwhile where it follows quota and affinity.
//!
//! # Invariants
//!
//! - D1 to D3 of the [`driver`](super::driver), by P1 of the [`plan`] and because every participant
//!   is a task of one scope.
//! - K1: whatever is requested, a participant goes on while something is left. Rank 0, the
//!   caller's, is always wanted, and the caller returns to the loop as long as something is left
//!   after all have gone.
//!
//! # Cost
//!
//! Some allocations for the loop and one for each participant. Two loads, an addition and a look at
//! the time for a slice of about 50 µs; for chunks that are shorter, a claim more.
//!
//! # Not handled
//!
//! A slice that is under way: it ends when its iterations do.

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

pub(super) use slices::Slices;

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use super::auto::{self, Trial};
use super::ending::Ending;
use super::meter::Meter;
use super::options::Options;
use crate::Control;
use crate::participants::{Participants, Registration};
use crate::recruit;
use crate::source::LoopMemory;
use claims::Shared;
use plan::{LoopSettings, Plan};
use sinew_core::{CancelRegistration, Cancelled, Scope, Worker};

/// The work of a participant: it asks for slices and runs them until there are no more.
type Body<'r> = &'r (dyn Fn(&mut Slices<'_>) + Sync);

/// A loop that follows a control.
pub(super) struct Controlled<'r> {
    shared: Shared<'r>,
    body: Body<'r>,
    done: AtomicUsize,
    /// The times of this run, if the loop leaves the choice of the schedule.
    trial: Option<Trial>,
    meter: Option<&'r Meter>,
}

/// Runs `body` on several workers, for `0..n` in all.
///
/// # Errors
///
/// If the control was cancelled before the last iteration was done, or the pool has cancelled what
/// it runs.
///
/// # Panics
///
/// With the payload of the first body that panicked, after all participants have left.
pub(super) fn run(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    body: Body<'_>,
) -> Result<(), Cancelled> {
    if n == 0 {
        return Ok(());
    }
    // A loop that is only measured can be neither changed nor cancelled.
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
    let run = Controlled::new(w, n, options, (control, cancel_registration), body);
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
        n: usize,
        options: &Options<'r>,
        (control, cancel_registration): (&'r Control, CancelRegistration),
        body: Body<'r>,
    ) -> Self {
        let workers = w.max_workers();
        let own =
            LoopSettings { threads: options.threads.clamp(1, workers), schedule: options.schedule };
        let limit = w.limit();
        let open = options.open;
        let settings =
            own.requested(open, limit, workers.min(limit.asked()), &control.requests().1);
        let is_auto = settings.schedule == Schedule::Auto;
        let mut trial = is_auto.then(|| Trial::begin(options, n, settings.threads));
        // No caller begins alone here.
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
        Self { shared, body, done: AtomicUsize::new(0), trial, meter: options.meter }
    }

    /// The caller's part, as the first to come.
    fn run_caller<'scope>(&'scope self, w: &Worker, s: &'scope Scope<'scope, '_>) {
        if let Some(registration) = self.shared.register() {
            self.recruit(s);
            self.run_participant(w, s, registration);
        }
    }

    /// Spawns a participant for each rank that should be taken and is free.
    fn recruit<'scope>(&'scope self, s: &'scope Scope<'scope, '_>) {
        while !self.shared.ending.is_stopped()
            && let Some(registration) = self.shared.register()
        {
            s.spawn(move |w| self.run_participant(w, s, registration));
        }
    }

    /// One participant.
    fn run_participant<'scope>(
        &'scope self,
        w: &Worker,
        s: &'scope Scope<'scope, '_>,
        registration: Registration<'scope>,
    ) {
        let (rank, recruit) = (registration.rank(), || self.recruit(s));
        self.shared.ending.guard(|| {
            if let Some(mut slices) = Slices::enter(self, w, &recruit, registration) {
                let grow = || self.grow(w, s, rank);
                recruit::with(w, self.shared.control.identity(), &grow, || {
                    (self.body)(&mut slices);
                });
            }
        });
    }

    /// The body of this participant has made a request. If it asks for more threads, they are
    /// recruited at once and not after the slice.
    #[cold]
    fn grow<'scope>(&'scope self, w: &Worker, s: &'scope Scope<'scope, '_>, rank: usize) {
        if self.shared.grow(w.index(), rank) {
            self.recruit(s);
        }
    }

    /// A participant has left that has done so many iterations.
    fn finished(&self, done: usize) {
        self.shared.control.end_work();
        // Relaxed: read when the scope has ended, which orders it.
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    /// No participant is left.
    fn end(self, n: usize, memory: Option<&LoopMemory>) -> Result<(), Cancelled> {
        let done = self.done.load(Ordering::Relaxed);
        let cancelled = done < n && self.shared.is_cancelled(self.shared.control.version());
        if let Some(trial) = self.trial {
            trial.end(done == n && self.shared.plan.lock().is_unchanged());
        }
        if let Some(memory) = memory {
            self.shared.plan.into_inner().save_to(memory, done == n);
        }
        self.shared.ending.rethrow();
        if cancelled { Err(Cancelled) } else { Ok(()) }
    }
}

/// A loop counted in its control.
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
