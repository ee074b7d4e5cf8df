//! Pins the calling thread and unpins it; keeps another thread off a CPU for a time.
//!
//! The affinity mask of a pinned thread is its pin, so the process's CPUs cannot be read from it.
//! Each thread therefore keeps its mask from before the outermost pin, and [`affinity`] returns
//! that one.
//!
//! # Invariants
//!
//! - P1: a thread is moved only if it has the mask that was last set for it here, the one that it
//!   had before, or one that the kernel has set. Any other mask is a user's binding: the thread is
//!   left alone, whatever its mask is later, until [`override_binding`].
//!
//! # Not handled
//!
//! A thread that a pinned thread starts inherits the pin, but not the mask from before it. A user
//! who binds a thread to exactly one of those masks. A mask that is set in the microsecond between
//! reading a thread's mask and changing it. A change of a cpuset that the process cannot read, as
//! in some containers: the masks that the kernel then sets are taken for bindings.
//!
//! # Tests
//!
//! `tests/host.rs`, on real threads; `tests/cpuset.rs`, in a real cpuset.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::path::Path;
use std::{fmt, io};

use crate::files::read_set;
use crate::machine::Machine;
use crate::{cgroup, sys};
use sinew_cpus::CpuSet;

thread_local! {
    static OWN: RefCell<OwnMask> = const { RefCell::new(OwnMask::Unknown) };
}

/// The calling thread's masks, as far as they were set here.
#[derive(Debug)]
enum OwnMask {
    /// It was not looked at yet.
    Unknown,
    Ours {
        /// The mask at the first look.
        first: CpuSet,
        /// The mask that was last requested here.
        requested: CpuSet,
        /// The mask that it had then, or at the last look, as the system reports it.
        last: CpuSet,
        /// Whether a pin is in force.
        is_pinned: bool,
        /// Whether `first` is a user's binding.
        is_over_binding: bool,
    },
    /// It was seen with another mask, and is left alone.
    Bound,
}

/// The CPUs that the kernel allows a thread without any binding: those of its cpuset that are
/// online.
fn allowed_by_kernel() -> CpuSet {
    let online = read_set(Path::new("/sys/devices/system/cpu/online"))
        .unwrap_or_else(|_| Machine::host().cpus());
    match cgroup::read(Path::new("/")).cpuset {
        Some(cpuset) => cpuset.intersection(&online),
        None => online,
    }
}

/// Whether the kernel sets the mask `now` for a thread that had, or was to have, one of `masks`.
/// When a cpuset changes, or a CPU goes offline or online, Linux sets the allowed ones of these
/// CPUs, or all allowed ones if none is left. Before Linux 6.2 it always sets all.
fn is_kernels(now: &CpuSet, masks: &[&CpuSet], allowed: &CpuSet) -> bool {
    now == allowed || masks.iter().any(|mask| *now == mask.intersection(allowed))
}

impl OwnMask {
    /// Reads the thread's mask, and returns it unless the thread is bound (P1).
    fn look(&mut self) -> io::Result<Option<CpuSet>> {
        // A thread that is bound costs no system call.
        if matches!(self, Self::Bound) {
            return Ok(None);
        }
        let now = sys::affinity_of(sys::CALLING_THREAD)?;
        match self {
            Self::Ours { first, requested, last, is_over_binding, .. } => {
                let masks = [&*requested, last, first];
                // A user may choose the CPUs of an earlier binding again.
                let masks = if *is_over_binding { &masks[..2] } else { &masks[..] };
                if !masks.contains(&&now) && !is_kernels(&now, masks, &allowed_by_kernel()) {
                    *self = Self::Bound;
                    return Ok(None);
                }
                last.clone_from(&now);
            }
            Self::Bound => {}
            Self::Unknown => *self = Self::new(&now, false),
        }
        Ok(Some(now))
    }

    fn new(now: &CpuSet, is_over_binding: bool) -> Self {
        let [first, requested, last] = [now; 3].map(CpuSet::clone);
        Self::Ours { first, requested, last, is_pinned: false, is_over_binding }
    }

