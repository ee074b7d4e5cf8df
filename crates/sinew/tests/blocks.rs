//! Skeletons over blocks and tiles against plain loops, and two algorithms that are written with
//! them.

use proptest::prelude::*;
use sinew::prelude::*;
use sinew::{over_tiles, over2, over3};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

/// A pool of more workers than most machines here have processors.
fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::builder().threads(3).build().unwrap())
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    (0..Schedule::every(1).len(), 1..9_usize)
        .prop_map(|(place, number)| Schedule::every(number).nth(place).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Catches: a point that is visited twice or never, and an option that is lost on the way to
    /// the loop.
    #[test]
    fn every_point_is_visited_once(
        [planes, rows, columns] in [0..6_usize, 0..12, 0..20],
        schedule in any_schedule(),
        threads in 1..5_usize,
    ) {
        let visits: Vec<AtomicU32> =
            (0..planes * rows * columns).map(|_| AtomicU32::new(0)).collect();
        let visit = |number: usize| {
            visits[number].fetch_add(1, Ordering::Relaxed);
        };
        let memory = LoopMemory::new();
        pool().run(|_| {
            over3(0..planes, 2..2 + rows, 3..3 + columns)
                .schedule(schedule)
                .threads(threads)
                .memory(&memory)
                .for_each(|[i, j, k]| visit((i * rows + j - 2) * columns + k - 3));
            over2(0..planes * rows, 0..columns)
                .schedule(schedule)
                .for_each(|[i, j]| visit(i * columns + j));
            over2(0..planes, 0..rows * columns).grain([2, 3]).schedule(schedule).for_each_block(
                |[some, others]| {
                    some.for_each(|i| others.clone().for_each(|j| visit(i * rows * columns + j)));
                },
            );
        });
        prop_assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 3));
    }

    /// Catches: a partial result that is left out or counted twice.
    #[test]
    fn sums_over_blocks_are_those_of_plain_loops(
        rows in 0..40_u64,
        columns in 0..40_u64,
        schedule in any_schedule(),
    ) {
        let value = |i, j| (i * 1_000_003) ^ (j * 97);
        let expected = (0..rows)
            .flat_map(|i| (0..columns).map(move |j| value(i, j)))
            .fold(0, u64::wrapping_add);
        let sum = pool().run(|_| {
            over2(0..rows as usize, 0..columns as usize).schedule(schedule).map_reduce(
                |[i, j]| value(i as u64, j as u64),
                || 0,
                u64::wrapping_add,
            )
        });
        prop_assert_eq!(sum, expected);
    }

    /// Catches: a product whose tiles read or write beyond their edges.
    #[test]
    fn matrices_are_multiplied_by_tiles(
        [rows, inner, columns] in [1..20_usize, 1..20, 1..20],
        tile in [1..9_usize, 1..9],
        schedule in any_schedule(),
    ) {
        let a: Vec<u64> = (0..rows * inner).map(|number| number as u64 % 7).collect();
        let b: Vec<u64> = (0..inner * columns).map(|number| number as u64 % 5).collect();
        let mut product = vec![0; rows * columns];
        pool().run(|_| {
            over_tiles(&mut product, columns, tile).schedule(schedule).for_each(|mut tile| {
                let across = tile.columns();
                for (i, row) in tile.rows_mut() {
                    for (k, a) in a[i * inner..][..inner].iter().enumerate() {
                        row.iter_mut()
                            .zip(&b[k * columns..][across.clone()])
                            .for_each(|(x, b)| *x += a * b);
                    }
                }
            });
        });
        for (number, x) in product.iter().enumerate() {
            let (i, j) = (number / columns, number % columns);
            prop_assert_eq!(
                *x,
                (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum::<u64>()
            );
        }
    }

    /// Catches: a tile that is not passed on between the steps of an algorithm.
    #[test]
    fn shortest_paths_are_found_by_tiles(
        n in 1..24_usize,
        tile in [1..9_usize, 1..9],
        seed in any::<u64>(),
        schedule in any_schedule(),
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let weights: Vec<u32> =
            (0..n * n).map(|at| if at % (n + 1) == 0 { 0 } else { random.u32(1..1_000) }).collect();
        let (mut ours, mut plain) = (weights.clone(), weights);
        let memory = LoopMemory::new();
        for k in 0..n {
            let through: Vec<u32> = ours[k * n..][..n].to_vec();
            pool().run(|_| {
                over_tiles(&mut ours, n, tile).schedule(schedule).memory(&memory).for_each(
                    |mut tile| {
                        let across = tile.columns();
                        // Column `k` before this step, which does not change it.
                        for (i, row) in tile.rows_mut() {
                            let to_k = plain[i * n + k];
                            row.iter_mut()
                                .zip(&through[across.clone()])
                                .for_each(|(x, y)| *x = (*x).min(to_k + y));
                        }
                    },
                );
            });
            let row: Vec<u32> = plain[k * n..][..n].to_vec();
            for i in 0..n {
                let to_k = plain[i * n + k];
                (0..n).for_each(|j| plain[i * n + j] = plain[i * n + j].min(to_k + row[j]));
            }
            prop_assert_eq!(&ours, &plain);
        }
    }
}

