//! Every source against the sequential iterator of the standard library, under all schedules and on
//! pools of one to four workers.

use crate::iter::IndexedParIter;
use std::fmt::Debug;
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, OnceLock};

use proptest::prelude::*;
use sinew_core::Pool;
use sinew_policy::chunk::Schedule;

use super::IntoParallelIterator;
use crate::iter::{IndexedPositions, ParallelIterator};
use crate::loops::{Options, drive};
use crate::source::any_schedule;

/// How a test runs its chains.
#[derive(Debug, Clone)]
struct Way {
    threads: usize,
    schedule: Schedule,
    cuts: Vec<prop::sample::Index>,
}

fn any_way() -> impl Strategy<Value = Way> {
    let schedule = prop_oneof![
        9 => any_schedule(),
        1 => (1..9_usize).prop_map(|grain| Schedule::Adaptive { grain }),
    ];
    let cuts = proptest::collection::vec(any::<prop::sample::Index>(), 0..6);
    (1..=4_usize, schedule, cuts).prop_map(|(threads, schedule, cuts)| Way {
        threads,
        schedule,
        cuts,
    })
}

impl Way {
    /// Calls `f` on the pool.
    fn on_pool<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.pool().run(|_| f())
    }

    fn pool(&self) -> &'static Pool {
        static POOLS: OnceLock<Vec<Pool>> = OnceLock::new();
        let pools = POOLS.get_or_init(|| {
            (1..=4).map(|threads| Pool::builder().threads(threads).build().unwrap()).collect()
        });
        &pools[self.threads - 1]
    }

    /// Runs a loop. It is compiled once for all chains.
    fn drive(&self, n: usize, body: &(dyn Fn(Range<usize>) -> ControlFlow<()> + Sync)) {
        let options = Options { schedule: self.schedule, ..Options::default() };
        let body = |(): &mut (), range| body(range);
        self.pool().run(|w| drive(w, n, &options, || (), body)).unwrap();
    }

    /// The items of a chain, from one loop.
    fn collect<P: ParallelIterator>(&self, chain: &P) -> Vec<P::Item> {
        let parts = Mutex::new(Vec::new());
        self.drive(chain.num_positions(), &|range| {
            let (start, mut items) = (range.start, Vec::new());
            // SAFETY: the ranges of a loop are disjoint and lie below its length (D1).
            let flow = unsafe { chain.run(range, pushing(&mut items)) };
            parts.lock().unwrap().push((start, items));
            flow
        });
        let mut parts = parts.into_inner().unwrap();
        parts.sort_by_key(|part| part.0);
        parts.into_iter().flat_map(|part| part.1).collect()
    }

    /// Ranges that cover `0..n`.
    fn ranges(&self, n: usize) -> Vec<Range<usize>> {
        let mut ends: Vec<usize> =
            self.cuts.iter().map(|cut| cut.index(n.saturating_add(1))).chain([0, n]).collect();
        ends.sort_unstable();
        ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Tests that the chain has these items, in a loop and cut into ranges.
    fn check<P>(&self, chain: impl Fn() -> P, expected: impl IntoIterator<Item = P::Item>)
    where
        P: ParallelIterator<Item: Debug + PartialEq>,
    {
        let expected: Vec<P::Item> = expected.into_iter().collect();
        assert_eq!(self.collect(&chain()), expected, "in a loop");
        let (chain, mut items) = (chain(), Vec::new());
        for range in self.ranges(chain.num_positions()) {
            // SAFETY: the ranges are disjoint and lie below the number of positions.
            let _ = unsafe { chain.run(range, pushing(&mut items)) };
        }
        assert_eq!(items, expected, "in ranges");
    }

    /// Tests the same, the length, and the items from the last to the first.
    fn check_indexed<P>(&self, chain: impl Fn() -> P, expected: impl IntoIterator<Item = P::Item>)
    where
        P: ParallelIterator<Item: Debug + PartialEq> + IndexedPositions,
    {
        let expected: Vec<P::Item> = expected.into_iter().collect();
        assert_eq!(chain().len(), expected.len());
        assert_eq!(chain().opt_len(), Some(expected.len()));
        let (backwards, mut items) = (chain(), Vec::new());
        for range in self.ranges(backwards.num_positions()).into_iter().rev() {
            let len = range.len();
            // SAFETY: as above.
            items.extend(unsafe { backwards.backward(range) });
            assert!(items.len() >= len);
        }
        items.reverse();
        assert_eq!(items, expected, "backwards");
        self.check(chain, expected);
    }
}

fn pushing<T>(items: &mut Vec<T>) -> impl FnMut(T) -> ControlFlow<()> {
    |item| {
        items.push(item);
        ControlFlow::Continue(())
    }
}

mod bridge;
mod collections;
mod make;
mod ranges;
mod slices;
mod text;
