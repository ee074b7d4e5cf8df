//! Every kind of loop under every schedule against its serial form, with panics, errors and nested loops.

use super::{Kind, Options, fold, for_each, map, map_blocks, scan, try_for_each, try_map};
use crate::data::{Enumerate, IntoItems};
use proptest::prelude::*;
use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn any_options() -> impl Strategy<Value = Options> {
    let schedule = prop_oneof![
        Just(Schedule::Static),
        (1..70_usize).prop_map(|chunk| Schedule::Dynamic { chunk }),
        (1..70_usize).prop_map(|min| Schedule::Tapered { min }),
        (1..70_usize).prop_map(|min| Schedule::Factoring { min }),
        Just(Schedule::Stealing),
    ];
    (schedule, 0..6_usize).prop_map(|(schedule, threads)| Options { schedule, threads })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Would miss: an item that is visited twice or not at all.
    #[test]
    fn every_item_is_visited_once(n in 0..3_000_usize, options in any_options()) {
        let mut visits = vec![0_u32; n];
        crate::run(|w| for_each(w, (&mut visits).into_items(), &options, |visits| *visits += 1));
        prop_assert!(visits.iter().all(|&visits| visits == 1));
        prop_assert_eq!(crate::run(|w| try_for_each(w, 0..n, &options, |_| Ok::<_, ()>(()))), Ok(()));
    }

    /// Would miss: a result in the wrong place.
    #[test]
    fn results_are_in_the_order_of_the_items(n in 0..3_000_usize, size in 1..100_usize, options in any_options()) {
        let numbers = crate::run(|w| map(w, 0..n, &options, |number| number.to_string()));
        let expected: Vec<String> = (0..n).map(|number| number.to_string()).collect();
        prop_assert_eq!(&numbers, &expected);
        let same = crate::run(|w| try_map(w, (&numbers).into_items(), &options, |text| text.parse::<usize>()));
        prop_assert_eq!(same, Ok((0..n).collect::<Vec<_>>()));
        let sums = crate::run(|w| map_blocks(w, 0..n, size, &options, |block| block.sum::<usize>()));
        let expected: Vec<usize> = (0..n).collect::<Vec<_>>().chunks(size).map(|block| block.iter().sum()).collect();
        prop_assert_eq!(sums, expected);
    }

    /// Would miss: partial results combined in the wrong order (appending does not commute).
    #[test]
    fn folding_keeps_the_order(n in 0..2_000_u32, options in any_options()) {
        let append = |mut left: Vec<u32>, mut right: Vec<u32>| { left.append(&mut right); left };
        let push = |mut list: Vec<u32>, item| { list.push(item); list };
        let list = crate::run(|w| fold(w, 0..n, &options, Vec::new, push, append));
        prop_assert!(list.into_iter().eq(0..n));
    }

    /// Would miss: a block that begins with the wrong prefix, or a shift by one.
    #[test]
    fn prefixes_are_those_of_a_serial_scan(
        n in 0..2_000_usize, blocks in proptest::option::of(1..50_usize), options in any_options(),
    ) {
        let letters: Vec<String> = (0..n).map(|number| ((b'a' + (number % 26) as u8) as char).to_string()).collect();
        let hash = |text: String| (text.len() as u64, text.bytes().fold(7_u64, |hash, byte| hash * 31 % 1_000_007 + u64::from(byte)));
        let run = |kind| {
            let strings = crate::run(|w| {
                scan(w, (&letters).into_items(), &options, (kind, blocks), "-".to_owned(), String::clone, |a, b| a + &b)
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

    /// Would miss: an error that is swallowed, and work that goes on for long after it.
    #[test]
    fn the_first_error_ends_the_loop(n in 1..2_000_usize, bad in any::<prop::sample::Index>(), options in any_options()) {
        let bad = bad.index(n);
        let fail = |number: usize| if number == bad { Err(number) } else { Ok(vec![number]) };
        prop_assert_eq!(crate::run(|w| try_map(w, 0..n, &options, fail)), Err(bad));
        prop_assert_eq!(crate::run(|w| try_for_each(w, 0..n, &options, |number| fail(number).map(drop))), Err(bad));
    }

    /// Would miss: a panic that is lost, a payload that is changed, and a body that runs on after the caller unwinds.
    #[test]
    fn a_panic_comes_out_after_everybody_has_left(n in 1..2_000_usize, bad in any::<prop::sample::Index>(), options in any_options()) {
        let bad = bad.index(n);
        let inside = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            crate::run(|w| for_each(w, 0..n, &options, |number| {
                inside.fetch_add(1, Ordering::Relaxed);
                if number == bad {
                    inside.fetch_sub(1, Ordering::Relaxed);
                    std::panic::panic_any(number);
                }
                inside.fetch_sub(1, Ordering::Relaxed);
            }));
        }));
        let payload = result.unwrap_err();
        prop_assert_eq!(payload.downcast_ref(), Some(&bad));
        prop_assert_eq!(inside.into_inner(), 0);
    }
}

/// Would miss: loops inside loops that mix up their sources or wait for each other.
#[test]
fn loops_nest() {
    let visits: Vec<AtomicU32> = (0..400).map(|_| AtomicU32::new(0)).collect();
    let options = Options::default();
    crate::run(|w| {
        for_each(w, 0..20_usize, &options, |row| {
            crate::run(|w| {
                for_each(w, 0..20_usize, &options, |column| {
                    visits[row * 20 + column].fetch_add(1, Ordering::Relaxed);
                });
            });
        });
    });
    assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
}

/// Would miss: an iterator that is not numbered like its items when chunks come out of order.
#[test]
fn numbers_belong_to_their_items() {
    let data: Vec<usize> = (0..1_000).collect();
    let options = Options { schedule: Schedule::Dynamic { chunk: 7 }, ..Options::default() };
    crate::run(|w| {
        for_each(w, Enumerate::new((&data).into_items()), &options, |(number, item)| {
            assert_eq!(number, *item);
        });
    });
}