/// Catches: options that make no sense and are taken.
#[test]
fn what_cannot_be_cut_is_refused() {
    let refused = |work: fn()| {
        let payload = std::panic::catch_unwind(work).unwrap_err();
        payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
    };
    for (work, word) in [
        ((|| drop(over2(0..1, 0..1).grain([0, 1]))) as fn(), "[0, 1]"),
        (|| drop(over2(0..1, 0..1).threads(0)), "0 threads"),
        (|| drop(over2(0..1, 0..1).schedule(Schedule::Simple { grain: 0 })), "simple:0"),
        (|| drop(over_tiles(&mut [0; 7], 2, [1, 1])), "no whole rows of 2"),
        (|| drop(over_tiles(&mut [0; 7], 0, [1, 1])), "no whole rows of 0"),
        (|| drop(over_tiles(&mut [0; 6], 2, [1, 0])), "tiles of 1 x 0"),
    ] {
        let message = refused(work).unwrap();
        assert!(message.contains(word), "{message}");
    }
}

/// Catches: a product that wraps, a message from somewhere inside the library, and a refusal of
/// spaces that are cut and not counted.
#[test]
fn more_blocks_than_can_be_counted_are_refused_at_the_callers_line() {
    let huge = || 0..1 << 40;
    let line = refused_at(|| over2(huge(), huge()).schedule(Schedule::Static).for_each(drop));
    assert_eq!(line, Some((file!().to_owned(), line!() - 1)));
    let line = refused_at(|| {
        over3(huge(), huge(), huge())
            .grain([1 << 20, 1, 1])
            .schedule(Schedule::Stealing)
            .for_each_block(drop);
    });
    assert_eq!(line, Some((file!().to_owned(), line!() - 2)));
    let control = Control::new();
    let blocks = over2(huge(), huge()).schedule(Schedule::Simple { grain: 1 }).control(&control);
    let line = refused_at(|| assert!(blocks.map_reduce(|_| 0, || 0, |a, b| a + b).is_ok()));
    assert_eq!(line, Some((file!().to_owned(), line!() - 1)));
    // An empty side makes a space empty, and these blocks can be counted.
    over3(huge(), huge(), 0..0).schedule(Schedule::Static).for_each(drop);
    over2(huge(), huge()).grain([1 << 40, 1 << 39]).schedule(Schedule::Static).for_each_block(drop);
}

/// Where `work` panics because there are too many blocks.
fn refused_at(work: impl FnOnce()) -> Option<(String, u32)> {
    thread_local!(static PLACE: RefCell<Option<(String, u32)>> = const { RefCell::new(None) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let told = info
                .payload()
                .downcast_ref::<String>()
                .is_some_and(|message| message.contains("more than usize::MAX blocks"));
            let place = info
                .location()
                .filter(|_| told)
                .map(|place| (place.file().to_owned(), place.line()));
            PLACE.with(|kept| *kept.borrow_mut() = place);
            before(info);
        }));
    });
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_err();
    PLACE.take()
}
