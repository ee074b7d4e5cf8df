//! Every kind of loop under every schedule against its serial form, with panics, errors and nested
//! loops.

mod limits;

use super::{
    Kind, Options, Rounds, fold, fold_blocks, for_each, for_each_block, map, scan, try_for_each,
};
use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::Stopped;
use crate::data::IntoItems;
use crate::source::{LoopMemory, any_schedule};
use proptest::prelude::*;
use sinew_core::{Pool, Worker, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long a worker waits for another one, which comes at once unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

fn any_options() -> impl Strategy<Value = Options<'static>> {
    let schedule = prop_oneof![
        9 => any_schedule(),
        1 => Just(Schedule::Auto),
        1 => (2..70_usize).prop_map(|grain| Schedule::Adaptive { grain }),
    ];
    // Half of the loops may use the whole pool: only these are halved by joins.
    let threads = prop_oneof![Just(usize::MAX), 0..6_usize];
    let rounds = prop_oneof![
        4 => Just(None),
        1 => (0..900_usize).prop_map(|length| Some(Rounds::Uniform(length))),
        1 => Just(Some(Rounds::Doubling)),
    ];
    (schedule, threads, rounds).prop_map(|(schedule, threads, rounds)| Options {
        schedule,
        threads,
        rounds,
        ..Options::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Catches: an item that is visited twice or not at all.
    #[test]
    fn every_item_is_visited_once(
        n in prop_oneof![0..40_usize, 0..3_000_usize],
        options in any_options(),
    ) {
        let mut visits = vec![0_u32; n];
        run(|w| for_each(w, (&mut visits).into_items(), &options, |visits| *visits += 1).unwrap());
        prop_assert!(visits.iter().all(|&visits| visits == 1));
        prop_assert_eq!(run(|w| try_for_each(w, 0..n, &options, |_| Ok::<_, ()>(()))), Ok(()));
    }

    /// Catches: a round that begins before the one before it has ended, one that is lost, and
    /// rounds that go on after an error.
    #[test]
    fn rounds_run_one_after_the_other(
        n in 0..900_usize,
        options in any_options(),
        length in 0..200_usize,
        bad in 0..900_usize,
    ) {
        let doubled = Options { rounds: Some(Rounds::Doubling), ..options };
        let options = Options { rounds: Some(Rounds::Uniform(length)), ..options };
        let (length, done) = (length.max(1), AtomicUsize::new(0));
        let in_round = |item: usize| {
            // Relaxed: the end of a round orders it.
            let done = done.fetch_add(1, Ordering::Relaxed);
            done / length == item / length
        };
        let ordered = run(|w| map(w, 0..n, &options, in_round).unwrap());
        prop_assert!(ordered.len() == n && ordered.into_iter().all(|ordered| ordered));
        let (failed, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let fail = |item: usize| {
            late.fetch_add(usize::from(item / length > bad / length), Ordering::Relaxed);
            if item == bad { Err(failed.fetch_add(1, Ordering::Relaxed)) } else { Ok(()) }
        };
        let ended = run(|w| try_for_each(w, 0..n, &options, fail));
        prop_assert_eq!(ended, if bad < n { Err(Stopped::Failed(0)) } else { Ok(()) });
        prop_assert!(bad >= n || late.into_inner() == 0);
        // The first round has an item for each worker, the second one two.
        let workers = run(Worker::max_threads);
        let done = AtomicUsize::new(0);
        let order = |_| done.fetch_add(1, Ordering::Relaxed);
        let order = run(|w| map(w, 0..n, &doubled, order).unwrap());
        for end in [workers, 3 * workers, 7 * workers] {
            let early = order.get(..end).unwrap_or_default();
            prop_assert!(early.iter().all(|place| *place < end), "{end}: {early:?}");
        }
    }

    /// Catches: a result in the wrong place.
    #[test]
    fn results_are_in_the_order_of_the_items(
        n in 0..3_000_usize,
        options in any_options(),
    ) {
        let numbers = run(|w| map(w, 0..n, &options, |number| number.to_string()).unwrap());
        let expected: Vec<String> = (0..n).map(|number| number.to_string()).collect();
        prop_assert_eq!(&numbers, &expected);
    }

    /// Catches: partial results combined in the wrong order (appending does not commute).
    #[test]
    fn folding_keeps_the_order(n in 0..2_000_u32, options in any_options()) {
        let append = |mut left: Vec<u32>, mut right: Vec<u32>| {
            left.append(&mut right);
            left
        };
        let push = |mut list: Vec<u32>, item| {
            list.push(item);
            list
        };
        for reproducible in [false, true] {
            let options = Options { reproducible, ..options };
            let list = run(|w| fold(w, 0..n, &options, Vec::new, push, append).unwrap());
            prop_assert!(list.into_iter().eq(0..n));
        }
    }

    /// Catches: a block that begins with the wrong prefix, or a shift by one.
    #[test]
    fn prefixes_are_those_of_a_serial_scan(
        n in 0..2_000_usize,
        blocks in proptest::option::of(1..50_usize),
        options in any_options(),
    ) {
        let letters: Vec<String> =
            (0..n).map(|number| ((b'a' + (number % 26) as u8) as char).to_string()).collect();
        let hash = |text: String| {
            (
                text.len() as u64,
                text.bytes().fold(7_u64, |hash, byte| hash * 31 % 1_000_007 + u64::from(byte)),
            )
        };
        let run = |kind| {
            let strings = run(|w| {
                scan(
                    w,
                    (&letters).into_items(),
                    &options,
                    (kind, blocks),
                    "-".to_owned(),
                    String::clone,
                    |a, b| a + &b,
                )
                .unwrap()
            });
            strings.into_iter().map(hash).collect::<Vec<_>>()
        };
        let mut before = Vec::new();
        let mut prefix = "-".to_owned();
        for letter in &letters {
            before.push(hash(prefix.clone()));
            prefix += letter;
        }
        prop_assert_eq!(run(Kind::Exclusive), before.clone());
        before.push(hash(prefix));
        prop_assert_eq!(run(Kind::Inclusive), before[1..].to_vec());
    }

    /// Catches: an error that is swallowed, and work that continues for long after it.
    #[test]
    fn the_first_error_ends_the_loop(
        n in 1..2_000_usize,
        bad in any::<prop::sample::Index>(),
        options in any_options(),
    ) {
        let bad = bad.index(n);
        let fail = |number: usize| if number == bad { Err(number) } else { Ok(vec![number]) };
        prop_assert_eq!(
            run(|w| try_for_each(w, 0..n, &options, |number| fail(number).map(drop))),
            Err(Stopped::Failed(bad))
        );
    }

    /// Catches: a panic that is lost, a payload that is changed, and a body that runs on after
    /// the caller unwinds.
    #[test]
    fn a_panic_comes_out_after_all_participants_have_left(
        n in 1..2_000_usize,
        bad in any::<prop::sample::Index>(),
        options in any_options(),
    ) {
        let bad = bad.index(n);
        let inside = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            run(|w| {
                for_each(w, 0..n, &options, |number| {
                    inside.fetch_add(1, Ordering::Relaxed);
                    if number == bad {
                        inside.fetch_sub(1, Ordering::Relaxed);
                        std::panic::panic_any(number);
                    }
                    inside.fetch_sub(1, Ordering::Relaxed);
                })
                .unwrap();
            });
        }));
        let payload = result.unwrap_err();
        prop_assert_eq!(payload.downcast_ref(), Some(&bad));
        prop_assert_eq!(inside.into_inner(), 0);
    }
}

