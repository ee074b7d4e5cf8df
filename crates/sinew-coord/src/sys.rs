#![allow(unsafe_code)]
//! The system calls: files opened without following links, a shared mapping, futexes, pidfds. With
//! `sigbus`, the only file of this crate with `unsafe`.
//!
//! The other files see safe values only. A mapping is a slice of atomic words, whatever other
//! processes write into it.
//!
//! A file may be truncated while it is mapped, holes may be punched into it, and the file system
//! may fail to write its blocks. In all three cases `sigbus` keeps the process alive, and
//! [`Mapping::is_whole`] returns `false`.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::Once;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::{Pid, PidfdFlags, Resource, pidfd_open};
use rustix::thread::futex;
use rustix::time::{ClockId, clock_gettime};

use crate::sigbus::RegisteredMapping;
use sinew_sync::statics::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The effective user of this process.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// This process's soft limit on real-time computing, in microseconds; `None` if it has none.
pub(crate) fn real_time_limit() -> Option<u64> {
    rustix::process::getrlimit(Resource::Rttime).current
}

/// Opens a folder, and fails if the path is a link.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Opens a file of this name in `folder`, and follows no link. With `make`, it creates the file for
/// its owner alone if it does not exist.
pub(crate) fn open_in(folder: &File, name: &str, make: bool) -> io::Result<File> {
    let create = if make { OFlags::CREATE } else { OFlags::empty() };
    let flags = OFlags::RDWR | create | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Reserves the blocks of the first `bytes` of a file, and extends the file to that length if it is
/// shorter. Returns `false` if the file system cannot reserve blocks for a file; then
/// [`Mapping::populate`] does it for a mapping.
///
/// # Errors
///
/// The file system has no room, or the file would be longer than this process's files may be.
/// Asking the kernel for such a file would end the process.
pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<bool> {
    let about = file.metadata()?;
    if about.len() >= bytes && about.blocks() * 512 >= bytes {
        return Ok(true);
    }
    if about.len() < bytes && longest_file().is_some_and(|longest| bytes > longest) {
        return Err(io::Error::other(
            "it is longer than the limit on file sizes (ulimit -f) allows",
        ));
    }
    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, bytes)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The limit on the sizes of files that this process may write; `None` without a limit.
fn longest_file() -> Option<u64> {
    rustix::process::getrlimit(Resource::Fsize).current
}

/// Opens the same file once more, whatever its name is now.
fn open_again(file: &File) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A mapped file, shared with all processes that map it.
///
/// The mapping is made from a second open file. A mapping keeps its open file alive, and a forked
/// child has the mapping until it ends. The lock belongs to the first open file, which the child
/// closes.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
    /// Unregistered before the mapping is removed.
    watched: RegisteredMapping,
    file: Shared,
}

