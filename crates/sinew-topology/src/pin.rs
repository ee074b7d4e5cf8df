//! Pinning the calling thread, and undoing it; keeping another thread off a CPU for a moment.
//!
//! A pinned thread sees its pin as its affinity mask, and so would take one CPU for all it may use.
//! So the mask from before the outermost pin is kept per thread, and [`affinity`] answers that one.
//!
//! # Not handled
//!
//! A thread started *by* a pinned thread inherits the pin, but not the memory of it.
//!
//! # Tests
//!
//! `tests/host.rs`, on real threads.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::{fmt, io};

use crate::cpuset::CpuSet;
use crate::sys;

thread_local! {
    /// The mask before the outermost pin that is in force.
    static UNPINNED: RefCell<Option<CpuSet>> = const { RefCell::new(None) };
}

/// Why a thread could not be pinned, or let go again.
#[derive(Debug)]
pub enum PinError {
    /// This system has no way to do it; the thread runs on as before.
    Unsupported,
    /// The system refused: none of the CPUs exists, is switched on and allowed.
    Refused {
        /// What was asked for.
        cpus: CpuSet,
        /// The system's answer.
        source: io::Error,
    },
}

impl PinError {
    fn new(cpus: &CpuSet, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Refused { cpus: cpus.clone(), source },
        }
    }
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => {
                f.write_str("threads cannot be pinned on this system: use the mapping `none`")
            }
            Self::Refused { cpus, source } => {
                write!(
                    f,
                    "cannot pin a thread to CPU {cpus}: {source}; `sinew topo` shows the allowed CPUs"
                )
            }
        }
    }
}

impl std::error::Error for PinError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unsupported => None,
            Self::Refused { source, .. } => Some(source),
        }
    }
}

/// A pin in force; dropping it lets the thread run where it could before.
///
/// Pins may be nested, if they are dropped in reverse order. Not `Send`: only the thread itself can
/// be let go.
#[derive(Debug)]
#[must_use = "the thread is let go when this is dropped"]
pub struct Pinned {
    before: CpuSet,
    outermost: bool,
    _of_this_thread: PhantomData<*mut ()>,
}

/// Restricts the calling thread to `cpus`, by the operating system's numbers, until the result is
/// dropped.
///
/// ```
/// # use sinew_topology::{Limits, pin_current_thread};
/// let first = Limits::read().allowed().iter().take(1).collect();
/// match pin_current_thread(&first) {
///     Ok(_pinned) => println!("on {first} until the end of this block"),
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
///
/// [`PinError::Unsupported`] elsewhere than on Linux: carry on unpinned. [`PinError::Refused`] if
/// none of the CPUs may be used. Either way the thread runs on as before.
///
/// # Cost
///
/// Two system calls; the thread has moved when this returns.
pub fn pin_current_thread(cpus: &CpuSet) -> Result<Pinned, PinError> {
    let fail = |error| PinError::new(cpus, error);
    let before = sys::affinity_of(sys::CALLING_THREAD).map_err(fail)?;
    sys::set_affinity_of(sys::CALLING_THREAD, cpus).map_err(fail)?;
    let outermost = UNPINNED.with_borrow_mut(|unpinned| {
        let outermost = unpinned.is_none();
        unpinned.get_or_insert_with(|| before.clone());
        outermost
    });
    Ok(Pinned { before, outermost, _of_this_thread: PhantomData })
}

impl Pinned {
    /// Moves the thread to other CPUs; what dropping restores stays the same.
    ///
    /// # Errors
    ///
    /// As [`pin_current_thread`]; the thread stays where it is.
    pub fn move_to(&mut self, cpus: &CpuSet) -> Result<(), PinError> {
        sys::set_affinity_of(sys::CALLING_THREAD, cpus).map_err(|error| PinError::new(cpus, error))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Fails only if all those CPUs went away meanwhile; then the kernel has already chosen
        // others.
        let _ = sys::set_affinity_of(sys::CALLING_THREAD, &self.before);
        if self.outermost {
            // During the thread's own destruction nobody will ask any more.
            let _ = UNPINNED.try_with(|unpinned| unpinned.take());
        }
    }
}

/// The CPUs the calling thread may run on, pins of this crate aside.
pub(crate) fn affinity() -> io::Result<CpuSet> {
    UNPINNED.with_borrow(Clone::clone).map_or_else(|| sys::affinity_of(sys::CALLING_THREAD), Ok)
}

/// The CPU the calling thread runs on at this moment, by the operating system's number; it may be
/// another one the moment after. `None` where the system does not tell.
pub fn current_cpu() -> Option<usize> {
    sys::current_cpu().ok()
}

/// What a thread has used of the processors since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Time on a processor, in nanoseconds; the system counts it in microseconds.
    pub processor_ns: u64,
    /// How often it has left its processor to another thread although it could have gone on:
    /// because the system took the processor away, or because the thread yielded and another one
    /// wanted it.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// That of the calling thread; `None` where the system does not tell.
    ///
    /// # Cost
    ///
    /// A system call, about 0.2 µs.
    pub fn current() -> Option<Self> {
        let (processor_ns, involuntary_switches) = sys::thread_usage().ok()?;
        Some(Self { processor_ns, involuntary_switches })
    }
}

/// A thread of this process, for others to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadRef(i32);

impl ThreadRef {
    /// The calling thread; `None` where the system does not tell.
    pub fn current() -> Option<Self> {
        sys::current_thread().ok().map(Self)
    }

    /// The thread's affinity mask; `None` where the system does not tell.
    pub fn affinity(self) -> Option<CpuSet> {
        sys::affinity_of(self.0).ok()
    }

    /// Takes `cpu` out of the thread's affinity mask, which is `mask` now. Answers whether it did:
    /// not if the mask has no other CPU, does not have this one, or cannot be changed.
    /// [`let_back`](Self::let_back) undoes it.
    ///
    /// The thread must not have ended: its number may be another thread's by then.
    ///
    /// # Cost
    ///
    /// A system call, about 1 µs for a sleeping thread.
    pub fn keep_off(self, cpu: usize, mask: &CpuSet) -> bool {
        let rest = without(mask, cpu);
        let useful = mask.contains(cpu) && !rest.is_empty();
        useful && sys::set_affinity_of(self.0, &rest).is_ok()
    }

    /// Gives the thread back the mask from before [`keep_off`](Self::keep_off) of `cpu`, unless
    /// somebody has changed it since.
    ///
    /// # Cost
    ///
    /// Two system calls.
    pub fn let_back(self, cpu: usize, mask: &CpuSet) {
        if self.affinity() == Some(without(mask, cpu)) {
            // Fails only if all those CPUs went away meanwhile; then the kernel has already chosen
            // others.
            let _ = sys::set_affinity_of(self.0, mask);
        }
    }
}

fn without(mask: &CpuSet, cpu: usize) -> CpuSet {
    mask.iter().filter(|&other| other != cpu).collect()
}
