//! Controlled loops on a whole pool under random schedules (shuttle), changed by a thread outside
//! and by their own bodies; planted bugs.

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::plant::{Bug, plant};

use crate::data::{IntoItems, Neighbourhood};
use crate::loops::shuttle::{Changers, SCHEDULES, assert_at_rest, explore_pools, explore_with};
use crate::loops::{
    Edge, Kind, Options, Sweeps, fold, fold_blocks, for_each, map, scan, sweeps, try_for_each,
};
use crate::{Control, Stopped};
use sinew_core::{Cancelled, Mapping, Worker};
use std::panic::{AssertUnwindSafe, catch_unwind};

const N: usize = 16;

fn visit_once(w: &Worker, options: &Options) {
    let (control, changers) = (Control::new(), Changers::default());
    let options = Options { control: Some(&control), ..*options };
    let visits: [AtomicU32; N] = std::array::from_fn(|_| AtomicU32::new(0));
    let ended = for_each(w, 0..visits.len(), &options, |index| {
        if index % 3 == 0 {
            changers.start(&control, index / 3);
        }
        visits[index].fetch_add(1, Ordering::Relaxed);
        if index == N / 2 {
            control.set_schedule(Schedule::Static);
        }
    });
    changers.join();
    assert_eq!(ended, Ok(()));
    assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1), "not each index once");
    assert_eq!(control.snapshot().done, N as u64);
    assert_at_rest(&control);
}

/// Catches: an index lost or repeated, a rank that is not taken again, and a caller that returns
/// while a participant still works.
#[test]
fn shuttle_each_index_is_visited_once_while_the_loop_is_changed() {
    explore_with(&SCHEDULES, visit_once);
}

/// Catches: a cancelled loop that returns `Ok`, results that are lost, a panic that a participant
/// outlives.
#[test]
fn shuttle_cancelled_loops_and_panics_end() {
    explore_with(&SCHEDULES, |w, options| {
        let control = Control::new();
        let options = Options { control: Some(&control), ..*options };
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            for_each(w, 0..4_u8, &options, |index| {
                control.set_threads(1 + usize::from(index) % 3);
                control.set_mapping(&Mapping::Compact).unwrap();
                if index == 2 {
                    std::panic::resume_unwind(Box::new(index));
                }
            })
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&2_u8));
        let canceller = Changers::default();
        let text = |index: usize| {
            let theirs = control.clone();
            if index == 2 {
                canceller.run(move || theirs.cancel());
            }
            index.to_string()
        };
        match map(w, 0..6_usize, &options, text) {
            Ok(strings) => assert_eq!(strings.concat(), "012345"),
            Err(Cancelled) => assert!(control.is_cancelled()),
        }
        canceller.join();
        assert_at_rest(&control);
    });
}

/// Catches: a pool that cancels a loop for some participants only, so that it returns `Ok`; and one
/// that cancels later loops.
#[test]
fn shuttle_what_a_pool_cancels_ends_and_runs_again() {
    explore_pools(&SCHEDULES, |pool, w, options| {
        let (control, canceller) = (Control::new(), Changers::default());
        let options = Options { control: Some(&control), ..*options };
        let text = |index: usize| {
            if index == 1 {
                let theirs = pool.clone();
                canceller.run(move || theirs.cancel());
            }
            index.to_string()
        };
        match map(w, 0..6_usize, &options, text) {
            Ok(strings) => assert_eq!(strings.concat(), "012345"),
            Err(Cancelled) => assert!(!control.is_cancelled()),
        }
        canceller.join();
        assert_eq!(map(w, 0..3_usize, &options, |index| index), Ok(vec![0, 1, 2]));
        assert_eq!(pool.snapshot().running, 0);
        assert_at_rest(&control);
    });
}

