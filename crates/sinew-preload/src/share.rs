//! The page of [`layout`](crate::layout), mapped at the first parallel region, and this process's
//! slot in it.
//!
//! # Invariants
//!
//! - S1: pages stay mapped once they are mapped. Their words are only accessed as atomics. Other
//!   processes that map one do the same, or write whole words.
//! - S2: a forked child has no slot and has not joined, whatever its parent had: both are kept on a
//!   page that a fork wipes.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{
    AtomicPtr, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use core::ffi::CStr;
use core::ptr::null_mut;

use crate::layout::{self, JOB_THREADS, MAGIC, SLOTS};
use crate::objections;
use crate::rules::Objection;
use crate::system;
use crate::user_settings;

/// The page; null: not mapped.
static PAGE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// The page of S2; null: not mapped.
static OWN: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Byte of the state word of this process: NEW, JOINING or JOINED.
const STATE: usize = 0;
/// Byte of the word with the position of this process's number of threads on the shared page; 0: it
/// has no slot.
const MINE: usize = 4;

const NEW: u32 = 0;
/// A thread is joining; the others do not wait for it.
const JOINING: u32 = 1;
const JOINED: u32 = 2;

/// Byte of the pointer to this process's manager of workers (`tbb`); null: it has none.
const MANAGER: usize = 8;

/// Room for `/proc/NUMBER/fd/NUMBER` and a zero.
type Path = [u8; 48];

/// Threads that this process may have; 0: any number. The first call joins.
pub(crate) fn threads() -> u32 {
    match joined().map_or(0, |own| on(own, MINE).load(Relaxed)) {
        0 => word(JOB_THREADS),
        mine => word(mine as usize),
    }
}

/// Workers that this process may have beside the thread that calls TBB. The first call joins.
pub(crate) fn workers() -> u32 {
    match threads() {
        0 => u32::MAX,
        threads => threads - 1,
    }
}

/// The word that [`threads`] reads, for a thread that waits until it changes. `None` while another
/// thread joins. The first call joins.
pub(crate) fn own_word() -> Option<&'static AtomicU32> {
    match on(joined()?, MINE).load(Relaxed) {
        0 => at_byte(JOB_THREADS),
        mine => at_byte(mine as usize),
    }
}

/// Whether this process runs within a share by which TBB's workers may be divided. The first call
/// joins.
pub(crate) fn may_divide_workers() -> bool {
    map_page().is_some() && follows() && {
        joined();
        !OWN.load(Acquire).is_null()
    }
}

/// The place of the pointer to this process's manager of workers. `None` if no call has joined.
pub(crate) fn manager() -> Option<&'static AtomicPtr<u8>> {
    let own = OWN.load(Acquire);
    // SAFETY: as in `on`; the position is a multiple of 8, and no other word lies there.
    (!own.is_null()).then(|| unsafe { &*own.add(MANAGER).cast::<AtomicPtr<u8>>() })
}

/// Processors that the command could use when it started; 0: unknown.
pub(crate) fn start_cpus() -> u32 {
    joined();
    word(layout::START_CPUS)
}

/// As [`start_cpus`], for callers that may run before a runtime does. Neither joins nor takes a
/// slot.
pub(crate) fn start_cpus_at_any_time() -> u32 {
    map_page().map_or(0, |_| word(layout::START_CPUS))
}

/// The process's own page, once it has joined.
fn joined() -> Option<*mut u8> {
    let own = OWN.load(Acquire);
    if !own.is_null() && on(own, STATE).load(Acquire) == JOINED {
        return Some(own);
    }
    join_cold()
}

/// Adds the processors that the command could use when it started to a mask of the kernel's form.
/// Neither joins nor takes a slot.
pub(crate) fn widen(mask: &mut [u32]) {
    if map_page().is_some() && follows() {
        for (number, part) in mask.iter_mut().take(layout::MASK_WORDS).enumerate() {
            *part |= word(layout::START_MASK + 4 * number);
        }
    }
}

/// The processors that the command could use when it started, in ascending order; none if they are
/// unknown.
pub(crate) fn start_mask() -> impl Iterator<Item = i32> {
    let has = |cpu: &usize| word(layout::START_MASK + cpu / 32 * 4) & 1 << (cpu % 32) != 0;
    (0..32 * layout::MASK_WORDS).filter(has).filter_map(|cpu| i32::try_from(cpu).ok())
}

/// Whether the command runs within its share.
fn follows() -> bool {
    word(layout::FLAGS) & layout::FOLLOWS != 0
}

/// Whether to print what is left alone, and why.
pub(crate) fn is_verbose() -> bool {
    word(layout::FLAGS) & layout::VERBOSE != 0
}

/// Whether threads may be made to spin for a shorter time.
pub(crate) fn may_shorten_waits() -> bool {
    word(layout::FLAGS) & layout::SHORT_WAITS != 0
}

/// Forgets the page, so that the next one is found.
#[cfg(test)]
pub(crate) fn forget_page() {
    PAGE.store(null_mut(), Release);
}

/// A word of the page; 0 without a page.
fn word(at: usize) -> u32 {
    at_byte(at).map_or(0, |word| word.load(Relaxed))
}

fn at_byte(at: usize) -> Option<&'static AtomicU32> {
    let page = PAGE.load(Acquire);
    (!page.is_null()).then(|| on(page, at))
}

/// A word on one of the two pages.
fn on(page: *mut u8, at: usize) -> &'static AtomicU32 {
    // SAFETY: by S1 the page is mapped for good and accessed as atomics only. It starts at a
    // multiple of 4096, and all positions are multiples of 4 within it.
    unsafe { &*page.add(at).cast::<AtomicU32>() }
}

