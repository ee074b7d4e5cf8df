//! `fork`, the environment after it, and the policy for memory. The only file of this crate with
//! `unsafe`.

use std::io;

/// Which process one is after [`fork`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Child,
    /// With the child's number.
    Parent(i32),
}

/// Makes a copy of this process.
///
/// # Errors
///
/// The process has more than one thread, since what the others hold would be held for ever in the
/// copy; or the system has no room for another process.
pub(crate) fn fork() -> io::Result<Side> {
    let tasks = std::fs::read_dir("/proc/self/task").map_err(|error| {
        io::Error::new(error.kind(), format!("cannot read /proc/self/task: {error}"))
    })?;
    if tasks.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot be copied"));
    }
    // SAFETY: this thread is the only one, and no other can start one, so no lock of the C library
    // or the allocator is held by anybody that the child lacks: the child may do whatever this
    // process might have done.
    match unsafe { libc::fork() } {
        -1 => {
            let error = io::Error::last_os_error();
            Err(io::Error::new(error.kind(), format!("no process for the agent: {error}")))
        }
        0 => Ok(Side::Child),
        child => Ok(Side::Parent(child)),
    }
}

/// Has this process end at once when there is no more memory. With the variables set, Rust's
/// runtime first prints where that was: that takes memory, and it waits for itself when there is
/// none.
///
/// The calling process is a copy that [`fork`] has made, and has one thread.
pub(crate) fn forget_backtraces() {
    for name in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        // SAFETY: the process has one thread, so nobody reads the environment meanwhile.
        unsafe { std::env::remove_var(name) };
    }
}

/// Policies for memory, as the kernel numbers them.
const DEFAULT: libc::c_int = 0;
const PREFERRED: libc::c_int = 1;
const LOCAL: libc::c_int = 4;

/// A set of nodes, with room for as many as any kernel has.
type Nodes = [libc::c_ulong; 64];

/// Whether this thread's memory is bound to nodes, or spread over them: its policy is neither the
/// system's default nor "near the processor".
pub(crate) fn binds_memory() -> bool {
    let (mut policy, mut nodes): (libc::c_int, Nodes) = (DEFAULT, [0; 64]);
    let (bits, none) = (8 * size_of::<Nodes>() as libc::c_ulong, 0 as libc::c_ulong);
    let places = (&raw mut policy, &raw mut nodes);
    // SAFETY: the kernel writes the policy and at most `bits` bits of nodes to these places, during
    // the call.
    let answer =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, places.0, places.1, bits, none, none) };
    // A kernel without nodes does not know the call; one before Linux 5.14 calls LOCAL a preference
    // for no node.
    let is_local = policy == LOCAL || policy == PREFERRED && nodes == [0; 64];
    answer == 0 && policy != DEFAULT && !is_local
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_policy(policy: libc::c_int, nodes: &Nodes) -> bool {
        let bits = 8 * size_of::<Nodes>() as libc::c_ulong;
        // SAFETY: the kernel reads at most `bits` bits of the set during the call; memory that
        // exists stays where it is.
        unsafe { libc::syscall(libc::SYS_set_mempolicy, policy, nodes.as_ptr(), bits) == 0 }
    }

    /// Catches: a binding by `numactl` that is passed over, and local memory that is taken for one.
    #[test]
    fn memory_that_is_bound_to_a_node_is_noticed() {
        const BIND: libc::c_int = 2;
        let (nowhere, mut first): (Nodes, Nodes) = ([0; 64], [0; 64]);
        first[0] = 1;
        // The policy is the thread's.
        std::thread::spawn(move || {
            if !set_policy(LOCAL, &nowhere) {
                println!("skipped: this system has no policies for memory");
                return;
            }
            assert!(!binds_memory());
            assert!(set_policy(BIND, &first) && binds_memory());
            assert!(set_policy(PREFERRED, &first) && binds_memory());
            assert!(set_policy(PREFERRED, &nowhere) && !binds_memory());
            assert!(set_policy(DEFAULT, &nowhere) && !binds_memory());
        })
        .join()
        .unwrap();
    }
}
