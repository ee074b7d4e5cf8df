//! The processor time that this process has used: what a run costs, however many others run beside
//! it.
//!
//! Linux counts it for each thread (`schedstat`); on other systems it is not known. Time that a
//! virtual machine's host takes counts as used.

use std::fs;
use std::time::Duration;

/// The processor time of all existing threads together.
pub(crate) fn used() -> Option<Duration> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let texts = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("schedstat")));
    // A thread that has ended meanwhile is left out.
    let nanoseconds: Vec<u64> = texts.flatten().filter_map(|text| running_ns(&text)).collect();
    (!nanoseconds.is_empty()).then(|| Duration::from_nanos(nanoseconds.iter().sum()))
}

/// The first of three numbers: time on a core, time ready without one, turns.
fn running_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blind to: the number beside it.
    #[test]
    fn the_first_number_is_the_time_on_a_core() {
        assert_eq!(running_ns("123456 789 12\n"), Some(123_456));
        assert_eq!([running_ns(""), running_ns("a b c")], [None, None]);
    }
}
