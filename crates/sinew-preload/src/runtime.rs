//! Which runtime a caller means.
//!
//! A process may have several: GNU's for what gcc compiled, LLVM's for what clang compiled, and
//! copies that Python packages bring along and load for themselves. The dynamic linker would have
//! bound the caller's name to the first definition among the objects that everybody sees, else
//! among what the caller's own object needs. The same order is followed here, once per place of
//! call; then the answer is remembered.
//!
//! # Invariants
//!
//! I1: a runtime that was found stays loaded for the rest of the process, so its functions can always be called.\
//! I2: an entry of the cache is written once; its key is published after its value.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{
    AtomicPtr, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{
    AtomicPtr, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use core::ffi::c_void;
use core::ptr::null_mut;

use crate::functions::{COUNT, Function};
use crate::idle_team::IdleTeam;
use crate::system::{self, Handle};

/// Runtimes in one process that can be told apart; there are two makers.
pub(crate) const MOST: usize = 8;
/// Places of call that are remembered. Beyond that each call searches anew, which is slow and
/// right.
const CALL_SITES: usize = 1024;
/// Entries that are tried for one place.
const TRIES: usize = 8;

/// An OpenMP runtime in this process.
#[derive(Debug)]
pub(crate) struct Runtime {
    /// Where it starts; 0: nothing here yet.
    base: AtomicUsize,
    handle: AtomicPtr<c_void>,
    functions: [AtomicPtr<c_void>; COUNT],
    pub(crate) idle_team: IdleTeam,
}

static RUNTIMES: [Runtime; MOST] = [const { Runtime::none() }; MOST];

/// A remembered place: the address that is returned to, with [`CLOSINGS`] in the upper bits; 0:
/// free, 1: being written.
static KEYS: [AtomicU64; CALL_SITES] = [const { AtomicU64::new(0) }; CALL_SITES];
/// Its runtime's number.
static VALUES: [AtomicUsize; CALL_SITES] = [const { AtomicUsize::new(0) }; CALL_SITES];
/// How often something was unloaded: what lies at an address may be something else since.
static CLOSINGS: AtomicU64 = AtomicU64::new(0);

impl Runtime {
    const fn none() -> Self {
        Self {
            base: AtomicUsize::new(0),
            handle: AtomicPtr::new(null_mut()),
            functions: [const { AtomicPtr::new(null_mut()) }; COUNT],
            idle_team: IdleTeam::none(),
        }
    }

    /// Its function, or null if it has no such one.
    pub(crate) fn find(&self, function: Function) -> *mut c_void {
        // Relaxed: whatever the address is, the code behind it was there before.
        let known = self.functions[function.0].load(Relaxed);
        if known.is_null() { self.find_cold(function) } else { known }
    }

    #[cold]
    fn find_cold(&self, function: Function) -> *mut c_void {
        let found = system::definition_in(Handle(self.handle.load(Acquire)), function.name());
        self.functions[function.0].store(found, Relaxed);
        found
    }

    /// Calls a function that takes nothing and returns a number; `otherwise` if the runtime has
    /// none.
    pub(crate) fn number(&self, function: Function, otherwise: u32) -> u32 {
        let found = self.find(function);
        if found.is_null() {
            return otherwise;
        }
        // SAFETY: by I1 the runtime is loaded, and it defines this name, which the OpenMP
        // specification gives this signature. A null pointer was excluded.
        let call = unsafe { core::mem::transmute::<*mut c_void, extern "C" fn() -> i32>(found) };
        u32::try_from(call()).unwrap_or(otherwise)
    }

    /// The same with a function that takes a number, or a pointer as the program has passed it.
    pub(crate) fn number_of(&self, function: Function, argument: usize, otherwise: u32) -> u32 {
        let found = self.find(function);
        if found.is_null() {
            return otherwise;
        }
        // SAFETY: as in `number`; a function that takes a smaller number looks at a part of the
        // register.
        let call =
            unsafe { core::mem::transmute::<*mut c_void, extern "C" fn(usize) -> i32>(found) };
        u32::try_from(call(argument)).unwrap_or(otherwise)
    }

    /// Whether it is GNU's.
    pub(crate) fn is_gnus(&self) -> bool {
        self.find(Function::GLOBAL_THREAD).is_null()
    }

    /// Lets a team of GNU's runtime call `job`.
    pub(crate) fn call_in_team(&self, job: extern "C" fn(*mut c_void), threads: u32) {
        type Job = extern "C" fn(*mut c_void);
        let found = self.find(Function::PARALLEL);
        if found.is_null() {
            return;
        }
        // SAFETY: as in `number`; this is the signature that compilers call it with.
        let call = unsafe {
            core::mem::transmute::<*mut c_void, extern "C" fn(Job, *mut c_void, u32, u32)>(found)
        };
        call(job, null_mut(), threads, 0);
    }

    /// Tells LLVM's runtime the size of the next team, as the compiler does for a clause.
    pub(crate) fn push_num_threads(&self, source: *mut c_void, threads: u32) {
        let (global, push) =
            (self.find(Function::GLOBAL_THREAD), self.find(Function::PUSH_NUM_THREADS));
        if global.is_null() || push.is_null() {
            return;
        }
        // SAFETY: as in `number`; these are the signatures that compilers call them with, and
        // `source` is what the compiler passed.
        let (global, push) = unsafe {
            (
                core::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void) -> i32>(global),
                core::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, i32, i32)>(push),
            )
        };
        push(source, global(source), i32::try_from(threads).unwrap_or(i32::MAX));
    }

    /// Its number.
    pub(crate) fn index(&self) -> usize {
        RUNTIMES.iter().position(|runtime| core::ptr::eq(runtime, self)).unwrap_or(0)
    }

    /// The runtime that starts at `base`, noted down if it is new. `None` if there are too many.
    fn at(base: usize, handle: Handle) -> Option<usize> {
        RUNTIMES.iter().position(|runtime| {
            // Acquire and Release: a thread that sees the base sees the handle. All that race for a
            // place have the same handle for the same base.
            if runtime.base.load(Acquire) != 0 {
                return runtime.base_once_written() == base;
            }
            match runtime.base.compare_exchange(0, 1, Acquire, Acquire) {
                Ok(_) => {
                    runtime.handle.store(handle.0, Relaxed);
                    runtime.base.store(base, Release);
                    true
                }
                Err(_) => runtime.base_once_written() == base,
            }
        })
    }

    /// Waits for another thread to finish two stores.
    fn base_once_written(&self) -> usize {
        loop {
            match self.base.load(Acquire) {
                1 => core::hint::spin_loop(),
                base => return base,
            }
        }
    }
}

