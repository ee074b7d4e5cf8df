//! Pools that profile: every task counted, every tick somewhere, and nothing where they do not.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_core::data::IntoItems;
use sinew_core::loops::{Options, for_each};
use sinew_core::{
    BURDENS, Doing, Fences, Pool, Profile, ScopeBuilder, Tasks, TimelineSpan, Worker,
};

use crate::support::{WAITS, add, ends, pool};

fn profiling(threads: usize) -> Pool {
    Pool::builder().threads(threads).profile(true).build().unwrap()
}

/// Calls `test` with a profiling pool of three workers for each combination of fences and waiting,
/// with and without a guest seat.
fn with_each_profiling_pool(test: impl Fn(&Pool)) {
    for (fences, guests) in [(Fences::Auto, true), (Fences::Auto, false), (Fences::Full, true)] {
        for wait in WAITS {
            let builder = Pool::builder().threads(3).fences(fences).wait(wait).guest_seat(guests);
            test(&builder.profile(true).build().unwrap());
        }
    }
}

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn each(w: &Worker, n: usize, body: impl Fn(usize) + Sync) {
    for_each(w, (0..n).into_items(), &Options::default(), body).unwrap();
}

/// What times show comes true some time, however often the machine is busy with something else.
fn comes_true(mut what: impl FnMut() -> bool) {
    assert!((0..1_000).any(|_| what()), "not once in a thousand times");
}

/// What was measured of a call, whose counts must agree with each other.
fn profile_of<R: Send>(pool: &Pool, call: impl for<'w> FnOnce(&'w Worker) -> R + Send) -> Profile {
    pool.take_profile();
    pool.run(call);
    let profile = pool.take_profile().unwrap();
    check(&profile);
    profile
}

/// What holds of every profile.
fn check(profile: &Profile) {
    for worker in profile.workers() {
        let (breakdown, functions) = (worker.breakdown(), worker.functions());
        assert_eq!(breakdown.total() + breakdown.away, worker.elapsed());
        let library = functions.wait_for_all.time + functions.parked.time;
        assert_eq!(functions.application + library + breakdown.away, worker.elapsed());
        assert!(worker.work() <= functions.application);
    }
    for burden in 1..BURDENS {
        assert!(profile.span(burden - 1) <= profile.span(burden));
    }
    assert!(profile.span(BURDENS - 1) <= profile.work(), "{profile:?}");
    let bounds = profile.bounds(2);
    assert!(bounds.lower <= bounds.upper && profile.parallelism(0) >= 1.0);
}

/// All made by the pool have been run.
fn check_tasks(tasks: Tasks, spawned: u64) {
    assert_eq!((tasks.spawned, tasks.inlined + tasks.stolen), (spawned, spawned), "{tasks:?}");
}

/// Would miss: a join that is not counted, or twice, under whatever fences and policy; a second
/// worker that keeps other books; a time that is in no category.
#[test]
fn every_join_is_counted_once_under_every_policy() {
    ends(|| {
        with_each_profiling_pool(|pool| {
            let profile = profile_of(pool, |w| assert_eq!(fib(w, 14), 377));
            check_tasks(profile.tasks(), 609);
            assert_eq!((profile.calls(), profile.functions().get.calls), (1, 609));
            assert!(profile.task_granularity() > 0.0);
        });
    });
}

/// Would miss: a stolen arm whose way is lost, whose thief keeps no books, or that is not told from
/// an inlined one.
#[test]
fn an_arm_that_must_be_stolen_is_counted_as_stolen() {
    ends(|| {
        with_each_profiling_pool(|pool| {
            let barrier = Barrier::new(2);
            let meet = || barrier.wait().is_leader();
            let profile = profile_of(pool, |w| w.join(|_| meet(), |_| meet()));
            let (tasks, functions) = (profile.tasks(), profile.functions());
            assert_eq!((tasks.spawned, tasks.inlined, tasks.stolen), (1, 0, 1));
            assert!(functions.attempts.successful >= 1 && functions.steal.calls >= 1);
            assert!(profile.steal_interval().is_some());
        });
    });
}

