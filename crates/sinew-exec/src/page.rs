//! The page that the preloaded library reads, and notes after it that the watchdog reads if the
//! share agent dies.
//!
//! Both are parts of one file without a name. The page has the layout of `sinew_preload::layout`.
//! Words are written one at a time, so a reader that has the page mapped sees the old word or the
//! new one. The notes are text that ends with a zero. One lists the masks that were in force and
//! the threads that are left alone, one a line. The other lists the narrowed threads, one a line.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};
use sinew_preload::layout::{self, BYTES, JOB_THREADS, MAGIC, SLOTS};
use sinew_topology::CpuSet;

use crate::masks::Thread;
use crate::sys::WakeAddress;

/// Bytes of each note.
const NOTE: usize = 64 << 10;
/// The position of the notes.
const MASKS_AT: usize = BYTES;
const THREADS_AT: usize = MASKS_AT + NOTE;
/// Bytes of the file.
const WHOLE: usize = THREADS_AT + NOTE;
/// Precedes the number of a thread that is left alone.
const BOUND: &str = "bound ";

/// The file of the page and the notes.
#[derive(Debug)]
pub(crate) struct Page {
    file: File,
    /// By which the preloaded library's threads are woken that wait for a word.
    waiting: WakeAddress,
}

impl Page {
    /// A page for a command that starts with `cpus`.
    pub(crate) fn new(cpus: &CpuSet, flags: u32) -> io::Result<Self> {
        let file = File::from(memfd_create("sinew-exec-share", MemfdFlags::CLOEXEC)?);
        check_size(WHOLE as u64)?;
        file.set_len(WHOLE as u64)?;
        let waiting = WakeAddress::new(file.as_fd(), BYTES)?;
        let page = Self { file, waiting };
        page.write(layout::FLAGS, flags)?;
        page.write(layout::START_CPUS, u32::try_from(cpus.len()).unwrap_or(u32::MAX))?;
        let mask: Vec<u8> = words(cpus).into_iter().flat_map(u32::to_ne_bytes).collect();
        page.file.write_all_at(&mask, layout::START_MASK as u64)?;
        page.write(0, MAGIC)?;
        Ok(page)
    }

    fn write(&self, at: usize, word: u32) -> io::Result<()> {
        self.file.write_all_at(&word.to_ne_bytes(), at as u64)
    }

    /// All words of the page. Each is as it was at some time during the call.
    fn look(&self) -> Vec<u32> {
        let mut bytes = vec![0; BYTES];
        // A page that cannot be read counts as empty.
        let _ = self.file.read_exact_at(&mut bytes, 0);
        bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect()
    }

    fn read(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        self.file.read_exact_at(&mut word, at as u64).map_or(0, |()| u32::from_ne_bytes(word))
    }

    /// The process in a slot, 0 if it is free.
    pub(crate) fn pid(&self, slot: usize) -> u32 {
        self.read(layout::pid_at(slot))
    }

    /// Sets how many threads the process in a slot may have; 0: any number.
    ///
    /// Errors are ignored: the page exists in memory, so a write cannot fail for lack of room.
    pub(crate) fn set_threads(&self, slot: usize, threads: usize) {
        self.tell(layout::threads_at(slot), threads);
    }

    /// Writes a number of threads, and wakes those who wait for another one.
    fn tell(&self, at: usize, threads: usize) {
        let _ = self.write(at, u32::try_from(threads).unwrap_or(0));
        self.waiting.wake(at);
    }

    /// Sets how many threads a process without a slot may have.
    pub(crate) fn set_job_threads(&self, threads: usize) {
        self.tell(JOB_THREADS, threads);
    }

    /// Makes a slot free.
    pub(crate) fn free(&self, slot: usize) {
        self.set_threads(slot, 0);
        let _ = self.write(layout::pid_at(slot), 0);
    }

    /// Allows any number of threads for all processes.
    pub(crate) fn lift_all(&self) {
        // First: a process that takes a slot from now on finds no limit.
        self.set_job_threads(0);
        let words = self.look();
        let limited = (0..SLOTS).filter(|slot| words[layout::threads_at(*slot) / 4] != 0);
        limited.for_each(|slot| self.set_threads(slot, 0));
    }

    /// Notes the masks that were in force, and the threads that are left alone.
    pub(crate) fn note_masks(&self, masks: &[CpuSet], bound: impl Iterator<Item = u32>) {
        let masks = masks.iter().map(|mask| format!("{mask}\n"));
        self.write_note(MASKS_AT, masks.chain(bound.map(|thread| format!("{BOUND}{thread}\n"))));
    }

