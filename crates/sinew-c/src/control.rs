//! Controls: handles that change loops while they run.

use std::ffi::c_uint;

use sinew_loops::Control;

use crate::handle::{Handle, Kind, Table, Use};
use crate::options;
use crate::status::{Outcome, Status, guarded, put};

static CONTROLS: Table<Control, 16384> = Table::new(Kind::Control);

/// The control of a handle; `None` for a null pointer.
///
/// # Errors
///
/// [`Status::Handle`] if it does not exist.
pub(crate) fn of(handle: Handle) -> Outcome<Option<Use<Control>>> {
    if handle.is_null() { Ok(None) } else { CONTROLS.get(handle).map(Some) }
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_create(out: *mut Handle) -> Status {
    guarded(|| match out.is_null() {
        true => Err(Status::Invalid),
        false => put(out, CONTROLS.insert(Control::new())?),
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_destroy(control: Handle) -> Status {
    guarded(|| CONTROLS.remove(control).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_set_threads(control: Handle, threads: c_uint) -> Status {
    guarded(|| {
        let threads = options::threads(threads)?;
        CONTROLS.get(control)?.set_threads(threads);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_set_schedule(
    control: Handle,
    schedule: c_uint,
    chunk: usize,
) -> Status {
    guarded(|| {
        let schedule = options::schedule(schedule, chunk)?;
        CONTROLS.get(control)?.set_schedule(schedule);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_cancel(control: Handle) -> Status {
    guarded(|| {
        CONTROLS.get(control)?.cancel();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_progress(control: Handle, done: *mut u64, total: *mut u64) -> Status {
    guarded(|| {
        let now = CONTROLS.get(control)?.snapshot();
        if done.is_null() || total.is_null() {
            return Err(Status::Invalid);
        }
        put(done, now.done)?;
        put(total, now.total)
    })
}
