//! The functions that TBB looks for in `libtcm.so.1`, in version 1.6 of their interface.
//!
//! A permit's handle is a number that no client follows as a pointer. So a handle that is unknown,
//! or stands for a permit that was released, gets an error.
//!
//! In a forked child, clients and permits of its parent are *inert*: requests succeed and grant
//! nothing, since the child has none of its parent's workers.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use core::ffi::{c_char, c_void};

use super::manager::{Manager, is_parents, new_number};
use super::permits::{Callback, Data, Number, State, Wanted};
use crate::{runtime, share, system};

const SUCCESS: i32 = 0;
const INVALID_ARGUMENT: i32 = 0x7800_0004;
const UNKNOWN: i32 = 0x7fff_fffe;

/// The version of the interface, 1.6.0.
const VERSION: u32 = 10_600;
/// The text that TBB prints if `TBB_VERSION` is set.
const ABOUT: &[u8] = b"TCM: NAME\t\tSinew\nTCM: VERSION\t\t1.6.0\n\0";

/// A number that the client leaves to the manager.
const AUTOMATIC: i32 = -1;

/// Flag of a permit: it is about to change, and its client will be called.
const STALE: u32 = 1;
/// Flag of a request: the number of workers must not change while they work.
const RIGID: u32 = 1 << 1;
/// Flag of a request: no other permit may have the same processors.
const EXCLUSIVE: u32 = 1 << 2;
/// Flag of a request: the permit is made, and asks for nothing yet.
const AS_INACTIVE: u32 = 1 << 3;

/// A request, as clients pass it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Request {
    min: i32,
    max: i32,
    constraints: *const c_void,
    constraint_count: u32,
    priority: i32,
    flags: u32,
    reserved: [u8; 4],
}

/// A permit, as clients get it. They own the arrays.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Permit {
    concurrencies: *mut u32,
    masks: *mut *mut c_void,
    size: u32,
    pub(super) state: u8,
    pub(super) flags: u32,
}

const _: () = assert!(size_of::<Request>() == 32 && size_of::<Permit>() == 32);

impl Request {
    /// The workers that it is for; `None` if it makes no sense or needs what is not offered.
    fn wanted(&self) -> Option<Wanted> {
        let is_offered = self.flags & (RIGID | EXCLUSIVE) == 0;
        // One constraint on processors is met by masks, which TBB sets itself.
        let is_consistent = self.constraints.is_null() == (self.constraint_count == 0);
        if !is_offered || !is_consistent || self.constraint_count > 1 {
            return None;
        }
        let number = |said: i32, otherwise: u32| match said {
            AUTOMATIC => Some(otherwise),
            _ => u32::try_from(said).ok(),
        };
        let min = number(self.min, 0)?;
        let max = number(self.max, share::start_cpus().max(min))?;
        (min <= max).then_some(Wanted { min, max, priority: self.priority })
    }

    fn state(&self) -> State {
        if self.flags & AS_INACTIVE == 0 { State::Active } else { State::Inactive }
    }
}

/// Connects a client. Refused where no `sinew exec` divides the machine; then TBB divides its
/// workers itself.
fn connect(callback: Option<Callback>, client: *mut Number) -> i32 {
    let Some(callback) = callback.filter(|_| !client.is_null()) else { return INVALID_ARGUMENT };
    // OpenMP's runtimes have a door of their own, with rules of its own.
    if runtime::is_runtime(callback as usize) || !share::may_divide_workers() {
        return UNKNOWN;
    }
    let Some(manager) = Manager::start() else { return UNKNOWN };
    let number = new_number();
    if !manager.change(|permits, _| permits.connect(number, callback)) {
        return UNKNOWN;
    }
    explain_once();
    // SAFETY: not null; the client passes room for a number.
    unsafe { client.write(number) };
    SUCCESS
}

/// Prints once, if asked to, that this library is at work.
fn explain_once() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if share::is_verbose() && !SAID.swap(true, Relaxed) {
        system::complain(b"sinew: the workers of TBB follow the share\n");
    }
}

fn result(is_known: bool) -> i32 {
    if is_known { SUCCESS } else { INVALID_ARGUMENT }
}

/// Removes a client or permit.
fn remove(number: Number) -> i32 {
    result(
        is_parents(number) || Manager::of_process().is_some_and(|manager| manager.remove(number)),
    )
}

fn request(
    client: Number,
    request: &Request,
    argument: *mut c_void,
    handle: *mut Number,
    permit: *mut Permit,
) -> i32 {
    let Some(wanted) = request.wanted().filter(|_| !handle.is_null()) else {
        return INVALID_ARGUMENT;
    };
    // SAFETY: not null; the client passes its handle, or 0 for a new permit.
    let handle = unsafe { &mut *handle };
    if is_parents(client) {
        // An inert permit needs no number of its own.
        if *handle == 0 {
            *handle = client;
        }
        return fill(*handle, permit);
    }
    let Some(manager) = Manager::of_process() else { return INVALID_ARGUMENT };
    let number = if *handle == 0 { new_number() } else { *handle };
    let is_known = manager.change(|permits, workers| {
        (*handle != 0 || permits.add(number, client))
            && permits.request(
                (client, number),
                wanted,
                argument as usize,
                request.state(),
                workers,
            )
    });
    if !is_known {
        return INVALID_ARGUMENT;
    }
    *handle = number;
    if permit.is_null() { SUCCESS } else { fill(number, permit) }
}

