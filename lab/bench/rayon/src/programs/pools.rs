//! Ways into a pool, one by one, and what a pool itself costs.

use super::inside;
use crate::work::{Scale, Work, work};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool beside the global one, as large.
fn pool() -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads());
    builder.build().expect("threads can be started")
}

pub(super) fn broadcast(scale: Scale) -> Box<dyn Work> {
    let serial = |times: &usize| {
        let threads = rayon::current_num_threads();
        times * threads * (threads + 1) / 2
    };
    let parallel = |times: &usize| {
        let once = || rayon::broadcast(|context| context.index() + 1).into_iter().sum::<usize>();
        inside(|| (0..*times).map(|_| once()).sum())
    };
    work(scale.pick(300, 5), serial, parallel)
}

struct Calls {
    pool: ThreadPool,
    count: u64,
}

pub(super) fn install(scale: Scale) -> Box<dyn Work> {
    let parallel = |calls: &Calls| {
        let call = |_| calls.pool.install(|| u64::from(rayon::current_thread_index().is_some()));
        (0..calls.count).map(call).sum()
    };
    work(Calls { pool: pool(), count: scale.pick(500, 5) }, |calls| calls.count, parallel)
}

pub(super) fn join_outside(scale: Scale) -> Box<dyn Work> {
    let parallel = |joins: &u64| {
        let one = |number| {
            let (a, b) = rayon::join(|| number, || 1);
            a + b
        };
        (0..*joins).map(one).sum()
    };
    work(scale.pick(500, 5), |joins| (0..*joins).map(|number| number + 1).sum::<u64>(), parallel)
}

pub(super) fn start(scale: Scale) -> Box<dyn Work> {
    work(
        scale.pick(20, 2),
        |pools: &u64| *pools,
        |pools| (0..*pools).map(|_| pool().join(|| 0, || 1)).map(|(a, b)| a + b).sum(),
    )
}
