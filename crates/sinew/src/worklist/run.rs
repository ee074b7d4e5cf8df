//! One run of a list: what its seats share, and what each of them does.

mod helper;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use sinew_core::{Course, Enrolled, Scope};
use sinew_policy::tune::Counts;
use sinew_policy::worklist::{Pages, Settings};
use sinew_sync::CachePadded;
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_topology::Machine;

use super::ahead::Ahead;
use super::lists::{Entry, Lists};
use super::steering::{Control, Steering};
use super::tally::{Report, Tally};
use super::team::{Role, Team};
use super::work::Run;
use helper::Helper;
use worker::{End, Worker};

/// What all seats of a run share.
pub(super) struct Arena<'r, R: Run> {
    run: &'r R,
    lists: Lists<R::Unit>,
    team: Team,
    seats: Box<[CachePadded<Seat<R>>]>,
    control: &'r Control,
    /// The run as a control sees it that may cancel it and limit its workers.
    course: Option<Course<'r>>,
    /// What ends it together with all that the pool runs, where there is no such control.
    enrolled: Option<Enrolled>,
    steering: Option<&'r Mutex<Steering>>,
    speculative: bool,
    pages: Option<Pages>,
    several_nodes: bool,
}

/// What belongs to one seat, whichever thread sits there.
struct Seat<R: Run> {
    tally: Tally,
    local: Mutex<Option<R::Local>>,
    ahead: Ahead<R::Unit>,
}

impl<R: Run> Seat<R> {
    fn new() -> Self {
        Self { tally: Tally::default(), local: Mutex::new(None), ahead: Ahead::new() }
    }
}

/// How a list is to be run.
pub(super) struct Plan<'r> {
    pub(super) seats: usize,
    pub(super) control: &'r Control,
    pub(super) followed: Option<&'r sinew_core::Control>,
    pub(super) steering: Option<&'r Mutex<Steering>>,
    pub(super) speculative: bool,
    pub(super) pages: Option<Pages>,
}

impl<'r, R: Run> Arena<'r, R> {
    pub(super) fn new(run: &'r R, units: Vec<Entry<R::Unit>>, plan: &Plan<'r>) -> Self {
        let &Plan { seats, control, followed, steering, speculative, pages } = plan;
        let settings = control.settings();
        let threads = settings.threads.clamp(1, seats);
        let team = Team::new(seats);
        let course = followed.and_then(|control| Course::begin(control, units.len() as u64).ok());
        if followed.is_some() && course.is_none() {
            // Cancelled before it has begun.
            team.stop();
        }
        let enrolled = course.is_none().then(Enrolled::here);
        let lists = Lists::new(units, seats, threads, settings.stealing);
        if let Some(steering) = steering {
            steering.lock().set_off(now_ns());
        }
        Self {
            course,
            enrolled,
            run,
            lists,
            team,
            seats: (0..seats).map(|_| CachePadded::new(Seat::new())).collect(),
            control,
            steering,
            speculative,
            pages,
            several_nodes: Machine::host().nodes().len() > 1,
        }
    }

    /// Runs all units. After a panic the units that were not committed are left in the lists.
    pub(super) fn run_all(&self) {
        while self.lists.any() && !self.team.is_stopped() {
            sinew_core::scope(|s| {
                if let Some(seat) = self.team.take_seat(&self.settings(), 0) {
                    self.spawn_missing(s, &self.settings(), seat + 1);
                    self.sit(s, seat);
                }
            });
        }
    }

    /// Ends a run: the last calls of the work, and the report.
    pub(super) fn finish(&self) -> Report<R::Local> {
        let mut locals: Vec<_> = self.seats.iter().filter_map(|seat| seat.local.lock().take()).collect();
        locals.iter_mut().for_each(|local| self.run.finish(local));
        let mut report = Report::of(&self.seats.iter().map(|seat| &seat.tally), locals, self.settings());
        report.cancelled = self.is_cancelled();
        report
    }

    /// Tells who follows that it is over.
    fn end(&mut self) {
        if let Some(course) = self.course.take() {
            course.end();
        }
    }

    pub(super) fn into_units(self) -> Vec<Entry<R::Unit>> {
        self.lists.into_units().collect()
    }