    /// Sets the mask of a thread that [`look`](Self::look) has found unbound. Returns whether the
    /// thread was pinned before.
    fn set(&mut self, cpus: &CpuSet, pins: bool) -> io::Result<bool> {
        sys::set_affinity_of(sys::CALLING_THREAD, cpus)?;
        // The kernel sets less than was requested if a cpuset says so.
        let now = sys::affinity_of(sys::CALLING_THREAD)?;
        let Self::Ours { requested, last, is_pinned, is_over_binding, .. } = self else {
            return Ok(false);
        };
        (*requested, *last) = (cpus.clone(), now);
        let was_pinned = std::mem::replace(is_pinned, pins);
        if *is_over_binding && !pins {
            // The binding is in force again.
            *self = Self::Bound;
        }
        Ok(was_pinned)
    }
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
    /// The program or its user has bound the thread, which is left alone until
    /// [`override_binding`].
    Bound,
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
            Self::Bound => f.write_str("the thread was bound by other code, which keeps it"),
        }
    }
}

impl std::error::Error for PinError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unsupported | Self::Bound => None,
            Self::Refused { source, .. } => Some(source),
        }
    }
}

/// A pin in force. Dropping it restores the thread's mask, unless other code has bound the thread
/// meanwhile.
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
/// if none of the CPUs may be used. [`PinError::Bound`] if other code has changed the thread's mask
/// since the first pin, or since [`record_mask`]. In all cases the thread continues as before.
///
/// # Cost
///
/// Three system calls; the thread has moved when this function returns.
pub fn pin_current_thread(cpus: &CpuSet) -> Result<Pinned, PinError> {
    OWN.with_borrow_mut(|own| {
        let fail = |error| PinError::new(cpus, error);
        let mut before = own.look().map_err(fail)?.ok_or(PinError::Bound)?;
        if let OwnMask::Ours { requested, .. } = own {
            // A cpuset that is narrower at this moment does not narrow the thread for good.
            before = before.union(requested);
        }
        let outermost = !own.set(cpus, true).map_err(fail)?;
        Ok(Pinned { before, outermost, _of_this_thread: PhantomData })
    })
}

impl Pinned {
    /// Moves the thread to other CPUs; a drop still restores the same mask.
    ///
    /// # Errors
    ///
    /// As [`pin_current_thread`]; the thread then stays on its CPUs.
    pub fn move_to(&mut self, cpus: &CpuSet) -> Result<(), PinError> {
        OWN.with_borrow_mut(|own| {
            let fail = |error| PinError::new(cpus, error);
            own.look().map_err(fail)?.ok_or(PinError::Bound)?;
            own.set(cpus, true).map(drop).map_err(fail)
        })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // During the thread's destruction no code uses its mask any more.
        let _ = OWN.try_with(|own| {
            let own = &mut *own.borrow_mut();
            if let Ok(Some(_)) = own.look() {
                // Fails only if all those CPUs went offline meanwhile; then the kernel has already
                // chosen others.
                let _ = own.set(&self.before, !self.outermost);
            }
        });
    }
}

/// Lets pins move the calling thread again if other code has bound it. The binding is its mask from
/// before the next pin, so the end of that pin restores the binding. For a request of the program
/// that is newer than the binding; the earlier pins of the thread must have been dropped. Returns
/// whether the thread was bound.
///
/// # Cost
///
/// A system call.
pub fn override_binding() -> bool {
    OWN.with_borrow_mut(|own| {
        if !matches!(own.look(), Ok(None)) {
            return false;
        }
        let Ok(now) = sys::affinity_of(sys::CALLING_THREAD) else { return false };
        *own = OwnMask::new(&now, true);
        true
    })
}

/// Records the calling thread's mask as its own, so that any other mask that the thread has at a
/// later pin is known as a binding. Without this call the first pin does so.
///
/// # Cost
///
/// A system call for a thread that is not bound.
pub fn record_mask() {
    let _ = OWN.with_borrow_mut(OwnMask::look);
}