/// Reads a permit.
fn fill(number: Number, permit: *mut Permit) -> i32 {
    let read = |manager: &Manager| manager.read(|permits| permits.data(number));
    let found = match Manager::of_process().and_then(read) {
        None if is_parents(number) => {
            Some(Data { grant: 0, state: State::Inactive, is_due: false })
        }
        found => found,
    };
    let Some(data) = found else { return INVALID_ARGUMENT };
    // SAFETY: the client passes null or its own structure, which is not used elsewhere meanwhile.
    let Some(permit) = (unsafe { permit.as_mut() }) else { return SUCCESS };
    // SAFETY: the client's array has as many words as it says; null is left alone.
    if let Some(grant) = unsafe { permit.concurrencies.as_mut() }.filter(|_| permit.size > 0) {
        *grant = data.grant;
    }
    permit.state = data.state as u8;
    permit.flags = if data.is_due { STALE } else { 0 };
    SUCCESS
}

fn set_state(permit: Number, state: State) -> i32 {
    let set = |manager: &Manager| {
        manager.change(|permits, workers| permits.set_state(permit, state, workers))
    };
    result(is_parents(permit) || Manager::of_process().is_some_and(set))
}

/// Copies a text and its zero, cut off where there is no room.
fn describe(room: *mut c_char, size: u32) -> i32 {
    if room.is_null() || size == 0 {
        return INVALID_ARGUMENT;
    }
    let length = ABOUT.len().min(size as usize);
    // SAFETY: the client passes room for that many bytes; the text has as many.
    unsafe {
        room.copy_from_nonoverlapping(ABOUT.as_ptr().cast(), length);
        room.add(length - 1).write(0);
    }
    SUCCESS
}

/// The exported names. The ordinary build does not export them.
#[cfg_attr(not(sinew_preloaded), allow(dead_code, reason = "exported by the shared library alone"))]
#[allow(non_snake_case, reason = "the names are the interface's")]
pub(super) mod exported {
    use super::*;

    /// Exports functions under their own names.
    macro_rules! export {
        ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty $body:block)*) => {$(
            // SAFETY of the name: clients look for it, and this is the manager that they get.
            #[cfg_attr(sinew_preloaded, unsafe(no_mangle))]
            pub(in crate::tbb) extern "C" fn $name($($argument: $kind),*) -> $result $body
        )*};
    }

    export! {
        fn tcmConnect(callback: Option<Callback>, client: *mut Number) -> i32 {
            connect(callback, client)
        }
        fn tcmDisconnect(client: Number) -> i32 {
            remove(client)
        }
        fn tcmRequestPermit(
            client: Number,
            wanted: Request,
            argument: *mut c_void,
            handle: *mut Number,
            permit: *mut Permit
        ) -> i32 {
            request(client, &wanted, argument, handle, permit)
        }
        fn tcmGetPermitData(handle: Number, permit: *mut Permit) -> i32 {
            if permit.is_null() { UNKNOWN } else { fill(handle, permit) }
        }
        fn tcmReleasePermit(handle: Number) -> i32 {
            remove(handle)
        }
        fn tcmIdlePermit(handle: Number) -> i32 {
            set_state(handle, State::Idle)
        }
        fn tcmDeactivatePermit(handle: Number) -> i32 {
            set_state(handle, State::Inactive)
        }
        fn tcmActivatePermit(handle: Number) -> i32 {
            set_state(handle, State::Active)
        }
        fn tcmRegisterThread(handle: Number) -> i32 {
            if handle == 0 { UNKNOWN } else { SUCCESS }
        }
        fn tcmUnregisterThread() -> i32 {
            SUCCESS
        }
        fn tcmGetVersionInfo(room: *mut c_char, size: u32) -> i32 {
            describe(room, size)
        }
        fn tcmGetVersion() -> u32 {
            VERSION
        }
    }
}

#[cfg(test)]
impl Request {
    /// A request as TBB makes it.
    pub(super) const fn new(min: i32, max: i32, flags: u32) -> Self {
        let constraints = core::ptr::null();
        Self { min, max, constraints, constraint_count: 0, priority: 0, flags, reserved: [0; 4] }
    }
}

#[cfg(test)]
impl Permit {
    /// A permit whose number of workers is written to `workers`.
    pub(super) const fn for_one(workers: *mut u32) -> Self {
        let masks = core::ptr::null_mut();
        Self { concurrencies: workers, masks, size: 1, state: 0, flags: 0 }
    }
}
