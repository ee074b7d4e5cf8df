//! The books of one seat: its time sheet, its counts, and the way of the task it runs.
//!
//! # Invariants
//!
//! - B1: only the worker at the seat writes, but for `mail`, which thieves of its tasks write.
//! - B2: a thief's report lies in `mail` before the thief reports the task as finished, and is
//!   taken out by the join that waited for it.

use std::cell::Cell;

use sinew_sync::counter::Counter;
use sinew_sync::lock::Mutex;

use super::activity::{Activity, Kind};
use super::diary::{Diary, Entry};
use super::paths::{BURDENS, Interrupted, Paths, Strand};
use super::record::{Mark, Recorder};
use super::sheet::{Clock, Interval, Sheet, Ticks, Times};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a worker counts while its pool profiles.
        #[derive(Debug, Default)]
        pub(crate) struct SeatCounts {
            $(pub(crate) $name: Counter,)*
        }

        /// A reading of the counts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub(crate) struct Counts {
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl SeatCounts {
            fn read(&self) -> Counts {
                Counts { $($name: self.$name.get(),)* }
            }
        }

        impl Counts {
            pub(crate) fn plus(self, other: Self) -> Self {
                Self { $($name: self.$name.wrapping_add(other.$name),)* }
            }

            pub(crate) fn since(self, earlier: Self) -> Self {
                Self { $($name: self.$name.wrapping_sub(earlier.$name),)* }
            }
        }
    };
}

counts! {
    /// Tasks made by the worker.
    spawned,
    /// Tasks run by the worker that made them.
    inlined,
    /// Tasks run that another worker made.
    stolen,
    /// Tasks run that came from outside the pool.
    injected,
    /// Tasks run that were sent to this worker alone.
    mailed,
    /// Takings of own tasks.
    gets,
    /// Times the worker had to arrange with thieves about its own tasks.
    queues,
    /// Attempts to steal that were successful.
    claims,
    /// Attempts to steal in vain.
    failed_claims,
    /// Waits for something that others do.
    waits,
    /// Idle times.
    searches,
    /// Sleeps.
    parks,
    /// Calls from outside that have ended.
    calls,
}

/// The books of one seat.
#[derive(Debug)]
pub(crate) struct Books<C = Ticks> {
    pub(crate) sheet: Sheet<C>,
    pub(crate) counts: SeatCounts,
    pub(crate) burdens: Paths,
    strand: Strand,
    /// How many waits enclose what the worker does.
    blocked: Cell<u32>,
    /// The spans of ended calls from outside, summed.
    spans: [Counter; BURDENS],
    mail: Mutex<Vec<Report>>,
    /// Where the pool records.
    pub(super) recorder: Option<Recorder>,
    /// Where the pool keeps a timeline.
    pub(super) diary: Option<Diary>,
}

/// What a thief says about the task that it has run for a join of this seat.
#[derive(Debug)]
struct Report {
    /// The address of the join's frame.
    frame: usize,
    path: Paths,
}

/// The books as of one moment.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) times: Times,
    pub(crate) counts: Counts,
    pub(crate) spans: Paths,
}

impl<C: Clock> Books<C> {
    /// Empty books. `cost` is that of the clock, `burdens` are what moving a task costs.
    pub(crate) fn new(clock: C, cost: u64, burdens: Paths) -> Self {
        Self {
            sheet: Sheet::new(clock, cost),
            counts: SeatCounts::default(),
            burdens,
            strand: Strand::default(),
            blocked: Cell::new(0),
            spans: std::array::from_fn(|_| Counter::new()),
            mail: Mutex::new(Vec::new()),
            recorder: None,
            diary: None,
        }
    }

    /// With a diary, if one is `kept`.
    pub(crate) fn diary(self, kept: bool) -> Self {
        Self { diary: kept.then(Diary::default), ..self }
    }

    /// The same books with a recorder, if the pool records.
    pub(crate) fn recording(self, records: bool) -> Self {
        Self { recorder: records.then(Recorder::default), ..self }
    }

    /// Something that a recording keeps has happened. The work until now has been turned away from.
    #[inline]
    pub(crate) fn mark(&self, mark: Mark) {
        if let Some(recorder) = &self.recorder {
            recorder.mark(self.sheet.work(), mark);
        }
    }

