//! The subjects of a comparison: problems, their sizes, and the forms in which a runtime solves
//! them.

use std::cell::Cell;
use std::time::Instant;

/// The runtime that does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Serial,
    Sinew,
    Rayon,
    Chili,
    ForkUnion,
    OpenMp,
    Tbb,
    /// Sinew in C++, by its library for C.
    Libsinew,
    /// Takes part if `--lace` names a copy of it.
    Lace,
}

impl Runtime {
    /// The rivals, by the names that the command line knows.
    pub(crate) const RIVALS: [(&'static str, Self); 6] = [
        ("rayon", Self::Rayon),
        ("chili", Self::Chili),
        ("fork_union", Self::ForkUnion),
        ("openmp", Self::OpenMp),
        ("tbb", Self::Tbb),
        ("libsinew", Self::Libsinew),
    ];

    /// Whether it runs in this process.
    pub(crate) fn is_here(self) -> bool {
        !matches!(self, Self::OpenMp | Self::Tbb | Self::Libsinew | Self::Lace)
    }
}

/// One size of a problem. The problem defines the meaning of the numbers; they are passed to rivals
/// in other processes unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    /// The name of the case in tables.
    pub(crate) label: &'static str,
    pub(crate) size: u64,
    pub(crate) kind: u64,
    pub(crate) repeats: u64,
    /// Number of operations in a run; the time per operation is the run's time divided by this.
    pub(crate) operations: u64,
}

/// The time of one run, and its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) ns: u64,
    pub(crate) answer: u64,
}

/// A runtime that has been started; it stops when this is dropped.
pub(crate) type Running = Box<dyn FnMut(&Case) -> Result<Sample, String>>;

/// One way to solve a problem.
pub(crate) struct Form {
    pub(crate) runtime: Runtime,
    pub(crate) name: &'static str,
    start: Box<dyn Fn(usize) -> Result<Running, String>>,
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("runtime", &self.runtime)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Form {
    /// A form that starts its runtime by hand.
    pub(crate) fn new(
        runtime: Runtime,
        name: &'static str,
        start: impl Fn(usize) -> Result<Running, String> + 'static,
    ) -> Self {
        Self { runtime, name, start: Box::new(start) }
    }

    /// A form that runs in this process: a pool of `threads`, then `program` on it, timed from
    /// outside.
    pub(crate) fn in_process<P: 'static>(
        runtime: Runtime,
        name: &'static str,
        pool: fn(usize) -> Result<P, String>,
        program: fn(&mut P, &Case) -> u64,
    ) -> Self {
        Self::new(runtime, name, move |threads| {
            let mut pool = pool(threads)?;
            Ok(Box::new(move |case: &Case| Ok(timed(|| program(&mut pool, case)))))
        })
    }

    /// A form without any runtime.
    pub(crate) fn serial(name: &'static str, program: fn(&Case) -> u64) -> Self {
        Self::new(Runtime::Serial, name, move |_| {
            Ok(Box::new(move |case: &Case| Ok(timed(|| program(case)))))
        })
    }

    /// Starts the runtime.
    ///
    /// # Errors
    ///
    /// One line with the reason why it cannot start.
    pub(crate) fn start(&self, threads: usize) -> Result<Running, String> {
        (self.start)(threads).map_err(|why| format!("{} on {threads} threads: {why}", self.name))
    }
}

thread_local! {
    /// Nanoseconds of the part of a program that counts, if it has named one.
    static MEASURED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs the part of a program that counts: its input is made before, its answer computed after.
/// Called by the thread that runs the program.
pub(crate) fn measured<R>(part: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let value = part();
    MEASURED.set(Some(ns_since(start)));
    value
}

/// Runs `program` once; its time is that of its [`measured`] part, or of all without one.
fn timed(program: impl FnOnce() -> u64) -> Sample {
    MEASURED.set(None);
    let start = Instant::now();
    let answer = program();
    let all = ns_since(start);
    Sample { ns: MEASURED.take().unwrap_or(all), answer }
}

pub(crate) fn ns_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A computation, with every runtime's form of it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) name: &'static str,
    /// One line for the help text.
    pub(crate) about: &'static str,
    /// The name of an operation.
    pub(crate) unit: &'static str,
    /// The expected result, computed without any runtime.
    pub(crate) serial: fn(&Case) -> u64,
    /// Forms that run in this process, ours first: the first of ours is what others are divided by.
    pub(crate) forms: fn() -> Vec<Form>,
    /// The cases at full size or at tiny size.
    pub(crate) cases: fn(Scale) -> Vec<Case>,
    /// A short case that wakes a runtime up and checks what the timed one cannot.
    pub(crate) warm: fn(&Case) -> Case,
    /// Two sizes between which instructions are counted, where that says something.
    pub(crate) counted: Option<fn() -> [Case; 2]>,
    /// Whether the rivals in other processes have it.
    pub(crate) in_processes: bool,
    pub(crate) bars: &'static [Bar],
}

/// The size of the computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Full,
    /// Ends at once; shows that everything works, and no figure worth keeping.
    Tiny,
}

impl Scale {
    /// `full` or `tiny`, as the scale says.
    pub(crate) fn pick<T>(self, full: T, tiny: T) -> T {
        if self == Self::Tiny { tiny } else { full }
    }
}

/// The number of threads of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Team {
    One,
    /// The number given by `--threads`.
    All,
}

/// A row of the table: a form by name, and its team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row(pub(crate) &'static str, pub(crate) Team);

/// The rows that a bar compares.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Measure {
    /// Time of the first divided by time of the second, round by round.
    Ratio(Row, Row),
    /// Nanoseconds per operation.
    PerOperation(Row),
}

/// The demand of a bar.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// A figure that we want to reach. A miss is information, not an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bar {
    /// The case it belongs to; all of them if empty.
    pub(crate) case: &'static str,
    pub(crate) what: &'static str,
    pub(crate) measure: Measure,
    pub(crate) limit: Limit,
}
