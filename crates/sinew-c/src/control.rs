//! Controls, handles that change loops while they run; and memories of loops that run repeatedly.

use std::ffi::{c_char, c_int, c_uint};
use std::time::Duration;

use sinew_loops::Control;
use sinew_loops::source::LoopMemory;

use crate::handle::{Handle, Kind, Table, Use};
use crate::options;
use crate::status::{Outcome, Status, guarded, put};

static CONTROLS: Table<Control, 16384> = Table::new(Kind::Control);
static MEMORIES: Table<LoopMemory, 16384> = Table::new(Kind::Memory);

/// The control of a handle; `None` for a null pointer.
///
/// # Errors
///
/// [`Status::Handle`] if it does not exist.
pub(crate) fn of(handle: Handle) -> Outcome<Option<Use<Control>>> {
    if handle.is_null() { Ok(None) } else { CONTROLS.get(handle).map(Some) }
}

/// The same for a memory.
///
/// # Errors
///
/// [`Status::Handle`] if it does not exist.
pub(crate) fn memory_of(handle: Handle) -> Outcome<Option<Use<LoopMemory>>> {
    if handle.is_null() { Ok(None) } else { MEMORIES.get(handle).map(Some) }
}

#[unsafe(no_mangle)]
extern "C" fn sinew_memory_create(out: *mut Handle) -> Status {
    guarded(|| match out.is_null() {
        true => Err(Status::Invalid),
        false => put(out, MEMORIES.insert(LoopMemory::new())?),
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_memory_clear(memory: Handle) -> Status {
    guarded(|| {
        MEMORIES.get(memory)?.clear();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_memory_destroy(memory: Handle) -> Status {
    guarded(|| MEMORIES.remove(memory).map(drop))
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
extern "C" fn sinew_control_cancel_after(control: Handle, nanoseconds: u64) -> Status {
    guarded(|| {
        CONTROLS.get(control)?.cancel_after(Duration::from_nanos(nanoseconds));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_is_cancelled(control: Handle, out: *mut c_int) -> Status {
    guarded(|| put(out, c_int::from(CONTROLS.get(control)?.is_cancelled())))
}

#[unsafe(no_mangle)]
extern "C" fn sinew_control_set_mapping(control: Handle, mapping: *const c_char) -> Status {
    guarded(|| {
        let mapping = options::mapping(mapping)?;
        let control = CONTROLS.get(control)?;
        control.set_mapping(mapping.as_ref()).map_err(|_| Status::Invalid)
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
