//! The results of all functions, and the boundary that no panic crosses.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a function: `sinew_status`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    Invalid,
    Handle,
    Cancelled,
    Stopped,
    Busy,
    Fork,
    Thread,
    System,
    Panic,
}

impl Status {
    const ALL: [Self; 10] = [
        Self::Ok,
        Self::Invalid,
        Self::Handle,
        Self::Cancelled,
        Self::Stopped,
        Self::Busy,
        Self::Fork,
        Self::Thread,
        Self::System,
        Self::Panic,
    ];

    fn text(self) -> &'static CStr {
        match self {
            Self::Ok => c"done",
            Self::Invalid => {
                c"not a valid argument: a null pointer, a number of 0, an unknown schedule or size"
            }
            Self::Handle => c"the pool, control or scope does not exist, or exists no more",
            Self::Cancelled => c"the control was cancelled; not every element was visited",
            Self::Stopped => c"a callback stopped the loop; not every element was visited",
            Self::Busy => c"the pool, control or scope is in use; end its calls first",
            Self::Fork => c"the parent process made the pool or scope; make another in the child",
            Self::Thread => c"another thread must make this call",
            Self::System => c"the system refused a thread, or too many handles exist",
            Self::Panic => c"the library met an error of its own, which it printed",
        }
    }
}

/// The result of a function of this crate, before it is a [`Status`].
pub(crate) type Outcome<T = ()> = Result<T, Status>;

/// Calls `body`, and makes its outcome, or its panic, a status.
#[inline]
pub(crate) fn guarded(body: impl FnOnce() -> Outcome) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(status)) => status,
        Err(payload) => {
            // Its destructor may panic as well.
            std::mem::forget(payload);
            Status::Panic
        }
    }
}

/// Stores `value` where the caller asked for it.
///
/// # Errors
///
/// [`Status::Invalid`] for a null pointer.
pub(crate) fn put<T>(out: *mut T, value: T) -> Outcome {
    if out.is_null() {
        return Err(Status::Invalid);
    }
    // SAFETY: not null, so valid by the header's terms.
    unsafe { out.write(value) };
    Ok(())
}

/// The version of the interface. It changes when a program must be compiled again.
const ABI: c_uint = 1;

// SAFETY: no other library defines a name with this prefix; so for every function of this crate.
#[unsafe(no_mangle)]
extern "C" fn sinew_abi_version() -> c_uint {
    ABI
}

#[unsafe(no_mangle)]
extern "C" fn sinew_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn sinew_status_string(status: c_int) -> *const c_char {
    let status = Status::ALL.into_iter().find(|known| *known as c_int == status);
    status.map_or(c"not a status of this version", Status::text).as_ptr()
}
