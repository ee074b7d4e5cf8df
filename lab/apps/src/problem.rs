//! The operations of a prepared application: a serial run, a run in a pool, a check of its result.
//!
//! Applications implement [`Solve`], with an input and a result of their own types. The command
//! uses them through the object-safe [`Problem`], which times only the computation, without copying
//! the input and dropping the result.

use std::any::Any;
use std::fmt;
use std::time::{Duration, Instant};

use sinew::profile::{Call, Graph, Profile, Profiler};
use sinew::{Counters, Pool, Worker};

use crate::gather::gather;
use crate::processor;
use crate::record::Transactions;

/// A prepared application.
pub trait Problem: Send + Sync {
    /// Its size, in words: `T3`, `2048 x 2048, 100 steps`.
    fn size(&self) -> String;

    /// Runs the serial version.
    ///
    /// # Blocking
    ///
    /// Until the result exists.
    fn serial(&self) -> Run;

    /// Runs the parallel version in a pool, whose workers have all been woken before.
    ///
    /// # Blocking
    ///
    /// Until the result exists. A caller from outside takes the pool's external slot meanwhile.
    fn parallel(&self, pool: &Pool) -> Run;

    /// Checks a result by itself: against a published value if there is one, otherwise by its
    /// properties.
    ///
    /// # Errors
    ///
    /// The error.
    ///
    /// # Panics
    ///
    /// If the result belongs to another application.
    fn check(&self, answer: &Answer) -> Result<(), Wrong>;

    /// Compares two results, which have to be exactly equal.
    ///
    /// # Errors
    ///
    /// The difference.
    ///
    /// # Panics
    ///
    /// If a result belongs to another application.
    fn agree(&self, serial: &Answer, parallel: &Answer) -> Result<(), Wrong>;
}

/// One run of a problem.
#[derive(Debug)]
pub struct Run {
    /// The result.
    pub answer: Answer,
    /// Duration of the computation.
    pub wall: Duration,
    /// The processor time that it took, where the system counts that, all threads of the process
    /// together.
    pub processor: Option<Duration>,
    /// The pool's counters during the run; all zero for a serial run. Other users of the pool are
    /// counted, too.
    pub counters: Counters,
    /// The pool's profile, if the pool profiles and this was a parallel run.
    pub profile: Option<Profile>,
    /// The transactions of a parallel run. Concurrent transactions of other users are counted, too.
    pub transactions: Transactions,
}

/// A result of any application; its `Display` is a short form of it.
pub struct Answer {
    value: Box<dyn Any + Send>,
    show: fn(&dyn Any, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl Answer {
    fn new<T: Any + Send + fmt::Display>(value: T) -> Self {
        let show = |value: &dyn Any, f: &mut fmt::Formatter<'_>| {
            value.downcast_ref::<T>().map_or(Err(fmt::Error), |value| value.fmt(f))
        };
        Self { value: Box::new(value), show }
    }

    fn get<T: Any>(&self) -> &T {
        self.value.downcast_ref().expect("an answer of the same application")
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.show)(&*self.value, f)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({self})")
    }
}

/// The error in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

impl Wrong {
    /// `Ok` if `right` holds.
    pub(crate) fn unless(right: bool, why: impl FnOnce() -> String) -> Result<(), Self> {
        if right { Ok(()) } else { Err(Self(why())) }
    }
}

/// The part of a problem that an application implements.
pub(crate) trait Solve: Send + Sync {
    /// The state that one run consumes or changes; created anew for each run, outside the timing.
    type Input: Send;
    /// The result of one run.
    type Answer: Any + Send + PartialEq + fmt::Display;

    fn size(&self) -> String;
    fn input(&self) -> Self::Input;
    /// The parallel version's, where it works on something else.
    fn parallel_input(&self) -> Self::Input {
        self.input()
    }
    /// Puts the parallel version's input where the pool's workers want it, outside the timing.
    fn place(&self, input: Self::Input, pool: &Pool) -> Self::Input {
        let _ = pool;
        input
    }
    fn serial(&self, input: Self::Input) -> Self::Answer;
    fn parallel(&self, worker: &Worker, input: Self::Input) -> Self::Answer;
    fn check(&self, answer: &Self::Answer) -> Result<(), Wrong>;
}

/// Hides an application's types.
pub(crate) fn problem(solve: impl Solve + 'static) -> Box<dyn Problem> {
    Box::new(Prepared(solve))
}

struct Prepared<S>(S);

impl<S: Solve> Problem for Prepared<S> {
    fn size(&self) -> String {
        self.0.size()
    }

    fn serial(&self) -> Run {
        let input = self.0.input();
        let (value, wall, processor) = timed(|| self.0.serial(input));
        let (counters, transactions) = (Counters::default(), Transactions::default());
        Run { answer: Answer::new(value), wall, processor, counters, profile: None, transactions }
    }

    fn parallel(&self, pool: &Pool) -> Run {
        let input = self.0.place(self.0.parallel_input(), pool);
        gather(pool);
        let before = pool.counters();
        let profiler = Profiler::of(pool);
        if let Some(profiler) = profiler {
            profiler.take();
        }
        let begun = Transactions::so_far();
        let (value, wall, processor) = timed(|| pool.run(|worker| self.0.parallel(worker, input)));
        let transactions = Transactions::so_far().since(begun);
        let profile = profiler.map(Profiler::take);
        let counters = count(pool, before);
        Run { answer: Answer::new(value), wall, processor, counters, profile, transactions }
    }

    fn check(&self, answer: &Answer) -> Result<(), Wrong> {
        self.0.check(answer.get())
    }

    fn agree(&self, serial: &Answer, parallel: &Answer) -> Result<(), Wrong> {
        let same = serial.get::<S::Answer>() == parallel.get::<S::Answer>();
        Wrong::unless(same, || format!("serial and parallel differ: {serial} and {parallel}"))
    }
}

/// The recording of the last parallel run of a [`Problem`] in a pool whose profiler records;
/// nothing in another pool. A run calls all workers together before and after its own call.
pub fn last_recording(pool: &Pool) -> Graph {
    let graph = Profiler::of(pool).and_then(Profiler::take_recording).unwrap_or_default();
    let last =
        graph.calls().iter().rev().nth(1).and_then(|call| Call::new(0, call.tokens().to_vec()));
    Graph::new(last.into_iter().collect())
}

fn timed<T>(compute: impl FnOnce() -> T) -> (T, Duration, Option<Duration>) {
    let before = processor::used();
    let start = Instant::now();
    let value = compute();
    let wall = start.elapsed();
    let after = processor::used();
    (value, wall, before.zip(after).map(|(before, after)| after.saturating_sub(before)))
}

/// The counters since `before`: events up to now, times up to a meeting that updates them.
fn count(pool: &Pool, before: Counters) -> Counters {
    let mut counters = pool.counters().since(before);
    gather(pool);
    let times = pool.counters().since(before);
    counters.searching_ns = times.searching_ns;
    counters.parked_ns = times.parked_ns;
    counters.blocked_ns = times.blocked_ns;
    counters
}
