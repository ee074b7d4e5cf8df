//! Sweeps on Sinew, with schedules that assign parts differently in the next sweep.

use super::{Sweep, WIDTH};
use crate::problem::{Case, Form};
use crate::runtimes::sinew::{
    self, IndexedParIter, LoopMemory, ParIter, ParallelSliceMut, Pool, Schedule,
};
use ::sinew::iter::LoopOptions;

pub(super) fn forms() -> [Form; 5] {
    [
        sinew::form("sinew", |pool, case| run(pool, case, Schedule::default())),
        sinew::form("sinew static", |pool, case| run(pool, case, Schedule::Static)),
        sinew::form("sinew affinity", |pool, case| run(pool, case, Schedule::Affinity)),
        sinew::form("sinew weighted", |pool, case| run(pool, case, Schedule::Weighted)),
        sinew::form("sinew adaptive", |pool, case| {
            run(pool, case, Schedule::Adaptive { grain: 1 })
        }),
    ]
}

fn run(pool: &Pool, case: &Case, schedule: Schedule) -> u64 {
    let memory = LoopMemory::new();
    pool.run(|_| {
        Sweep::drive(case, |sweep, data| {
            data.par_chunks_mut(WIDTH)
                .memory(&memory)
                .enumerate()
                .schedule(schedule)
                .for_each(|(number, row)| sweep.row(number, row));
        })
    })
}