// SAFETY: it owns its range of addresses, and the range holds atomic words.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `words` words of a file that is at least that long.
    pub(crate) fn new(file: File, words: usize) -> io::Result<Self> {
        let bytes = words * size_of::<u64>();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // If this fails, waiting programs still find out about a child of a program that died with
        // the lock.
        let again = open_again(&file).ok();
        let fd = again.as_ref().unwrap_or(&file);
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start =
            unsafe { rustix::mm::mmap(null_mut(), bytes, access, MapFlags::SHARED, fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(ErrorKind::OutOfMemory)?;
        let watched = RegisteredMapping::new(start.cast(), bytes);
        Ok(Self { start, words, watched, file: Shared::new(file) })
    }

    /// The words.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the range is mapped, readable and writable, until this is dropped. Pages are
        // aligned for words, and any bit pattern is a value of an atomic word. All other writes
        // come from outside of this program or go through atomics.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    /// The file.
    pub(crate) fn file(&self) -> &File {
        self.file.get()
    }

    /// Has the kernel allocate a block for every page now, as if each had been written to. No word
    /// changes.
    ///
    /// # Errors
    ///
    /// The file system has no room, or the kernel is older than Linux 5.14.
    pub(crate) fn populate(&self) -> io::Result<()> {
        let bytes = self.words * size_of::<u64>();
        // SAFETY: the range is this mapping's. The call writes no byte of it, and returns an error
        // where a store would end the process.
        unsafe {
            rustix::mm::madvise(self.start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite)
        }?;
        Ok(())
    }

    /// Whether the file is as long as the mapping, and no page of it was ever lost.
    pub(crate) fn is_whole(&self) -> bool {
        if self.watched.is_lost() {
            return false;
        }
        let bytes = (self.words * size_of::<u64>()) as u64;
        self.file().metadata().is_ok_and(|file| file.len() >= bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.watched.end();
        // SAFETY: the mapping is this value's, and the borrows of its words have ended.
        let _ = unsafe {
            rustix::mm::munmap(self.start.as_ptr().cast(), self.words * size_of::<u64>())
        };
    }
}

/// Sleeps while the lower half of `word` is `seen`, for at most `ms` milliseconds. May return
/// early.
pub(crate) fn wait(word: &AtomicU64, seen: u32, ms: u64) {
    // Woken, interrupted, too late or another value: the caller looks again.
    let _ = futex::wait(half_of(word), futex::Flags::empty(), seen, Some(&milliseconds(ms)));
}

/// Wakes all threads, of any process, that sleep on `word`.
pub(crate) fn wake(word: &AtomicU64) {
    // Fails for no address of a mapping.
    let _ = futex::wake(half_of(word), futex::Flags::empty(), i32::MAX.cast_unsigned());
}

/// The lower half, because futexes have 32 bits.
fn half_of(word: &AtomicU64) -> &AtomicU32 {
    let half = word.as_ptr().cast::<u32>().wrapping_add(usize::from(cfg!(target_endian = "big")));
    // SAFETY: the half is part of `word`, is aligned, and lives as long. The two users above pass
    // its address to the kernel, so this program makes no access of half a word.
    unsafe { AtomicU32::from_ptr(half) }
}

fn milliseconds(ms: u64) -> Timespec {
    Timespec { tv_sec: (ms / 1000).cast_signed(), tv_nsec: (ms % 1000 * 1_000_000).cast_signed() }
}

/// A process to wait for. It stays the same process even if its number is used again.
#[derive(Debug)]
pub(crate) struct PidFd(OwnedFd);

impl PidFd {
    /// Opens the process of this number. `NotFound` if it does not exist.
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        match pidfd_open(number(pid).ok_or(ErrorKind::InvalidInput)?, PidfdFlags::empty()) {
            Ok(fd) => Ok(Self(fd)),
            Err(Errno::SRCH) => Err(ErrorKind::NotFound.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the process has ended, even if its parent has not waited for it yet.
    pub(crate) fn has_ended(&self) -> bool {
        first_ready(&[self], None, 0) == Some(Ready::Ended(0))
    }
}

/// Whether a process of this number exists, running or ended and not yet waited for. Needs no file
/// and no `/proc`.
pub(crate) fn exists(pid: u32) -> bool {
    number(pid).is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// The number of one process. 0 stands for groups of them in system calls.
fn number(pid: u32) -> Option<Pid> {
    pid.try_into().ok().and_then(Pid::from_raw)
}

/// The event that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The process with this index has ended.
    Ended(usize),
    /// The eventfd was signalled.
    Interrupted,
}

/// Waits until one of the processes has ended or the eventfd is signalled; `None` after `ms`
/// milliseconds.
pub(crate) fn first_ready(
    processes: &[&PidFd],
    interrupt: Option<&EventFd>,
    ms: i32,
) -> Option<Ready> {
    let fds = processes.iter().map(|process| process.0.as_fd());
    let fds = fds.chain(interrupt.map(|interrupt| interrupt.0.as_fd()));
    let mut fds: Vec<PollFd<'_>> =
        fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    // A negative time is none.
    let time = ms.try_into().ok().map(milliseconds);
    // An interrupted wait has no events.
    let _ = poll(&mut fds, time.as_ref());
    let at = fds.iter().position(|fd| !fd.revents().is_empty())?;
    Some(if at < processes.len() { Ready::Ended(at) } else { Ready::Interrupted })
}

/// An eventfd that interrupts a thread of this process in [`first_ready`].
#[derive(Debug)]
pub(crate) struct EventFd(OwnedFd);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn signal(&self) {
        // Fails if the counter is full: then it is signalled already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Clears all signals so far.
    pub(crate) fn clear(&self) {
        // Fails if there is no signal.
        let _ = rustix::io::read(&self.0, &mut [0; size_of::<u64>()]);
    }
}

/// Nanoseconds of the clock that all processes share.
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Registers `handler` to be called when the process exits normally. By libc: it is no system call.
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handler is a plain function. If the system has no room for it, it is not called.
    unsafe { libc::atexit(handler) };
}

/// Files that a forked child must close. Else their locks would outlive this process.
static SHARED: [AtomicI32; 32] = [const { AtomicI32::new(-1) }; 32];
static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    // Only stores and system calls: a thread of the parent may have held any lock.
    GENERATION.fetch_add(1, Ordering::Relaxed);
    for place in &SHARED {
        let fd = place.swap(-1, Ordering::Relaxed);
        if fd >= 0 {
            // SAFETY: the descriptor is the `File` of a `Shared`, which forgets it in a child.
            unsafe { rustix::io::close(fd) };
        }
    }
}

/// The number of forks between this process and the one that called this first.
pub(crate) fn generation() -> u32 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the handler is a plain function, and does nothing that is forbidden between fork
        // and exec.
        // By libc: it is no system call.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    // Relaxed: it changes only while the process has one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// A file that a forked child closes.
#[derive(Debug)]
struct Shared {
    file: Option<File>,
    generation: u32,
}

impl Shared {
    fn new(file: File) -> Self {
        let (generation, fd) = (generation(), file.as_raw_fd());
        for place in &SHARED {
            // Relaxed: only a forked child reads it, and that child has one thread.
            if place.compare_exchange(-1, fd, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                break;
            }
        }
        Self { file: Some(file), generation }
    }

    fn get(&self) -> &File {
        self.file.as_ref().expect("the file is open until this is dropped")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        if self.generation != generation() {
            // The handler has closed this descriptor number, and another file may have it by now.
            std::mem::forget(file);
            return;
        }
        let fd = file.as_raw_fd();
        for place in &SHARED {
            // Relaxed: as above.
            let _ = place.compare_exchange(fd, -1, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
