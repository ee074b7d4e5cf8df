//! `fork`, environment and descriptors after it, and the policy for memory. The only file of this
//! crate with `unsafe`.

use std::convert::Infallible;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null_mut;

use sinew_coord::ProcessId;

use crate::descendants::{self, ProcessStat};

/// Word that this process has a single thread. Only a process in which no other thread can be
/// started meanwhile keeps it.
#[derive(Debug)]
pub(crate) struct SingleThreaded(());

/// This process, and word that it has a single thread.
///
/// # Errors
///
/// It has more; or the system does not tell, or shows the processes of another namespace: there
/// the watchdog's number leads to another process's files.
pub(crate) fn this_process() -> io::Result<(ProcessId, SingleThreaded)> {
    let fail = |error: io::Error| io::Error::new(error.kind(), format!("no /proc/self: {error}"));
    let ProcessStat { pid, threads, start_ticks } = descendants::own_stat().map_err(fail)?;
    if pid != std::process::id() {
        let why = "/proc shows the processes of another namespace (see unshare --mount-proc)";
        return Err(io::Error::other(why));
    }
    if threads != 1 {
        return Err(io::Error::other("a process with several threads cannot be copied"));
    }
    Ok((ProcessId { pid, started: start_ticks }, SingleThreaded(())))
}

/// Which process one is after [`fork`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Child,
    /// With the child's number.
    Parent(i32),
}

/// Makes a copy of this process, which has the word, too.
///
/// # Errors
///
/// The system has no room for another process.
pub(crate) fn fork(_: &SingleThreaded) -> io::Result<Side> {
    // SAFETY: this thread is the only one, so no lock of the C library or the allocator is held by
    // a thread that the child lacks: the child may do whatever this process might have done.
    match unsafe { libc::fork() } {
        -1 => Err(no_process(&io::Error::last_os_error())),
        0 => Ok(Side::Child),
        child => Ok(Side::Parent(child)),
    }
}

fn no_process(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no process for the share agent: {error}"))
}

/// The stack of the process in between, of which its own child keeps a copy for all its life.
const STACK_WORDS: usize = (1 << 20) / size_of::<StackWord>();
type StackWord = u128;

/// Shared by the process in between and its parent.
struct Intermediate<T, L> {
    held: Option<T>,
    body: Option<L>,
    made: io::Result<i32>,
    /// The signals that are blocked for the copy.
    blocked: Option<libc::sigset_t>,
}

/// Runs `body` in a copy of this process that is no child of it and has left its job and terminal,
/// and returns the copy's number. A
/// child of this process makes the copy and ends at once. That child shares this process's memory,
/// and this process stands still until the child has ended, so nothing is copied for the child.
/// Both this process and the copy have what is `held` afterwards.
///
/// Signals wait until the copy has left the job: a copy that a key of the terminal stopped on its
/// way out would stay stopped, as what continues the job does not reach it any more.
///
/// Source: `posix_spawn` of the C libraries starts its programs so.
///
/// # Errors
///
/// The system has no room for another process.
pub(crate) fn fork_apart<T, L>(_: &SingleThreaded, held: T, body: L) -> io::Result<(u32, T)>
where
    L: FnOnce(SingleThreaded, T) -> Infallible,
{
    let mut stack: Vec<StackWord> = Vec::new();
    stack
        .try_reserve_exact(STACK_WORDS)
        .map_err(|_| no_process(&io::ErrorKind::OutOfMemory.into()))?;
    let blocked = block_signals();
    let mut intermediate =
        Intermediate { held: Some(held), body: Some(body), made: Ok(0), blocked };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child runs on a stack of its own, which is longer lived than it and aligned for
    // any stack. This process stands still until the child has ended (`CLONE_VFORK`), so nothing
    // is accessed by both at a time. This thread is the only one, so no lock is held.
    let child = unsafe {
        let top = stack.as_mut_ptr().add(STACK_WORDS);
        libc::clone(make_copy::<T, L>, top.cast(), flags, (&raw mut intermediate).cast())
    };
    // Taken before the signals, whose handlers may change it.
    let error = io::Error::last_os_error();
    unblock_signals(blocked);
    if child == -1 {
        return Err(no_process(&error));
    }
    // SAFETY: takes numbers and no address; the child has ended.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    // The child has taken nothing: what it did after the copy is in the copy.
    match (intermediate.made.map_err(|error| no_process(&error))?, intermediate.held) {
        (copy @ 1.., Some(held)) => Ok((copy.cast_unsigned(), held)),
        _ => Err(no_process(&io::ErrorKind::Interrupted.into())),
    }
}

