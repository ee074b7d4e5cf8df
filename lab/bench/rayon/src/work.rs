//! A program with its input, and how one run of it is measured.
//!
//! Wall time is that of the repetitions alone. Processor time is that of the whole process, until
//! its threads have come to rest: the time that a pool searches after the last task is part of the
//! price. Then the answer of the last repetition is digested.

use crate::answer::Answer;
use cpu_time::ProcessTime;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// The size of the computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scale {
    /// A few milliseconds each.
    Full,
    /// Ends at once; shows that everything works.
    Tiny,
}

impl Scale {
    /// `full` or `tiny`, as the scale says.
    pub(crate) fn pick<T>(self, full: T, tiny: T) -> T {
        if self == Self::Tiny { tiny } else { full }
    }
}

/// The times of one run, and its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) wall_ns: u128,
    pub(crate) cpu_ns: u128,
    pub(crate) answer: u64,
}

impl Sample {
    /// A result without times.
    pub(crate) fn untimed(answer: u64) -> Self {
        Self { wall_ns: 0, cpu_ns: 0, answer }
    }
}

/// A program with its input.
pub(crate) trait Work {
    /// Runs it `repeats` times (at least once) on rayon.
    fn parallel(&self, repeats: u32) -> Sample;
    /// Runs it as often without rayon.
    fn serial(&self, repeats: u32) -> Sample;
    /// Runs it as often on rayon, and does nothing else: for those who count instructions.
    fn unmeasured(&self, repeats: u32) -> u64;
    /// The same without rayon.
    fn serial_unmeasured(&self, repeats: u32) -> u64;
}

struct Prepared<I, O> {
    input: I,
    serial: fn(&I) -> O,
    parallel: fn(&I) -> O,
}

/// Puts a program together: what it works on, the reference, and the form that is measured.
pub(crate) fn work<I: 'static, O: Answer + 'static>(
    input: I,
    serial: fn(&I) -> O,
    parallel: fn(&I) -> O,
) -> Box<dyn Work> {
    Box::new(Prepared { input, serial, parallel })
}

impl<I, O: Answer> Work for Prepared<I, O> {
    fn parallel(&self, repeats: u32) -> Sample {
        sample(repeats, || (self.parallel)(black_box(&self.input)))
    }

    fn serial(&self, repeats: u32) -> Sample {
        sample(repeats, || (self.serial)(black_box(&self.input)))
    }

    fn unmeasured(&self, repeats: u32) -> u64 {
        repeat(repeats, || (self.parallel)(black_box(&self.input))).digest()
    }

    fn serial_unmeasured(&self, repeats: u32) -> u64 {
        repeat(repeats, || (self.serial)(black_box(&self.input))).digest()
    }
}

fn sample<O: Answer>(repeats: u32, run: impl Fn() -> O) -> Sample {
    let cpu = ProcessTime::now();
    let wall = Instant::now();
    let last = repeat(repeats, run);
    let wall = wall.elapsed();
    let cpu = cpu.elapsed() + come_to_rest();
    Sample { wall_ns: wall.as_nanos(), cpu_ns: cpu.as_nanos(), answer: last.digest() }
}

/// The result of the last of `repeats` runs.
fn repeat<O>(repeats: u32, run: impl Fn() -> O) -> O {
    for _ in 1..repeats {
        drop(black_box(run()));
    }
    run()
}

/// Sleeps until the other threads of this process have gone to sleep as well, for a second at the
/// most; returns the processor time they used until then.
pub(crate) fn come_to_rest() -> Duration {
    const LOOK_EVERY: Duration = Duration::from_millis(2);
    // The sleep and the look at the clock themselves cost some microseconds.
    const QUIET: Duration = Duration::from_micros(40);
    let all = ProcessTime::now();
    for _ in 0..500 {
        let cpu = ProcessTime::now();
        thread::sleep(LOOK_EVERY);
        if cpu.elapsed() <= QUIET {
            break;
        }
    }
    all.elapsed()
}

#[cfg(test)]
mod tests {
    //! Blind to: a clock that runs wrongly.
    use super::*;

    #[test]
    fn repetitions_are_all_run_and_the_answer_is_the_last_ones() {
        let calls = std::cell::Cell::new(0u64);
        let run = || {
            calls.set(calls.get() + 1);
            calls.get()
        };
        assert_eq!(sample(5, run).answer, 5);
    }

    #[test]
    fn threads_at_rest_use_next_to_nothing() {
        rayon::join(|| (), || ());
        come_to_rest();
        assert!(come_to_rest() < Duration::from_millis(20));
    }
}
