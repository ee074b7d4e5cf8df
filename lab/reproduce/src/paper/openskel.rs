//! Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory" (PhD
//! thesis, University of Edinburgh, 2012): its tables, and what its text says about its figures,
//! which are pictures without numbers.
//!
//! Machines: UMA16 (4 packages of 4 cores, one memory), NUMA32 (4 packages and nodes of 8 cores).

/// A row of Table 4.2, NUMA32: in words, except the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character {
    /// The application.
    pub app: &'static str,
    /// The number of cores up to which it scales.
    pub scales_to: u32,
    /// The abort rate.
    pub aborts: &'static str,
    /// The fraction of its reads that miss the last cache.
    pub misses: &'static str,
    /// The length of its transactions.
    pub length: &'static str,
}

/// Table 4.2.
pub const TABLE_4_2: [Character; 5] = [
    character("intruder", 4, "high", "medium", "short"),
    character("kmeans", 8, "high", "high", "medium"),
    character("labyrinth", 32, "medium", "low", "long"),
    character("vacation", 16, "low", "low", "short"),
    character("yada", 16, "high", "medium", "medium"),
];

const fn character(
    app: &'static str,
    scales_to: u32,
    aborts: &'static str,
    misses: &'static str,
    length: &'static str,
) -> Character {
    Character { app, scales_to, aborts, misses, length }
}

/// A row of Table 4.3: standard deviations of the execution time in per cent, averaged over all
/// numbers of cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// The application.
    pub app: &'static str,
    /// The baseline on UMA16.
    pub baseline_uma16: f64,
    /// The original on UMA16.
    pub original_uma16: f64,
    /// The baseline on NUMA32.
    pub baseline_numa32: f64,
    /// The original on NUMA32.
    pub original_numa32: f64,
}

/// Table 4.3.
pub const TABLE_4_3: [Deviation; 5] = [
    deviation("intruder", [0.2, 1.2, 0.8, 1.6]),
    deviation("kmeans", [1.8, 3.9, 2.6, 4.2]),
    deviation("labyrinth", [4.3, 6.5, 4.9, 7.5]),
    deviation("vacation", [0.8, 1.4, 1.5, 1.6]),
    deviation("yada", [0.7, 2.0, 1.8, 1.7]),
];

const fn deviation(app: &'static str, all: [f64; 4]) -> Deviation {
    let [baseline_uma16, original_uma16, baseline_numa32, original_numa32] = all;
    Deviation { app, baseline_uma16, original_uma16, baseline_numa32, original_numa32 }
}

/// The statements of section 5.2 about single optimisations.
const SINGLES: [(&str, &str, &str); 16] = [
    ("intruder", "stealing", "up to 102 %"),
    ("kmeans", "stealing", "35 %"),
    ("labyrinth", "stealing", "takes longer to find a victim"),
    ("vacation", "stealing", "47 %"),
    ("yada", "stealing", "UMA16: up to 35 %"),
    ("intruder", "coalescing", "NUMA32: up to 16 %"),
    ("kmeans", "coalescing", "NUMA32: 4 %"),
    ("labyrinth", "coalescing", "no improvement"),
    ("vacation", "coalescing", "UMA16: 32 %; NUMA32: none"),
    ("yada", "coalescing", "UMA16: 7 %"),
    ("intruder", "swap retry", "no improvement"),
    ("kmeans", "swap retry", "no improvement"),
    ("labyrinth", "swap retry", "UMA16: 4 %"),
    ("vacation", "swap retry", "no impact"),
    ("yada", "swap retry", "up to 33 %"),
    ("labyrinth", "helpers", "no improvement"),
];

/// More of the same: helper threads, of which the text says most.
const HELPERS: [(&str, &str); 3] =
    [("intruder", "NUMA32: 12 %"), ("vacation", "UMA16: up to 10 %"), ("kmeans", "no improvement")];

