//! The runtime that a call goes to.
//!
//! A process may have several: GNU's for code that gcc compiled, LLVM's for code that clang
//! compiled, and copies that Python packages load for themselves. Without this library, the dynamic
//! linker would bind the caller's name to the first definition among the objects that every object
//! sees. Else it would search the objects that the caller's own object needs. This file follows the
//! same order, once for each call site, and then remembers the result.
//!
//! # Invariants
//!
//! - I1: a runtime that was found stays loaded for the rest of the process, so its functions can
//!   always be called.
//! - I2: an entry of the cache is written once; its key is published after its value.

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

/// The most runtimes in one process. There are two makers.
pub(crate) const MOST: usize = 8;
/// Call sites that are remembered. A call from any further site searches again, which is slow but
/// correct.
const CALL_SITES: usize = 1024;
/// Entries that are tried for one call site.
const TRIES: usize = 8;

/// An OpenMP runtime in this process.
#[derive(Debug)]
pub(crate) struct Runtime {
    /// The address of its first byte; 0: the entry is free.
    base: AtomicUsize,
    handle: AtomicPtr<c_void>,
    functions: [AtomicPtr<c_void>; COUNT],
    pub(crate) idle_team: IdleTeam,
}

static RUNTIMES: [Runtime; MOST] = [const { Runtime::none() }; MOST];

/// A remembered call site: the return address, with [`CLOSINGS`] in the upper bits; 0: free, 1:
/// being written.
static KEYS: [AtomicU64; CALL_SITES] = [const { AtomicU64::new(0) }; CALL_SITES];
/// The number of the call site's runtime.
static VALUES: [AtomicUsize; CALL_SITES] = [const { AtomicUsize::new(0) }; CALL_SITES];
/// Counts unloaded objects: an address may belong to another object afterwards.
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

    /// The runtime's function, or null if it has none of that name.
    pub(crate) fn find(&self, function: Function) -> *mut c_void {
        // Relaxed: the code at the address was loaded before the address was stored.
        let known = self.functions[function.0].load(Relaxed);
        if known.is_null() { self.find_cold(function) } else { known }
    }

    #[cold]
    fn find_cold(&self, function: Function) -> *mut c_void {
        let found = system::definition_in(Handle(self.handle.load(Acquire)), function.name());
        self.functions[function.0].store(found, Relaxed);
        found
    }

    /// Calls a function without arguments that returns a number. Returns `otherwise` if the runtime
    /// does not have it.
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

    /// As [`number`](Self::number), for a function that takes a number, or a pointer as the program
    /// has passed it.
    pub(crate) fn number_of(&self, function: Function, argument: usize, otherwise: u32) -> u32 {
        let found = self.find(function);
        if found.is_null() {
            return otherwise;
        }
        // SAFETY: as in `number`; a function that takes a smaller number reads a part of the
        // register.
        let call =
            unsafe { core::mem::transmute::<*mut c_void, extern "C" fn(usize) -> i32>(found) };
        u32::try_from(call(argument)).unwrap_or(otherwise)
    }

    /// Whether it is GNU's runtime.
    pub(crate) fn is_gnus(&self) -> bool {
        self.find(Function::GLOBAL_THREAD).is_null()
    }

    /// Makes a team of GNU's runtime call `job`.
    pub(crate) fn call_in_team(&self, job: extern "C" fn(*mut c_void), threads: u32) {
        type Job = extern "C" fn(*mut c_void);
        let found = self.find(Function::PARALLEL);
        if found.is_null() {
            return;
        }
        // SAFETY: as in `number`; compilers call it with this signature.
        let call = unsafe {
            core::mem::transmute::<*mut c_void, extern "C" fn(Job, *mut c_void, u32, u32)>(found)
        };
        call(job, null_mut(), threads, 0);
    }

    /// Sets the size of the next team in LLVM's runtime, as compilers do for a clause.
    pub(crate) fn push_num_threads(&self, source: *mut c_void, threads: u32) {
        let (global, push) =
            (self.find(Function::GLOBAL_THREAD), self.find(Function::PUSH_NUM_THREADS));
        if global.is_null() || push.is_null() {
            return;
        }
        // SAFETY: as in `number`; compilers call them with these signatures, and `source` is what
        // the compiler passed.
        let (global, push) = unsafe {
            (
                core::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void) -> i32>(global),
                core::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void, i32, i32)>(push),
            )
        };
        push(source, global(source), i32::try_from(threads).unwrap_or(i32::MAX));
    }

    /// The runtime's number.
    pub(crate) fn index(&self) -> usize {
        RUNTIMES.iter().position(|runtime| core::ptr::eq(runtime, self)).unwrap_or(0)
    }

    /// The number of the runtime that starts at `base`; adds the runtime if it is new. `None` if
    /// there are too many.
    fn at(base: usize, handle: Handle) -> Option<usize> {
        RUNTIMES.iter().position(|runtime| {
            // Acquire and Release: a thread that sees the base sees the handle. All threads that
            // race for an entry have the same handle for the same base.
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

/// The runtime that a call of `function` from `call_site` goes to. `None` if there is none: the
/// program can do without a runtime, and has only tested whether the name exists.
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
    // I2. If two threads find a new call site at the same time, it may be remembered twice. A
    // missing runtime is remembered as well: the dynamic linker would bind the name once, too.
    if KEYS[entry].compare_exchange(0, 1, Relaxed, Relaxed).is_ok() {
        VALUES[entry].store(found, Relaxed);
        KEYS[entry].store(key, Release);
    }
    RUNTIMES.get(found)
}

/// Follows the dynamic linker's order. Returns [`MOST`] if there is no definition.
fn search(function: Function, call_site: usize) -> usize {
    let found = definition(function, call_site);
    if found.is_null() { MOST } else { defines(found).unwrap_or(MOST) }
}

/// Whether a call from `call_site` could reach `function` without this library.
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
    // A handle of the program itself covers everything that all objects see, this library included.
    if is_own(found) { null_mut() } else { found }
}

/// Whether `address` lies in this library.
pub(crate) fn is_own(address: *const c_void) -> bool {
    let base = system::base_around(address);
    base.is_some() && base == system::base_around(is_own as *const c_void)
}

/// The number of the runtime that defines the function at `address`. `None` if that object cannot
/// be kept loaded, as the program itself.
pub(crate) fn defines(address: *const c_void) -> Option<usize> {
    let (base, handle) = system::object_around(address)?;
    Some(Runtime::at(base, handle).unwrap_or_else(|| system::stop()))
}

/// The runtime of this number.
pub(crate) fn numbered(number: usize) -> Option<&'static Runtime> {
    RUNTIMES.get(number)
}

