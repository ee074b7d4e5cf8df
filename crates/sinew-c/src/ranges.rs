//! Loops over ranges of indices.

use std::ffi::{c_uint, c_void};
use std::ops::{ControlFlow, Range};

use sinew_core::Worker;
use sinew_loops::Control;
use sinew_loops::loops::{Options, Site, for_each_range};
use sinew_loops::source::LoopMemory;
use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::Mechanism;
use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::lock::Mutex;

use crate::callback::{Callback, RangeFn};
use crate::control;
use crate::handle::{Handle, Use};
use crate::numbers::{Number, Numbers, Rule};
use crate::options::{self, LoopOptions};
use crate::pool;
use crate::status::{Outcome, Status, guarded};

/// The options of a loop, checked, with what their handles stand for.
pub(crate) struct Request {
    schedule: Option<Schedule>,
    threads: usize,
    control: Option<Use<Control>>,
    memory: Option<Use<LoopMemory>>,
    /// The address of the loop's function, by which `Auto` knows the loop.
    function: usize,
}

impl Request {
    /// # Errors
    ///
    /// [`Status::Invalid`] for a number or a schedule that is not valid, [`Status::Handle`].
    #[inline]
    pub(crate) fn of(from: *const LoopOptions, function: usize) -> Outcome<Self> {
        let from = options::read(from)?;
        Ok(Self {
            schedule: options::schedule(from.schedule, from.chunk)?,
            threads: options::threads(from.threads)?.unwrap_or(usize::MAX),
            control: control::of(from.control)?,
            memory: control::memory_of(from.memory)?,
            function,
        })
    }

    /// The options of a loop of the crates below.
    #[inline]
    pub(crate) fn options(&self) -> Options<'_> {
        Options {
            schedule: self.schedule.unwrap_or_default(),
            open: self.schedule.is_none(),
            threads: self.threads,
            memory: self.memory.as_deref(),
            control: self.control.as_deref(),
            site: Some(Site::Function(self.function)),
            ..Options::default()
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn sinew_for(
    pool: Handle,
    n: usize,
    from: *const LoopOptions,
    context: *mut c_void,
    function: Option<RangeFn>,
) -> Status {
    guarded(|| {
        let callback = Callback { context, function: function.ok_or(Status::Invalid)? };
        let request = Request::of(from, callback.function as usize)?;
        pool::run(pool, |w| each_range(w, n, &request, callback))
    })
}

/// How the participants of a loop come. A loop that the pool's schedule may replace is not open
/// while the pool has none, so that no other one comes between this look and its own.
#[inline]
fn rule_of(w: &Worker, options: &mut Options<'_>) -> Rule {
    let preset = w.limit().schedule();
    let schedule = match preset.word() {
        0 => {
            options.open &= options.control.is_some();
            options.schedule
        }
        _ => preset.get().filter(|_| options.open).unwrap_or(options.schedule),
    };
    let has_all = options.control.is_none() && options.threads >= w.max_threads();
    match Mechanism::of(schedule) {
        Mechanism::Joins { .. } if has_all => Rule::Nested,
        _ if options.control.is_some() || options.open => Rule::Late,
        _ => Rule::InTurn,
    }
}

fn each_range(w: &Worker, n: usize, request: &Request, callback: Callback<RangeFn>) -> Outcome {
    let mut options = request.options();
    let rule = rule_of(w, &mut options);
    let most = w.max_threads();
    // A control may request any number of participants.
    let count = if options.control.is_some() { most } else { most.min(options.threads) };
    let numbers = Numbers::new(w.index(), count, rule);
    if rule == Rule::Nested {
        return each_block(w, n, &options, callback, &numbers);
    }
    let is_stopped = AtomicBool::new(false);
    let piece = |number: &mut Number<'_>, range: Range<usize>| {
        if callback.call(range.start, range.end, number.value as c_uint) {
            return ControlFlow::Continue(());
        }
        // Relaxed: read after the loop, whose end orders it.
        is_stopped.store(true, Ordering::Relaxed);
        ControlFlow::Break(())
    };
    let driven = for_each_range(w, n, &options, || numbers.take(), piece);
    if is_stopped.into_inner() {
        return Err(Status::Stopped);
    }
    driven.map_err(|_| Status::Cancelled)
}

/// A loop that is cut into blocks by a recursion. A block that finds no number is left to the end.
#[inline(never)]
fn each_block(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    callback: Callback<RangeFn>,
    numbers: &Numbers,
) -> Outcome {
    let (is_stopped, left) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let call = |range: Range<usize>, number: usize| {
        if callback.call(range.start, range.end, number as c_uint) {
            return ControlFlow::Continue(());
        }
        // Relaxed: as above.
        is_stopped.store(true, Ordering::Relaxed);
        ControlFlow::Break(())
    };
    let piece = |number: &mut Option<Number<'_>>, range: Range<usize>| match number {
        Some(number) => call(range, number.value),
        None => {
            left.lock().push(range);
            ControlFlow::Continue(())
        }
    };
    // Not cancelled: it has no control.
    let _ = for_each_range(w, n, options, || numbers.take_if_free(), piece);
    for range in left.into_inner() {
        if is_stopped.load(Ordering::Relaxed) || call(range, 0).is_break() {
            break;
        }
    }
    if is_stopped.into_inner() { Err(Status::Stopped) } else { Ok(()) }
}