/// Section 5.2.4, of Figure 5.6.
pub const HELPERS_WORDS: &str = "The publication: helpers can pay only where an application stops \
    scaling and leaves cores idle. They made applications up to 20 % faster than the baseline: \
    vacation 10 % on UMA16, intruder 12 % on NUMA32, where it stops scaling at four cores, and \
    yada more the more cores of UMA16. Labyrinth scales to all cores and gains nothing. 16 workers \
    with 16 helpers gained nothing on NUMA32.";

/// The statement about a single optimisation; `None` if there is none that fits into a table.
pub fn single(app: &str, optimisation: &str) -> Option<&'static str> {
    let helped = HELPERS.iter().filter(|_| optimisation == "helpers").find(|(of, _)| *of == app);
    let said = SINGLES.iter().find(|(of, what, _)| (*of, *what) == (app, optimisation));
    said.map(|said| said.2).or_else(|| helped.map(|said| said.1))
}

/// Section 4.3.2, of Figure 4.2.
pub const VERSIONS_WORDS: &str = "The publication: the baseline is up to 28 % faster than the \
    original on UMA16 and up to 26 % on NUMA32, 3 % on average on both; vacation, whose original \
    has no list, is left out there, as its baseline is much slower above 4 cores.";

/// The applications without which section 4.3.2 averages.
pub const VERSIONS_LEFT_OUT: [&str; 1] = ["vacation"];

/// Section 4.1, of commit-time locking and of TL2.
pub const LOCKING_WORDS: &str = "The publication shows no figures of it: applications and \
    optimisations behaved alike under commit-time and under encounter-time locking, whose results \
    it gives.";

/// Sections 6.3 and 7.2.3, of Figures 6.5 and 7.6.
pub const COMBINED_WORDS: &str = "The publication: the tuner is 2 % slower than the oracle on \
    UMA16 and 7 % faster on NUMA32, on average, and nowhere slower than the best single \
    optimisation; up to 88 % over the baseline, 46 % on average, on UMA16, up to 115 % and 56 % on \
    NUMA32. With threads mapped and pages placed as well: the same on UMA16, up to 162 % and 91 % \
    on NUMA32.";

/// Section 6.3.2, of Figure 6.6.
pub const THRESHOLDS_WORDS: &str = "The publication, on UMA16: (0.1, 0.1) is the best pair and \
    (0.9, 0.9) the worst; most of the pairs differ little. Its alpha is a number of stalls per \
    commit, its beta one of aborts per commit. An abort is what the contention manager makes of \
    a conflict: suicide aborts at each lock that it meets, and again at once while the lock is \
    held, where backoff waits first. So a beta that was found under one manager means another \
    number of conflicts under the next.";

/// Section 6.3.3, of Figure 6.7.
pub const PATH_WORDS: &str = "The publication, on UMA16: tuning yada took less than 2 % of its \
    time, and so for all but labyrinth, which has few and long transactions; yada's lifespan ended \
    at 1000 words, labyrinth's retries fell from 32 to 4, and intruder's rose at the end of the \
    run, where nearly everything aborts.";

/// Section 7.1.1, of Figure 7.1.
pub const FOOTPRINT_WORDS: &str = "The publication, of four applications with four threads: each \
    thread ends up traversing most of the pages, where others do so as well; so no placement of \
    pages once and for all suits them.";

/// Sections 7.2.1 and 7.2.2, of Figures 7.4 and 7.5.
pub const PLACES_WORDS: &str = "The publication, of the baseline: on NUMA32 compact is up to 134 % \
    faster than scatter, 48 % on average, for all but labyrinth, and what the system does is about \
    as good as scatter; on NUMA16 and NUMA32 binding pages to their threads' nodes, or spreading \
    them, is 8 % faster than first touch on average, up to 14 % for kmeans and 46 % for vacation \
    on NUMA16.";

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a quote that stands with another application.
    #[test]
    fn quotes_stand_with_their_applications() {
        assert_eq!(single("yada", "coalescing"), Some("UMA16: 7 %"));
        assert_eq!(single("intruder", "helpers"), Some("NUMA32: 12 %"));
        assert_eq!((single("yada", "helpers"), single("bank", "stealing")), (None, None));
    }
}
