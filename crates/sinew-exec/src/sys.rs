//! `fork`, environment and descriptors after it, limits of processes, memory policies, and waking
//! threads that wait for a word of a file. The only file of this crate with `unsafe`.

use std::convert::Infallible;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use sinew_coord::ProcessId;

use crate::descendants::{self, ProcessStat};

/// Proof that this process has a single thread. It stays valid only in a process in which no other
/// thread can be started meanwhile.
#[derive(Debug)]
pub(crate) struct SingleThreaded(());

/// This process, and the proof that it has a single thread.
///
/// # Errors
///
/// It has several threads, or the system does not tell, or `/proc` shows the processes of another
/// namespace. In such a `/proc` the watchdog's number leads to another process's files.
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

/// The two sides of a [`fork`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Child,
    /// With the child's number.
    Parent(i32),
}

/// Makes a copy of this process, which has a single thread, too.
///
/// # Errors
///
/// The system has no room for another process.
pub(crate) fn fork(_: &SingleThreaded) -> io::Result<Side> {
    // SAFETY: this thread is the only one. So no thread that the child lacks holds a lock of the C
    // library or the allocator: the child may do whatever this process might have done.
    match unsafe { libc::fork() } {
        -1 => Err(no_process(&io::Error::last_os_error())),
        0 => Ok(Side::Child),
        child => Ok(Side::Parent(child)),
    }
}

fn no_process(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("no process for the share agent: {error}"))
}

/// The stack of the intermediate process. The copy keeps a copy of it for all its life.
const STACK_WORDS: usize = (1 << 20) / size_of::<StackWord>();
type StackWord = u128;

/// Memory shared by the intermediate process and its parent.
struct Intermediate<T, L> {
    held: Option<T>,
    body: Option<L>,
    made: io::Result<i32>,
    /// The signals that are blocked for the copy.
    blocked: Option<libc::sigset_t>,
}

/// Runs `body` in a copy of this process, and returns the copy's number. The copy is no child of
/// this process, and has left its job and terminal. Both this process and the copy have the value
/// `held` afterwards.
///
/// A child of this process makes the copy and ends at once. The child shares this process's memory,
/// and this process is suspended until the child has ended. So nothing is copied for the child.
///
/// Signals stay blocked until the copy has left the job. A key of the terminal might else stop the
/// copy before that, and it would stay stopped: continuing the job does not reach it any more.
///
/// Source: `posix_spawn` of the C libraries starts programs in this way.
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
    // SAFETY: the child runs on a stack of its own, which outlives it and is aligned for any stack.
    // This process is suspended until the child has ended (`CLONE_VFORK`), so they never access
    // memory at the same time. This thread is the only one, so no lock is held.
    let child = unsafe {
        let top = stack.as_mut_ptr().add(STACK_WORDS);
        libc::clone(make_copy::<T, L>, top.cast(), flags, (&raw mut intermediate).cast())
    };
    // Read before signals are unblocked, because their handlers may change it.
    let error = io::Error::last_os_error();
    unblock_signals(blocked);
    if child == -1 {
        return Err(no_process(&error));
    }
    // SAFETY: takes numbers and no address; the child has ended.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    // The child has taken nothing: its later actions are in the copy.
    match (intermediate.made.map_err(|error| no_process(&error))?, intermediate.held) {
        (copy @ 1.., Some(held)) => Ok((copy.cast_unsigned(), held)),
        _ => Err(no_process(&io::ErrorKind::Interrupted.into())),
    }
}

