//! Pools with a profiler: it counts every task, and every tick is in one category.
#![cfg(not(any(loom, shuttle)))]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use sinew_core::{Fences, Pool, PoolBuilder, ScopeBuilder, Wait, Worker};
use sinew_loops::data::IntoItems;
use sinew_loops::loops::{Options, for_each};
use sinew_observe::{BURDENS, Doing, Profile, Profiler, Tasks, TimelineSpan};
use sinew_policy::chunk::Schedule;

/// How long anything may take before it counts as hanging. Generous: the machine may be busy with
/// other tests.
const LIMIT: Duration = Duration::from_secs(120);

/// The tasks that a waiting worker may run.
const WAITS: [Wait; 5] =
    [Wait::Leapfrog, Wait::Any, Wait::Descendants, Wait::Transitive, Wait::Block];

/// Runs `test` on a thread of its own. If it hangs, the process ends instead of hanging the whole
/// run.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        done.send(()).is_ok()
    });
    match ended.recv_timeout(LIMIT) {
        Ok(()) => {}
        Err(mpsc::RecvTimeoutError::Disconnected) => resume_unwind(thread.join().unwrap_err()),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            eprintln!("a test hangs");
            std::process::abort();
        }
    }
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

fn profiling(threads: usize) -> Pool {
    profiled(Pool::builder().threads(threads))
}

/// A pool with a profiler.
fn profiled(builder: PoolBuilder) -> Pool {
    builder.observer(Profiler::new()).build().unwrap()
}

/// The profile of `pool`, from where the next one begins anew.
fn take(pool: &Pool) -> Profile {
    Profiler::of(pool).unwrap().take()
}

fn read(pool: &Pool) -> Profile {
    Profiler::of(pool).unwrap().read()
}