    /// What ends here for the recording: when it began, and its marks.
    pub(super) fn end_strand(&self) -> Option<(u64, Vec<Mark>)> {
        self.recorder.as_ref().map(|recorder| recorder.end(self.sheet.work()))
    }

    /// The books as of now. From any thread.
    pub(crate) fn read(&self) -> Reading {
        let spans = Paths(std::array::from_fn(|at| self.spans[at].get()));
        Reading { times: self.sheet.read(), counts: self.counts.read(), spans }
    }

    /// From now on the worker does this.
    #[inline]
    pub(crate) fn turn(&self, next: Activity) {
        self.note(self.sheet.turn(self.kind(next)));
    }

    /// An interval is over.
    #[inline]
    fn note(&self, past: Interval) {
        if let Some(diary) = &self.diary {
            diary.note(Entry { doing: past.kind.activity().into(), from: past.from, to: past.to });
        }
    }

    /// The kind of time that an activity is now.
    #[inline]
    fn kind(&self, activity: Activity) -> Kind {
        Kind::new(activity, self.blocked.get() > 0)
    }

    pub(crate) fn activity(&self) -> Activity {
        self.sheet.present().activity()
    }

    /// An attempt to steal is over: now it is known what it was.
    pub(crate) fn attempted(&self, success: bool, before: Activity) {
        let (count, was, next) = match success {
            true => (&self.counts.claims, Activity::Claim, Activity::Steal),
            false => (&self.counts.failed_claims, Activity::FailedClaim, before),
        };
        count.add(1);
        self.note(self.sheet.turn_from(self.kind(was), self.kind(next)));
    }

    /// A wait begins: what is done from now on is done inside a join.
    pub(crate) fn block(&self) {
        self.counts.waits.add(1);
        self.blocked.set(self.blocked.get() + 1);
        self.turn(Activity::Wait);
    }

    /// The wait is over.
    pub(crate) fn unblock(&self, before: Activity) {
        self.blocked.set(self.blocked.get() - 1);
        self.turn(before);
    }

    /// The way of the running task up to the last turn.
    #[inline]
    pub(crate) fn path(&self) -> Paths {
        self.strand.path(self.sheet.work())
    }

    #[inline]
    pub(crate) fn set_path(&self, path: Paths) {
        self.strand.set_path(self.sheet.work(), path);
    }

    /// The same up to now, if it is the application that runs.
    #[inline]
    pub(crate) fn path_now(&self) -> Paths {
        self.note(self.sheet.turn(self.sheet.present()));
        self.path()
    }

    /// The running task began at `start` of the way of its scope.
    pub(crate) fn begin_at(&self, start: Paths) {
        self.strand.begin_at(self.sheet.work(), start);
    }

    /// A call begins, for the recording.
    pub(super) fn begin_call(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.begin(self.sheet.work());
        }
    }

    pub(crate) fn start(&self) -> Paths {
        self.strand.start()
    }

    /// A task begins on top of the running one.
    pub(crate) fn interrupt(&self) -> Interrupted {
        self.turn(Activity::Application);
        if let Some(recorder) = &self.recorder {
            recorder.suspend(self.sheet.work());
        }
        self.strand.interrupt(self.sheet.work())
    }

    /// It is over, and the worker does `next`. Answers the way through it.
    pub(crate) fn resume(&self, interrupted: &Interrupted, next: Activity) -> Paths {
        self.turn(next);
        let path = self.path();
        if let Some(recorder) = &self.recorder {
            recorder.resume(self.sheet.work());
        }
        self.strand.resume(self.sheet.work(), interrupted);
        path
    }

    /// A call from outside ends, whose way is part of none other.
    pub(crate) fn end_call(&self) {
        self.counts.calls.add(1);
        let path = self.path_now();
        for (sum, path) in self.spans.iter().zip(path.0) {
            sum.add(path);
        }
        self.begin_at(Paths::default());
    }

    /// From a thief: the way through the stolen task of the join whose frame is at `frame` (B2).
    pub(crate) fn report(&self, frame: *const (), path: Paths) {
        self.mail.lock().push(Report { frame: frame.addr(), path });
    }

    /// What the thief of that task has reported.
    pub(crate) fn take_report(&self, frame: *const ()) -> Paths {
        let mut mail = self.mail.lock();
        let at = mail.iter().position(|report| report.frame == frame.addr());
        at.map(|at| mail.swap_remove(at).path).unwrap_or_default()
    }
}