/// The runtime that a caller means that returns to `call_site` and calls `function`; `None` if there is
/// none, as for a program that can do without one and has only asked whether the name is there.
pub(crate) fn runtime_of_call(function: Function, call_site: usize) -> Option<&'static Runtime> {
    let key = call_site as u64 | CLOSINGS.load(Relaxed) << 48;
    let start = (call_site >> 2).wrapping_mul(0x9E37_79B9) % CALL_SITES;
    for step in 0..TRIES {
        let entry = (start + step) % CALL_SITES;
        match KEYS[entry].load(Acquire) {
            known if known == key => return RUNTIMES.get(VALUES[entry].load(Relaxed)),
            0 => return remember_cold(function, call_site, entry, key),
            _ => {}
        }
    }
    RUNTIMES.get(search(function, call_site))
}

#[cold]
fn remember_cold(
    function: Function,
    call_site: usize,
    entry: usize,
    key: u64,
) -> Option<&'static Runtime> {
    let found = search(function, call_site);
    // I2; a place that two threads find new at the same time may be remembered twice. That there is
    // no runtime is remembered as well: the dynamic linker would have bound the name once, too.
    if KEYS[entry].compare_exchange(0, 1, Relaxed, Relaxed).is_ok() {
        VALUES[entry].store(found, Relaxed);
        KEYS[entry].store(key, Release);
    }
    RUNTIMES.get(found)
}

/// Follows the dynamic linker; [`MOST`] if there is no definition.
fn search(function: Function, call_site: usize) -> usize {
    let found = definition(function, call_site);
    if found.is_null() { MOST } else { defines(found).unwrap_or(MOST) }
}

/// Whether a caller that returns to `call_site` could call `function` without this library.
pub(crate) fn exists(function: Function, call_site: usize) -> bool {
    !definition(function, call_site).is_null()
}

fn definition(function: Function, call_site: usize) -> *mut c_void {
    let found = system::next_definition(function.name());
    if !found.is_null() {
        return found;
    }
    let Some((_, object)) = system::object_around(call_site as *const c_void) else { return found };
    let found = system::definition_in(object, function.name());
    // A handle of the program itself stands for everything that all objects see, this library
    // included.
    if is_own(found) { null_mut() } else { found }
}

/// Whether `address` lies in this library.
pub(crate) fn is_own(address: *const c_void) -> bool {
    let base = system::base_around(address);
    base.is_some() && base == system::base_around(is_own as *const c_void)
}

/// The number of the runtime that defines the function at `address`; `None` if that cannot be kept
/// loaded, as the program itself.
pub(crate) fn defines(address: *const c_void) -> Option<usize> {
    let (base, handle) = system::object_around(address)?;
    Some(Runtime::at(base, handle).unwrap_or_else(|| system::stop()))
}

/// The runtime of this number.
pub(crate) fn numbered(number: usize) -> Option<&'static Runtime> {
    RUNTIMES.get(number)
}

/// Whether a call that returns to `call_site` is a runtime's that counts processors by its thread's
/// mask as it starts. LLVM's asks the kernel by number, and waits by the clock. It may have no name
/// that others see yet, so it is known by its file's, which copies that packages bring along begin
/// with as well.
pub(crate) fn counts_at_start(call_site: usize) -> bool {
    system::file_name_around(call_site as *const c_void)
        .is_some_and(|name| name.starts_with(b"libgomp"))
}

/// Whether a call that returns to `call_site` is a runtime's own. Known by the file's name, as in
/// [`counts_at_start`].
pub(crate) fn is_runtime(call_site: usize) -> bool {
    const NAMES: [&[u8]; 3] = [b"libgomp", b"libomp", b"libiomp"];
    system::file_name_around(call_site as *const c_void)
        .is_some_and(|name| NAMES.iter().any(|known| name.starts_with(known)))
}

/// What the C library answers of a thread's mask.
pub(crate) fn affinity(thread: usize, bytes: usize, mask: *mut u32) -> i32 {
    static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut known = KNOWN.load(Relaxed);
    if known.is_null() {
        known = system::next_definition(Function::AFFINITY.name());
        KNOWN.store(known, Relaxed);
    }
    if known.is_null() {
        return system::NOT_THERE;
    }
    // SAFETY: the C library's function of this name has this signature: a thread is a word, and
    // what the caller passed is passed on.
    let call = unsafe {
        core::mem::transmute::<*mut c_void, extern "C" fn(usize, usize, *mut u32) -> i32>(known)
    };
    call(thread, bytes, mask)
}

/// Something was unloaded: remembered places may be gone.
pub(crate) fn forget_call_sites() {
    CLOSINGS.fetch_add(1, Relaxed);
}
