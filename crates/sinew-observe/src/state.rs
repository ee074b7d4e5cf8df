//! The profile's state of one worker: its time counters, its counts, and the path of its task.
//!
//! Other threads read [`Shared`]. [`WorkerState`] adds the part that only the owner touches.
//!
//! # Invariants
//!
//! - B1: only the owner of the worker writes, except for `reports`, which thieves of its tasks
//!   write.
//! - B2: a thief puts its report into `reports` before the scheduler reports the task as finished
//!   (E3). The join that waited for the task takes the report out.
//! - B3: `activities`, `tasks`, `joins` and `loops` are stacks, as events are nested (E2).

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use sinew_sync::counter::Counter;
use sinew_sync::lock::Mutex;

use crate::activity::{Activity, Kind};
use crate::counts::{Count, Counts, WorkerCounts};
use crate::forks::{OpenJoin, OpenLoop};
use crate::paths::{BURDENS, Interrupted, Paths, Strand};
use crate::recorder::{Mark, Recorder};
use crate::times::{Clock, Interval, Ticks, TimeCounters, Times};
use crate::trace::{Entry, TraceBuffer};

/// The part of a worker's profile that any thread may read.
#[derive(Debug)]
pub(crate) struct Shared<C = Ticks> {
    pub(crate) times: TimeCounters<C>,
    pub(crate) counts: WorkerCounts,
    /// The spans of ended calls from outside, summed.
    spans: [Counter; BURDENS],
    reports: Mutex<Vec<Report>>,
    /// The timeline, if the profiler keeps one.
    pub(crate) trace: Option<TraceBuffer>,
}

/// A thief's report about the arm that it has run for a join of this worker.
#[derive(Debug)]
pub(crate) struct Report {
    /// The address of the join's frame.
    pub(crate) frame: usize,
    pub(crate) path: Paths,
    /// The number of the arm's strand, where the profiler records.
    pub(crate) strand: Option<usize>,
}

/// The profile state of a worker. Only the owner of the worker accesses it.
#[derive(Debug)]
pub(crate) struct WorkerState<C = Ticks> {
    pub(crate) shared: Arc<Shared<C>>,
    pub(crate) burdens: Paths,
    strand: Strand,
    /// The number of waits below the present activity.
    blocked: Cell<u32>,
    /// The choice of the victim of the next attempt to steal.
    choice: Cell<Option<Interval>>,
    /// The enclosing activity of each open activity.
    activities: RefCell<Vec<Activity>>,
    /// For each running task, the task and the activity that it interrupted.
    tasks: RefCell<Vec<(Interrupted, Activity)>>,
    pub(crate) joins: RefCell<Vec<OpenJoin>>,
    pub(crate) loops: RefCell<Vec<OpenLoop>>,
    /// The recorder, if the profiler records.
    pub(crate) recorder: Option<Recorder>,
}

/// A worker's profile at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) times: Times,
    pub(crate) counts: Counts,
    pub(crate) spans: Paths,
}

impl<C: Clock> Shared<C> {
    /// All counters are 0. `cost` is that of the clock.
    pub(crate) fn new(clock: C, cost: u64, keeps_trace: bool) -> Self {
        Self {
            times: TimeCounters::new(clock, cost),
            counts: WorkerCounts::default(),
            spans: std::array::from_fn(|_| Counter::new()),
            reports: Mutex::new(Vec::new()),
            trace: keeps_trace.then(TraceBuffer::default),
        }
    }

    /// The profile up to now. Any thread may call it.
    pub(crate) fn read(&self) -> Reading {
        let spans = Paths(std::array::from_fn(|at| self.spans[at].get()));
        Reading { times: self.times.read(), counts: self.counts.read(), spans }
    }

    /// Stores the report of a thief that has run a task of this worker (B2).
    pub(crate) fn report(&self, report: Report) {
        self.reports.lock().push(report);
    }

    fn take_report(&self, frame: usize) -> Option<Report> {
        let mut reports = self.reports.lock();
        let at = reports.iter().position(|report| report.frame == frame)?;
        Some(reports.swap_remove(at))
    }
}

impl<C: Clock> WorkerState<C> {
    /// `burdens` are the costs of moving a task.
    pub(crate) fn new(shared: Arc<Shared<C>>, burdens: Paths, records: bool) -> Self {
        Self {
            shared,
            burdens,
            strand: Strand::default(),
            blocked: Cell::new(0),
            choice: Cell::new(None),
            activities: RefCell::default(),
            tasks: RefCell::default(),
            joins: RefCell::default(),
            loops: RefCell::default(),
            recorder: records.then(Recorder::default),
        }
    }

    pub(crate) fn counts(&self) -> &WorkerCounts {
        &self.shared.counts
    }

    /// Writes a mark to the recording, after the work up to the last change of activity.
    #[inline]
    pub(crate) fn mark(&self, mark: Mark) {
        if let Some(recorder) = &self.recorder
            && recorder.mark(self.work(), mark)
        {
            self.leave_recording_out(recorder);
        }
    }

    /// Begins the next stretch of work now: writing a mark may take longer than the stretch after
    /// it, whenever the list of marks grows.
    fn leave_recording_out(&self, recorder: &Recorder) {
        self.switch(self.activity());
        recorder.begin_stretch(self.work());
    }

    /// Ends the strand. Returns when it began, and its marks.
    pub(crate) fn end_strand(&self) -> Option<(u64, Vec<Mark>)> {
        self.recorder.as_ref().map(|recorder| recorder.end(self.work()))
    }

    #[inline]
    fn work(&self) -> u64 {
        self.shared.times.work()
    }

