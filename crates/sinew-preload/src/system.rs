//! The C library's functions, declared by hand: the shared library is built from this folder alone.
//!
//! They are bound when the library is loaded, to the program's C library.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;

use crate::layout;

/// Search the objects after this library.
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
/// Search in the order in which the dynamic linker binds names.
const RTLD_DEFAULT: *mut c_void = null_mut();
const RTLD_LAZY: c_int = 1;
/// Only if the object is loaded already.
const RTLD_NOLOAD: c_int = 4;
/// Keep the object for the rest of the process.
const RTLD_NODELETE: c_int = 0x1000;

const O_RDWR: c_int = 2;
const O_WRONLY: c_int = 1;
const O_NONBLOCK: c_int = 0o4000;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = 0x20;
const MADV_WIPEONFORK: c_int = 18;
/// No larger than the kernel's smallest page.
const PAGE: usize = 4096;
/// `ENOSYS`, the error of a function that the C library does not have.
pub(crate) const NOT_THERE: c_int = 38;
/// A segment of data per thread, in a program header.
const PT_TLS: u32 = 7;

/// The oldest version of the C library's names on this machine.
#[cfg(target_arch = "x86_64")]
const OLDEST_VERSION: &CStr = c"GLIBC_2.2.5";
#[cfg(target_arch = "aarch64")]
const OLDEST_VERSION: &CStr = c"GLIBC_2.17";
#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(target_arch = "aarch64")]
const SYS_FUTEX: c_long = 98;
const FUTEX_WAIT: c_int = 0;
const FUTEX_WAIT_PRIVATE: c_int = 128;
const FUTEX_WAKE_PRIVATE: c_int = 129;
const SIG_SETMASK: c_int = 2;
/// The arguments of `sysconf` for the number of configured processors and of those that are online.
pub(crate) const PROCESSORS: c_int = 83;
pub(crate) const PROCESSORS_AT_WORK: c_int = 84;

/// The body of a thread.
pub(crate) type Body = extern "C" fn(*mut c_void) -> *mut c_void;

/// A set of signals.
type Signals = [u64; 16];

/// The result of `dladdr`.
#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

/// A program header of a 64-bit object.
#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_bytes: u64,
    memory_bytes: u64,
    alignment: u64,
}

/// The first fields of an object that `dl_iterate_phdr` passes.
#[repr(C)]
struct Object {
    base: usize,
    name: *const c_char,
    segments: *const Segment,
    count: u16,
}