/// Would miss: tasks of scopes, detached ones and tasks in order that are counted by their tokens,
/// or nowhere.
#[test]
fn every_task_of_a_scope_is_counted_once_under_every_policy() {
    ends(|| {
        with_each_profiling_pool(|pool| {
            let ran = AtomicUsize::new(0);
            let profile = profile_of(pool, |w| {
                w.scope(|s| {
                    (0..20).for_each(|_| {
                        s.spawn(|w| {
                            fib(w, 3);
                            add(&ran);
                        });
                    });
                });
                w.open_scope(|s| (0..10).for_each(|_| s.spawn(|s| s.spawn(|_| add(&ran)))));
                w.open_scope_fifo(|s| (0..10).for_each(|_| s.spawn_fifo(|_| add(&ran))));
                ScopeBuilder::new()
                    .max_pending(2)
                    .run(|s| (0..10).for_each(|_| s.spawn(|_| add(&ran))));
            });
            assert_eq!(ran.load(Ordering::SeqCst), 50);
            check_tasks(profile.tasks(), 20 * 3 + 20 + 10 + 10);
        });
    });
}

/// Would miss: work from outside, and to one worker alone, that is taken for the pool's own.
#[test]
fn tasks_from_outside_and_parts_of_broadcasts_are_counted_apart() {
    ends(|| {
        let pool = Pool::builder().threads(3).guest_seat(false).profile(true).build().unwrap();
        pool.install(|w| assert_eq!(fib(w, 5), 5));
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
        let done = Barrier::new(2);
        std::thread::scope(|s| {
            s.spawn(|| pool.in_place_scope(|s| (0..4).for_each(|_| s.spawn(|_| ()))));
            s.spawn(|| done.wait());
            done.wait();
        });
        let profile = pool.take_profile().unwrap();
        let tasks = profile.tasks();
        assert_eq!((tasks.injected, tasks.mailed, profile.functions().mailed), (1 + 4, 3, 3));
        check_tasks(tasks, 7);
        check(&profile);
    });
}

/// Would miss: a loop that is counted as one long way, and pieces that nobody times.
#[test]
fn a_loop_of_many_pieces_has_a_span_of_its_longest() {
    let pool = profiling(1);
    let spin =
        |i: usize| (0..2_000).fold(i as u64, |x, i| std::hint::black_box(x.wrapping_mul(31) ^ i));
    let alone = || profile_of(&pool, |w| (w.index()..256).map(spin).max());
    comes_true(|| alone().span(0) * 10 > alone().work() * 9);
    let two = profiling(2);
    let parallel = || {
        profile_of(&two, |w| {
            each(w, 256, |i| {
                spin(i);
            });
        })
    };
    comes_true(|| parallel().parallelism(0) > 3.0);
}

/// Would miss: books that are left open by a panic: in the first arm, the second, both, or a stolen
/// one; in a task of a scope; in a loop.
#[test]
fn a_panic_leaves_the_books_in_order() {
    ends(|| {
        with_each_profiling_pool(|pool| {
            let caught = |f: &(dyn Fn(&Worker) + Sync)| {
                let profile =
                    profile_of(pool, |w| assert!(catch_unwind(AssertUnwindSafe(|| f(w))).is_err()));
                assert_eq!(
                    profile.tasks().spawned,
                    profile.tasks().inlined + profile.tasks().stolen
                );
                assert!(catch_unwind(AssertUnwindSafe(|| pool.run(|w| f(w)))).is_err());
                let after = profile_of(pool, |w| assert_eq!(fib(w, 8), 21));
                check_tasks(after.tasks(), 33);
            };
            let join = |w: &Worker, first: u64, second: u64| {
                w.join(|w| fib_or_fall(w, first), |w| fib_or_fall(w, second));
            };
            caught(&|w| join(w, 0, 6));
            caught(&|w| join(w, 6, 0));
            caught(&|w| join(w, 0, 0));
            caught(&|w| {
                w.scope(|s| {
                    (0..5).for_each(|_| {
                        s.spawn(|w| {
                            fib_or_fall(w, 0);
                        });
                    });
                });
            });
            caught(&|w| {
                each(w, 100, |i| {
                    if i == 50 {
                        fall();
                    }
                });
            });
            let barrier = Barrier::new(2);
            caught(&|w| {
                w.join(
                    |_| barrier.wait().is_leader(),
                    |_| {
                        barrier.wait();
                        fall();
                    },
                );
            });
        });
    });
}

fn fall() {
    resume_unwind(Box::new("fallen"));
}

/// Fib; or some joins, and a panic, for 0.
fn fib_or_fall(w: &Worker, n: u64) -> u64 {
    if n == 0 {
        fib(w, 6);
        fall();
    }
    fib(w, n)
}