    /// Changes the activity to `next`.
    #[inline]
    pub(crate) fn switch(&self, next: Activity) {
        self.interval_ended(self.shared.times.switch(self.kind(next)));
    }

    /// Writes an interval to the trace, if there is one.
    #[inline]
    fn interval_ended(&self, past: Interval) {
        if let Some(trace) = &self.shared.trace {
            trace.record(Entry {
                doing: past.kind.activity().into(),
                from: past.from,
                to: past.to,
            });
        }
    }

    /// The kind of an activity, by whether a join waits.
    #[inline]
    fn kind(&self, activity: Activity) -> Kind {
        Kind::new(activity, self.blocked.get() > 0)
    }

    #[inline]
    pub(crate) fn activity(&self) -> Activity {
        self.shared.times.present().activity()
    }

    /// Begins an activity inside the present one.
    #[inline]
    pub(crate) fn begin(&self, next: Activity) {
        self.activities.borrow_mut().push(self.activity());
        self.switch(next);
    }

    /// Ends the innermost activity, and resumes the enclosing one.
    #[inline]
    pub(crate) fn end(&self) {
        let before = self.activities.borrow_mut().pop();
        self.switch(before.unwrap_or(Activity::Application));
    }

    /// Begins the choice of a victim, a part of the present activity unless a steal follows.
    pub(crate) fn begin_choice(&self) {
        self.switch(self.activity());
    }

    /// Ends the choice.
    pub(crate) fn chosen(&self, found: bool) {
        let present = self.shared.times.present();
        let past = self.shared.times.switch(present);
        self.interval_ended(past);
        self.choice.set(found.then_some(past));
    }

    /// Ends an attempt to steal, and counts its time by its success. The time of the choice before
    /// a successful attempt counts as a part of the steal.
    pub(crate) fn attempted(&self, success: bool) {
        let before = self.activities.borrow_mut().pop().unwrap_or(Activity::Search);
        let (count, was, next) = match success {
            true => (Count::Claims, Activity::Claim, Activity::Steal),
            false => (Count::FailedClaims, Activity::FailedClaim, before),
        };
        self.counts().count(count);
        if let Some(choice) = self.choice.take().filter(|_| success) {
            self.shared.times.recount(choice, self.kind(Activity::Choice));
        }
        self.interval_ended(self.shared.times.switch_from(self.kind(was), self.kind(next)));
    }

    /// Begins a wait: later activities are inside a join.
    pub(crate) fn begin_wait(&self) {
        self.counts().count(Count::Waits);
        self.blocked.set(self.blocked.get() + 1);
        self.begin(Activity::Wait);
    }

    /// Ends the wait.
    pub(crate) fn end_wait(&self) {
        self.blocked.set(self.blocked.get() - 1);
        self.end();
    }

    /// The path of the running task up to the last change of activity.
    #[inline]
    pub(crate) fn path(&self) -> Paths {
        self.strand.path(self.work())
    }

    #[inline]
    pub(crate) fn set_path(&self, path: Paths) {
        self.strand.set_path(self.work(), path);
    }

    /// The path of the running task up to now.
    #[inline]
    pub(crate) fn path_now(&self) -> Paths {
        self.interval_ended(self.shared.times.switch(self.shared.times.present()));
        self.path()
    }

    /// Sets the beginning of the running task on the path of its scope.
    pub(crate) fn begin_at(&self, start: Paths) {
        self.strand.begin_at(self.work(), start);
    }

    /// The beginning of the running task.
    pub(crate) fn start(&self) -> Paths {
        self.strand.start()
    }

    /// A thread becomes the owner of the worker.
    pub(crate) fn enter(&self, activity: Activity) {
        self.switch(activity);
        self.begin_at(Paths::default());
        self.begin_call();
    }

    /// Begins a call in the recording.
    pub(crate) fn begin_call(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.begin(self.work());
            self.leave_recording_out(recorder);
        }
    }

    /// Begins a task on top of the present activity.
    pub(crate) fn begin_task(&self) {
        let before = self.activity();
        self.switch(Activity::Application);
        if let Some(recorder) = &self.recorder {
            recorder.suspend(self.work());
            self.leave_recording_out(recorder);
        }
        let interrupted = self.strand.interrupt(self.work());
        self.tasks.borrow_mut().push((interrupted, before));
    }

    /// Ends the task, and changes the activity to `next`, or to the interrupted one. Returns the
    /// task's path.
    pub(crate) fn end_task(&self, next: Option<Activity>) -> Paths {
        let ended = self.tasks.borrow_mut().pop();
        let before = ended.as_ref().map_or(Activity::Search, |(_, before)| *before);
        self.switch(next.unwrap_or(before));
        let path = self.path();
        if let Some(recorder) = &self.recorder {
            recorder.resume(self.work());
        }
        if let Some((interrupted, _)) = ended {
            self.strand.resume(self.work(), &interrupted);
        }
        path
    }

    /// Ends a call from outside, whose path is added to the spans.
    pub(crate) fn end_call(&self) {
        self.counts().count(Count::Calls);
        let path = self.path_now();
        for (sum, path) in self.shared.spans.iter().zip(path.0) {
            sum.add(path);
        }
        self.begin_at(Paths::default());
    }

    /// The path of the stolen arm of the join with this frame. Inserts the arm's strand into the
    /// running one.
    pub(crate) fn take_stolen(&self, frame: usize) -> Paths {
        let Some(report) = self.shared.take_report(frame) else { return Paths::default() };
        if let Some(strand) = report.strand {
            self.mark(Mark::Strand(strand));
        }
        report.path
    }
}
