//! The code of a loop, and the ranges that it gets.

use std::ops::{ControlFlow, Range};

/// The ranges that one participant of a loop gets, one after another.
pub(super) trait Ranges {
    /// Ends the present range, for which the body returned `flow`. Returns the next one, which is
    /// not empty; `None` if the participant leaves, as it does after a `Break`.
    fn next(&mut self, flow: ControlFlow<()>) -> Option<Range<usize>>;
}

/// The code of a loop, which the driver calls through a pointer.
pub(super) trait Body: Sync {
    /// Runs a participant: the first of its ranges, and all that follow.
    fn run(&self, ranges: &mut dyn Ranges, first: Range<usize>);

    /// Runs one range alone, and returns what it returned.
    fn run_one(&self, range: Range<usize>) -> ControlFlow<()>;
}

/// The local state and the body of a loop.
pub(super) struct Code<E, P> {
    pub(super) enter: E,
    pub(super) piece: P,
}

impl<L, E, P> Code<E, P>
where
    E: Fn() -> L,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()>,
{
    #[inline(always)]
    pub(super) fn run_all(&self, ranges: &mut (impl Ranges + ?Sized), first: Range<usize>) {
        let mut local = (self.enter)();
        let mut next = Some(first);
        while let Some(range) = next {
            next = ranges.next((self.piece)(&mut local, range));
        }
    }
}

impl<L, E, P> Body for Code<E, P>
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()> + Sync,
{
    fn run(&self, ranges: &mut dyn Ranges, first: Range<usize>) {
        self.run_all(ranges, first);
    }

    #[inline]
    fn run_one(&self, range: Range<usize>) -> ControlFlow<()> {
        (self.piece)(&mut (self.enter)(), range)
    }
}
