//! The page that `sinew exec` and this library share.
//!
//! It is a page of an unnamed file, and both sides know the positions of its words:
//!
//! | byte | word |
//! |---|---|
//! | 0 | [`MAGIC`], which another file does not have |
//! | 4 | [`MALLEABLE`] and other flags |
//! | 8 | processors that the command could use when it started |
//! | 12 | threads that a process without a slot may have; 0: any number |
//! | 64 + 8 i | slot i: the number of its process, 0 while it is free |
//! | 68 + 8 i | slot i: threads that the process may have; 0: any number |
//! | 3072 | the mask that the command began with, a bit a processor, as the kernel has them |
//!
//! A process takes a slot at its first parallel region, or when its TBB connects, by a
//! compare-and-swap of its number. It reports the slot to `sinew exec` by writing the slot's number
//! to a pipe. From then on it only reads. `sinew exec` alone writes the numbers of threads, and
//! frees the slot when the process has ended. After each write it wakes the threads that wait at
//! that word (`futex`).
//!
//! The environment variable [`VARIABLE`] says where the page is.

/// First word of the page.
pub const MAGIC: u32 = 0x534e_5758;
/// Bytes of the page.
pub const BYTES: usize = 4096;
/// Byte of the word of flags.
pub const FLAGS: usize = 4;
/// Byte of the number of processors at the start.
pub const START_CPUS: usize = 8;
/// Byte of the number of threads for processes without a slot.
pub const JOB_THREADS: usize = 12;
/// Byte of the first slot.
const SLOTS_FROM: usize = 64;
/// The number of slots: the most processes of one command that have parallel regions at the same
/// time.
pub const SLOTS: usize = 256;

/// Byte of the mask at the start.
pub const START_MASK: usize = 3072;
/// Words of that mask. Processors beyond it are left out.
pub const MASK_WORDS: usize = (BYTES - START_MASK) / 4;

/// Flag: teams may be lowered.
pub const MALLEABLE: u32 = 1;
/// Flag: print the reason why teams are left alone to standard error.
pub const VERBOSE: u32 = 2;
/// Flag: the user has not set how threads wait.
pub const SHORT_WAITS: u32 = 4;
/// Flag: the command runs within its share.
pub const FOLLOWS: u32 = 8;

/// `WATCHDOG PAGE PIPE`: a process, and the numbers of two of its file descriptors, in decimal with
/// a blank between.
pub const VARIABLE: &str = "SINEW_EXEC";

/// The byte of slot `slot`'s process number.
pub const fn pid_at(slot: usize) -> usize {
    SLOTS_FROM + 8 * slot
}

/// The byte of slot `slot`'s number of threads.
pub const fn threads_at(slot: usize) -> usize {
    SLOTS_FROM + 8 * slot + 4
}

/// The three numbers in [`VARIABLE`]; `None` if it holds something else.
pub fn parse(text: &[u8]) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    let mut words = text.split(|&byte| byte == b' ');
    for number in &mut numbers {
        *number = decimal(words.next()?)?;
    }
    words.next().is_none().then_some(numbers)
}

/// A number in decimal digits and nothing else.
pub(crate) fn decimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

const _: () =
    assert!(threads_at(SLOTS - 1) + 4 <= START_MASK, "the last slot lies before the mask");

#[cfg(test)]
mod tests {
    //! Blind to: whether both sides use these positions.
    use super::*;

    /// Catches: text that is not exactly three numbers and is accepted.
    #[test]
    fn three_numbers_are_read_and_nothing_else() {
        assert_eq!(parse(b"12 3 4"), Some([12, 3, 4]));
        for text in ["", "1 2", "1 2 3 4", "1 2 x", "1  2", "-1 2 3", "4294967296 1 1", "1 2 3 "] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    /// Catches: words beyond the slots.
    #[test]
    fn slots_do_not_overlap_the_header_or_each_other() {
        let mut places = vec![0, FLAGS, START_CPUS, JOB_THREADS];
        places.extend((0..SLOTS).flat_map(|slot| [pid_at(slot), threads_at(slot)]));
        places.extend((0..MASK_WORDS).map(|word| START_MASK + 4 * word));
        assert!(places.windows(2).all(|pair| pair[0] + 4 <= pair[1]), "{places:?}");
    }
}
