//! The time that workers waited for a core. A speed-up measured beside other programs means little.
//!
//! Linux counts for each thread how long it was ready to run without a core (`schedstat`). Without
//! `schedstat` nothing is printed. Time that a virtual machine's host takes is not included.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// The least share of the workers' time that is reported.
const WORTH_A_WORD: f64 = 0.05;

/// Total time that all threads of this process have waited for a core.
pub(crate) fn waited() -> Option<Duration> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let waits = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("schedstat")));
    // A thread that has ended meanwhile is left out.
    let nanoseconds: Vec<u64> = waits.flatten().filter_map(|text| ready_ns(&text)).collect();
    (!nanoseconds.is_empty()).then(|| Duration::from_nanos(nanoseconds.iter().sum()))
}

/// Time that one thread has waited for a core; `thread` is its folder below `/proc`.
pub(crate) fn waited_by(thread: &Path) -> Option<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    ready_ns(&text).map(Duration::from_nanos)
}

/// The second of three numbers: time on a core, time ready without one, turns.
fn ready_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

/// The message about the share of the workers' time spent waiting for a core.
pub(crate) fn remark(share: Option<f64>) -> Option<String> {
    let percent = share.filter(|&share| share >= WORTH_A_WORD)? * 100.0;
    Some(format!(
        "The workers waited for a core {percent:.0} % of the time (other programs, or more \
         workers than cores): with a core each, speed-ups are higher."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_time_without_a_core() {
        assert_eq!(ready_ns("123456 789 12\n"), Some(789));
        for nonsense in ["", "1", "a b c"] {
            assert_eq!(ready_ns(nonsense), None);
        }
    }

    #[test]
    fn only_a_noticeable_share_is_mentioned() {
        assert_eq!(remark(None), None);
        assert_eq!(remark(Some(0.01)), None);
        assert!(remark(Some(0.25)).unwrap().contains("25 %"));
    }

    /// Catches: a number that is not a time. The test looks at one thread only, because others may
    /// end meanwhile and would be left out.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_that_a_thread_waits_for_a_core_never_falls() {
        let of_this_thread = || ready_ns(&fs::read_to_string("/proc/thread-self/schedstat").ok()?);
        let Some(before) = of_this_thread() else {
            eprintln!("skipped: this system has no /proc/thread-self/schedstat");
            return;
        };
        assert!(waited().is_some() && of_this_thread().unwrap() >= before);
    }
}
