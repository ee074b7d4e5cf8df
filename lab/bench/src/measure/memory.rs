//! The memory of a worker: as reported by the pool, and as measured by the system.
//!
//! The second figure is the growth of resident memory per worker, when a pool of many starts and
//! all of them have worked. It includes the part of the threads' stacks that they touched.

use super::line::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{self, Worker};
use std::fs;

/// Measures one pool.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    const BAR: &str = "at most 1 MiB";
    let workers = scale.pick(65, 5);
    let before = resident()?;
    let pool = sinew::pool(workers)?;
    pool.run(|w| spread(w, 12));
    let grown = resident()?.saturating_sub(before) as f64 / (workers - 1) as f64;
    let said = pool.bytes_per_worker() as f64;
    let line = |what: &str, value| {
        let line = Line::single(what.to_owned(), "a worker", value, Unit::Bytes);
        line.at_most("a worker", 1024.0 * 1024.0, BAR)
    };
    Ok(vec![
        line("beside the thread's stack, as the pool says", said),
        line("resident, stack included", grown),
    ])
}

/// A tree of tasks, so that every worker finds one.
fn spread(w: &Worker, depth: u32) -> u64 {
    if depth == 0 {
        return crate::work::spin(10_000, 1) & 1;
    }
    let (a, b) = w.join(|w| spread(w, depth - 1), |w| spread(w, depth - 1));
    a + b
}

/// Bytes of memory that this process has in use.
fn resident() -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status")
        .map_err(|_| "no /proc/self/status on this system")?;
    resident_in(&status).ok_or_else(|| "no resident size in /proc/self/status".to_owned())
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    //! Blind to: memory that is reserved and never touched; it costs address space only.
    use super::*;

    #[test]
    fn the_resident_size_is_read_in_bytes() {
        assert_eq!(resident_in("VmSize:\t  99 kB\nVmRSS:\t    12 kB\n"), Some(12 * 1024));
        assert_eq!(resident_in("VmSize:\t  99 kB\n"), None);
    }
}
