//! Mark Jenkins, "Design and Analysis of a Plastic Parallel Programming System" (2017): a virtual
//! machine with four cores at 4 GHz, means of 50 runs.

/// The time added: in milliseconds and, if the publication states it, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    /// Number of tasks.
    pub tasks: usize,
    /// Milliseconds.
    pub ms: f64,
    /// As a share of the time without it.
    pub percent: Option<f64>,
}

/// Table 6.1: what collecting metrics added.
pub const METRICS: Added = Added { tasks: 100_000, ms: 877.0, percent: Some(3.5) };

/// Table 6.4: what a controller and one switch that changes nothing added.
pub const SWITCHES: [Added; 3] = [
    Added { tasks: 1_000, ms: 2.0, percent: Some(2.7) },
    Added { tasks: 10_000, ms: -2.0, percent: None },
    Added { tasks: 100_000, ms: -127.0, percent: None },
];

/// Section 6.1.4: how many times as fast as static the dynamic schedules were: "almost three
/// times".
pub const DYNAMIC_OVER_STATIC: f64 = 3.0;

/// Number of threads of all experiments.
pub const THREADS: usize = 4;

/// The text about Figure 6.2, whose values only the picture shows.
pub const PERFORMANCE_WORDS: &str = "Its Figure 6.2 is a picture without numbers. The text says: \
    with a single thread the skeleton is similar to the sequential program, with more it scales \
    accordingly, on a par with OpenMP.";

/// The same of Figure 6.4.
pub const SCHEDULES_WORDS: &str = "Its Figure 6.4 is a picture without numbers. The text says: the \
    dynamic schedules are almost three times as fast as static, with single tasks a little slower \
    than with chunks. Also static that is switched to chunks after five seconds is on a par with \
    chunks from the beginning.";

/// Experiment 5: two programs, and how many tasks each had. Both had as many threads as there were
/// cores, or the first 4, 2 and 4, and the second 2.
pub const SHARING_TASKS: [usize; 2] = [30_000, 15_000];

/// Number of times that each task repeated the sequence.
pub const SHARING_REPEATS: u32 = 10_000_000;

/// The times between two looks for messages that the text names, in milliseconds.
pub const SHARING_INTERVALS_MS: [u64; 2] = [20, 100];

/// The text about Figure 6.5.
pub const SHARING_WORDS: &str = "Its Figure 6.5 is a picture without numbers. The text says: the \
    coordinated programs were consistently faster than both in anarchy, and their times varied \
    significantly less. Also 100 ms between two looks for messages were better than 20 ms, in all \
    50 runs, for reasons that are not known.";

/// The text about co-scheduling, after another publication.
pub const PAIRS_WORDS: &str = "Its Figure 2.1, taken from Collins, Harris, Cole and Fensch, \
    \"LIRA: Adaptive Contention-Aware Thread Placement for Parallel Runtime Systems\", shows the \
    pairwise speed-up of programs that share a socket over the same on sockets of their own. Most \
    pairs lose, and some gain.";