    /// The masks and threads of the last note.
    pub(crate) fn noted_masks(&self) -> (Vec<CpuSet>, Vec<u32>) {
        let text = self.read_note(MASKS_AT);
        let masks = text.lines().filter_map(|line| line.parse().ok()).collect();
        let threads = text.lines().filter_map(|line| line.strip_prefix(BOUND)?.parse().ok());
        (masks, threads.collect())
    }

    /// Notes the narrowed threads, as far as there is room.
    pub(crate) fn note_threads(&self, threads: &[Thread]) {
        let line = |thread: &Thread| format!("{} {}\n", thread.number, thread.began);
        self.write_note(THREADS_AT, threads.iter().map(line));
    }

    /// The threads of the last note.
    pub(crate) fn noted_threads(&self) -> Vec<Thread> {
        let thread = |line: &str| {
            let (number, began) = line.split_once(' ')?;
            Some(Thread { number: number.parse().ok()?, began: began.parse().ok()? })
        };
        self.read_note(THREADS_AT).lines().filter_map(thread).collect()
    }

    /// Writes as many lines as fit.
    fn write_note(&self, at: usize, lines: impl Iterator<Item = String>) {
        let mut text = String::new();
        for line in lines {
            if text.len() + line.len() < NOTE {
                text.push_str(&line);
            }
        }
        text.push('\0');
        let _ = self.file.write_all_at(text.as_bytes(), at as u64);
    }

    fn read_note(&self, at: usize) -> String {
        let mut bytes = vec![0; NOTE];
        let length = self.file.read_at(&mut bytes, at as u64).unwrap_or(0);
        let text = bytes[..length].split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// The number of its file descriptor.
    pub(crate) fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// Checks that this process may write a file of `bytes` bytes. The kernel ends a process that tries
/// although it may not (SIGXFSZ); the limit counts for files in memory, too.
///
/// # Errors
///
/// It may not.
pub(crate) fn check_size(bytes: u64) -> io::Result<()> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(most) if most < bytes => {
            Err(io::Error::other("the limit on file sizes (ulimit -f) is too small"))
        }
        _ => Ok(()),
    }
}

/// A mask in the kernel's form, as far as it fits.
fn words(cpus: &CpuSet) -> [u32; layout::MASK_WORDS] {
    let mut words = [0; layout::MASK_WORDS];
    for cpu in cpus.iter() {
        if let Some(word) = words.get_mut(cpu / 32) {
            *word |= 1 << (cpu % 32);
        }
    }
    words
}

impl AsFd for Page {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: the library's side, which `tests/` checks.
    use super::*;

    /// Catches: words and notes that are not read as they were written. Blind to: words at
    /// positions that the library does not read.
    #[test]
    fn words_and_masks_come_back() {
        let page = Page::new(&"0-6,33".parse().unwrap(), layout::MALLEABLE).unwrap();
        assert_eq!((page.read(0), page.read(layout::START_CPUS), page.pid(3)), (MAGIC, 8, 0));
        let mask = [0, 1, 2].map(|word| page.read(layout::START_MASK + 4 * word));
        assert_eq!(mask, [0x7f, 2, 0]);
        page.write(layout::pid_at(3), 77).unwrap();
        page.set_threads(3, 5);
        assert_eq!((page.pid(3), page.read(layout::threads_at(3))), (77, 5));
        page.lift_all();
        assert_eq!((page.pid(3), page.read(layout::threads_at(3))), (77, 0));
        page.free(3);
        assert_eq!(page.pid(3), 0);
        let masks: Vec<CpuSet> = ["0-3", "2"].map(|text| text.parse().unwrap()).into();
        page.note_masks(&masks, [7, 8].into_iter());
        assert_eq!(page.noted_masks(), (masks.clone(), vec![7, 8]));
        page.note_masks(&masks[..1], std::iter::empty());
        assert_eq!(page.noted_masks(), (masks[..1].to_vec(), vec![]));
        let threads =
            [(7, 1), (4_194_304, u64::MAX)].map(|(number, began)| Thread { number, began });
        page.note_threads(&threads);
        assert_eq!(page.noted_threads(), threads);
        page.note_threads(&[threads[0]; 20_000]);
        let noted = page.noted_threads();
        assert!(noted.len() > 10_000 && noted.iter().all(|thread| *thread == threads[0]));
        page.note_threads(&[]);
        assert_eq!((page.noted_threads().len(), page.noted_masks().0.len()), (0, 1));
    }
}