#[cold]
fn join_cold() -> Option<*mut u8> {
    let own = own_page()?;
    if on(own, STATE).compare_exchange(NEW, JOINING, Acquire, Acquire).is_err() {
        return None;
    }
    object_for_user();
    if join(own).is_none() {
        // No `sinew exec` shares a page with this process, so everything stays as it is.
        objections::add(Objection::NotAllowed);
    }
    on(own, STATE).store(JOINED, Release);
    Some(own)
}

/// The page of S2, mapped when it is first needed. If the system refuses it, adds an objection and
/// returns `None`.
fn own_page() -> Option<*mut u8> {
    let own = OWN.load(Acquire);
    if !own.is_null() {
        return Some(own);
    }
    let Some(new) = system::page_wiped_by_fork() else {
        objections::add(Objection::NotAllowed);
        return None;
    };
    // A thread that loses the race leaves an unused page behind, once.
    Some(
        OWN.compare_exchange(null_mut(), new, Release, Acquire).map_or_else(|other| other, |_| new),
    )
}

/// Checks the environment again: a script may have set variables that `sinew exec` has not seen.
fn object_for_user() {
    let ours = variable(user_settings::OURS).unwrap_or_default();
    for (name, topic) in user_settings::VARIABLES {
        let Some(value) = variable(name) else { continue };
        if !user_settings::is_ours(ours, name, value)
            && user_settings::is_user_request(name, topic, value)
        {
            objections::add(Objection::Environment);
        }
    }
}

fn variable(name: &str) -> Option<&'static [u8]> {
    zero_ended(name.as_bytes(), &mut [0; 48]).and_then(system::environment)
}

fn zero_ended<'a>(text: &[u8], room: &'a mut Path) -> Option<&'a CStr> {
    room.get_mut(..text.len())?.copy_from_slice(text);
    CStr::from_bytes_until_nul(room).ok()
}

/// Maps the page, takes a slot and reports it. `None` if `sinew exec` shares no page.
fn join(own: *mut u8) -> Option<()> {
    let [watchdog, _, pipe] = map_page()?;
    let mut room = [0; 48];
    if word(layout::FLAGS) & layout::MALLEABLE == 0 {
        objections::add(Objection::NotAllowed);
    }
    if let Some(slot) = take_slot(own) {
        system::tell(file_of(watchdog, pipe, &mut room)?, &[u8::try_from(slot).ok()?]);
    }
    Some(())
}

/// Maps the page, unless it is mapped. Returns the numbers of [`layout::VARIABLE`]; `None` if
/// `sinew exec` shares no page.
fn map_page() -> Option<[u32; 3]> {
    let numbers @ [watchdog, page, _] = layout::parse(system::environment(c"SINEW_EXEC")?)?;
    let mut room = [0; 48];
    if PAGE.load(Relaxed).is_null() {
        let mapped = system::map(file_of(watchdog, page, &mut room)?, layout::BYTES)?;
        PAGE.store(mapped, Release);
    }
    if word(0) != MAGIC {
        PAGE.store(null_mut(), Release);
        return None;
    }
    Some(numbers)
}

/// Takes a free slot; `None` if all are taken. Until `sinew exec` has looked, its number of threads
/// is that of processes without a slot.
fn take_slot(own: *mut u8) -> Option<usize> {
    let me = system::process()?;
    let free = |slot: &usize| {
        // Acquire: the writes of the slot's last process are visible before they are overwritten.
        at_byte(layout::pid_at(*slot))
            .is_some_and(|pid| pid.compare_exchange(0, me, Acquire, Relaxed).is_ok())
    };
    let slot = (0..SLOTS).find(free)?;
    let threads = layout::threads_at(slot);
    at_byte(threads)?.store(word(JOB_THREADS), Relaxed);
    on(own, MINE).store(u32::try_from(threads).ok()?, Relaxed);
    Some(slot)
}

/// `/proc/WATCHDOG/fd/FILE`, which leads to an open file of another process.
fn file_of(watchdog: u32, file: u32, room: &mut Path) -> Option<&CStr> {
    let mut text = Text { room, length: 0 };
    text.push(b"/proc/")?;
    text.push_number(watchdog)?;
    text.push(b"/fd/")?;
    text.push_number(file)?;
    text.push(b"\0")?;
    CStr::from_bytes_until_nul(room).ok()
}

/// A text that is built without allocation.
struct Text<'a> {
    room: &'a mut Path,
    length: usize,
}

impl Text<'_> {
    fn push(&mut self, part: &[u8]) -> Option<()> {
        self.room.get_mut(self.length..self.length + part.len())?.copy_from_slice(part);
        self.length += part.len();
        Some(())
    }

    fn push_number(&mut self, number: u32) -> Option<()> {
        if number >= 10 {
            self.push_number(number / 10)?;
        }
        self.push(&[b'0' + u8::try_from(number % 10).unwrap_or(0)])
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: several processes; `sinew-exec/tests` checks those.
    use super::*;

    /// Catches: the largest numbers not fitting into the buffer.
    #[test]
    fn a_file_of_another_process_has_a_path() {
        let mut room = [b'x'; 48];
        assert_eq!(file_of(12_345, 0, &mut room).unwrap(), c"/proc/12345/fd/0");
        assert_eq!(
            file_of(u32::MAX, u32::MAX, &mut room).unwrap(),
            c"/proc/4294967295/fd/4294967295"
        );
    }
}
