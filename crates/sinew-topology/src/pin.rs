//! Pins the calling thread and unpins it; keeps another thread off a CPU for a time.
//!
//! The affinity mask of a pinned thread is its pin, so the process's CPUs cannot be read from it.
//! Each thread therefore keeps its mask from before the outermost pin, and [`affinity`] returns
//! that one.
//!
//! # Not handled
//!
//! A thread that a pinned thread starts inherits the pin, but not the mask from before it.
//!
//! # Tests
//!
//! `tests/host.rs`, on real threads.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::{fmt, io};

use crate::sys;
use sinew_cpus::CpuSet;

thread_local! {
    /// The mask before the outermost pin that is in force.
    static UNPINNED: RefCell<Option<CpuSet>> = const { RefCell::new(None) };
}

/// Why a thread could not be pinned or unpinned.
#[derive(Debug)]
pub enum PinError {
    /// This system cannot pin threads; the thread continues as before.
    Unsupported,
    /// The system refused: none of the CPUs exists, is online and is allowed.
    Refused {
        /// The requested CPUs.
        cpus: CpuSet,
        /// The system's error.
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
                    "cannot pin a thread to CPU {cpus}: {source}; `sinew topo` shows the allowed \
                     CPUs"
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

/// A pin in force. Dropping it restores the thread's mask.
///
/// Pins may be nested if they are dropped in reverse order. Not `Send`: only the thread itself can
/// be unpinned.
#[derive(Debug)]
#[must_use = "the thread is unpinned when this is dropped"]
pub struct Pinned {
    before: CpuSet,
    outermost: bool,
    _of_this_thread: PhantomData<*mut ()>,
}

/// Restricts the calling thread to `cpus`, by the operating system's numbers, until the caller
/// drops the returned value.
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
/// [`PinError::Unsupported`] on systems other than Linux: continue unpinned. [`PinError::Refused`]
/// if none of the CPUs may be used. In both cases the thread continues as before.
///
/// # Cost
///
/// Two system calls; the thread has moved when this function returns.
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
    /// Moves the thread to other CPUs; a drop still restores the same mask.
    ///
    /// # Errors
    ///
    /// As [`pin_current_thread`]; the thread then stays on its CPUs.
    pub fn move_to(&mut self, cpus: &CpuSet) -> Result<(), PinError> {
        sys::set_affinity_of(sys::CALLING_THREAD, cpus).map_err(|error| PinError::new(cpus, error))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Fails only if all those CPUs went offline meanwhile; then the kernel has already chosen
        // others.
        let _ = sys::set_affinity_of(sys::CALLING_THREAD, &self.before);
        if self.outermost {
            // During the thread's destruction no code reads it any more.
            let _ = UNPINNED.try_with(|unpinned| unpinned.take());
        }
    }
}

/// The CPUs that the calling thread may use, ignoring pins of this crate.
pub(crate) fn affinity() -> io::Result<CpuSet> {
    UNPINNED.with_borrow(Clone::clone).map_or_else(|| sys::affinity_of(sys::CALLING_THREAD), Ok)
}

/// The calling thread's present CPU, by the operating system's number; it may change at any time.
/// `None` if the system does not report it.
pub fn current_cpu() -> Option<usize> {
    sys::current_cpu().ok()
}

/// The processor time and context switches of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Time on a processor, in nanoseconds, with the system's resolution of a microsecond.
    pub processor_ns: u64,
    /// How often it left its processor to another thread while it could run: the system preempted
    /// it, or it yielded and another thread was waiting.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// Those of the calling thread; `None` if the system does not report them.
    ///
    /// # Cost
    ///
    /// A system call, about 0.2 µs.
    pub fn current() -> Option<Self> {
        let (processor_ns, involuntary_switches) = sys::thread_usage().ok()?;
        Some(Self { processor_ns, involuntary_switches })
    }
}

/// A thread of this process, whose affinity other threads can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadRef(i32);

impl ThreadRef {
    /// The calling thread; `None` if the system does not report its number.
    pub fn current() -> Option<Self> {
        sys::current_thread().ok().map(Self)
    }

    /// The thread's affinity mask; `None` if the system does not report it.
    pub fn affinity(self) -> Option<CpuSet> {
        sys::affinity_of(self.0).ok()
    }

    /// Removes `cpu` from the thread's affinity mask, which must be `mask`. Returns whether it did:
    /// not if the mask has no other CPU, does not contain this one, or cannot be changed.
    /// [`restore_affinity`](Self::restore_affinity) undoes it.
    ///
    /// The thread must not have ended: its number may then belong to another thread.
    ///
    /// # Cost
    ///
    /// A system call, about 1 µs for a sleeping thread.
    pub fn exclude_cpu(self, cpu: usize, mask: &CpuSet) -> bool {
        let rest = without(mask, cpu);
        let useful = mask.contains(cpu) && !rest.is_empty();
        useful && sys::set_affinity_of(self.0, &rest).is_ok()
    }

    /// Restores the mask from before [`exclude_cpu`](Self::exclude_cpu) of `cpu`, unless the mask
    /// changed since.
    ///
    /// # Cost
    ///
    /// Two system calls.
    pub fn restore_affinity(self, cpu: usize, mask: &CpuSet) {
        if self.affinity() == Some(without(mask, cpu)) {
            // Fails only if all those CPUs went offline meanwhile; then the kernel has already
            // chosen others.
            let _ = sys::set_affinity_of(self.0, mask);
        }
    }
}

fn without(mask: &CpuSet, cpu: usize) -> CpuSet {
    mask.iter().filter(|&other| other != cpu).collect()
}