/// The life of the process in between.
extern "C" fn make_copy<T, L>(intermediate: *mut c_void) -> c_int
where
    L: FnOnce(SingleThreaded, T) -> Infallible,
{
    // SAFETY: it is the parent's, which stands still until this process has ended.
    let intermediate = unsafe { &mut *intermediate.cast::<Intermediate<T, L>>() };
    // The copy of a child leads no group, so nothing speaks against a session of its own.
    let _ = rustix::process::setsid();
    // SAFETY: as in `fork`; what the C library changes in the shared memory meanwhile it changes
    // back, as for any fork.
    match unsafe { libc::fork() } {
        -1 => intermediate.made = Err(io::Error::last_os_error()),
        // The copy has a copy of the memory, and of the stack that it runs on: both are its own.
        0 => {
            unblock_signals(intermediate.blocked);
            let both = intermediate.body.take().zip(intermediate.held.take());
            let _ = both.map(|(body, held)| body(SingleThreaded(()), held));
        }
        copy => intermediate.made = Ok(copy),
    }
    0
}

/// Blocks all signals; returns those that were blocked before.
fn block_signals() -> Option<libc::sigset_t> {
    // SAFETY: sets of signals are plain numbers, for which zeroes are a value.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: it writes the set, which this function owns.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: the kernel reads one set and writes the other during the call.
    let result = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) };
    (result == 0).then_some(before)
}

/// Blocks the signals that [`block_signals`] has returned, and no others.
fn unblock_signals(before: Option<libc::sigset_t>) {
    if let Some(before) = before {
        // SAFETY: the kernel reads the set, which it has written itself, during the call.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut()) };
    }
}

/// Has this process end at once when there is no more memory. With the variables set, Rust's
/// runtime first prints where that was: that takes memory, and it waits for itself when there is
/// none.
///
/// The calling process is a copy that [`fork`] has made, and has one thread.
pub(crate) fn disable_backtraces() {
    for name in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        // SAFETY: the process has one thread, so nobody reads the environment meanwhile.
        unsafe { std::env::remove_var(name) };
    }
}

/// Closes all that this process has inherited from the program that started it, except for the
/// three streams: a lock or the end of a pipe that the command has is the command's alone.
///
/// Only what is not closed when a program starts another one can be inherited so, and all files
/// that this program opens are. The calling process is a copy that [`fork`] has made.
pub(crate) fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // All of them first: the list itself is a file.
    let numbers: Vec<libc::c_int> = numbers.collect();
    for number in numbers.into_iter().filter(|&number| number > libc::STDERR_FILENO) {
        // SAFETY: takes a number and touches no memory of ours.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: no value of this program owns the descriptor: it was inherited, as its flag
            // shows.
            unsafe { libc::close(number) };
        }
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

    /// Catches: a copy that is a child, so that the command has one that it did not start; a
    /// process in between that is left to be waited for; and shared memory that the copy changes.
    #[test]
    fn a_copy_is_no_child_and_has_what_is_held() {
        use std::io::{Read, Write};
        let program = std::env::current_exe().expect("the test itself");
        let name = "sys::tests::a_copy_is_no_child_and_has_what_is_held";
        // The test's threads must not be there.
        if std::env::var_os("SINEW_TEST_COPY").is_none() {
            let mut command = std::process::Command::new("sh");
            let test = format!("exec {program:?} {name} --exact --nocapture --test-threads=1");
            command.args(["-c", &test]).env("SINEW_TEST_COPY", "1");
            assert!(command.status().unwrap().success());
            return;
        }
        let (mut answer, report) = io::pipe().unwrap();
        let mut number = 1;
        let (copy, (report, text)) = fork_apart(
            &SingleThreaded(()),
            (report, "held".to_owned()),
            |_, (mut report, text)| {
                number += 1;
                let own = std::process::id();
                let _ = write!(report, "{own} {number} {text}");
                std::process::exit(0)
            },
        )
        .unwrap();
        drop(report);
        let mut said = String::new();
        answer.read_to_string(&mut said).unwrap();
        assert_eq!((said, number), (format!("{copy} 2 {text}"), 1));
        // SAFETY: takes numbers and no address.
        let child = unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
        let none = io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD);
        assert!(child == -1 && none, "no child is left, and the copy is none: {child}");
    }

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
