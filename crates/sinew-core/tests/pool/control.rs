//! A whole pool changed by its control, and what it runs cancelled.
//!
//! Blind to: which threads work and where they run; `workers` and `mapping` test that. Changes at
//! the highest rate: the crate `sinew`'s `tests/changes.rs`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread::{self, ThreadId};

use sinew_core::{
    CancelRegistration, Cancelled, Mapping, Pool, PoolControl, Victims, Worker, serially,
};
use sinew_loops::Control;
use sinew_loops::loops::{Options, for_each, try_for_each};
use sinew_loops::stream::{self, Exit, Identity, Parallel, Stages};
use sinew_policy::chunk::Schedule;

use crate::support::{chunks, ends, full_pool, payload_of, pool};

/// A loop that only a cancellation ends, which calls `first` with its first item.
fn endless(w: &Worker, control: &Control, first: impl Fn() + Sync) -> Result<(), Cancelled> {
    let options = Options { control: Some(control), ..Options::default() };
    for_each(w, 0..usize::MAX, &options, |item| {
        if item == 0 {
            first();
        }
    })
}

/// A loop that ends by itself.
fn short(w: &Worker, control: &Control) -> Result<(), Cancelled> {
    let (done, options) =
        (AtomicUsize::new(0), Options { control: Some(control), ..Options::default() });
    let ended = for_each(w, 0..100_usize, &options, |_| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    assert!(ended.is_err() || done.into_inner() == 100);
    ended
}

/// Catches: a participant that does not see it, a control that is cancelled for good, and what
/// begins later and is ended as well.
#[test]
fn what_runs_is_cancelled_and_what_comes_later_runs() {
    ends(|| {
        for pool in [pool(1), pool(3), full_pool(1), full_pool(3)] {
            let (control, handle) = (Control::new(), pool.control());
            for round in 0..20 {
                let (begun, begins) = mpsc::channel();
                let by_itself = round % 2 == 0;
                thread::scope(|s| {
                    let handle = &handle;
                    s.spawn(move || {
                        begins.recv().unwrap();
                        handle.cancel();
                    });
                    let first = || {
                        if by_itself {
                            handle.cancel();
                        }
                        begun.send(()).unwrap();
                    };
                    assert_eq!(pool.install(|w| endless(w, &control, first)), Err(Cancelled));
                });
                assert_eq!(pool.run(|w| short(w, &control)), Ok(()));
            }
            let now = control.snapshot();
            assert!(!now.cancelled && now.loops == 0 && now.working == 0, "{now:?}");
            assert_eq!(handle.snapshot().running, 0);
        }
    });
}

/// Catches: results of which some are missing without an error.
#[test]
fn loops_without_a_control_and_tasks_run_on() {
    ends(|| {
        let pool = pool(3);
        let (handle, done) = (pool.control(), AtomicUsize::new(0));
        let work = |item: usize| {
            if item == 10 {
                handle.cancel();
            }
            done.fetch_add(1, Ordering::Relaxed);
        };
        pool.run(|w| {
            assert_eq!(for_each(w, 0..5_000_usize, &Options::default(), work), Ok(()));
            w.scope(|s| (0..50).for_each(|item| s.spawn(move |_| work(item))));
            w.join(|_| work(10), |_| work(11));
        });
        assert_eq!(done.load(Ordering::Relaxed), 5_052);
    });
}

/// Catches: a pool that ends what another one runs, and a loop around that goes on because the
/// one within has ended.
#[test]
fn a_cancellation_stays_in_its_pool_and_reaches_the_loops_around() {
    ends(|| {
        let (here, there) = (pool(2), pool(2));
        let (outer, inner, handle) = (Control::new(), Control::new(), here.control());
        let within = || {
            // A loop that a running item begins later runs.
            handle.cancel();
            assert_eq!(sinew_core::run(|w| short(w, &inner)), Ok(()));
            assert_eq!(there.run(|w| short(w, &inner)), Ok(()));
        };
        assert_eq!(here.run(|w| endless(w, &outer, within)), Err(Cancelled));
        let within = || {
            assert_eq!(
                there.run(|w| endless(w, &inner, || there.control().cancel())),
                Err(Cancelled)
            );
        };
        let within_and_cancelled = || {
            within();
            handle.cancel();
        };
        assert_eq!(here.run(|w| endless(w, &outer, within_and_cancelled)), Err(Cancelled));
    });
}

/// Catches: a loop that is in no pool because its thread works serially.
#[test]
fn serial_loops_belong_to_the_pool_around() {
    ends(|| {
        let pool = pool(2);
        let (control, handle) = (Control::new(), pool.control());
        let ended = pool
            .run(|_| serially(|| sinew_core::run(|w| endless(w, &control, || handle.cancel()))));
        assert_eq!(ended, Err(Cancelled));
    });
}

/// Catches: a registration that is not removed, and unregistered work that is cancelled.
#[test]
fn who_has_ended_is_under_way_no_more() {
    let pool = pool(2);
    let handle = pool.control();
    let outside = CancelRegistration::register();
    pool.run(|_| {
        let [first, second] = [(); 2].map(|()| CancelRegistration::register());
        assert_eq!(handle.snapshot().running, 2);
        drop(first);
        handle.cancel();
        assert!(second.is_cancelled() && !outside.is_cancelled());
    });
    assert_eq!(handle.snapshot().running, 0);
    let panicked = payload_of(|| {
        pool.run(|w| endless(w, &Control::new(), || std::panic::resume_unwind(Box::new("enough"))))
    });
    assert_eq!(panicked.downcast_ref(), Some(&"enough"));
    assert_eq!(handle.snapshot().running, 0);
}

/// Catches: loops that do not take up the pool's schedule, those that must not, and one that
/// stays when it was taken back.
#[test]
fn loops_that_leave_their_schedule_open_have_the_pools() {
    ends(|| {
        let pool = pool(2);
        let (handle, control, requesting) = (pool.control(), Control::new(), Control::new());
        requesting.set_schedule(Schedule::Static);
        let fixed = Options::default();
        let open = Options { open: true, ..fixed };
        let under =
            |control| Options { control: Some(control), schedule: Schedule::Static, ..open };
        let closed = Options { open: false, ..under(&control) };
        let singly = |options: &Options<'_>| chunks(&pool, 700, options, |_| ()) == 700;
        for _ in 0..3 {
            assert!(![open, fixed, under(&control), closed].iter().any(singly));
            handle.set_schedule(Schedule::Dynamic { chunk: 1 });
            assert!([open, under(&control)].iter().all(singly));
            assert!(![fixed, closed, under(&requesting)].iter().any(singly));
            handle.set_schedule(None);
        }
    });
}

/// Catches: a loop under a control that takes the pool's schedule up only when it begins.
#[test]
fn a_controlled_loop_takes_the_pools_schedule_up_while_it_runs() {
    ends(|| {
        let pool = pool(2);
        let (handle, control) = (pool.control(), Control::new());
        let options = Options {
            control: Some(&control),
            schedule: Schedule::Static,
            open: true,
            ..Options::default()
        };
        let change = |item: usize| {
            if item == 0 {
                handle.set_schedule(Schedule::Dynamic { chunk: 1 });
            }
        };
        let claimed = chunks(&pool, 100_000, &options, change);
        assert!(claimed > 1_000, "{claimed} claims");
    });
}

/// How many items two threads have begun since something was changed.
struct Begun {
    here: ThreadId,
    changed: AtomicBool,
    items: [AtomicUsize; 2],
}

impl Begun {
    fn new() -> Self {
        Self {
            here: thread::current().id(),
            changed: AtomicBool::new(false),
            items: Default::default(),
        }
    }

    fn change(&self, change: impl FnOnce()) {
        self.items.iter().for_each(|items| items.store(0, Ordering::SeqCst));
        change();
        self.changed.store(true, Ordering::SeqCst);
    }

    fn item(&self) {
        if self.changed.load(Ordering::SeqCst) {
            self.items[usize::from(thread::current().id() != self.here)]
                .fetch_add(1, Ordering::SeqCst);
        }
    }

    /// By the first thread and by the other one.
    fn both(&self) -> [usize; 2] {
        [0, 1].map(|who| self.items[who].load(Ordering::SeqCst))
    }
}

/// Called at the items of an operation of two threads: both begin; one is told to leave; one
/// continues; both are back, which ends it. Returns whether it continues.
struct Acts<'p> {
    handle: PoolControl,
    both: Barrier,
    begun: Begun,
    check: &'p (dyn Fn([usize; 2]) + Sync),
    again: AtomicBool,
}

