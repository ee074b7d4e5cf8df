//! The work of one task, and its expected result.

use std::hint::black_box;

/// The kind of work of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Arithmetic: the Collatz sequence of a small number, again and again.
    Compute,
    /// The bandwidth of the memory: neighbouring entries of a large table, one after the other.
    Stream,
    /// Its latency: each entry of the table names the next one.
    Irregular,
}

/// One task: a kind of work, where it begins and how much of it there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    pub(super) kind: Kind,
    /// The first entry of the table.
    pub(super) start: u32,
    /// Repetitions of the sequence, or entries of the table.
    pub(super) repeats: u32,
}

impl Task {
    /// Its grain: repetitions of the sequence, or entries of the table that it reads.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }
}

/// The start of every sequence.
pub(super) const START: u32 = 6;

/// The steps from [`START`] to 1: 6, 3, 10, 5, 16, 8, 4, 2, 1.
const STEPS: u64 = 8;

/// Does a task, which may read the table anywhere. The result depends on all of its work.
pub fn apply(task: &Task, table: &[u32]) -> u64 {
    match task.kind {
        Kind::Compute => {
            (0..task.repeats).map(|_| steps(black_box(table[task.start as usize]))).sum()
        }
        Kind::Stream => stream(task, table),
        Kind::Irregular => (0..task.repeats).fold(task.start, |at, _| table[at as usize]).into(),
    }
}

/// Number of steps of the Collatz sequence from `number` to 1.
fn steps(mut number: u32) -> u64 {
    let mut steps = 0;
    while number != 1 {
        number = if number.is_multiple_of(2) { number / 2 } else { 3 * number + 1 };
        steps += 1;
    }
    steps
}

/// The sum of neighbouring entries; after the last one follows the first.
fn stream(task: &Task, table: &[u32]) -> u64 {
    let (start, mut left) = (task.start as usize, task.repeats as usize);
    let mut sum = 0;
    let mut rest = &table[start..];
    while left > 0 {
        let part = &rest[..left.min(rest.len())];
        sum += part.iter().map(|&entry| u64::from(entry)).sum::<u64>();
        left -= part.len();
        rest = table;
    }
    sum
}

/// The table of a workload, of a power of two entries where it is large.
pub(super) fn table(kind: Kind, entries: usize) -> Vec<u32> {
    match kind {
        Kind::Compute => vec![START],
        Kind::Stream => (0..entries as u32).collect(),
        Kind::Irregular => (0..entries as u32).map(|at| next(at, entries)).collect(),
    }
}

/// A linear congruential generator of full period: each entry follows exactly one other.
const FACTOR: u32 = 1_664_525;
const ADDEND: u32 = 1_013_904_223;

/// The entry after `at` of a table whose length is a power of two.
fn next(at: u32, entries: usize) -> u32 {
    at.wrapping_mul(FACTOR).wrapping_add(ADDEND) & (entries - 1) as u32
}

/// The result of [`apply`] computed by another method: closed forms instead of steps.
pub(super) fn expected(task: &Task, entries: usize) -> u64 {
    let Task { kind, start, repeats } = *task;
    match kind {
        Kind::Compute => u64::from(repeats) * STEPS,
        Kind::Stream => sum_of_entries(start.into(), repeats.into(), entries as u64),
        Kind::Irregular => jump(start, repeats, entries).into(),
    }
}

/// The sum of `count` numbers from `start` on, where 0 follows `entries - 1`.
fn sum_of_entries(start: u64, count: u64, entries: u64) -> u64 {
    let below = |end: u64| end * end.saturating_sub(1) / 2;
    let whole = |end: u64| end / entries * below(entries) + below(end % entries);
    whole(start + count) - whole(start)
}

/// The state of the generator `steps` after `start`: its composition with itself, by repeated
/// squaring.
fn jump(start: u32, mut steps: u32, entries: usize) -> u32 {
    let (mut factor, mut addend) = (FACTOR, ADDEND);
    let mut at = start;
    while steps > 0 {
        if steps % 2 == 1 {
            at = at.wrapping_mul(factor).wrapping_add(addend);
        }
        addend = addend.wrapping_mul(factor.wrapping_add(1));
        factor = factor.wrapping_mul(factor);
        steps /= 2;
    }
    at & (entries - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequences_take_the_steps_that_are_known() {
        assert_eq!([1, 6, 7, 27, 97].map(steps), [0, 8, 16, 111, 118]);
        assert_eq!(steps(START), STEPS);
    }

    proptest! {
        /// Catches: a closed form that differs from the steps it stands for, at the end of the
        /// table too.
        #[test]
        fn closed_forms_are_what_the_steps_come_to(
            kind in prop::sample::select(vec![Kind::Compute, Kind::Stream, Kind::Irregular]),
            log in 0..9_u32, start in any::<u32>(), repeats in 0..1_500_u32,
        ) {
            let table = table(kind, 1 << log);
            let task = Task { kind, start: start % table.len() as u32, repeats };
            prop_assert_eq!(apply(&task, &table), expected(&task, table.len()));
        }
    }
}
