//! `fork`. The only file of this crate with `unsafe`.

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
/// The process has more than one thread, since what the others hold would be held for ever in the copy; or the system has no room for another process.
pub(crate) fn fork() -> io::Result<Side> {
    let tasks = std::fs::read_dir("/proc/self/task")
        .map_err(|error| io::Error::new(error.kind(), format!("cannot read /proc/self/task: {error}")))?;
    if tasks.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot be copied"));
    }
    // SAFETY: this thread is the only one, and no other can start one, so no lock of the C library or the allocator is held by anybody that the child
    // lacks: the child may do whatever this process might have done.
    match unsafe { libc::fork() } {
        -1 => {
            let error = io::Error::last_os_error();
            Err(io::Error::new(error.kind(), format!("no process for the agent: {error}")))
        }
        0 => Ok(Side::Child),
        child => Ok(Side::Parent(child)),
    }
}
