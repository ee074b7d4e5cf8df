#![allow(unsafe_code)]
//! Mapped pages that their file has lost.
//!
//! A program of the same user can truncate the table while others have it mapped. The kernel then
//! ends a process that touches a lost page (SIGBUS), and checking the file's length first leaves a
//! gap. So a handler marks the mapping, and puts an empty page, private to this process, in place
//! of the lost one. From then on the mapping is not whole, and its owner opens the file again.
//!
//! Source: systemd's journal reads files of other processes in this way (`sigbus.c`).
//!
//! # Invariants
//!
//! - B1: a range is registered from before its first access until after its last one. So an address
//!   in a registered range belongs to that mapping.
//! - B2: a page is replaced only after its mapping is marked. A reader of an empty page finds the
//!   mark when it checks after the read.
//! - B3: any other SIGBUS has the same effect as without this handler.
//!
//! # Not handled
//!
//! A program that installs a handler of its own later and does not call this one: there the signal
//! has that handler's effect. More than [`RANGES`] mappings in a process: those beyond are not
//! covered.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Once;

use sinew_sync::statics::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The most mappings that are registered at a time.
const RANGES: usize = 64;

struct Range {
    /// 0: the entry is free; [`TAKEN`]: it is being filled.
    start: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicBool,
}

const TAKEN: u64 = u64::MAX;

static REGISTERED: [Range; RANGES] = [const {
    Range { start: AtomicU64::new(0), bytes: AtomicU64::new(0), lost: AtomicBool::new(false) }
}; RANGES];

/// The action for SIGBUS before this handler; it is never freed.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// The entry of a mapping.
#[derive(Debug)]
pub(crate) struct RegisteredMapping(Option<usize>);

impl RegisteredMapping {
    /// Registers a mapping.
    pub(crate) fn new(start: NonNull<c_void>, bytes: usize) -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(install);
        // Relaxed: the entry says nothing until its start is stored.
        let is_free = |range: &Range| {
            range.start.compare_exchange(0, TAKEN, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let entry = REGISTERED.iter().position(is_free);
        if let Some(range) = entry.map(|entry| &REGISTERED[entry]) {
            range.bytes.store(bytes as u64, Ordering::Relaxed);
            range.lost.store(false, Ordering::Relaxed);
            // Release: the handler, in any thread, sees the length with the start.
            range.start.store(start.as_ptr() as u64, Ordering::Release);
        }
        Self(entry)
    }

    /// Whether a page of the mapping was replaced.
    pub(crate) fn is_lost(&self) -> bool {
        // Acquire: pairs with the handler's mark (B2).
        self.0.is_some_and(|entry| REGISTERED[entry].lost.load(Ordering::Acquire))
    }

    /// Frees the entry, before the mapping is removed (B1).
    pub(crate) fn end(&mut self) {
        if let Some(entry) = self.0.take() {
            REGISTERED[entry].start.store(0, Ordering::Release);
        }
    }
}

fn install() {
    // SAFETY: a record of numbers and a function's address, for which zeroes are a value.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes the action in force to `before` during the call.
    unsafe { libc::sigaction(libc::SIGBUS, null_mut(), &raw mut before) };
    // Release: the handler reads the record that it points to.
    BEFORE.store(Box::into_raw(Box::new(before)), Ordering::Release);
    // SAFETY: as above.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = at_bus_error as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler only makes calls that are allowed in a signal handler, and restores
    // `errno`.
    unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, null_mut()) };
}

extern "C" fn at_bus_error(signal: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a record that is valid during the call. For a fault, the record has
    // an address. For a signal that a process sent, it has numbers there, which are only compared.
    let (address, is_fault) = unsafe { ((*about).si_addr() as u64, (*about).si_code > 0) };
    if !(is_fault && replace(address)) {
        as_before(signal, is_fault, about, context);
    }
}

/// Puts an empty page in place of the one at `address`, if that is a registered mapping's.
fn replace(address: u64) -> bool {
    let has_address = |range: &&Range| {
        let start = range.start.load(Ordering::Acquire);
        start != 0
            && start != TAKEN
            && (start..start + range.bytes.load(Ordering::Relaxed)).contains(&address)
    };
    let Some(range) = REGISTERED.iter().find(has_address) else { return false };
    range.lost.store(true, Ordering::Release); // B2
    // SAFETY: reads a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let place = (address & !(page as u64 - 1)) as *mut c_void;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is part of a registered mapping (B1), whose words are atomic words of any
    // value. `errno` belongs to the interrupted code and is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let place = libc::mmap(place, page, access, kind, -1, 0);
        *libc::__errno_location() = errno;
        place != libc::MAP_FAILED
    }
}

/// Does what would happen without this handler (B3).
fn as_before(signal: c_int, is_fault: bool, about: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the record is never freed, and was stored before the handler was installed.
    let before = unsafe { &*BEFORE.load(Ordering::Acquire) };
    match before.sa_sigaction {
        libc::SIG_IGN if !is_fault => {}
        // The faulting instruction runs again, and a signal that was sent is sent again. Then the
        // default action ends the process.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: restores the default, as the kernel does for a fault that is ignored.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if !is_fault {
                    libc::raise(signal);
                }
            }
        }
        // SAFETY: it was installed as a handler of three arguments.
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            let handler = std::mem::transmute::<
                usize,
                extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void),
            >(handler);
            handler(signal, about, context);
        },
        // SAFETY: it was installed as a handler of one argument.
        handler => unsafe {
            let handler = std::mem::transmute::<usize, extern "C" fn(c_int)>(handler);
            handler(signal);
        },
    }
}