/// Calls `test` with a profiling pool of three workers for each combination of fences and waiting,
/// with and without a slot for an external thread.
fn with_each_profiling_pool(test: impl Fn(&Pool)) {
    for (fences, external_slot) in
        [(Fences::Auto, true), (Fences::Auto, false), (Fences::Full, true)]
    {
        for wait in WAITS {
            let builder =
                Pool::builder().threads(3).fences(fences).wait(wait).external_slot(external_slot);
            test(&profiled(builder));
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

/// A property of times comes true some time, however often the machine is busy with other work.
fn comes_true(mut holds: impl FnMut() -> bool) {
    assert!((0..1_000).any(|_| holds()), "not once in a thousand times");
}

/// The profile of a call, whose counts must agree with each other.
fn profile_of<R: Send>(pool: &Pool, call: impl for<'w> FnOnce(&'w Worker) -> R + Send) -> Profile {
    take(pool);
    pool.run(call);
    let profile = take(pool);
    check(&profile);
    profile
}

/// Checks what is true of every profile.
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

/// Catches: a join that is not counted, or twice, under whatever fences and policy; a second
/// worker that counts other events; a time that is in no category.
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

/// Catches: a stolen arm whose path is lost, whose thief counts nothing, or that is not
/// distinguished from an inlined one.
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

/// Catches: tasks of scopes, detached ones and tasks in order that are counted by their tokens,
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

/// Catches: work from outside, and to one worker alone, that is taken for the pool's own.
#[test]
fn tasks_from_outside_and_parts_of_broadcasts_are_counted_apart() {
    ends(|| {
        let pool = profiled(Pool::builder().threads(3).external_slot(false));
        pool.install(|w| assert_eq!(fib(w, 5), 5));
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
        let done = Barrier::new(2);
        std::thread::scope(|s| {
            s.spawn(|| pool.in_place_scope(|s| (0..4).for_each(|_| s.spawn(|_| ()))));
            s.spawn(|| done.wait());
            done.wait();
        });
        let profile = take(&pool);
        let tasks = profile.tasks();
        assert_eq!((tasks.injected, tasks.mailed, profile.functions().mailed), (1 + 4, 3, 3));
        check_tasks(tasks, 7);
        check(&profile);
    });
}

/// Catches: a loop that is counted as one long path, and pieces that are not timed.
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

/// Catches: an activity that a panic leaves open: in the first arm, the second, both, or a stolen
/// one; in a task of a scope; in a loop.
#[test]
fn a_panic_leaves_the_counts_in_order() {
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

/// Catches: a stack that is full, where joins go another way.
#[test]
fn joins_beyond_the_stack_are_counted_as_well() {
    fn deep(w: &Worker, n: u64) -> u64 {
        if n == 0 { 0 } else { w.join(|w| deep(w, n - 1), |_| 1).0 + 1 }
    }
    ends(|| {
        for wait in WAITS {
            let builder =
                Pool::builder().threads(2).wait(wait).external_slot(false).stack_size(64 << 20);
            let pool = profiled(builder);
            take(&pool);
            assert_eq!(pool.install(|w| deep(w, 10_000)), 10_000);
            let profile = take(&pool);
            check_tasks(profile.tasks(), 10_000);
            check(&profile);
        }
    });
}

/// Catches: a profile that begins before it was asked for, a reading that clears the counters, and
/// profiles that do not add up.
#[test]
fn a_profile_that_is_taken_begins_anew() {
    let pool = profiling(2);
    pool.run(|w| fib(w, 10));
    assert_eq!(read(&pool).tasks().spawned, 88);
    let mut first = take(&pool);
    assert_eq!(read(&pool).tasks().spawned, 0);
    pool.run(|w| fib(w, 8));
    let second = take(&pool);
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

/// Catches: readers that see half a turn while workers go on, or that hold them up.
#[test]
fn profiles_can_be_read_while_workers_work() {
    ends(|| {
        let pool = profiling(3);
        std::thread::scope(|s| {
            let running =
                s.spawn(|| (0..20).for_each(|_| assert_eq!(pool.run(|w| fib(w, 14)), 377)));
            while !running.is_finished() {
                for worker in read(&pool).workers() {
                    let breakdown = worker.breakdown();
                    assert_eq!(breakdown.total() + breakdown.away, worker.elapsed());
                }
            }
        });
        assert_eq!(read(&pool).tasks().spawned, 20 * 609);
    });
}

/// Catches: other burdens than those asked for.
#[test]
fn the_span_is_measured_at_the_burdens_that_were_asked_for() {
    let at = |burdens| {
        let profiler = Profiler::new().burdens(burdens);
        let pool = Pool::builder().threads(1).observer(profiler).build().unwrap();
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

/// Catches: a profiler that was not requested.
#[test]
fn a_pool_that_does_not_profile_has_no_profile() {
    let pool = Pool::builder().threads(2).build().unwrap();
    pool.run(|w| fib(w, 5));
    assert!(Profiler::of(&pool).is_none() && pool.observer().is_none());
}

/// Catches: a trace with holes, a worker without one, a timeline that ends before the program
/// does.
#[test]
fn a_timeline_shows_all_time_of_every_worker() {
    assert!(Profiler::of(&profiling(2)).unwrap().read_timeline().is_none());
    let profiler = Profiler::new().timeline(true);
    let pool = Pool::builder().threads(3).observer(profiler.clone()).build().unwrap();
    assert_eq!(pool.run(|w| fib(w, 20)), 6_765);
    let timeline = profiler.read_timeline().unwrap();
    assert_eq!(timeline.workers.len(), 3);
    for spans in &timeline.workers {
        assert!(spans.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns), "{spans:?}");
        assert!(spans[0].from_ns < 1_000_000_000, "{:?}", spans[0]);
    }
    let spans = timeline.workers.iter().flatten();
    let worked: u64 = spans.filter(|span| span.doing == Doing::Working).map(ns).sum();
    let profile = read(&pool);
    assert!(worked as f64 / 1e9 >= 0.9 * profile.seconds(profile.work()), "{worked}");
}

fn ns(span: &TimelineSpan) -> u64 {
    span.to_ns - span.from_ns
}

/// Catches: iterations that a loop's caller runs alone, since the loop may be short, recorded as
/// pieces that other workers might have run. A simulation of the recording would have them stolen.
#[test]
fn what_a_caller_runs_alone_is_recorded_as_work() {
    let profiler = Profiler::new().record(true);
    let builder = Pool::builder().threads(2).external_slot(false).observer(profiler.clone());
    let pool = builder.build().unwrap();
    pool.control().set_threads(1);
    profiler.take_recording();
    let options = Options { schedule: Schedule::Stealing, ..Options::default() };
    let long = |_| {
        let begin = std::time::Instant::now();
        while begin.elapsed().as_micros() < 2 {
            std::hint::spin_loop();
        }
    };
    pool.run(|w| for_each(w, 0..400_usize, &options, long)).expect("nobody cancels");
    let text = profiler.take_recording().expect("a recording").to_string();
    // One loop, beside the offer to its helper.
    assert_eq!((text.matches('{').count(), text.matches('(').count()), (1, 1), "{text}");
    let (offer, pieces) = (text.find('('), text.find('{'));
    assert!(offer < pieces && text.matches('|').count() > 3, "{text}");
}
