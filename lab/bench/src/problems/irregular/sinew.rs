//! An irregular loop on Sinew, with each schedule.

use super::Load;
use crate::problem::{Case, Form};
use crate::runtimes::sinew::{self, ParIter, Pool, Schedule, over};
use ::sinew::iter::LoopOptions;

pub(super) fn forms() -> [Form; 4] {
    [
        sinew::form("sinew", |pool, case| run(pool, case, Schedule::default())),
        sinew::form("sinew static", |pool, case| run(pool, case, Schedule::Static)),
        sinew::form("sinew dynamic:16", |pool, case| {
            run(pool, case, Schedule::Dynamic { chunk: 16 })
        }),
        sinew::form("sinew guided:16", |pool, case| run(pool, case, Schedule::Guided { min: 16 })),
    ]
}

fn run(pool: &Pool, case: &Case, schedule: Schedule) -> u64 {
    let load = Load::of(case);
    let length = usize::try_from(load.length).expect("a length that fits into memory");
    let work = |i| load.run(i as u64);
    pool.run(|_| over(0..length).schedule(schedule).map(work).reduce(|| 0, u64::wrapping_add))
}
