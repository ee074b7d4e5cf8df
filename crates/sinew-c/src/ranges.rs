//! Loops over ranges of indices.

use std::ffi::{c_uint, c_void};
use std::ops::{ControlFlow, Range};

use sinew_core::Worker;
use sinew_loops::Control;
use sinew_loops::loops::{Options, for_each_range};
use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::Mechanism;
use sinew_sync::atomic::{AtomicBool, Ordering};

use crate::callback::{Callback, RangeFn};
use crate::control;
use crate::handle::Handle;
use crate::numbers::{Number, Numbers};
use crate::options::{self, LoopOptions};
use crate::pool;
use crate::status::{Outcome, Status, guarded};

/// The options of a loop of the crates below.
///
/// # Errors
///
/// [`Status::Invalid`] for a number or a schedule that is not valid.
pub(crate) fn loop_options<'c>(
    from: &LoopOptions,
    control: Option<&'c Control>,
) -> Outcome<Options<'c>> {
    let schedule = options::schedule(from.schedule, from.chunk)?;
    let threads = options::threads(from.threads)?.unwrap_or(usize::MAX);
    Ok(Options {
        schedule: schedule.unwrap_or_default(),
        open: schedule.is_none(),
        threads,
        control,
        ..Options::default()
    })
}

/// A loop without a control whose schedule the pool names, as far as it has a number for each
/// participant: blocks of a recursion may be nested on one thread, in any number.
fn with_numbers<'c>(w: &Worker, options: Options<'c>) -> Options<'c> {
    if !options.open || options.control.is_some() || w.limit().schedule().word() == 0 {
        return options;
    }
    let named = w.limit().schedule().of_loop(options.schedule, true);
    let is_recursive = matches!(Mechanism::of(named), Mechanism::Joins { .. });
    match is_recursive {
        true => Options { schedule: Schedule::Stealing, open: false, ..options },
        false => options,
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
        let from = options::read(from)?;
        let callback = Callback { context, function: function.ok_or(Status::Invalid)? };
        let control = control::of(from.control)?;
        let options = loop_options(&from, control.as_deref())?;
        pool::run(pool, |w| each_range(w, n, options, callback))
    })
}

fn each_range(w: &Worker, n: usize, options: Options<'_>, callback: Callback<RangeFn>) -> Outcome {
    let options = with_numbers(w, options);
    let most = w.max_threads();
    // A control may request any number of participants.
    let count = if options.control.is_some() { most } else { most.min(options.threads) };
    let numbers = Numbers::new(w.index(), count);
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