impl<'p> Acts<'p> {
    fn new(pool: &Pool, check: &'p (dyn Fn([usize; 2]) + Sync)) -> Self {
        let (handle, both, begun) = (pool.control(), Barrier::new(2), Begun::new());
        Self { handle, both, begun, check, again: AtomicBool::new(false) }
    }

    fn play(&self, item: usize) -> bool {
        self.begun.item();
        match item {
            0 | 1 => {
                self.both.wait();
            }
            300 => self.begun.change(|| {
                self.handle.set_threads(1);
            }),
            50_000 => {
                (self.check)(self.begun.both());
                self.begun.change(|| {
                    self.handle.set_threads(2);
                });
                self.again.store(true, Ordering::SeqCst);
            }
            _ if self.again.load(Ordering::SeqCst) => {
                thread::yield_now();
                return self.begun.both().contains(&0);
            }
            // Gives a surplus participant the chance to run. Not at each item, since a yield takes
            // milliseconds beside other programs.
            ..500 if self.begun.changed.load(Ordering::SeqCst) => thread::yield_now(),
            _ => {}
        }
        true
    }
}

/// Catches: a helper that is never too many because its own slot is within the limit, while the
/// caller's is not or there is an external thread; and one that does not come back.
#[test]
fn a_loop_without_a_control_follows_the_number_of_threads() {
    fn play(pool: &Pool, w: &Worker) {
        // The caller stays, and the helper may be about to begin an item when the number falls.
        let acts = Acts::new(pool, &|[_, helper]| {
            assert!(helper <= 1, "{helper} items beside the caller's");
        });
        let options = Options { schedule: Schedule::Dynamic { chunk: 1 }, ..Options::default() };
        let ended = try_for_each(w, 0..1_usize << 40, &options, |item| {
            acts.play(item).then_some(()).ok_or(())
        });
        assert!(ended.is_err());
    }
    ends(|| {
        for _ in 0..10 {
            let (with_external_slot, full) = (pool(2), full_pool(2));
            with_external_slot.run(|w| play(&with_external_slot, w));
            for caller in 0..2 {
                full.broadcast(|part| {
                    if part.index() == caller {
                        sinew_core::run(|w| play(&full, w));
                    }
                });
            }
        }
    });
}