    /// The settings in force, as far as they can be followed.
    fn settings(&self) -> Settings {
        let mut settings = self.control.settings();
        settings.threads = settings.threads.clamp(1, self.team.seats());
        if let Some(threads) = self.course.as_ref().and_then(Course::threads) {
            settings.threads = settings.threads.min(threads);
        }
        if !self.speculative {
            settings.lifespan = 0;
        }
        settings
    }

    /// A number that changes whenever the settings may have.
    #[inline]
    fn version(&self) -> (u64, u64) {
        (self.control.version(), self.course.as_ref().map_or(0, Course::version))
    }

    /// Whether workers are to leave: somebody has panicked, or the run is cancelled.
    #[inline]
    fn is_over(&self) -> bool {
        if self.course.as_ref().is_some_and(Course::is_cancelled)
            || self.enrolled.as_ref().is_some_and(Enrolled::is_cancelled)
        {
            self.team.stop();
        }
        self.team.is_stopped()
    }

    /// A worker has committed so many units.
    #[inline]
    fn count(&self, units: usize) {
        if let Some(course) = &self.course {
            sinew_core::run(|w| course.done(w, units));
        }
    }

    /// A worker has added so many units.
    #[inline]
    fn expect(&self, units: usize) {
        if let Some(course) = &self.course {
            course.expect(units as u64);
        }
    }

    /// Whether the run was to end before all units had run.
    fn is_cancelled(&self) -> bool {
        self.lists.any() && self.team.is_stopped()
    }

    /// Commits of one worker after which it is worth looking whether an epoch is over: several times in each.
    fn look_every(&self, steering: &Mutex<Steering>) -> u64 {
        let length = steering.try_lock().map_or(1, |steering| steering.epoch_length());
        (length / (4 * self.team.seats() as u64)).max(1)
    }

    pub(super) fn counts(&self) -> Counts {
        self.seats.iter().fold(Counts::default(), |sum, seat| sum.plus(&seat.tally.counts()))
    }

    /// Spawns tasks for the seats from `first` on that should have one and do not.
    fn spawn_missing<'scope>(&'scope self, s: &'scope Scope<'scope, '_>, settings: &Settings, first: usize) {
        while let Some(seat) = self.team.take_seat(settings, first) {
            s.spawn(move |_| self.sit(s, seat));
        }
    }

    /// The task of a seat.
    fn sit<'scope>(&'scope self, s: &'scope Scope<'scope, '_>, seat: usize) {
        let _left = Left { team: &self.team, seat };
        loop {
            let ended = match self.team.role(seat, &self.settings()) {
                Role::Work => Worker::new(self, s, seat).run() == End::Over,
                Role::Help(worker) => Helper::new(self, seat, worker).run() == End::Over,
                Role::Leave => true,
            };
            if ended {
                return;
            }
        }
    }

    /// Lets the tuner see what has been counted, unless somebody else is at it.
    #[cold]
    fn steer(&self, steering: &Mutex<Steering>) {
        let Some(mut steering) = steering.try_lock() else { return };
        let began = now_ns();
        let counts = self.counts();
        if steering.is_due(&counts)
            && let Some(settings) = steering.look(counts, began)
        {
            self.control.set(settings);
        }
        steering.spent_ns += now_ns() - began;
    }
}

/// Gives a seat back.
struct Left<'r> {
    team: &'r Team,
    seat: usize,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.team.stop();
        }
        self.team.leave_seat(self.seat);
    }
}

/// What came out of a run: a report or the payload of a panic, and the units that are left.
type Outcome<R> = (std::thread::Result<Report<<R as Run>::Local>>, Vec<Entry<<R as Run>::Unit>>);

/// Runs `units`.
pub(super) fn run<R: Run>(run: &R, units: Vec<Entry<R::Unit>>, plan: &Plan<'_>) -> Outcome<R> {
    let mut arena = Arena::new(run, units, plan);
    let began = now_ns();
    let report = catch_unwind(AssertUnwindSafe(|| {
        arena.run_all();
        let mut report = arena.finish();
        report.elapsed = std::time::Duration::from_nanos(now_ns() - began);
        arena.end();
        report
    }));
    if let Some(steering) = plan.steering {
        steering.lock().end(arena.counts(), now_ns());
    }
    (report, arena.into_units())
}

/// Hands a panic on.
pub(super) fn or_resume<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|payload| resume_unwind(payload))
}