/// Would miss: a stack that is full, where joins go another way.
#[test]
fn joins_beyond_the_stack_are_counted_as_well() {
    fn deep(w: &Worker, n: u64) -> u64 {
        if n == 0 { 0 } else { w.join(|w| deep(w, n - 1), |_| 1).0 + 1 }
    }
    ends(|| {
        for wait in WAITS {
            let builder =
                Pool::builder().threads(2).wait(wait).guest_seat(false).stack_size(64 << 20);
            let pool = builder.profile(true).build().unwrap();
            pool.take_profile();
            assert_eq!(pool.install(|w| deep(w, 10_000)), 10_000);
            let profile = pool.take_profile().unwrap();
            check_tasks(profile.tasks(), 10_000);
            check(&profile);
        }
    });
}

/// Would miss: a profile that begins before it was asked for, a reading that empties the books, and
/// profiles that do not add up.
#[test]
fn a_profile_that_is_taken_begins_anew() {
    let pool = profiling(2);
    pool.run(|w| fib(w, 10));
    assert_eq!(pool.profile().unwrap().tasks().spawned, 88);
    let mut first = pool.take_profile().unwrap();
    assert_eq!(pool.profile().unwrap().tasks().spawned, 0);
    pool.run(|w| fib(w, 8));
    let second = pool.take_profile().unwrap();
    check_tasks(first.tasks(), 88);
    check_tasks(second.tasks(), 33);
    let (work, span) = (first.work() + second.work(), first.span(1) + second.span(1));
    first += &second;
    assert_eq!(
        (first.tasks().spawned, first.work(), first.span(1), first.calls()),
        (121, work, span, 2)
    );
    let net = first.clone().net();
    check(&net);
    assert!(net.wall_seconds() <= first.wall_seconds());
}

/// Would miss: readers that see half a turn while workers go on, or that hold them up.
#[test]
fn profiles_can_be_read_while_workers_work() {
    ends(|| {
        let pool = profiling(3);
        std::thread::scope(|s| {
            let running =
                s.spawn(|| (0..20).for_each(|_| assert_eq!(pool.run(|w| fib(w, 14)), 377)));
            while !running.is_finished() {
                for worker in pool.profile().unwrap().workers() {
                    let breakdown = worker.breakdown();
                    assert_eq!(breakdown.total() + breakdown.away, worker.elapsed());
                }
            }
        });
        assert_eq!(pool.profile().unwrap().tasks().spawned, 20 * 609);
    });
}

/// Would miss: other burdens than those asked for.
#[test]
fn the_span_is_measured_at_the_burdens_that_were_asked_for() {
    let at = |burdens| {
        let pool = Pool::builder().threads(1).profile(true).burdens(burdens).build().unwrap();
        let profile = profile_of(&pool, |w| fib(w, 20));
        assert_eq!(profile.burdens(), burdens);
        [profile.span(0), profile.span(1), profile.span(2), profile.work()]
    };
    // No ratios: wherever the system takes the core away, that time lies on one path.
    let [none, same, serial, work] = at([0, 0, u64::MAX]);
    assert!(none == same && same < serial && serial <= work, "{none} {same} {serial} {work}");
    let [none, serial, same, work] = at([0, u64::MAX, u64::MAX]);
    assert!(none < serial && serial == same && same <= work, "{none} {serial} {same} {work}");
}

/// Would miss: books that are kept where nobody asked for them.
#[test]
fn a_pool_that_does_not_profile_has_no_profile() {
    let pool = pool(2);
    pool.run(|w| fib(w, 5));
    assert!(pool.profile().is_none() && pool.take_profile().is_none());
}

/// Would miss: a diary with holes, a worker without one, a time line that ends before the program
/// does.
#[test]
fn a_timeline_shows_all_time_of_every_worker() {
    assert!(pool(2).timeline().is_none() && profiling(2).timeline().is_none());
    let pool = Pool::builder().threads(3).timeline(true).build().unwrap();
    assert_eq!(pool.run(|w| fib(w, 20)), 6_765);
    let timeline = pool.timeline().unwrap();
    assert_eq!(timeline.workers.len(), 3);
    for spans in &timeline.workers {
        assert!(spans.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns), "{spans:?}");
        assert!(spans[0].from_ns < 1_000_000_000, "{:?}", spans[0]);
    }
    let spans = timeline.workers.iter().flatten();
    let worked: u64 = spans.filter(|span| span.doing == Doing::Working).map(ns).sum();
    let profile = pool.profile().unwrap();
    assert!(worked as f64 / 1e9 >= 0.9 * profile.seconds(profile.work()), "{worked}");
}

fn ns(span: &TimelineSpan) -> u64 {
    span.to_ns - span.from_ns
}
