//! Loops on a whole pool under random schedules (shuttle). Real threads hardly ever reach these:
//! helpers that come while the caller leaves, steals of the last piece, panics in the middle of a
//! fan-out.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test -p sinew-loops --release shuttle_`; a schedule that fails
//! is printed with its seed.

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::lock::Mutex;

use super::{Options, fold, fold_blocks, for_each, map, try_for_each};
use crate::source::LoopMemory;
use crate::{Control, Stopped};
use shuttle::scheduler::RandomScheduler;
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, Runner};
use sinew_core::{Mapping, Pool, PoolControl, Worker};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const SCHEDULES: [Schedule; 6] = [
    Schedule::Stealing,
    Schedule::Static,
    Schedule::Dynamic { chunk: 2 },
    Schedule::Factoring { min: 1 },
    Schedule::Affinity,
    Schedule::Adaptive { grain: 1 },
];

/// Runs `test` on a pool of three, with each kind of loop, under many schedules.
fn explore(test: impl Fn(&Worker, &Options) + Send + Sync + Copy + 'static) {
    explore_with(&SCHEDULES, test);
}

pub(crate) fn explore_with(
    schedules: &[Schedule],
    test: impl Fn(&Worker, &Options) + Send + Sync + Copy + 'static,
) {
    explore_pools(schedules, move |_, w, options| test(w, options));
}

/// The same with the handle to the pool.
pub(crate) fn explore_pools(
    schedules: &[Schedule],
    test: impl Fn(&PoolControl, &Worker, &Options) + Send + Sync + Copy + 'static,
) {
    let iterations = sinew_sync::explore::schedules();
    for &schedule in schedules {
        let seed = fastrand::u64(..);
        println!("{schedule}: seed {seed}");
        let mut config = Config::new();
        config.stack_size = 256 * 1024;
        Runner::new(RandomScheduler::new_from_seed(seed, iterations), config).run(move || {
            let pool = Pool::builder().threads(3).build().unwrap();
            let control = pool.control();
            pool.run(|w| test(&control, w, &Options { schedule, ..Options::default() }));
        });
    }
}

/// Threads that make one change each. Bodies start them; threads started before the loop would end
/// before it begins.
#[derive(Default)]
pub(crate) struct Changers(Mutex<Vec<JoinHandle<()>>>);

impl Changers {
    pub(crate) fn start(&self, control: &Control, number: usize) {
        let control = control.clone();
        self.run(move || match number % 5 {
            0 => control.set_schedule(Schedule::Dynamic { chunk: 1 }),
            1 => control.set_threads(1),
            2 => control.set_schedule(Schedule::Stealing),
            3 => control.set_mapping(&Mapping::Explicit(vec![2, 0, 1])).unwrap(),
            _ => control.set_threads(3),
        });
    }

    pub(crate) fn run(&self, change: impl FnOnce() + Send + 'static) {
        let changer = thread::spawn(change);
        self.0.lock().push(changer);
    }

    pub(crate) fn join(self) {
        self.0.into_inner().into_iter().for_each(|changer| changer.join().unwrap());
    }
}

/// Catches, at every end: a worker that is still in the loop or skeleton, and a place that was not
/// released.
pub(crate) fn assert_at_rest(control: &Control) {
    assert_eq!(control.snapshot().working, 0);
    assert!(control.places().all_free());
}

/// Catches: an index visited twice or never, and a caller that returns while a helper is still
/// at it.
#[test]
fn shuttle_each_index_is_visited_once_before_the_loop_returns() {
    explore(|w, options| {
        let visits: [AtomicU32; 7] = std::array::from_fn(|_| AtomicU32::new(0));
        for_each(w, 0..visits.len(), options, |index| {
            visits[index].fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
    });
}

/// Catches: results or partial results that the caller does not get.
#[test]
fn shuttle_what_helpers_made_is_the_callers() {
    explore(|w, options| {
        let strings = map(w, 0..6_usize, options, |index| index.to_string()).unwrap();
        assert_eq!(strings.concat(), "012345");
        let list = fold(
            w,
            0..6_u8,
            options,
            Vec::new,
            |list, item| [list, vec![item]].concat(),
            |a, b| [a, b].concat(),
        )
        .unwrap();
        assert_eq!(list, [0, 1, 2, 3, 4, 5]);
    });
}

/// Catches: a panic that leaves a helper behind, and loops within loops that wait for each
/// other.
#[test]
fn shuttle_nested_loops_end_also_by_panics_and_errors() {
    explore(|w, options| {
        let options = *options;
        let sum = AtomicU32::new(0);
        for_each(w, 0..2_u32, &options, |row| {
            sinew_core::run(|w| {
                for_each(w, 0..2_u32, &options, |column| {
                    sum.fetch_add(2 * row + column, Ordering::Relaxed);
                })
                .unwrap()
            });
        })
        .unwrap();
        assert_eq!(sum.load(Ordering::Relaxed), 6);
        assert_eq!(
            try_for_each(w, 0..5_u8, &options, |index| if index == 3 {
                Err(index)
            } else {
                Ok(())
            }),
            Err(Stopped::Failed(3))
        );
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            for_each(w, 0..4_u8, &options, |index| {
                if index == 2 {
                    std::panic::resume_unwind(Box::new(index));
                }
            })
            .unwrap();
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&2_u8));
    });
}

/// Catches: a run that finds the memory of the one before in a state that no single thread would
/// leave.
#[test]
fn shuttle_runs_with_a_memory_visit_each_index_once() {
    explore_with(&[Schedule::Affinity, Schedule::Weighted], |w, options| {
        let memory = LoopMemory::new();
        let options = Options { memory: Some(&memory), ..*options };
        for run in 0..3 {
            let visits: [AtomicU32; 9] = std::array::from_fn(|_| AtomicU32::new(0));
            for_each(w, 0..visits.len(), &options, |index| {
                visits[index].fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
            assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1), "run {run}");
        }
    });
}

/// Catches: a block that is lost between an arm and its thief, and a partial result that is not
/// collected.
#[test]
fn shuttle_blocks_are_folded_once() {
    let schedules =
        [Schedule::Adaptive { grain: 1 }, Schedule::Simple { grain: 1 }, Schedule::Affinity];
    explore_with(&schedules, |w, options| {
        let area =
            |sum, [rows, columns]: [std::ops::Range<usize>; 2]| sum + rows.len() * columns.len();
        assert_eq!(
            fold_blocks(w, [0..3, 0..4], [1, 2], options, || 0, area, |a, b| a + b).unwrap(),
            12
        );
    });
}