/// Catches: a stream that goes by the workers which a pool with an external thread needs, not by
/// the number that was set.
#[test]
fn a_stream_follows_the_number_of_threads() {
    ends(|| {
        for round in 0..10 {
            let pool = if round % 2 == 0 { pool(2) } else { full_pool(2) };
            pool.run(|w| {
                // Either may leave, and be at an item that it took before.
                let check = |both: [usize; 2]| {
                    assert!(both.iter().any(|&items| items <= 1), "{both:?} items");
                };
                let (acts, goes_on) = (Acts::new(&pool, &check), AtomicBool::new(true));
                let stage = |item| {
                    if !acts.play(item) {
                        goes_on.store(false, Ordering::SeqCst);
                    }
                };
                let end = Parallel::new(Identity, stage).connect(Exit);
                let items = (0..).take_while(|_| goes_on.load(Ordering::SeqCst));
                assert_eq!(stream::run(w, items, &end, &stream::Options::default()), Ok(()));
            });
        }
    });
}

/// Catches: a request that has no effect, and a handle that speaks of another state than the pool.
#[test]
fn the_handle_and_the_pool_say_the_same() {
    let pool = full_pool(4);
    let handle = pool.control();
    let theirs = handle.clone();
    thread::spawn(move || {
        let limit = |threads: usize| {
            theirs.set_threads(threads);
            theirs.snapshot().threads
        };
        assert_eq!([2, 99, 3].map(limit), [2, 4, 3]);
        theirs.set_threads(None);
        assert_eq!([theirs.snapshot().threads, limit(3)], [4, 3]);
        theirs.set_victims(Victims::MostLoaded { every: 5 });
        theirs.set_schedule(Schedule::Auto);
        theirs.set_mapping(&Mapping::Compact).unwrap();
    })
    .join()
    .unwrap();
    let now = handle.snapshot();
    assert_eq!((now.threads, now.max_threads, now.running), (3, 4, 0));
    assert_eq!(
        (now.victims, now.schedule),
        (Victims::MostLoaded { every: 5 }, Some(Schedule::Auto))
    );
    assert_eq!((pool.threads(), pool.victims(), pool.mapping()), (3, now.victims, now.mapping));
    assert!(now.awake_threads <= 4 && format!("{handle:?}").contains("threads: 3"));
}

