//! The asymmetric pair of fences for a store-then-load handshake.
//!
//! One side of the handshake (the owner of a task stack) runs millions of times a second, the other
//! (a thief) rarely. Between its store and its load the frequent side executes [`light`], which is
//! no instruction at all. The rare side executes [`heavy`], which makes every core that runs this
//! process pass a full barrier (`membarrier(2)`). Together they give the guarantee of a
//! `fence(SeqCst)` on both sides: at least one side sees the other's store.
//!
//! # Orderings
//!
//! *light ↔ heavy.* Let the owner do `x = 1; light; read y` and the thief `y = 1; heavy; read x`.
//! The kernel's barrier hits the owner's core at one point of its program. If that point is after
//! `x = 1`, the store has drained before the thief continues, so the thief reads 1. If it is
//! before, then `read y` comes after it, and the thief's `y = 1`, which precedes its call, is
//! visible: the owner reads 1. `light` keeps the compiler from moving the load above the store.
//!
//! Where [`is_asymmetric`] is false (other systems, a seccomp filter, not registered yet) `light`
//! is not enough, and the frequent side must execute a real `fence(SeqCst)`. `heavy` is then the
//! same fence. Models use it on both sides.
//!
//! # Cost
//!
//! `light`: nothing. `heavy`: 5 to 10 µs if another core runs this process. [`register`]: about 15
//! ms once the process has a second thread, very little before.

use crate::atomic::{Ordering, fence};

/// The frequent side's fence: a fence for the compiler only.
#[inline(always)]
pub fn light() {
    #[cfg(any(loom, shuttle))]
    if !crate::plant::planted(crate::plant::Bug::NoLightFence) {
        fence(Ordering::SeqCst);
    }
    #[cfg(not(any(loom, shuttle)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The rare side's fence.
#[inline]
pub fn heavy() {
    fence(Ordering::SeqCst);
    imp::barrier();
    fence(Ordering::SeqCst);
}

/// Whether [`light`] is enough on the frequent side. Once true, it stays true until a fork.
#[inline]
pub fn is_asymmetric() -> bool {
    imp::registered()
}

/// Registers the process for the heavy fence with the kernel. Returns [`is_asymmetric`]. May take
/// 15 ms, so call it when no thread waits.
pub fn register() -> bool {
    imp::register()
}

/// Forgets the registration, in a forked child. It is only a store, so it may be called between
/// `fork` and `exec`.
pub fn forget() {
    imp::forget();
}

/// Whether [`register`] would be quick now: the process has no second thread yet.
pub fn register_is_quick() -> bool {
    imp::single_threaded()
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
mod imp {
    use std::sync::atomic::{AtomicU8, Ordering};

    const UNKNOWN: u8 = 0;
    const REGISTERED: u8 = 1;
    const REFUSED: u8 = 2;
    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    fn membarrier(command: libc::c_int) -> libc::c_long {
        // SAFETY: membarrier takes three integers and touches no memory of ours; for an unknown
        // command it returns an error.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }

    pub(super) fn barrier() {
        if registered() {
            let result = membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
            // The command cannot fail once registered. If a filter was installed since, owners that
            // run without fences would be wrong from here on, so the program must not continue.
            assert!(
                result == 0,
                "membarrier(2) was registered and is now refused; set SINEW_FENCES=full"
            );
        }
    }

    #[inline]
    pub(super) fn registered() -> bool {
        // Acquire: pairs with Release in `register`. The reader needs nothing that the registering
        // thread wrote, but a reader that sees REGISTERED must also find the kernel ready. The
        // kernel's part happens before the store.
        STATE.load(Ordering::Acquire) == REGISTERED
    }

    pub(super) fn register() -> bool {
        if STATE.load(Ordering::Acquire) == UNKNOWN {
            let supported = membarrier(libc::MEMBARRIER_CMD_QUERY);
            let wanted = libc::c_long::from(
                libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED
                    | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
            );
            let ready = supported >= 0
                && supported & wanted == wanted
                && membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
            STATE.store(if ready { REGISTERED } else { REFUSED }, Ordering::Release);
        }
        registered()
    }

    pub(super) fn forget() {
        STATE.store(UNKNOWN, Ordering::Release);
    }

    pub(super) fn single_threaded() -> bool {
        // The link count of a directory is 2 plus its sub-directories: here, the threads.
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self/task").is_ok_and(|task| task.nlink() == 3)
    }
}

#[cfg(any(not(target_os = "linux"), loom, shuttle))]
mod imp {
    pub(super) fn barrier() {}

    /// In a model both sides execute `fence(SeqCst)`, which has the effect of the pair.
    #[inline]
    pub(super) fn registered() -> bool {
        cfg!(any(loom, shuttle))
    }

    pub(super) fn register() -> bool {
        registered()
    }

    pub(super) fn forget() {}

    pub(super) fn single_threaded() -> bool {
        true
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    /// Catches: a `register` that reports success although the kernel refused (the barrier asserts
    /// it).
    #[test]
    fn a_registered_barrier_can_be_executed() {
        let registered = super::register();
        assert_eq!(registered, super::is_asymmetric());
        super::heavy();
    }
}
