//! Whole pools under random schedules (shuttle), for the skeletons that are made here: what their
//! models share, and divide and conquer. The others' mechanisms have their models in `sinew-core`.
//!
//! `cargo xtask shuttle`; a schedule that fails is printed with its seed.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use ::shuttle::thread::{self, JoinHandle};
use ::shuttle::{Config, Runner};
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::explore::schedules;
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, plant};

use crate::{Cancelled, Control, Mapping, Pool, Step, divide_and_conquer};

/// Runs `program` in a pool of three under many schedules.
pub(crate) fn explore(program: fn()) {
    explore_under(RandomScheduler::new_from_seed, program);
}

/// The same where a thread may pause for as long as any other can run: for mistakes that need a
/// long pause at one place (PCT: see the tests of `sinew-stm`).
pub(crate) fn explore_pauses(program: fn()) {
    explore_under(|seed, schedules| PctScheduler::new_from_seed(seed, 3, schedules), program);
}

fn explore_under<S: Scheduler + 'static>(scheduler: impl FnOnce(u64, usize) -> S, program: fn()) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    Runner::new(scheduler(seed, schedules()), config).run(move || {
        let pool = Pool::builder().threads(3).build().unwrap();
        let ended = pool.run(|_| catch_unwind(program));
        // A panic that goes through the checker leaves threads in the middle of transactions, which
        // these do not survive.
        drop(pool);
        ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    });
}

/// Plants `bug` and explores: the test that calls it expects the checker to fail.
pub(crate) fn hunt(bug: Bug, program: fn()) {
    plant(&[bug]);
    for _ in 0..20 {
        explore(program);
    }
}

/// The same with long pauses.
pub(crate) fn hunt_pauses(bug: Bug, program: fn()) {
    plant(&[bug]);
    for _ in 0..20 {
        explore_pauses(program);
    }
}

/// Threads that make a change each. They are started from within, by bodies: outside they would be
/// done before anything has begun.
#[derive(Default)]
pub(crate) struct Changers(Mutex<Vec<JoinHandle<()>>>);

impl Changers {
    pub(crate) fn run(&self, change: impl FnOnce() + Send + 'static) {
        let changer = thread::spawn(change);
        self.0.lock().push(changer);
    }

    /// Starts one of some changes that every skeleton follows.
    pub(crate) fn start(&self, control: &Control, number: usize) {
        let control = control.clone();
        self.run(move || match number % 3 {
            0 => control.set_threads(1),
            1 => control.set_mapping(&Mapping::Explicit(vec![2, 0, 1])).unwrap(),
            _ => control.set_threads(3),
        });
    }

    pub(crate) fn join(self) {
        self.0.into_inner().into_iter().for_each(|changer| changer.join().unwrap());
    }
}

/// A solution that counts how many there are.
struct Counted<'c>(&'c AtomicUsize, Vec<usize>);

impl<'c> Counted<'c> {
    fn new(alive: &'c AtomicUsize, numbers: Vec<usize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, numbers)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Collects the numbers of a range, calling `at` with each.
fn collect(
    control: &Control,
    numbers: Range<usize>,
    at: impl Fn(usize) + Sync,
) -> Result<Vec<usize>, Cancelled> {
    let alive = AtomicUsize::new(0);
    let step = |numbers: Range<usize>| {
        let middle = numbers.start + numbers.len() / 2;
        if numbers.len() > 1 {
            return Step::Split(numbers.start..middle, middle..numbers.end);
        }
        at(numbers.start);
        Step::Solved(Counted::new(&alive, vec![numbers.start]))
    };
    let combine = |a: Counted<'_>, b: Counted<'_>| Counted::new(&alive, [&a.1[..], &b.1].concat());
    let solved = catch_unwind(AssertUnwindSafe(|| {
        let solution = divide_and_conquer(numbers).control(control).run(step, combine);
        solution.map(|solution| solution.1.clone())
    }));
    assert_eq!(alive.load(Ordering::Relaxed), 0, "a solution was leaked, or dropped twice");
    let now = control.snapshot();
    assert_eq!((now.working, now.loops), (0, 0));
    solved.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// Catches: a part that is solved twice or never, or combined in another order, while threads
/// come, go and move; and one that does not count as done.
#[test]
fn shuttle_each_part_is_solved_once_whatever_is_requested() {
    explore(|| {
        let (control, changers) = (Control::new(), Changers::default());
        let solved = collect(&control, 0..8, |number| {
            if number % 2 == 1 {
                changers.start(&control, number / 2);
            }
        });
        changers.join();
        assert_eq!(solved, Ok((0..8).collect()));
        assert_eq!(control.snapshot().fraction(), 1.0);
    });
}

/// Catches: a solution that is lost, leaked or made up when a part panics, or when a thread
/// cancels; and a participant that is left behind.
#[test]
fn shuttle_problems_that_are_given_up_leave_nothing_behind() {
    explore(|| {
        let (control, changers) = (Control::new(), Changers::default());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            collect(&control, 0..6, |number| match number {
                1 => changers.start(&control, 0),
                4 => std::panic::resume_unwind(Box::new(number)),
                _ => {}
            })
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&4_usize));
        let solved = collect(&control, 0..6, |number| {
            let theirs = control.clone();
            match number {
                0 => changers.start(&control, 2),
                2 => changers.run(move || theirs.cancel()),
                _ => {}
            }
        });
        changers.join();
        assert!(solved == Err(Cancelled) || solved == Ok((0..6).collect()));
    });
}