/// Catches: partial results that are lost or combined out of order when the source under them is
/// replaced, and an error that a change swallows.
#[test]
fn shuttle_folds_blocks_and_errors_come_out_while_the_loop_is_changed() {
    explore_with(&SCHEDULES, |w, options| {
        let (control, changers) = (Control::new(), Changers::default());
        let options = Options { control: Some(&control), ..*options };
        let push = |list: Vec<usize>, item: usize| {
            if item % 2 == 1 {
                changers.start(&control, item / 2);
            }
            [list, vec![item]].concat()
        };
        let list = fold(w, 0..6_usize, &options, Vec::new, push, |a, b| [a, b].concat());
        assert_eq!(list, Ok((0..6).collect()));
        let area = |sum, [rows, columns]: [std::ops::Range<usize>; 2]| {
            changers.start(&control, rows.start + columns.start);
            sum + rows.len() * columns.len()
        };
        assert_eq!(fold_blocks(w, [0..2, 0..4], [1, 2], &options, || 0, area, |a, b| a + b), Ok(8));
        let failing = |item: usize| {
            changers.start(&control, item);
            if item == 2 { Err(item) } else { Ok(()) }
        };
        assert_eq!(try_for_each(w, 0..4_usize, &options, failing), Err(Stopped::Failed(2)));
        changers.join();
        assert_at_rest(&control);
    });
}

/// Catches: loops of one control that wait for each other.
#[test]
fn shuttle_nested_loops_follow_one_control() {
    explore_with(&[Schedule::Stealing, Schedule::Static], |w, options| {
        let control = Control::new();
        let options = Options { control: Some(&control), ..*options };
        let sum = AtomicU32::new(0);
        control.set_mapping(&Mapping::Scatter).unwrap();
        let changers = Changers::default();
        let ended = for_each(w, 0..3_u32, &options, |row| {
            changers.start(&control, row as usize + 1);
            let add = |column| {
                sum.fetch_add(3 * row + column, Ordering::Relaxed);
            };
            sinew_core::run(|w| for_each(w, 0..3_u32, &options, add)).unwrap();
        });
        changers.join();
        assert_eq!((ended, sum.load(Ordering::Relaxed)), (Ok(()), 36));
        assert_at_rest(&control);
    });
}

/// Catches: a sweep that is left half done, and a prefix that is lost, when a change or a
/// cancellation comes between two loops of one skeleton.
#[test]
fn shuttle_skeletons_of_several_loops_are_whole_whatever_comes() {
    explore_pools(&[Schedule::Stealing, Schedule::Dynamic { chunk: 1 }], |pool, w, options| {
        let (control, changers, calls) = (Control::new(), Changers::default(), AtomicU32::new(0));
        let options = Options { control: Some(&control), ..*options };
        let change = || match calls.fetch_add(1, Ordering::Relaxed) {
            number @ (1 | 4 | 11) => changers.start(&control, number as usize),
            7 | 15 => {
                let theirs = pool.clone();
                changers.run(move || theirs.cancel());
            }
            _ => {}
        };
        let mut grid = vec![0_u32; 8];
        let plan = Sweeps { shape: [4, 2], edges: &[Edge::Periodic, Edge::Constant(9)], sweeps: 2 };
        let step = |around: Neighbourhood<'_, u32, 2, 1>| {
            change();
            around[[0, 0]].max(around[[1, 0]]) + 1
        };
        let swept = sweeps(w, &mut grid, &plan, &options, step, |_, _| false);
        assert!(
            grid.iter().all(|&cell| cell == grid[0]) && (swept.is_err() || grid[0] == 2),
            "{grid:?}"
        );
        let add = |a: u32, b: u32| {
            change();
            a + b
        };
        let ones = [1_u32; 6];
        match scan(
            w,
            (&ones[..]).into_items(),
            &options,
            (Kind::Inclusive, Some(3)),
            0,
            |&one| one,
            add,
        ) {
            Ok(sums) => assert_eq!(sums, [1, 2, 3, 4, 5, 6]),
            Err(Cancelled) => assert!(!control.is_cancelled()),
        }
        changers.join();
        assert_eq!(pool.snapshot().running, 0);
        assert_at_rest(&control);
    });
}

fn hunt(bug: Bug, schedule: Schedule) {
    plant(&[bug]);
    for _ in 0..20 {
        explore_with(&[schedule], visit_once);
    }
}

#[test]
#[should_panic]
fn shuttle_finds_a_source_that_stays_open() {
    hunt(Bug::OpenSource, Schedule::Stealing);
}

#[test]
#[should_panic]
fn shuttle_finds_a_claim_returned_and_kept() {
    hunt(Bug::KeptChunk, Schedule::Dynamic { chunk: 8 });
}
