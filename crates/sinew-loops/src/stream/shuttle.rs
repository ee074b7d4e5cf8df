//! Streams on a whole pool under random schedules (shuttle), changed, cancelled and panicking
//! meanwhile.

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::{Exit, Identity, Options, Parallel, Serial, Stages, run};
use crate::Control;
use crate::loops::shuttle::explore_with;
use shuttle::thread;
use sinew_core::{Cancelled, Mapping, Worker};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An item that counts how many there are.
struct Counted<'c>(&'c AtomicUsize, usize);

impl<'c> Counted<'c> {
    fn new(alive: &'c AtomicUsize, number: usize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, number)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn explore(test: impl Fn(&Worker) + Send + Sync + Copy + 'static) {
    explore_with(&[Schedule::Stealing], move |w, _| test(w));
}

/// Runs `n` items through a parallel stage that calls `at` for each, between two serial ones,
/// and returns the items that the first and the last have seen.
fn run_items(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    at: impl Fn(usize) + Sync,
) -> (Result<(), Cancelled>, Vec<usize>, Vec<usize>) {
    let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let ended = {
        let early = |number| {
            first.push(number);
            let counted = Counted::new(&alive, number);
            most.fetch_max(alive.load(Ordering::Relaxed), Ordering::Relaxed);
            counted
        };
        let stages = Parallel::new(Serial::new(Identity, early, true), |counted| {
            let Counted(_, number) = &counted;
            at(*number);
            counted
        });
        let end = Serial::new(
            stages,
            |counted| {
                let Counted(_, number) = &counted;
                last.push(*number);
            },
            true,
        )
        .connect(Exit);
        run(w, 0..n, &end, options)
    };
    assert_eq!(alive.load(Ordering::Relaxed), 0, "items were leaked or dropped twice");
    assert!(most.load(Ordering::Relaxed) <= options.bound.unwrap());
    (ended, first, last)
}

/// Catches: an item that waits at a serial stage and is not continued (L3), a task that leaves
/// although there is something to do (L4), more items in flight than allowed.
#[test]
fn shuttle_items_come_in_their_order_while_tasks_come_and_go() {
    explore(|w| {
        let control = Control::new();
        let options = Options { bound: Some(3), threads: 3, control: Some(&control) };
        let changer = |number: usize| {
            let control = control.clone();
            thread::spawn(move || match number {
                1 => control.set_mapping(&Mapping::Explicit(vec![2, 0, 1])).unwrap(),
                _ => control.set_threads(1 + number % 3),
            })
        };
        let (ended, first, last) = run_items(w, 6, &options, |number| {
            let _detached = changer(number);
        });
        assert_eq!((ended, first, last), (Ok(()), (0..6).collect(), (0..6).collect()));
        let now = control.snapshot();
        assert_eq!((now.total, now.done, now.working, now.loops), (6, 6, 0, 0));
        assert!(control.places().all_free());
    });
}

/// Catches: a pipeline that continues after a panic or waits for the item that is gone, and a
/// cancelled one that leaves a gap.
#[test]
fn shuttle_streams_end_with_a_panic_or_cancelled() {
    explore(|w| {
        let options = Options { bound: Some(4), threads: 3, control: None };
        let fail = |number| {
            if number == 2 {
                std::panic::resume_unwind(Box::new(number));
            }
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| run_items(w, 100, &options, fail)));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&2_usize));
        let control = Control::new();
        let options = Options { control: Some(&control), ..options };
        let (ended, first, last) = run_items(w, 100, &options, |number| {
            if number == 2 {
                control.cancel();
            }
        });
        assert_eq!(ended, Err(Cancelled));
        assert!(last.iter().copied().eq(0..last.len()) && last.len() <= first.len());
        assert_eq!(control.snapshot().working, 0);
    });
}
