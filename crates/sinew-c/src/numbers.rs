//! The numbers of a loop's participants: no two have the same number at the same time.
//!
//! A caller indexes scratch memory by them, so they are dense: a loop of at most `n` participants
//! has the numbers below `n`. The index of the worker would not do. It may be larger, and a worker
//! that waits inside of a body may take part in the same loop a second time, with another number.
//!
//! The caller's first participation has number 0 and touches no word that others write. If it has
//! at most one helper at a time, that has number 1 and touches none either.
//!
//! Blocks of a recursion are participations as well, and one thread may have any number of them
//! nested. So all numbers may be taken by blocks that wait for this one: such a block gets none.

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
    rule: Rule,
    /// A bit for each number that is taken, from 1 on. The first word is here: most loops need no
    /// other.
    first: AtomicU64,
    others: Box<[AtomicU64]>,
}

/// How the participants of a loop come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// At most as many at a time as there are numbers; each leaves before the next one comes if
    /// there are two numbers.
    InTurn,
    /// At most as many at a time as there are numbers, but those that leave may be late.
    Late,
    /// Any number.
    Nested,
}

/// A number, taken until it is dropped.
pub(crate) struct Number<'n> {
    numbers: &'n Numbers,
    pub(crate) value: usize,
}

impl Numbers {
    /// The numbers below `count` for a loop that the worker `caller` calls.
    #[inline]
    pub(crate) fn new(caller: usize, count: usize, rule: Rule) -> Self {
        let others = match count {
            ..=64 => Box::default(),
            count => (1..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        };
        let is_caller_in = AtomicBool::new(false);
        Self { caller, is_caller_in, count, rule, first: AtomicU64::new(1), others }
    }

    /// A number for the calling participant.
    #[inline]
    pub(crate) fn take(&self) -> Number<'_> {
        if self.is_callers_first() {
            return Number { numbers: self, value: 0 };
        }
        if self.has_one_helper() {
            return Number { numbers: self, value: 1 };
        }
        self.take_other()
    }

    /// A number for the calling participant; `None` if all are taken.
    pub(crate) fn take_if_free(&self) -> Option<Number<'_>> {
        match self.is_callers_first() {
            true => Some(Number { numbers: self, value: 0 }),
            false => self.find_other(),
        }
    }

    /// Whether this is the caller, which is not in; then it is.
    #[inline]
    fn is_callers_first(&self) -> bool {
        let here = with_current(|worker| worker.map(sinew_core::Worker::index));
        // Relaxed: one thread.
        let is_first = here == Some(self.caller) && !self.is_caller_in.load(Ordering::Relaxed);
        if is_first {
            self.is_caller_in.store(true, Ordering::Relaxed);
        }
        is_first
    }

    #[inline]
    fn has_one_helper(&self) -> bool {
        self.count == 2 && self.rule == Rule::InTurn
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        if at == 0 { &self.first } else { &self.others[at - 1] }
    }

    /// A number from 1 on. As long as none is free, a participant that has left the loop is about
    /// to return its own.
    #[inline(never)]
    fn take_other(&self) -> Number<'_> {
        loop {
            if let Some(number) = self.find_other() {
                return number;
            }
            std::thread::yield_now();
        }
    }

    /// A free number from 1 on.
    fn find_other(&self) -> Option<Number<'_>> {
        let value = (1..self.count).find(|value| {
            let bit = 1 << (value % 64);
            let word = self.word(value / 64);
            // Acquire: what the number's last holder wrote to its memory is visible.
            word.load(Ordering::Relaxed) & bit == 0
                && word.fetch_or(bit, Ordering::Acquire) & bit == 0
        })?;
        Some(Number { numbers: self, value })
    }
}

impl Drop for Number<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.value {
            0 => self.numbers.is_caller_in.store(false, Ordering::Relaxed),
            _ if self.numbers.has_one_helper() => {}
            value => {
                // Release: pairs with the next holder's Acquire.
                let word = self.numbers.word(value / 64);
                word.fetch_and(!(1 << (value % 64)), Ordering::Release);
            }
        }
    }
}
