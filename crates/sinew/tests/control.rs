//! Skeletons with a control, through the builder: their results, under changes from their own
//! functions, and cancelled.

use proptest::prelude::*;
use sinew::prelude::*;
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use std::sync::{LazyLock, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Every schedule, with small numbers.
static SCHEDULES: LazyLock<Vec<Schedule>> =
    LazyLock::new(|| [1, 3, 13].into_iter().flat_map(Schedule::every).collect());

/// Changes the control at every item, in a way that follows from the item.
fn change(control: &Control, item: usize) {
    control.set_threads(1 + item % 4);
    control.set_schedule(SCHEDULES[item % SCHEDULES.len()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Catches: a skeleton that does not pass its control on, or returns another result under it.
    #[test]
    fn skeletons_answer_the_same_while_they_are_changed(
        xs in proptest::collection::vec(0..1_000_usize, 0..300),
    ) {
        let control = Control::new();
        let step = |x: &usize| {
            change(&control, *x);
            x * 2
        };
        let doubled: Vec<usize> = xs.iter().map(|x| x * 2).collect();
        let sum: usize = doubled.iter().sum();
        let found = over(&xs).control(&control).map(step).collect::<Vec<_>>();
        prop_assert_eq!(found, Ok(doubled.clone()));
        prop_assert_eq!(
            over(&xs).control(&control).map(|x| Ok::<_, ()>(step(x))).collect(),
            Ok(Ok::<_, ()>(doubled.clone()))
        );
        prop_assert_eq!(
            over(&xs)
                .control(&control)
                .map_array(&xs, |x, all| step(x).min(all.len() * 2_000))
                .collect::<Vec<_>>(),
            Ok(doubled.clone())
        );
        prop_assert_eq!(over(&xs).control(&control).map(step).sum(), Ok(sum));
        prop_assert_eq!(
            over(&xs).control(&control).map(step).reproducible().reduce(|| 0, |a, b| a + b),
            Ok(sum)
        );
        prop_assert_eq!(over(&doubled).control(&control).sum(), Ok(sum));
        prop_assert_eq!(
            over(&xs).control(&control).scan(1, |a, b| a + b),
            Ok(over(&xs).scan(1, |a, b| a + b))
        );
        prop_assert_eq!(
            over(&xs).control(&control).scan_exclusive(1, |a, b| a + b),
            Ok(over(&xs).scan_exclusive(1, |a, b| a + b))
        );
        let mut ys = xs.clone();
        prop_assert_eq!(over(&mut ys).control(&control).for_each(|y| *y = step(y)), Ok(()));
        prop_assert_eq!(&ys, &doubled);
        prop_assert_eq!(
            sinew::over2(0..xs.len(), 0..3).control(&control).map_reduce(
                |[i, j]| i * j,
                || 0,
                |a, b| a + b
            ),
            Ok(3 * (0..xs.len()).sum::<usize>())
        );
        prop_assert_eq!(control.snapshot().fraction(), 1.0);
    }
}

/// Catches: a skeleton that runs although its control has ended it, and an error taken for a
/// cancellation.
#[test]
fn a_cancelled_control_ends_every_skeleton() {
    let (control, xs) = (Control::new(), vec![1_usize; 100]);
    let failing = over(&xs).control(&control).try_for_each(|x| Err(*x));
    assert_eq!(failing, Ok(Err(1)));
    control.cancel();
    let never = |_: &usize| -> usize { panic!("called after the end") };
    assert_eq!(over(&xs).control(&control).for_each(|x| assert_eq!(never(x), 0)), Err(Cancelled));
    assert_eq!(over(&xs).control(&control).map(never).collect::<Vec<_>>(), Err(Cancelled));
    assert_eq!(
        over(&xs).control(&control).map(|x| Ok(never(x))).collect::<Result<Vec<_>, ()>>(),
        Err(Cancelled)
    );
    assert_eq!(over(&xs).control(&control).map(never).sum::<usize>(), Err(Cancelled));
    assert_eq!(over(&xs).control(&control).scan(0, |a, b| a + b), Err(Cancelled));
    assert_eq!(
        sinew::over3(0..2, 0..2, 0..2)
            .control(&control)
            .for_each(|_| panic!("called after the end")),
        Err(Cancelled)
    );
    assert_eq!(Cancelled.to_string(), "cancelled before it was done, by its control or its pool's");
    assert_eq!(over(&mut [3, 1, 2]).control(&control).sort(), Err(Cancelled));
    assert_eq!(
        sinew::divide_and_conquer(1)
            .control(&control)
            .run(|_| -> sinew::Step<i32, ()> { panic!("called after the end") }, |(), ()| ()),
        Err(Cancelled)
    );
    let mut list = Worklist::from(xs.clone()).control(&control);
    assert!(list.run_plain(|_, _| panic!("called after the end")).unwrap().cancelled);
    assert_eq!(list.len(), 100);
    // Nothing to do is done.
    assert_eq!(over(&xs[..0]).control(&control).map(never).collect::<Vec<_>>(), Ok(vec![]));
}

/// Catches: a worklist with more workers than its control requests, and one that follows it no
/// more after a run.
#[test]
fn a_worklist_has_no_more_workers_than_requested() {
    use sinew_sync::atomic::{AtomicUsize, Ordering};
    let pool = Pool::builder().threads(4).build().unwrap();
    let control = Control::new();
    control.set_threads(1);
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut list = Worklist::new().control(&control);
    for _ in 0..2 {
        list.extend(0..2_000);
        let report = pool.run(|_| {
            list.run_plain(|unit: &usize, _| {
                most.fetch_max(1 + inside.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                (0..unit % 300).for_each(|_| std::hint::spin_loop());
                inside.fetch_sub(1, Ordering::Relaxed);
            })
        });
        assert_eq!(report.unwrap().commits, 2_000);
    }
    assert_eq!(most.into_inner(), 1);
    assert_eq!(control.snapshot().done, 4_000);
}

/// Catches: progress of a scan or a stencil that is reported as complete in the middle, and of
/// a sort or a problem that does not come to its end.
#[test]
fn progress_goes_up_to_one_and_is_there_at_the_end_only() {
    use std::sync::{Arc, Mutex};
    let xs: Vec<u64> = (0..200_000).collect();
    let watched = |run: &dyn Fn(&Control)| {
        let (control, seen) = (Control::new(), Arc::new(Mutex::new(Vec::new())));
        let theirs = Arc::clone(&seen);
        control.on_progress(std::time::Duration::ZERO, move |now| {
            theirs.lock().unwrap().push(now.fraction());
        });
        run(&control);
        let seen = seen.lock().unwrap();
        let (last, before) = seen.split_last().unwrap();
        assert_eq!(*last, 1.0);
        // The last item may be counted before the end is reported.
        let done = before.iter().filter(|&&fraction| fraction >= 1.0).count();
        assert!(done <= 16 && before.len() > 1, "{done} of {}", before.len());
    };
    watched(&|control| drop(over(&xs).control(control).scan(0, |a, b| a + b).unwrap()));
    watched(&|control| {
        over(&mut xs.iter().rev().collect::<Vec<_>>()).control(control).sort().unwrap();
    });
    watched(&|control| {
        sinew::stencil(&mut vec![0; 20_000], [100, 200])
            .sweeps(5)
            .control(control)
            .run(|c| c[[0, 0]] + 1)
            .unwrap();
    });
    watched(&|control| {
        let step =
            |n: u64| if n < 2 { sinew::Step::Solved(n) } else { sinew::Step::Split(n - 1, n - 2) };
        sinew::divide_and_conquer(15).control(control).run(step, |a, b| a + b).unwrap();
    });
    watched(&|control| sinew::farm(0..1_000, |x| x).control(control).for_each(drop).unwrap());
}

/// Catches: a kind of skeleton that does not end at its control's deadline, and one that begins
/// after it.
#[test]
fn a_deadline_ends_every_skeleton() {
    let soon = || {
        let control = Control::new();
        control.cancel_after(Duration::from_millis(2));
        control
    };
    let ended = |run: &dyn Fn(&Control) -> bool| {
        let control = soon();
        assert!(run(&control) && control.is_cancelled());
        assert!(run(&control), "a skeleton has begun after its deadline");
    };
    ended(&|control| {
        let endless = sinew::pipeline(0_u64..).parallel(|x| x).control(control);
        endless.for_each(drop) == Err(Cancelled)
    });
    ended(&|control| {
        let mut xs: Vec<_> = (0..1_000).rev().collect();
        let slow = |a: &i32, b: &i32| {
            while !control.is_cancelled() {
                thread::yield_now();
            }
            a.cmp(b)
        };
        over(&mut xs).control(control).sort_by(slow) == Err(Cancelled)
    });
    ended(&|control| {
        let mut grid = vec![0_u8; 100];
        let sweeps = sinew::stencil(&mut grid, [10, 10]).sweeps(usize::MAX);
        sweeps.control(control).run(|c| c[[0, 0]].wrapping_add(1)) == Err(Cancelled)
    });
    ended(&|control| {
        let step = |range: std::ops::Range<u64>| {
            if range.end - range.start == 1 {
                return sinew::Step::Solved(range.start);
            }
            let middle = range.start.midpoint(range.end);
            sinew::Step::Split(range.start..middle, middle..range.end)
        };
        sinew::divide_and_conquer(0..1 << 60).control(control).run(step, u64::max) == Err(Cancelled)
    });
}

/// Catches: a sort that reads the number of threads once. Here no worker may help until its control
/// raises the number in the middle of it, and then it waits for help.
#[test]
fn a_sort_takes_up_the_number_of_threads_while_it_runs() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let xs: Vec<u64> = (0..400_000).map(|x| x * 7_919 % 400_009).collect();
    // Sorts a copy, calls `at` at each comparison, and returns the number of comparisons.
    let sort = |control: &Control, at: &(dyn Fn(usize, bool) + Sync)| {
        let (mut xs, compared) = (xs.clone(), AtomicUsize::new(0));
        pool.run(|_| {
            let here = thread::current().id();
            let ended = over(&mut xs).control(control).sort_by(|a, b| {
                at(compared.fetch_add(1, Ordering::AcqRel), thread::current().id() == here);
                a.cmp(b)
            });
            assert_eq!(ended, Ok(()));
        });
        assert!(xs.is_sorted());
        compared.into_inner()
    };
    let control = Control::new();
    control.set_threads(1);
    let all = sort(&control, &|_, is_here| assert!(is_here, "a worker came uncalled"));
    let helped = AtomicBool::new(false);
    sort(&control, &|number, is_here| {
        if !is_here {
            helped.store(true, Ordering::Release);
        } else if number == all / 20 {
            control.set_threads(2);
        } else if number > all * 6 / 10 {
            // In the third quarter. The fourth was offered by then.
            wait(|| helped.load(Ordering::Acquire));
        }
    });
    assert!(helped.into_inner());
}

/// Catches: problems that are solved by more threads than their control requests, and not by
/// more when it requests them.
#[test]
fn problems_are_solved_by_as_many_threads_as_requested() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let control = Control::new();
    control.set_threads(1);
    let (solved, helped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let sum = pool.run(|_| {
        let here = thread::current().id();
        let step = |range: std::ops::Range<usize>| {
            if range.len() > 1 {
                let middle = range.start + range.len() / 2;
                return sinew::Step::Split(range.start..middle, middle..range.end);
            }
            if thread::current().id() != here {
                assert!(solved.load(Ordering::Acquire) > 1_000, "a worker came uncalled");
                helped.store(true, Ordering::Release);
            } else {
                match solved.fetch_add(1, Ordering::AcqRel) {
                    1_000 => control.set_threads(2),
                    // In the second half, which was not begun when the number rose.
                    4_500 => wait(|| helped.load(Ordering::Acquire)),
                    _ => {}
                }
            }
            sinew::Step::Solved(range.start)
        };
        sinew::divide_and_conquer(0..8_192).control(&control).run(step, |a, b| a + b)
    });
    assert_eq!(sum, Ok(8_192 * 8_191 / 2));
    assert!(helped.into_inner());
}

/// Two threads of which the first does nine items while the other does one.
struct Uneven {
    began: Instant,
    quick: OnceLock<ThreadId>,
    arrived: [AtomicBool; 2],
    both_there: OnceLock<Instant>,
    done: [AtomicUsize; 2],
    switched: AtomicBool,
    /// The first items of each since then.
    seen: [Mutex<Vec<usize>>; 2],
}

/// So many items show where a share begins: more than a slice that was claimed before the switch
/// can have.
const SEEN: usize = 2_000;

impl Uneven {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            quick: OnceLock::new(),
            arrived: Default::default(),
            both_there: OnceLock::new(),
            done: Default::default(),
            switched: AtomicBool::new(false),
            seen: Default::default(),
        }
    }

    fn run(&self, item: usize, control: &Control) {
        let me = usize::from(
            *self.quick.get_or_init(|| thread::current().id()) != thread::current().id(),
        );
        if self.switched.load(Ordering::Acquire) {
            self.seen[me].lock().push(item);
            let has_enough = |seen: &Mutex<Vec<usize>>| seen.lock().len() >= SEEN;
            if has_enough(&self.seen[me]) {
                wait(|| self.seen.iter().all(has_enough));
                control.cancel();
            }
            return;
        }
        self.arrived[me].store(true, Ordering::Release);
        wait(|| self.arrived.iter().all(|arrived| arrived.load(Ordering::Acquire)));
        let since = self.both_there.get_or_init(Instant::now);
        wait(|| self.switched.load(Ordering::Acquire) || self.is_turn_of(me));
        self.done[me].fetch_add(1, Ordering::AcqRel);
        // By then it hardly matters that one came before the other.
        let long_enough = since.elapsed() > 20 * since.duration_since(self.began);
        if me == 0 && long_enough && self.done[1].load(Ordering::Acquire) >= 30 {
            control.set_schedule(Schedule::Weighted);
            self.switched.store(true, Ordering::Release);
        }
    }

    fn is_turn_of(&self, me: usize) -> bool {
        let [quick, slow] = [0, 1].map(|who| self.done[who].load(Ordering::Acquire));
        if me == 0 { quick <= 9 * (slow + 1) } else { quick >= 9 * (slow + 1) }
    }

    /// The part of `0..n` that the quick one's share is of what was left at the switch.
    fn share_of_the_quick(self, n: usize) -> f64 {
        let [quick, slow] = self.seen.map(|seen| seen.into_inner()[SEEN - 1]);
        let share = if quick < slow { slow - quick } else { n - quick };
        share as f64 / (n - quick.min(slow)) as f64
    }
}

fn wait(until: impl Fn() -> bool) {
    while !until() {
        thread::yield_now();
    }
}

/// Catches: equal shares in mid-run although one participant has done nine times as much as the
/// other. Also a participant that leaves at a switch because it finds the old source closed, while
/// another thread installs the new one: it would wait here for ever.
#[test]
fn a_loop_that_is_switched_to_shares_by_speed_begins_with_what_each_has_done() {
    let n = 10_000_000;
    let pool = Pool::builder().threads(2).external_slot(false).build().unwrap();
    let (control, uneven) = (Control::new(), Uneven::new());
    let items = over(0..n).schedule(Schedule::Dynamic { chunk: 1 }).control(&control);
    assert_eq!(pool.run(|_| items.for_each(|item| uneven.run(item, &control))), Err(Cancelled));
    let share = uneven.share_of_the_quick(n);
    // Nine tenths where neither waits for a core: how long they have been at it counts as well.
    // Equal shares would be a half.
    assert!((0.6..0.99).contains(&share), "a share of {share} for one that did nine tenths");
}