/// The body of the intermediate process.
extern "C" fn make_copy<T, L>(intermediate: *mut c_void) -> c_int
where
    L: FnOnce(SingleThreaded, T) -> Infallible,
{
    // SAFETY: it is the parent's, which is suspended until this process has ended.
    let intermediate = unsafe { &mut *intermediate.cast::<Intermediate<T, L>>() };
    // The copy of a child leads no group, so it can have a session of its own.
    let _ = rustix::process::setsid();
    // SAFETY: as in `fork`. Whatever the C library changes in the shared memory meanwhile, it
    // changes back, as for any fork.
    match unsafe { libc::fork() } {
        -1 => intermediate.made = Err(io::Error::last_os_error()),
        // The copy has its own copy of the memory, and of the stack that it runs on.
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

/// Blocks exactly the signals that [`block_signals`] has returned.
fn unblock_signals(before: Option<libc::sigset_t>) {
    if let Some(before) = before {
        // SAFETY: the kernel reads the set, which it has written itself, during the call.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut()) };
    }
}

/// Makes this process end at once when memory runs out. With these variables set, Rust's runtime
/// first prints a backtrace. The print needs memory, and without any it waits for itself.
///
/// The calling process is a copy that [`fork`] has made, and has one thread.
pub(crate) fn disable_backtraces() {
    for name in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        // SAFETY: the process has one thread, so no other thread reads the environment meanwhile.
        unsafe { std::env::remove_var(name) };
    }
}

/// Closes all files that this process has inherited from the program that started it, except for
/// the three streams. Locks and pipe ends of the command belong to the command alone.
///
/// Only files without the close-on-exec flag are inherited, and this program opens all its files
/// with the flag. The calling process is a copy that [`fork`] has made.
pub(crate) fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // All numbers are read first, because the list itself is an open file.
    let numbers: Vec<libc::c_int> = numbers.collect();
    for number in numbers.into_iter().filter(|&number| number > libc::STDERR_FILENO) {
        // SAFETY: takes a number and touches no memory of ours.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: no value of this program owns the descriptor: its flag shows that it was
            // inherited.
            unsafe { libc::close(number) };
        }
    }
}

/// The address of a file's first bytes in this process. It is only for [`WakeAddress::wake`]: the
/// bytes are never accessed through it, so a file that is cut short does no harm.
#[derive(Debug)]
pub(crate) struct WakeAddress {
    start: usize,
    bytes: usize,
}

impl WakeAddress {
    /// For the first `bytes` of a file.
    ///
    /// # Errors
    ///
    /// The system has no room in this process.
    pub(crate) fn new(file: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let (access, kind) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start as usize, bytes })
    }

    /// Wakes all threads, of any process, that wait for the word at byte `at` of the file.
    pub(crate) fn wake(&self, at: usize) {
        let (word, all) = (self.start + at, libc::c_int::MAX);
        // SAFETY: the kernel finds the sleeping threads by this address and accesses no memory. It
        // refuses an address that is none.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, all) };
    }
}

impl Drop for WakeAddress {
    fn drop(&mut self) {
        // SAFETY: `new` made this mapping, and only `wake` uses it.
        unsafe { libc::munmap(self.start as *mut c_void, self.bytes) };
    }
}

/// A process's soft limit on real-time computing, in microseconds; `None` if it has ended, or is
/// another user's.
pub(crate) fn real_time_limit(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads no new limit, and writes the present one to `limit`.
    let result =
        unsafe { libc::prlimit64(pid, libc::RLIMIT_RTTIME, std::ptr::null(), &raw mut limit) };
    (result == 0).then_some(limit.rlim_cur)
}

/// The kernel's numbers for memory policies.
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
    // SAFETY: the kernel writes the policy and at most `bits` bits of nodes to these variables,
    // during the call.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, places.0, places.1, bits, none, none) };
    // A kernel without nodes does not have the call. Before Linux 5.14, LOCAL is a preference for
    // no node.
    let is_local = policy == LOCAL || policy == PREFERRED && nodes == [0; 64];
    result == 0 && policy != DEFAULT && !is_local
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a copy that is a child, which the command did not start; an intermediate process
    /// that is not waited for; and shared memory that the copy changes.
    #[test]
    fn a_copy_is_no_child_and_has_what_is_held() {
        use std::io::{Read, Write};
        let program = std::env::current_exe().expect("the test itself");
        let name = "sys::tests::a_copy_is_no_child_and_has_what_is_held";
        // The test must run in a process without other threads.
        if std::env::var_os("SINEW_TEST_COPY").is_none() {
            let mut command = std::process::Command::new("sh");
            let test = format!("exec {program:?} {name} --exact --nocapture --test-threads=1");
            command.args(["-c", &test]).env("SINEW_TEST_COPY", "1");
            assert!(command.status().unwrap().success());
            return;
        }
        let (mut reader, report) = io::pipe().unwrap();
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
        reader.read_to_string(&mut said).unwrap();
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

    /// Catches: a binding by `numactl` that is missed, and local memory that counts as bound.
    #[test]
    fn memory_that_is_bound_to_a_node_is_noticed() {
        const BIND: libc::c_int = 2;
        let (nowhere, mut first): (Nodes, Nodes) = ([0; 64], [0; 64]);
        first[0] = 1;
        // The policy belongs to the thread.
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
