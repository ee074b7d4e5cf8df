//! Every skeleton, under every schedule, on pools of several sizes, against its serial form.

use proptest::prelude::*;
use sinew::prelude::*;
use std::sync::OnceLock;

/// Pools of 1, 2 and 7 workers: alone, as many as a small machine has, and more than that.
fn pools() -> &'static [Pool] {
    static POOLS: OnceLock<Vec<Pool>> = OnceLock::new();
    let build = |threads| Pool::builder().threads(threads).build().unwrap();
    POOLS.get_or_init(|| [1, 2, 7].map(build).into())
}

/// Where a skeleton is called from.
fn everywhere(test: impl Fn() + Sync) {
    test();
    for pool in pools() {
        pool.run(|_| test());
        pool.install(|_| test());
    }
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let place = 0..Schedule::every(1).len();
    (1..70_usize, place).prop_map(|(number, place)| {
        Schedule::every(number).nth(place).expect("a place in the table")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Catches: a skeleton that loses its options, or its order, on the way to the loop.
    #[test]
    fn skeletons_over_slices_agree_with_iterators(
        xs in proptest::collection::vec(any::<u32>(), 0..3_000),
        size in 1..100_usize,
        schedule in any_schedule(),
        threads in 1..9_usize,
    ) {
        let table: Vec<u32> = (0..=255).rev().collect();
        everywhere(|| {
            let over_xs = || over(&xs).schedule(schedule).threads(threads);
            assert_eq!(
 over_xs().map(|x| x / 2).collect::<Vec<_>>(), xs.iter().map(|x| x / 2).collect::<Vec<_>>());
            assert_eq!(
                over_xs()
                    .map_array(&table, |x, table| table[*x as usize % 256])
                    .collect::<Vec<_>>(),
                xs.iter().map(|x| table[*x as usize % 256]).collect::<Vec<_>>()
            );
            assert_eq!(over_xs().max(), xs.iter().max());
            assert_eq!(
                over_xs()
                    .enumerate()
                    .map(|(i, x)| i as u64 ^ u64::from(*x))
                    .reduce(|| 0, u64::wrapping_add),
                xs.iter().enumerate().fold(0, |sum, (i, x)| sum + (i as u64 ^ u64::from(*x)))
            );
            assert_eq!(
                over_xs().copied().chunks(size).collect::<Vec<_>>(),
                xs.chunks(size).map(<[u32]>::to_vec).collect::<Vec<_>>()
            );
            assert_eq!(
                over_xs().zip(0..1_000_u16).map(|(x, i)| (*x, i)).collect::<Vec<_>>(),
                xs.iter().copied().zip(0..1_000_u16).collect::<Vec<_>>()
            );
        });
    }

    /// Catches: the same on mutable data: an element missed, or changed twice.
    #[test]
    fn skeletons_over_mutable_slices_change_each_element_once(
        xs in proptest::collection::vec(any::<u32>(), 0..3_000),
        size in 1..100_usize,
        schedule in any_schedule(),
        threads in 1..9_usize,
    ) {
        everywhere(|| {
            let mut ours = xs.clone();
            over(&mut ours)
                .schedule(schedule)
                .threads(threads)
                .for_each(|x| *x = x.wrapping_mul(3));
            over(&mut ours).zip(&xs).schedule(schedule).for_each(|(x, y)| *x ^= y);
            over(&mut ours)
                .chunks(size)
                .schedule(schedule)
                .enumerate()
                .for_each(|(i, mut chunk)| *chunk[0] ^= i as u32);
            let mut expected: Vec<u32> = xs.iter().map(|x| x.wrapping_mul(3) ^ x).collect();
            expected.chunks_mut(size).enumerate().for_each(|(i, chunk)| chunk[0] ^= i as u32);
            assert_eq!(ours, expected);
        });
    }

    /// Catches: a sum that depends on who came to help.
    #[test]
    fn reproducible_sums_are_the_same_bit_for_bit(
        xs in proptest::collection::vec(-1e10..1e10_f64, 0..5_000),
        schedule in any_schedule(),
        threads in 1..9_usize,
    ) {
        let sum =
            |over: sinew::Over<&[f64]>| over.reproducible().sum::<f64>().to_bits();
        let scan = |over: sinew::Over<&[f64]>| over.reproducible().scan(0.5, |a, b| a + b);
        let (expected_sum, expected_scan) = (sum(over(&xs).threads(1)), scan(over(&xs).threads(1)));
        everywhere(|| {
            assert_eq!(sum(over(&xs).schedule(schedule).threads(threads)), expected_sum);
            assert_eq!(scan(over(&xs).schedule(schedule).threads(threads)), expected_scan);
        });
    }

    /// Catches: a prefix that begins in the wrong place.
    #[test]
    fn scans_agree_with_a_serial_scan(
        xs in proptest::collection::vec(any::<u32>(), 0..3_000),
        schedule in any_schedule(),
        threads in 1..9_usize,
    ) {
        let step = |sum: &mut u32, x: &u32| {
            *sum = sum.wrapping_add(*x);
            Some(*sum)
        };
        let expected: Vec<u32> = xs.iter().scan(7, step).collect();
        let before: Vec<u32> =
            std::iter::once(7).chain(expected.iter().copied()).take(xs.len()).collect();
        everywhere(|| {
            let over_xs = || over(&xs).schedule(schedule).threads(threads);
            assert_eq!(over_xs().scan(7, u32::wrapping_add), expected);
            assert_eq!(over_xs().scan_exclusive(7, u32::wrapping_add), before);
        });
    }
}

/// Catches: sorting that ignores its comparison, its key, or stability.
#[test]
fn sorts_agree_with_the_standard_ones() {
    let mut random = fastrand::Rng::with_seed(3);
    let data: Vec<(u8, u32)> = (0..50_000).map(|number| (random.u8(..), number)).collect();
    everywhere(|| {
        let (mut ours, mut expected) = (data.clone(), data.clone());
        over(&mut ours).sort_by_key(|x| x.0);
        expected.sort_by_key(|x| x.0);
        assert!(ours == expected);
        over(&mut ours).sort_by(|a, b| b.cmp(a));
        expected.reverse();
        expected.sort_by(|a, b| b.cmp(a));
        assert!(ours == expected);
        over(&mut ours).threads(2).sort();
        expected.sort();
        assert!(ours == expected);
    });
}

/// Catches: loops in loops, and tasks in loops in tasks, that wait for each other or forget
/// their pool.
#[test]
fn skeletons_nest_in_each_other_and_in_tasks() {
    let row = |i: u64| -> u64 { over(0..50_u64).map(|j| i * j).sum() };
    let expected: u64 = (0..50).map(|i| (0..50).map(|j| i * j).sum::<u64>()).sum();
    everywhere(|| {
        let (a, b) = sinew::join(
            || over(0..50_u64).map(row).collect::<Vec<_>>().into_iter().sum::<u64>(),
            || over(0..50_u64).schedule(Schedule::Dynamic { chunk: 1 }).map(row).sum(),
        );
        assert_eq!((a, b), (expected, expected));
    });
}

/// Catches: an error that is not returned, and a body that is called for everything all the
/// same.
#[test]
fn the_first_error_ends_a_try_skeleton() {
    everywhere(|| {
        let calls =
            over(0..1_000_000_u32).schedule(Schedule::Dynamic { chunk: 1 }).map(|i| match i {
                10 => Err(i),
                _ => Ok(vec![i]),
            });
        assert_eq!(calls.collect::<Result<Vec<_>, _>>(), Err(10));
        assert_eq!(over(0..100).try_for_each(|i| if i == 99 { Err(i) } else { Ok(()) }), Err(99));
        assert_eq!(
            over(0..3_u8).map(Ok::<_, ()>).collect::<Result<Vec<_>, _>>(),
            Ok(vec![0, 1, 2])
        );
    });
}

/// Catches: a division that combines in the wrong order.
#[test]
fn divide_and_conquer_keeps_left_and_right() {
    let step = |text: &'static str| match text.len() {
        0 | 1 => Step::Solved(text.to_owned()),
        n => Step::Split(&text[..n / 2], &text[n / 2..]),
    };
    everywhere(|| {
        assert_eq!(
            divide_and_conquer("divide and conquer").run(step, |a, b| a + &b),
            "divide and conquer"
        );
    });
}

/// Catches: a panic that takes a worker with it, so that the next loop hangs.
#[test]
fn a_panic_in_a_body_leaves_the_pool_as_it_was() {
    everywhere(|| {
        for bad in [0, 500, 999] {
            let result = std::panic::catch_unwind(|| {
                over(0..1_000).for_each(|i| assert_ne!(i, bad, "planned"));
            });
            assert!(result.is_err());
            assert_eq!(over(0..1_000).sum::<i32>(), 499_500);
        }
    });
}

/// Catches: options that would never end, and messages that do not name the value.
#[test]
fn options_that_make_no_sense_are_refused() {
    let message = |f: fn()| *std::panic::catch_unwind(f).unwrap_err().downcast::<String>().unwrap();
    assert!(
        message(|| drop(over(0..5_u8).schedule(Schedule::Dynamic { chunk: 0 })))
            .contains("`dynamic:0`")
    );
    let text = |f: fn()| *std::panic::catch_unwind(f).unwrap_err().downcast::<&str>().unwrap();
    assert!(text(|| drop(over(0..5_u8).threads(0))).contains("0 threads"));
    assert!(text(|| drop(over(0..5_u8).chunks(0))).contains("chunks of 0 items"));
}
