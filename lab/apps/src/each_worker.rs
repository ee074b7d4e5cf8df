//! The whole pool at once, for programs that deal out their work themselves.

use sinew::iter::LoopOptions;
use sinew::iter::ParIter;
use sinew::{Schedule, Worker, over};

/// Calls `work` with each number below the number of workers, each on a worker of its own where
/// that many are free; returns their results, in order.
///
/// The call of a busy worker is made by another one later: this costs time, not correctness. So no
/// call may wait for another.
pub(crate) fn on_each_worker<R: Send>(
    worker: &Worker,
    work: impl Fn(usize) -> R + Sync + Send,
) -> Vec<R> {
    over(0..worker.max_threads()).schedule(Schedule::Dynamic { chunk: 1 }).map(work).collect()
}

/// The part of `0..all` that is `member`'s: as large as the others', or one larger.
pub(crate) fn share(all: usize, member: usize, members: usize) -> std::ops::Range<usize> {
    let end = |member: usize| (all as u128 * member as u128 / members as u128) as usize;
    end(member)..end(member + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: calls that are made one after the other.
    #[test]
    fn every_worker_is_called_once() {
        for threads in [1, 2, 4] {
            let pool = sinew::Pool::builder().threads(threads).build().unwrap();
            let numbers = pool.run(|worker| on_each_worker(worker, |member| member));
            assert_eq!(numbers, (0..threads).collect::<Vec<_>>());
        }
    }

    /// Catches: shares that differ by more than one.
    #[test]
    fn shares_follow_each_other_and_are_everything() {
        for (all, members) in [(0, 3), (2, 5), (10, 3), (usize::MAX, 7)] {
            let ends: Vec<_> = (0..members).map(|member| share(all, member, members)).collect();
            assert_eq!((ends[0].start, ends[members - 1].end), (0, all));
            assert!(ends.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