// SAFETY: these are the C library's, with its signatures on 64-bit Linux.
unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn dl_iterate_phdr(
        visit: extern "C" fn(*const Object, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn readlink(path: *const c_char, text: *mut c_char, room: usize) -> isize;
    // The same as `sysconf`, a name that this library replaces.
    fn __sysconf(name: c_int) -> c_long;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
    fn mmap(
        start: *mut c_void,
        bytes: usize,
        access: c_int,
        kind: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    fn pthread_key_create(key: *mut u32, destroy: extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_getspecific(key: u32) -> *mut c_void;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const c_void,
        body: Body,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_detach(thread: usize) -> c_int;
    fn pthread_self() -> usize;
    fn sched_yield() -> c_int;
    fn pthread_sigmask(how: c_int, new: *const Signals, old: *mut Signals) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn abort() -> !;
}

/// Ends the process: it calls a function that does not exist, and would have failed without this
/// library, too.
pub(crate) fn stop() -> ! {
    // SAFETY: it takes nothing and does not return.
    unsafe { abort() }
}

/// A loaded object, by a handle that is never closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(pub(crate) *mut c_void);

/// The C library's `dlsym`. This library replaces that name, so the function is found by its oldest
/// version, which every C library still has.
pub(crate) fn loaders_dlsym() -> *mut c_void {
    static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    // Relaxed: the code at the address was loaded before the address was stored.
    let mut known = KNOWN.load(Relaxed);
    if known.is_null() {
        // SAFETY: name and version end with a zero. RTLD_NEXT is meant for callers in loaded
        // objects, which this library is.
        known = unsafe { dlvsym(RTLD_NEXT, c"dlsym".as_ptr(), OLDEST_VERSION.as_ptr()) };
        KNOWN.store(known, Relaxed);
    }
    if known.is_null() { stop() } else { known }
}

fn dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    type Dlsym = extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: the C library's function of this name has this signature, and it was found. The name
    // ends with a zero.
    let call = unsafe { core::mem::transmute::<*mut c_void, Dlsym>(loaders_dlsym()) };
    call(handle, name.as_ptr())
}

/// The next definition of `name` after this library, among the objects that every object sees.
pub(crate) fn next_definition(name: &CStr) -> *mut c_void {
    dlsym(RTLD_NEXT, name)
}

/// The definition of `name` in `object` and the objects that it needs.
pub(crate) fn definition_in(object: Handle, name: &CStr) -> *mut c_void {
    dlsym(object.0, name)
}

/// Whether `handle` stands for an object. Two other handles mean an order of search, which depends
/// on the caller.
pub(crate) fn is_object(handle: *mut c_void) -> bool {
    handle != RTLD_DEFAULT && handle != RTLD_NEXT
}

/// A loaded object by its file's name, and a handle that keeps it loaded.
fn loaded(file: *const c_char) -> *mut c_void {
    type Dlopen = extern "C" fn(*const c_char, c_int) -> *mut c_void;
    let found = next_definition(c"dlopen");
    if found.is_null() {
        return null_mut();
    }
    // SAFETY: the C library's function of this name has this signature, and it was found.
    let call = unsafe { core::mem::transmute::<*mut c_void, Dlopen>(found) };
    call(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)
}

/// The start of the object that contains `address`, and a handle that keeps it loaded.
pub(crate) fn object_around(address: *const c_void) -> Option<(usize, Handle)> {
    let mut info =
        DlInfo { file: null_mut(), base: null_mut(), symbol: null_mut(), address: null_mut() };
    // SAFETY: `dladdr` looks the address up and does not follow it, and fills a structure of the
    // documented layout. The file's name belongs to the loaded object, which stays loaded while a
    // call from it or a pointer into it is in use.
    unsafe {
        if dladdr(address, &raw mut info) == 0 || info.file.is_null() {
            return None;
        }
        let handle = loaded(info.file);
        (!handle.is_null()).then_some((info.base as usize, Handle(handle)))
    }
}

/// The start of the object that contains `address`.
pub(crate) fn base_around(address: *const c_void) -> Option<usize> {
    let mut info =
        DlInfo { file: null_mut(), base: null_mut(), symbol: null_mut(), address: null_mut() };
    // SAFETY: as in `object_around`.
    let known = unsafe { dladdr(address, &raw mut info) };
    (known != 0).then_some(info.base as usize)
}

/// The name of the file that contains `address`, without its folder. Keeps nothing loaded: it is
/// for return addresses.
pub(crate) fn file_name_around(address: *const c_void) -> Option<&'static [u8]> {
    let mut info =
        DlInfo { file: null_mut(), base: null_mut(), symbol: null_mut(), address: null_mut() };
    // SAFETY: as in `object_around`. The name is used before the call that `address` belongs to has
    // ended.
    let path = unsafe {
        if dladdr(address, &raw mut info) == 0 || info.file.is_null() {
            return None;
        }
        CStr::from_ptr(info.file).to_bytes()
    };
    path.rsplit(|&byte| byte == b'/').next()
}

/// The objects to leave out, and whether another one has data per thread.
struct ThreadDataSearch {
    is_left_out: fn(&[u8]) -> bool,
    found: bool,
}

/// Whether a loaded object has data per thread. Objects are left out if `is_left_out` holds for
/// their file's name.
pub(crate) fn has_thread_data(is_left_out: fn(&[u8]) -> bool) -> bool {
    let mut search = ThreadDataSearch { is_left_out, found: false };
    // SAFETY: `search_object` gets back the pointer to `search`, which outlives the call and which
    // no other code uses meanwhile.
    unsafe { dl_iterate_phdr(search_object, (&raw mut search).cast()) };
    search.found
}

/// Ends the iteration at the first object that has data per thread.
extern "C" fn search_object(object: *const Object, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes an object whose first fields are those of `Object`. Its
    // segment pointer has `count` segments, and its name ends with a zero or is null. The data is
    // the pointer that `has_thread_data` passed.
    let (segments, path, search) = unsafe {
        let object = &*object;
        let segments = core::slice::from_raw_parts(object.segments, usize::from(object.count));
        let path = if object.name.is_null() { c"" } else { CStr::from_ptr(object.name) };
        (segments, path.to_bytes(), &mut *search.cast::<ThreadDataSearch>())
    };
    let has_data =
        segments.iter().any(|segment| segment.kind == PT_TLS && segment.memory_bytes > 0);
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    search.found = has_data && !(search.is_left_out)(file);
    c_int::from(search.found)
}

/// The value of an environment variable.
pub(crate) fn environment(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name ends with a zero. The value ends with one, and stays where it is unless the
    // program changes this very variable. Programs must not do that while other threads read the
    // environment. All callers are done with the value before they return.
    unsafe {
        let value = getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

/// The result of the C library's `sysconf`.
pub(crate) fn configured(name: c_int) -> c_long {
    // SAFETY: takes a number, and returns -1 for one that it does not know.
    unsafe { __sysconf(name) }
}

/// The number of this process in `/proc`; `None` if `/proc` does not show it. Other processes that
/// see this `/proc` know it by this number. The process itself may be in a namespace that numbers
/// it differently.
pub(crate) fn process() -> Option<u32> {
    let mut text = [0_u8; 16];
    // SAFETY: the path ends with a zero, and the kernel writes no more bytes than the buffer has.
    let length = unsafe { readlink(c"/proc/self".as_ptr(), text.as_mut_ptr().cast(), text.len()) };
    layout::decimal(text.get(..usize::try_from(length).ok()?)?)
}

/// Maps the first `bytes` of a file for reading and writing, for good. `None` if the system
/// refuses.
pub(crate) fn map(path: &CStr, bytes: usize) -> Option<*mut u8> {
    // SAFETY: the path ends with a zero. A mapping at an address of the kernel's choice touches
    // nothing that exists, and it stays when the file is closed.
    unsafe {
        let file = open(path.as_ptr(), O_RDWR | O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let start = mmap(null_mut(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        (start as usize != usize::MAX).then_some(start.cast())
    }
}

/// Writes `bytes` to a pipe at once, or not at all.
pub(crate) fn tell(path: &CStr, bytes: &[u8]) {
    // SAFETY: the path ends with a zero, and the bytes are initialised.
    unsafe {
        let file = open(path.as_ptr(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if file >= 0 {
            write(file, bytes.as_ptr().cast(), bytes.len());
            close(file);
        }
    }
}

/// Writes to standard error.
pub(crate) fn complain(text: &[u8]) {
    // SAFETY: the bytes are initialised. A closed standard error refuses them.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}

/// A page of zeroes. In every process that this one forks, it is zero again. `None` if the system
/// refuses.
pub(crate) fn page_wiped_by_fork() -> Option<*mut u8> {
    // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists, and the
    // advice is about it alone.
    unsafe {
        let start =
            mmap(null_mut(), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (start as usize != usize::MAX && madvise(start, PAGE, MADV_WIPEONFORK) == 0)
            .then_some(start.cast())
    }
}

/// A new key for a value per thread, null at first. When a thread ends, `ended` gets the thread's
/// value unless that is null. `None` if the process has too many keys.
pub(crate) fn thread_key(ended: extern "C" fn(*mut c_void)) -> Option<u32> {
    let mut key = 0;
    // SAFETY: the number is written to a variable of this function. `ended` stays loaded, since no
    // preloaded library is ever unloaded.
    (unsafe { pthread_key_create(&raw mut key, ended) } == 0).then_some(key)
}

/// The calling thread's value for `key`.
pub(crate) fn thread_value(key: u32) -> usize {
    // SAFETY: the key was made by `thread_key`.
    unsafe { pthread_getspecific(key) as usize }
}

/// Sets the calling thread's value for `key`.
pub(crate) fn set_thread_value(key: u32, value: usize) {
    // SAFETY: the key was made by `thread_key`. The value is a number, which is never followed.
    unsafe { pthread_setspecific(key, value as *const c_void) };
}

/// The number of the calling thread: not 0, and no other thread's that lives at the same time.
pub(crate) fn this_thread() -> usize {
    // SAFETY: it takes nothing.
    unsafe { pthread_self() }
}

/// Lets other threads run.
pub(crate) fn give_way() {
    // SAFETY: it takes nothing.
    unsafe { sched_yield() };
}

/// Starts a detached thread that takes no signals. Returns whether the system had one.
pub(crate) fn start_quiet_thread(body: Body, argument: *mut c_void) -> bool {
    let (all, mut before, mut thread) = ([u64::MAX; 16], [0; 16], 0);
    // SAFETY: the sets have the C library's size, and live until the calls end. The thread inherits
    // the mask, and its number is valid until it is detached.
    unsafe {
        pthread_sigmask(SIG_SETMASK, &raw const all, &raw mut before);
        let refused = pthread_create(&raw mut thread, null_mut(), body, argument) != 0;
        pthread_sigmask(SIG_SETMASK, &raw const before, null_mut());
        if !refused {
            pthread_detach(thread);
        }
        !refused
    }
}

/// Sleeps while `word` is `value`. May return early.
pub(crate) fn wait_while(word: &AtomicU32, value: u32) {
    // SAFETY: the word lives during the call, and the kernel only reads it; there is no time limit.
    unsafe { syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAIT_PRIVATE, value, null_mut::<c_void>()) };
}

/// As [`wait_while`], for a word that another process writes.
pub(crate) fn wait_while_shared(word: &AtomicU32, value: u32) {
    // SAFETY: as in `wait_while`.
    unsafe { syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAIT, value, null_mut::<c_void>()) };
}

/// Wakes the threads that sleep on `word` in [`wait_while_shared`].
#[cfg(test)]
pub(crate) fn wake_shared(word: &AtomicU32) {
    // SAFETY: as in `wait_while`; 1 is the number of the call's form for words of several
    // processes.
    unsafe { syscall(SYS_FUTEX, word.as_ptr(), 1, i32::MAX) };
}

/// Runs `body` in a forked child. Returns 0 if it returned `true`.
#[cfg(test)]
pub(crate) fn in_child(body: impl FnOnce() -> bool) -> c_int {
    // SAFETY: these are the C library's, with its signatures.
    unsafe extern "C" {
        fn fork() -> c_int;
        fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
        fn _exit(status: c_int) -> !;
    }
    // SAFETY: the child only runs `body` and ends. The C library's allocator may be used there.
    unsafe {
        let child = fork();
        if child == 0 {
            let is_right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            _exit(c_int::from(!is_right.unwrap_or(false)));
        }
        let mut status = -1;
        waitpid(child, &raw mut status, 0);
        status
    }
}

/// Wakes the threads that sleep on `word`.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: as in `wait_while`.
    unsafe { syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAKE_PRIVATE, i32::MAX) };
}

/// The C library's memory. A program may have replaced its functions; then it is the program's.
#[cfg(sinew_preloaded)]
mod memory {
    use core::alloc::{GlobalAlloc, Layout};
    use core::ffi::c_void;
    use core::ptr::null_mut;

    // SAFETY: these are the C library's, with its signatures.
    unsafe extern "C" {
        fn malloc(bytes: usize) -> *mut c_void;
        fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
        fn free(block: *mut c_void);
    }

    struct Memory;

    #[global_allocator]
    static MEMORY: Memory = Memory;

    /// The C library aligns each block to this.
    const ALIGNED_TO: usize = 16;

    // SAFETY: the C library's blocks are as large as requested, do not overlap, and have the
    // alignment; requests for more get no block. They stay where they are until they are freed or
    // moved by the same library.
    unsafe impl GlobalAlloc for Memory {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() > ALIGNED_TO {
                return null_mut();
            }
            // SAFETY: it takes a number.
            unsafe { malloc(layout.size()).cast() }
        }

        unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
            // SAFETY: the caller passes a block of `alloc` or `realloc`, and drops it.
            unsafe { free(block.cast()) }
        }

        unsafe fn realloc(&self, block: *mut u8, _: Layout, bytes: usize) -> *mut u8 {
            // SAFETY: as in `dealloc`; a block of another alignment was never handed out.
            unsafe { realloc(block.cast(), bytes).cast() }
        }
    }
}