/// Pools of 2 and of 5: more workers than most machines here have processors, so that some are
/// late.
fn on_pools(test: impl Fn(&Worker) + Sync) {
    for threads in [2, 5] {
        Pool::builder().threads(threads).build().unwrap().run(&test);
    }
}

/// Catches: an index lost when a run begins with what the run before has left, after a panic or
/// an error as well.
#[test]
fn runs_with_a_memory_visit_every_index_once_whatever_happened_before() {
    on_pools(|w| {
        for schedule in [Schedule::Affinity, Schedule::Weighted] {
            let memory = LoopMemory::new();
            let options = Options { schedule, memory: Some(&memory), ..Options::default() };
            for run in 0..60_usize {
                let n = 5_000 + run / 20;
                let visits: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
                let cost = |index: usize| {
                    (0..index / 100).fold(index, |hash, step| hash.rotate_left(5) ^ step)
                };
                for_each(w, 0..n, &options, |index| {
                    std::hint::black_box(cost(index));
                    visits[index].fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
                assert!(
                    visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1),
                    "{schedule}, run {run}"
                );
                if run % 7 == 3 {
                    let fail = |index| if index == run * 80 { Err(index) } else { Ok(()) };
                    assert_eq!(
                        try_for_each(w, 0..n, &options, fail),
                        Err(Stopped::Failed(run * 80))
                    );
                    let panicked = catch_unwind(AssertUnwindSafe(|| {
                        for_each(w, 0..n, &options, |index| assert_ne!(index, 77, "planned"))
                            .unwrap();
                    }));
                    assert!(panicked.is_err());
                }
            }
        }
    });
}

/// Catches: a memory shared by two loops at once, one inside the other, that mixes them up.
#[test]
fn nested_loops_may_share_a_memory() {
    on_pools(|w| {
        let memory = LoopMemory::new();
        let options =
            Options { schedule: Schedule::Affinity, memory: Some(&memory), ..Options::default() };
        for _ in 0..20 {
            let sum = AtomicUsize::new(0);
            for_each(w, 0..30_usize, &options, |row| {
                run(|w| {
                    for_each(w, 0..30_usize, &options, |column| {
                        sum.fetch_add(row * 30 + column, Ordering::Relaxed);
                    })
                    .unwrap();
                });
            })
            .unwrap();
            assert_eq!(sum.into_inner(), 900 * 899 / 2);
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Catches: a point that no block or two blocks contain, a block beyond the grain, and a
    /// wrong sum of parts.
    #[test]
    fn every_point_is_in_one_block(
        rows in 0..60_usize,
        columns in 0..60_usize,
        grain in [0..9_usize, 0..9],
        options in any_options(),
    ) {
        let visits: Vec<AtomicU32> = (0..rows * columns).map(|_| AtomicU32::new(0)).collect();
        let space = || [3..3 + rows, 5..5 + columns];
        // Left to itself, a loop may come to be adaptive.
        let adaptive = matches!(options.schedule, Schedule::Adaptive { .. } | Schedule::Auto);
        run(|w| {
            for_each_block(w, space(), grain, &options, |[i, j]| {
                assert!(adaptive || (i.len() <= grain[0].max(1) && j.len() <= grain[1].max(1)));
                for i in i {
                    j.clone().for_each(|j| {
                        visits[(i - 3) * columns + j - 5].fetch_add(1, Ordering::Relaxed);
                    });
                }
            })
            .unwrap();
        });
        prop_assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
        let area = |sum, [i, j]: [std::ops::Range<usize>; 2]| sum + i.len() * j.len();
        let sum =
            run(|w| fold_blocks(w, space(), grain, &options, || 0, area, |a, b| a + b).unwrap());
        prop_assert_eq!(sum, rows * columns);
    }

    /// Catches: a panic in a half that is lost, or one that a sibling outlives.
    #[test]
    fn a_panic_in_a_block_comes_out_after_all_participants_have_left(
        bad in 0..400_usize,
        options in any_options(),
    ) {
        let inside = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            run(|w| {
                for_each_block(w, [0..20, 0..20], [2, 3], &options, |[i, j]| {
                    inside.fetch_add(1, Ordering::Relaxed);
                    let hit = i.contains(&(bad / 20)) && j.contains(&(bad % 20));
                    inside.fetch_sub(1, Ordering::Relaxed);
                    if hit {
                        std::panic::panic_any(bad);
                    }
                })
                .unwrap();
            });
        }));
        let payload = result.unwrap_err();
        prop_assert_eq!(payload.downcast_ref(), Some(&bad));
        prop_assert_eq!(inside.into_inner(), 0);
    }
}

/// Catches: a space that is too large to be counted and overflows instead of being refused.
#[test]
#[should_panic(expected = "give a larger grain")]
fn more_blocks_than_can_be_counted_are_refused() {
    let long = 0..usize::MAX;
    run(|w| {
        for_each_block(w, [long.clone(), long], [1, 1], &Options::default(), |_| ()).unwrap();
    });
}

/// Catches: loops inside loops that mix up their sources or wait for each other.
#[test]
fn loops_nest() {
    let visits: Vec<AtomicU32> = (0..400).map(|_| AtomicU32::new(0)).collect();
    let options = Options::default();
    run(|w| {
        for_each(w, 0..20_usize, &options, |row| {
            run(|w| {
                for_each(w, 0..20_usize, &options, |column| {
                    visits[row * 20 + column].fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
            });
        })
        .unwrap();
    });
    assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
}

/// Catches: few iterations that do not run at the same time, since one worker takes several, and
/// results in another order.
#[test]
fn few_iterations_run_at_the_same_time() {
    let pool = Pool::builder().threads(4).external_slot(false).build().unwrap();
    for n in [2, 3, 4] {
        let (arrived, begun) = (AtomicUsize::new(0), Instant::now());
        let wait = |number: usize| {
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < n && begun.elapsed() < PATIENCE {
                std::thread::yield_now();
            }
            (number, arrived.load(Ordering::Relaxed))
        };
        let ended = pool.run(|w| map(w, 0..n, &Options::default(), wait).unwrap());
        assert_eq!(ended, (0..n).map(|number| (number, n)).collect::<Vec<_>>());
    }
}

/// Catches: an owner that takes all iterations because the first one was cheap, so that none is
/// left for others when the next ones are not.
#[test]
fn a_cheap_iteration_leaves_the_others_to_thieves() {
    let pool = Pool::builder().threads(2).external_slot(false).build().unwrap();
    for _ in 0..20 {
        // A bit for each worker.
        let (arrived, begun) = (AtomicUsize::new(0), Instant::now());
        let is_alone = || arrived.load(Ordering::Relaxed) < 3;
        let ended = pool.run(|w| {
            try_for_each(w, 0..12, &Options::default(), |number| {
                arrived.fetch_or(1 << run(|w| w.index()), Ordering::Relaxed);
                if number > 0 {
                    // The other worker has none to run if this one has taken all.
                    while is_alone() && begun.elapsed() < PATIENCE {
                        std::thread::yield_now();
                    }
                }
                if is_alone() && number > 0 { Err(number) } else { Ok(()) }
            })
        });
        assert_eq!(ended, Ok(()), "the other worker found nothing to steal");
    }
}
