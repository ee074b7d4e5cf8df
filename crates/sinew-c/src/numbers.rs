//! The numbers of a loop's participants: no two have the same number at the same time.
//!
//! A caller indexes scratch memory by them, so they are dense: a loop of at most `n` participants
//! has the numbers below `n`. The index of the worker would not do. It may be larger, and a worker
//! that waits inside of a body may take part in the same loop a second time, with another number.
//!
//! The caller's first participation has number 0 and touches no word that others write.

use sinew_core::with_current;
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The numbers of one loop.
pub(crate) struct Numbers {
    /// The index of the caller's worker.
    caller: usize,
    /// Whether the caller has number 0. Only its thread accesses it.
    is_caller_in: AtomicBool,
    /// How many numbers there are.
    count: usize,
    /// A bit for each number that is taken, from 1 on. The first word is here: most loops need no
    /// other.
    first: AtomicU64,
    others: Box<[AtomicU64]>,
}

/// A number, taken until it is dropped.
pub(crate) struct Number<'n> {
    numbers: &'n Numbers,
    pub(crate) value: usize,
}

impl Numbers {
    /// The numbers below `count` for a loop that the worker `caller` calls.
    pub(crate) fn new(caller: usize, count: usize) -> Self {
        Self {
            caller,
            is_caller_in: AtomicBool::new(false),
            count,
            first: AtomicU64::new(1),
            others: (1..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// A number for the calling participant.
    #[inline]
    pub(crate) fn take(&self) -> Number<'_> {
        let here = with_current(|worker| worker.map(sinew_core::Worker::index));
        // Relaxed: one thread.
        if here == Some(self.caller) && !self.is_caller_in.load(Ordering::Relaxed) {
            self.is_caller_in.store(true, Ordering::Relaxed);
            return Number { numbers: self, value: 0 };
        }
        self.take_other()
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        if at == 0 { &self.first } else { &self.others[at - 1] }
    }

    /// A number from 1 on. As long as none is free, a participant that has left the loop is about
    /// to return its own.
    #[inline(never)]
    fn take_other(&self) -> Number<'_> {
        loop {
            for value in 1..self.count {
                let bit = 1 << (value % 64);
                let word = self.word(value / 64);
                // Acquire: what the number's last holder wrote to its memory is visible.
                if word.load(Ordering::Relaxed) & bit == 0
                    && word.fetch_or(bit, Ordering::Acquire) & bit == 0
                {
                    return Number { numbers: self, value };
                }
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Number<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.value {
            0 => self.numbers.is_caller_in.store(false, Ordering::Relaxed),
            value => {
                // Release: pairs with the next holder's Acquire.
                let word = self.numbers.word(value / 64);
                word.fetch_and(!(1 << (value % 64)), Ordering::Release);
            }
        }
    }
}