/// Whether the call comes from a runtime that counts processors by its thread's mask when it
/// starts. Such runtimes are GNU's and TBB; LLVM's asks the kernel by number, and waits by the
/// clock. Its functions may not be visible yet, so its file's name identifies it. Copies that
/// packages bring along begin with the same name. TBB's other libraries count nothing.
pub(crate) fn counts_at_start(call_site: usize) -> bool {
    const NAMES: [&[u8]; 4] = [b"libgomp", b"libtbb.", b"libtbb-", b"libtbb_debug"];
    system::file_name_around(call_site as *const c_void)
        .is_some_and(|name| NAMES.iter().any(|known| name.starts_with(known)))
}

/// Whether the call comes from a runtime. The file's name identifies it, as in [`counts_at_start`].
pub(crate) fn is_runtime(call_site: usize) -> bool {
    const NAMES: [&[u8]; 3] = [b"libgomp", b"libomp", b"libiomp"];
    system::file_name_around(call_site as *const c_void)
        .is_some_and(|name| NAMES.iter().any(|known| name.starts_with(known)))
}

/// Calls the C library's `function` for a thread's mask.
pub(crate) fn affinity(function: Function, whose: usize, bytes: usize, mask: *mut u32) -> i32 {
    static KNOWN: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];
    let place = &KNOWN[usize::from(function == Function::PROCESS_AFFINITY)];
    let mut known = place.load(Relaxed);
    if known.is_null() {
        known = system::next_definition(function.name());
        place.store(known, Relaxed);
    }
    if known.is_null() {
        return system::NOT_THERE;
    }
    // SAFETY: the C library's functions of these names have this signature: a thread is a word, and
    // a process the lower half of one. The caller's arguments are passed on.
    let call = unsafe {
        core::mem::transmute::<*mut c_void, extern "C" fn(usize, usize, *mut u32) -> i32>(known)
    };
    call(whose, bytes, mask)
}

/// Forgets remembered call sites after an object was unloaded.
pub(crate) fn forget_call_sites() {
    CLOSINGS.fetch_add(1, Relaxed);
}
