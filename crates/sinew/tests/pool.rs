//! Cancellation by the pool's control: every skeleton whose result can express it ends at any
//! point, and can be run again.

use sinew::prelude::*;
use sinew::stm::TVar;
use sinew::{PoolControl, Step, divide_and_conquer};
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Several threads cancel the pool's work until one of them has. So a delayed thread does not delay
/// the cancellation.
struct Once {
    handle: PoolControl,
    is_due: AtomicBool,
}

impl Once {
    fn new(pool: &Pool) -> Self {
        Self { handle: pool.control(), is_due: AtomicBool::new(true) }
    }

    fn cancel(&self) {
        if self.is_due.load(Ordering::Relaxed) {
            self.handle.cancel();
            self.is_due.store(false, Ordering::Relaxed);
        }
    }
}

/// Runs a skeleton that cancels its pool's work on the way: it ends early, its control is as it
/// was, and the next run goes to the end.
fn check(skeleton: impl Fn(&Control, &Once) -> Result<(), Cancelled> + Sync) {
    for threads in [1, 3] {
        let pool = Pool::builder().threads(threads).build().unwrap();
        let (control, once) = (Control::new(), Once::new(&pool));
        assert_eq!(pool.run(|_| skeleton(&control, &once)), Err(Cancelled));
        assert_eq!(pool.run(|_| skeleton(&control, &once)), Ok(()));
        let now = control.snapshot();
        assert!(!now.cancelled && now.loops == 0 && now.working == 0, "{now:?}");
        assert_eq!(pool.control().snapshot().running, 0);
    }
}

/// Catches: a skeleton that does not see the cancellation, or that stays cancelled in later runs.
#[test]
fn skeletons_under_a_control_end() {
    let at = |item: usize, once: &Once| {
        if item == 7 {
            once.cancel();
        }
        item
    };
    check(|control, once| {
        over(0..1_000_000_usize).control(control).for_each(|item| {
            at(item, once);
        })
    });
    check(|control, once| {
        let items = over(0..1_000_000_usize).control(control).map(|item| at(item, once));
        items.collect::<Vec<_>>().map(drop)
    });
    check(|control, once| {
        sinew::pipeline(0..1_000).serial(|item| at(item, once)).control(control).for_each(drop)
    });
    check(|control, once| {
        farm(0..1_000, |item| at(item, once)).control(control).collect_unordered().map(drop)
    });
    check(|control, once| {
        let step = |item: usize| {
            if at(item, once) < 1_000 {
                Step::Split(2 * item, 2 * item + 1)
            } else {
                Step::Solved(())
            }
        };
        divide_and_conquer(1).control(control).run(step, |(), ()| ())
    });
    check(|control, once| {
        let mut items: Vec<usize> = (0..100_000).rev().collect();
        over(&mut items).control(control).sort_by(|a, b| at(*a, once).cmp(b))
    });
}

/// Catches: a skeleton of several loops that begins the next one, which knows nothing of a
/// cancellation before it began.
#[test]
fn skeletons_of_several_loops_end_between_two_of_them() {
    check(|control, once| {
        let mut cells = vec![0; 5_000];
        let until = |sweeps, _: &[i32]| {
            if sweeps == 2 {
                once.cancel();
            }
            false
        };
        let ended = stencil(&mut cells, [5_000])
            .sweeps(4)
            .control(control)
            .run_until(|c| c[[0]] + 1, until);
        assert!(cells.iter().all(|&cell| cell == if ended.is_ok() { 4 } else { 2 }));
        ended.map(drop)
    });
    // A scan adds nearly each element once in its first pass, and all of them again in the second.
    for at in [1_000, 97_000, 150_000] {
        check(|control, once| {
            let sums = AtomicUsize::new(0);
            let add = |a: usize, b: usize| {
                if sums.fetch_add(1, Ordering::Relaxed) == at {
                    once.cancel();
                }
                a + b
            };
            over(&vec![1_usize; 100_000]).control(control).scan(0, add).map(drop)
        });
    }
}

/// Catches: a schedule that a loop names and that its pool's takes the place of, because it has
/// a control; and one that names none and keeps its own.
#[test]
fn a_schedule_that_a_loop_names_goes_before_its_pools() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let (control, n) = (Control::new(), 700);
    pool.control().set_schedule(Schedule::Dynamic { chunk: 1 });
    let claims = |schedule: Option<Schedule>| {
        let before = pool.counters().chunks;
        pool.run(|_| {
            let items = match schedule {
                Some(schedule) => over(0..n).schedule(schedule),
                None => over(0..n),
            };
            items.control(&control).for_each(drop)
        })
        .unwrap();
        pool.counters().chunks - before
    };
    assert_eq!(claims(None), n);
    assert_eq!(claims(Some(Schedule::Auto)), n);
    assert!(claims(Some(Schedule::Static)) < n / 10);
    control.set_schedule(Schedule::Dynamic { chunk: 1 });
    assert_eq!(claims(Some(Schedule::Static)), n);
}

/// Catches: a loop that is ended because it is measured, though its call returns results alone.
#[test]
fn measured_loops_without_a_control_run_on() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let once = Once::new(&pool);
    let (made, metrics) = pool.run(|_| {
        let measured = over(0..10_000).metrics().map(|item| {
            once.cancel();
            item
        });
        measured.collect::<Vec<_>>()
    });
    assert_eq!((made, metrics.tasks()), ((0..10_000).collect::<Vec<i32>>(), 10_000));
}

/// Catches: a list without a control that runs on, units that are lost, and a report that does
/// not say so.
#[test]
fn worklists_end_with_or_without_a_control() {
    for threads in [1, 3] {
        let pool = Pool::builder().threads(threads).build().unwrap();
        let (control, total) = (Control::new(), TVar::new(0));
        for (follows, plain) in [(false, true), (false, false), (true, true), (true, false)] {
            let (once, mut list) =
                (Once::new(&pool), Worklist::from((0..100).collect::<Vec<usize>>()));
            if follows {
                list = list.control(&control);
            }
            let run = |list: &mut Worklist<usize>| {
                let report = pool.run(|_| match plain {
                    true => list.run_plain(|_, _| once.cancel()),
                    false => list.run(|tx, _| {
                        once.cancel();
                        total.modify(tx, |total| total + 1)
                    }),
                });
                report.unwrap()
            };
            let first = run(&mut list);
            assert!(
                first.cancelled && first.commits as usize + list.len() == 100 && !list.is_empty()
            );
            let second = run(&mut list);
            assert!(!second.cancelled && list.is_empty() && first.commits + second.commits == 100);
        }
        assert_eq!((total.load(), control.is_cancelled()), (200, false));
        assert_eq!(pool.control().snapshot().running, 0);
    }
}
