//! The whole pool at once, for programs that deal out their work themselves.

use sinew::{Schedule, Worker, over};

/// Calls `work` with each number below the number of workers, each on a worker of its own where that many are free; answers what the calls
/// answered, in order.
///
/// A worker that is busy elsewhere costs time, not correctness: its call is made by another, later. So no call may wait for another.
pub(crate) fn crew<R: Send>(worker: &Worker, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    over(0..worker.max_workers()).schedule(Schedule::Dynamic { chunk: 1 }).map(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: calls that are made one after the other.
    #[test]
    fn every_worker_is_called_once() {
        for threads in [1, 2, 4] {
            let pool = sinew::Pool::builder().threads(threads).build().unwrap();
            let numbers = pool.run(|worker| crew(worker, |member| member));
            assert_eq!(numbers, (0..threads).collect::<Vec<_>>());
        }
    }
}