/// The mask that was last set for the calling thread here, or recorded; `None` for a thread that
/// was not looked at, or is bound.
pub fn recorded_mask() -> Option<CpuSet> {
    OWN.with_borrow(|own| match own {
        OwnMask::Ours { last, .. } => Some(last.clone()),
        OwnMask::Unknown | OwnMask::Bound => None,
    })
}

/// Moves the calling thread to one of `cpus` that its mask contains, and leaves its mask as it is.
/// The thread may be moved away again at any time. A thread is not moved if other code has bound
/// it: if its mask has changed, or was narrower than `allowed` at the first look.
///
/// # Cost
///
/// Four system calls for a thread that is moved, none for one that is known to be bound.
pub fn move_current_thread(cpus: &CpuSet, allowed: &CpuSet) {
    OWN.with_borrow_mut(|own| {
        let is_new = matches!(own, OwnMask::Unknown);
        let Ok(Some(before)) = own.look() else { return };
        if is_new && !allowed.is_subset(&before) {
            *own = OwnMask::Bound;
            return;
        }
        let cpus = cpus.intersection(&before);
        if cpus.is_empty() || sys::set_affinity_of(sys::CALLING_THREAD, &cpus).is_err() {
            return;
        }
        // All these CPUs were in the mask, so the kernel has set exactly them.
        match sys::affinity_of(sys::CALLING_THREAD) {
            // Fails only if all those CPUs went offline meanwhile, as above.
            Ok(now) if now == cpus => drop(sys::set_affinity_of(sys::CALLING_THREAD, &before)),
            _ => *own = OwnMask::Bound,
        }
    });
}

/// The CPUs that the calling thread may use, ignoring pins of this crate.
pub(crate) fn affinity() -> io::Result<CpuSet> {
    OWN.with_borrow(|own| match own {
        OwnMask::Ours { first, is_pinned: true, .. } => Some(first.clone()),
        _ => None,
    })
    .map_or_else(|| sys::affinity_of(sys::CALLING_THREAD), Ok)
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

    /// Whether other code has bound the thread, for which `mask` was set last.
    ///
    /// # Cost
    ///
    /// A system call; if the thread has another mask, also about ten small files.
    pub fn is_bound(self, mask: &CpuSet) -> bool {
        self.affinity()
            .is_some_and(|now| now != *mask && !is_kernels(&now, &[mask], &allowed_by_kernel()))
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

#[cfg(test)]
mod tests {
    //! Blind to: the kernel; `tests/cpuset.rs` checks that.
    use super::*;

    fn cpus(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    /// Catches: a change of a cpuset that is taken for a user's binding, and the reverse.
    #[test]
    fn the_kernels_masks_are_the_allowed_cpus_or_what_they_leave_of_a_requested_mask() {
        // The mask now, the requested one, the one before all pins, the allowed CPUs.
        for (now, requested, first, allowed, is_kernels_own) in [
            // The cpuset lost the pin's CPU, or is wider again, before Linux 6.2.
            ("2-3", "0", "0-3", "2-3", true),
            ("0-3", "0", "0-3", "0-3", true),
            ("0-7", "0", "0-3", "0-7", true),
            // The cpuset lost some of the requested CPUs.
            ("1", "0-1", "0-3", "1-3", true),
            ("1-3", "0-3", "0-3", "1-3", true),
            // The thread was bound before its first pin, and the cpuset lost some of its CPUs.
            ("2", "0", "1-2", "2-3", true),
            // Bindings: within the cpuset, to all that is left but one, and to the other CPUs.
            ("1", "0", "0-3", "0-3", false),
            ("2", "0", "0-3", "2-3", false),
            ("1-3", "0", "0-3", "0-3", false),
            ("0-1", "0", "0-3", "0-3", false),
        ] {
            let masks = [&cpus(requested), &cpus(first)];
            let is = is_kernels(&cpus(now), &masks, &cpus(allowed));
            assert_eq!(is, is_kernels_own, "{now} for {requested} before {first} in {allowed}");
        }
    }
}
