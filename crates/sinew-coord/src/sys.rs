#![allow(unsafe_code)]
//! The system calls: files opened without following links, a shared mapping, record locks, futexes,
//! pidfds. With `sigbus`, the only file of this crate with `unsafe`.
//!
//! The other files see safe values only. A mapping is a slice of atomic words, whatever other
//! processes write into it. Taking a lock is a try that returns at once.
//!
//! A file may be truncated while it is mapped, holes may be punched into it, and the file system
//! may fail to write its blocks. In all three cases `sigbus` keeps the process alive, and
//! [`Mapping::is_whole`] returns `false`.

use std::ffi::{CString, c_int, c_long, c_short};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Once;

use crate::sigbus::RegisteredMapping;
use sinew_sync::statics::{AtomicI32, AtomicU32, AtomicU64, Ordering};

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| ErrorKind::InvalidInput.into())
}

/// The effective user of this process.
pub(crate) fn user() -> u32 {
    // SAFETY: takes no argument and touches no memory of ours.
    unsafe { libc::geteuid() }
}

/// Opens a folder, and fails if the path is a link.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    let path = text(path)?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the path is a C string that outlives the call.
    let fd = checked(unsafe { libc::open(path.as_ptr(), flags) })?;
    // SAFETY: the descriptor is new, and no other value owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Opens a file of this name in `folder`, and follows no link. With `make`, it creates the file for
/// its owner alone if it does not exist.
pub(crate) fn open_in(folder: &File, name: &str, make: bool) -> io::Result<File> {
    let name = CString::new(name).map_err(|_| ErrorKind::InvalidInput)?;
    let create = if make { libc::O_CREAT } else { 0 };
    let flags = libc::O_RDWR | create | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the name is a C string that outlives the call.
    let fd = checked(unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, 0o600) })?;
    // SAFETY: the descriptor is new, and no other value owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
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
    if about.len() < bytes && bytes > longest_file()? {
        return Err(io::Error::other(
            "it is longer than the limit on file sizes (ulimit -f) allows",
        ));
    }
    let length = libc::off_t::try_from(bytes).map_err(|_| ErrorKind::InvalidInput)?;
    loop {
        // SAFETY: takes numbers and touches no memory of ours.
        match checked(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) }) {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The limit on the sizes of files that this process may write.
fn longest_file() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes the limit into `limit` during the call.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) })?;
    Ok(limit.rlim_cur)
}

/// Opens the same file once more, whatever its name is now.
fn open_again(file: &File) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Takes the lock of the file if it is free. The lock belongs to the open file: closing other
/// descriptors of it changes nothing. The kernel frees it when the last process that has this file
/// open ends.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match set_lock(file, libc::F_WRLCK) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Frees the lock.
pub(crate) fn unlock(file: &File) -> io::Result<()> {
    set_lock(file, libc::F_UNLCK)
}

fn set_lock(file: &File, kind: c_int) -> io::Result<()> {
    // SAFETY: a record lock is plain numbers, for which zeroes are a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as c_short;
    lock.l_whence = libc::SEEK_SET as c_short;
    // SAFETY: the kernel reads the record during the call only.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }).map(drop)
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
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // If this fails, waiting programs still find out about a child of a program that died with
        // the lock.
        let again = open_again(&file).ok();
        let fd = again.as_ref().unwrap_or(&file).as_raw_fd();
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
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
        checked(unsafe {
            libc::madvise(self.start.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE)
        })
        .map(drop)
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
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * size_of::<u64>()) };
    }
}

/// Sleeps while the lower half of `word` is `seen`, for at most `ms` milliseconds. May return
/// early.
pub(crate) fn wait(word: &AtomicU64, seen: u32, ms: u64) {
    let time = libc::timespec { tv_sec: (ms / 1000) as _, tv_nsec: (ms % 1000 * 1_000_000) as _ };
    // SAFETY: the word outlives the call, which only compares half of it; the time is read during
    // the call.
    unsafe {
        libc::syscall(libc::SYS_futex, half_of(word), libc::FUTEX_WAIT, seen, &raw const time)
    };
}

/// Wakes all threads, of any process, that sleep on `word`.
pub(crate) fn wake(word: &AtomicU64) {
    // SAFETY: the kernel uses the address as a key and does not access it.
    unsafe { libc::syscall(libc::SYS_futex, half_of(word), libc::FUTEX_WAKE, c_int::MAX) };
}

/// The address of the lower half: futexes have 32 bits.
fn half_of(word: &AtomicU64) -> *mut u32 {
    word.as_ptr().cast::<u32>().wrapping_add(usize::from(cfg!(target_endian = "big")))
}

/// A process to wait for. It stays the same process even if its number is used again.
#[derive(Debug)]
pub(crate) struct PidFd(OwnedFd);

impl PidFd {
    /// Opens the process of this number. `NotFound` if it does not exist.
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: takes two numbers and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, c_long::from(pid), 0) };
        let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0);
        let fd = fd.ok_or_else(|| match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ESRCH) => ErrorKind::NotFound.into(),
            error => error,
        })?;
        // SAFETY: the descriptor is new, and no other value owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Whether the process has ended, even if its parent has not waited for it yet.
    pub(crate) fn has_ended(&self) -> bool {
        first_ready(&[self], None, 0) == Some(Ready::Ended(0))
    }
}

/// Whether a process of this number exists, running or ended and not yet waited for. Needs no file
/// and no `/proc`.
pub(crate) fn exists(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: takes two numbers and touches no memory of ours. Signal 0 is never delivered.
    let result = checked(unsafe { libc::kill(pid, 0) });
    !result.is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
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
    let watched = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut fds: Vec<libc::pollfd> =
        processes.iter().map(|process| watched(process.0.as_raw_fd())).collect();
    fds.extend(interrupt.map(|interrupt| watched(interrupt.0.as_raw_fd())));
    // SAFETY: the kernel reads and writes as many records as the vector has, during the call only.
    unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, ms) };
    let at = fds.iter().position(|fd| fd.revents != 0)?;
    Some(if at < processes.len() { Ready::Ended(at) } else { Ready::Interrupted })
}

/// An eventfd that interrupts a thread of this process in [`first_ready`].
#[derive(Debug)]
pub(crate) struct EventFd(OwnedFd);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes two numbers and touches no memory of ours.
        let fd = checked(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor is new, and no other value owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn signal(&self) {
        let one = 1_u64;
        // SAFETY: the kernel reads the eight bytes of `one` during the call. A counter that is full
        // is signalled already.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Clears all signals so far.
    pub(crate) fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: the kernel writes the eight bytes of `count` during the call, or nothing.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}

/// Nanoseconds of the clock that all processes share.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time into `time` during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Registers `handler` to be called when the process exits normally.
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
            unsafe { libc::close(fd) };
        }
    }
}

/// The number of forks between this process and the one that called this first.
pub(crate) fn generation() -> u32 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the handler is a plain function, and does nothing that is forbidden between fork
        // and exec.
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