/// Catches: a value that is taken or that the message does not name, and one that changes
/// something on the way.
#[test]
fn what_is_impossible_is_refused_by_name() {
    let pool = pool(2);
    let handle = pool.control();
    let before = handle.snapshot();
    let refused = |what: &str, set: &dyn Fn(&PoolControl)| {
        let payload = payload_of(|| set(&handle));
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().unwrap()).to_owned());
        assert!(text.contains(what), "{text}");
    };
    refused("a pool with 0 threads", &|handle| handle.set_threads(0));
    refused("`dynamic:0`", &|handle| handle.set_schedule(Schedule::Dynamic { chunk: 0 }));
    let error = handle.set_mapping(&Mapping::Explicit(vec![123_456])).unwrap_err();
    assert!(error.to_string().contains("CPU 123456"), "{error}");
    let now = handle.snapshot();
    assert_eq!(
        (now.threads, now.mapping, now.schedule),
        (before.threads, before.mapping, before.schedule)
    );
}

/// Catches: a handle that keeps the threads, or touches what is gone.
#[test]
fn a_handle_may_outlive_its_pool() {
    ends(|| {
        let pool = full_pool(2);
        let handle = pool.control();
        pool.shutdown();
        handle.set_threads(1);
        handle.set_schedule(Schedule::Static);
        handle.set_mapping(&Mapping::Compact).unwrap();
        handle.cancel();
        assert_eq!(handle.snapshot().max_threads, 2);
    });
}

/// Catches: a handle that forgets a cancellation, sees only its own, or counts an earlier one.
#[test]
fn a_handle_says_whether_the_pool_was_cancelled_since() {
    let pool = pool(2);
    let (handle, other) = (pool.control(), pool.control());
    let clone = other.clone();
    assert!(!handle.is_cancelled());
    other.cancel();
    let later = pool.control();
    let cancelled = [&handle, &other, &clone, &later].map(PoolControl::is_cancelled);
    assert_eq!(cancelled, [true, true, true, false]);
    handle.cancel();
    assert!(later.is_cancelled() && !pool.control().is_cancelled());
}

/// Catches: a pool of its own without a handle.
#[test]
fn the_global_pool_has_a_control_as_well() {
    ends(|| {
        let (control, handle) = (Control::new(), sinew_core::global_pool().control());
        assert_eq!(sinew_core::run(|w| endless(w, &control, || handle.cancel())), Err(Cancelled));
        assert_eq!(Pool::new().unwrap().run(|w| short(w, &control)), Ok(()));
    });
}
