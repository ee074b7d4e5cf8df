//! Extensions to rayon-core: a changing number of threads, counters, a shutdown that waits,
//! settings of the builder.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use rayon_core::ext::{self, Mapping, Spin, ThreadPoolBuilderExt, ThreadPoolExt, Victims, Wait};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::support::{alone, ends, fib, is_child, message_of, pool};

/// The numbers of the threads at work, after each has seen how many may.
fn at_work(pool: &ThreadPool) -> Vec<usize> {
    pool.broadcast(|_| ());
    let seen = Mutex::new(Vec::new());
    let note = || seen.lock().unwrap().push(rayon_core::current_thread_index().unwrap());
    pool.scope(|s| {
        for _ in 0..200 {
            s.spawn(|_| _ = rayon_core::join(note, || rayon_core::join(note, note)));
        }
    });
    let mut seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), 600);
    seen.sort_unstable();
    seen.dedup();
    seen
}

/// Catches: a limit that leaves no thread, surplus threads that work, a size of the pool that
/// changes with it.
#[test]
fn threads_beyond_the_active_ones_rest() {
    ends(|| {
        let pool = pool(4);
        assert_eq!(pool.active_threads(), 4);
        for (asked, answer) in [(0, 1), (1, 1), (2, 2), (4, 4), (9, 4), (3, 3)] {
            assert_eq!((pool.set_active_threads(asked), pool.active_threads()), (answer, answer));
            assert!(at_work(&pool).iter().all(|&thread| thread < answer));
            assert_eq!(
                (pool.current_num_threads(), pool.install(rayon_core::current_num_threads)),
                (4, 4)
            );
            assert_eq!(pool.broadcast(|part| part.index()), [0, 1, 2, 3]);
            assert_eq!(pool.install(|| fib(12)), 144);
        }
    });
}

/// Catches: threads that do not come back.
#[test]
fn threads_come_back_when_the_number_rises() {
    ends(|| {
        let pool = pool(4);
        for _ in 0..50 {
            pool.set_active_threads(1);
            assert_eq!(pool.install(|| fib(5)), 5);
            pool.set_active_threads(4);
            let all = Barrier::new(4);
            pool.scope(|s| (0..4).for_each(|_| s.spawn(|_| _ = all.wait())));
        }
    });
}

/// Catches: free functions that go to another pool than the global one.
#[test]
fn the_free_functions_are_those_of_the_global_pool() {
    alone(
        "ext::the_free_functions_are_those_of_the_global_pool",
        &[("RAYON_NUM_THREADS", "3")],
        || {
            ends(|| {
                assert_eq!((ext::set_active_threads(1), ext::active_threads()), (1, 1));
                assert_eq!(fib(10), 55);
                assert_eq!(
                    (rayon_core::current_num_threads(), rayon_core::broadcast(|_| ()).len()),
                    (3, 3)
                );
                assert_eq!((ext::set_active_threads(9), ext::active_threads()), (3, 3));
                // Each call from outside is one task from outside.
                let before = ext::counters();
                (0..10).for_each(|_| assert_eq!(rayon_core::join(|| 1, || 2), (1, 2)));
                assert_eq!(ext::counters().since(before).injected, 10);
            });
        },
    );
}

/// Catches: counters that count another pool's work, or none.
#[test]
fn counters_are_those_of_the_pool() {
    ends(|| {
        let (one, other) = (pool(2), pool(2));
        let (before, others) = (one.counters(), other.counters());
        let both = Barrier::new(2);
        one.join(|| both.wait(), || both.wait());
        assert_eq!(one.counters().since(before).stolen, 1);
        one.scope(|s| (0..10).for_each(|_| s.spawn(|_| ())));
        let counted = one.counters().since(before);
        assert_eq!((counted.injected, counted.queued_tasks), (2, 10));
        assert_eq!(other.counters().since(others).injected, 0);
    });
}

/// Catches: a profile of another pool's work, one without a request, and one that the environment
/// requests and no call returns.
#[cfg(feature = "profile")]
#[test]
fn profiles_are_those_of_pools_that_were_told_to() {
    let spawned = |pool: &ThreadPool| {
        pool.join(|| (), || ());
        pool.profile().map(|profile| profile.tasks().spawned)
    };
    let build = || ThreadPoolBuilder::new().num_threads(2);
    let counted = move || {
        let told = |profile| spawned(&build().profile(profile).build().unwrap());
        assert_eq!((told(true), told(false)), (Some(1), None));
        let expected = (std::env::var("EXPECTED").as_deref() == Ok("1")).then_some(1);
        assert_eq!(spawned(&build().build().unwrap()), expected);
        assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
        assert_eq!(ext::profile().map(|profile| profile.tasks().spawned), expected);
    };
    if is_child() {
        return ends(counted);
    }
    let name = "ext::profiles_are_those_of_pools_that_were_told_to";
    alone(name, &[("SINEW_PROFILE", "1"), ("EXPECTED", "1")], || ());
    alone(name, &[("EXPECTED", "0")], || ());
}

/// Catches: a shutdown that returns before a task has run or an exit handler has returned; and
/// one that waits for its caller.
#[test]
fn a_shutdown_waits_for_everything() {
    ends(|| {
        let (ran, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let leaves = Arc::clone(&left);
        let waits = ThreadPoolBuilder::new()
            .num_threads(3)
            .exit_handler(move |_| {
                (0..50).for_each(|_| thread::yield_now());
                leaves.fetch_add(1, Ordering::SeqCst);
            })
            .build()
            .unwrap();
        for _ in 0..20 {
            let ran = Arc::clone(&ran);
            waits.spawn(move || rayon_core::spawn(move || _ = ran.fetch_add(1, Ordering::SeqCst)));
        }
        waits.shutdown();
        assert_eq!((ran.load(Ordering::SeqCst), left.load(Ordering::SeqCst)), (20, 3));

        let (inside, (give, take), (tell, told)) =
            (pool(2), mpsc::channel::<ThreadPool>(), mpsc::channel());
        inside.spawn(move || {
            let pool = take.recv().unwrap();
            tell.send(message_of(|| pool.shutdown())).unwrap();
        });
        give.send(inside).unwrap();
        assert!(told.recv().unwrap().contains("cannot wait for the end of its own pool"));
    });
}

/// Catches: a policy or a mapping that is not the pool's that was asked, or one that a pool
/// cannot work under; an impossible mapping that is taken.
#[test]
fn victims_and_places_change_while_a_pool_works() {
    ends(|| {
        let (pool, other) = (pool(3), pool(3));
        for victims in [Victims::Nearest, Victims::MostLoaded { every: 2 }, Victims::Random] {
            for mapping in [Mapping::Compact, Mapping::None, Mapping::Scatter] {
                pool.set_victims(victims);
                pool.set_mapping(&mapping).unwrap();
                assert_eq!((pool.victims(), pool.mapping()), (victims, mapping));
                assert_eq!(pool.install(|| fib(12)), 144);
                let all = Barrier::new(3);
                pool.scope(|s| (0..3).for_each(|_| s.spawn(|_| _ = all.wait())));
            }
        }
        let nowhere = pool.set_mapping(&Mapping::Explicit(vec![123_456])).unwrap_err();
        assert!(nowhere.to_string().contains("123456"), "{nowhere}");
        assert_eq!((pool.mapping(), other.mapping()), (Mapping::Scatter, Mapping::None));
    });
}

/// Catches: something that the builder is told and that keeps a pool from working, or a text
/// that does not tell.
#[test]
fn more_can_be_said_about_a_pool() {
    ends(|| {
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .wait(Wait::Block)
            .mapping(Mapping::None)
            .victims(Victims::Random)
            .spin(Spin::For(Duration::ZERO))
            .follow_limits(false);
        let text = format!("{builder:?}");
        for part in
            ["num_threads: 2", "wait: Some(Block)", "mapping: Some(None)", "victims: Some(Random)"]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let pool = builder.build().unwrap();
        assert_eq!(pool.install(|| fib(12)), 144);
        let both = Barrier::new(2);
        pool.join(|| both.wait(), || both.wait());
        let nowhere =
            ThreadPoolBuilder::new().num_threads(1).mapping("123456".parse().unwrap()).build();
        assert!(nowhere.unwrap_err().to_string().contains("123456"));
    });
}

#[cfg(target_os = "linux")]
mod limits {
    use std::fs;
    use std::io;

    use super::*;

    /// Keeps a pool at work until it is dropped.
    struct AtWork<'s>(&'s AtomicBool);

    impl Drop for AtWork<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn keep_at_work<'s>(
        s: &'s thread::Scope<'s, '_>,
        pool: &'s ThreadPool,
        over: &'s AtomicBool,
    ) -> AtWork<'s> {
        s.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                assert_eq!(pool.install(|| fib(15)), 610);
            }
        });
        AtWork(over)
    }

    /// Catches: a pool that does not share at the request of the builder or of the variable, or
    /// that shares without a request. Also a pool that keeps its smaller share when the other
    /// program has ended, and one whose size changes with its share.
    #[test]
    fn pools_that_coordinate_leave_each_other_cores() {
        let all = thread::available_parallelism().map_or(1, usize::from);
        if all < 2 {
            println!("skipped: this process may use one processor only");
            return;
        }
        let name = "ext::limits::pools_that_coordinate_leave_each_other_cores";
        // Only the child uses this table.
        let folder = std::env::temp_dir().join(format!("sinew-drop-in-{}", std::process::id()));
        let table = folder.to_str().unwrap();
        alone(name, &[("SINEW_TABLE_DIR", table), ("SINEW_COORDINATE", "1")], move || {
            ends(move || {
                let build = || ThreadPoolBuilder::new().num_threads(all);
                let one = build().build().unwrap();
                let other = build().coordinate(true).build().unwrap();
                let apart = build().coordinate(false).build().unwrap();
                let over = [const { AtomicBool::new(false) }; 2];
                thread::scope(|s| {
                    let _one = keep_at_work(s, &one, &over[0]);
                    let others = keep_at_work(s, &other, &over[1]);
                    while one.active_threads() == all || other.active_threads() == all {
                        thread::yield_now();
                    }
                    assert_eq!((one.current_num_threads(), apart.active_threads()), (all, all));
                    drop(others);
                    // It has nothing to do from now on.
                    while one.active_threads() < all {
                        thread::yield_now();
                    }
                });
            });
        });
        if !is_child() {
            // The last pool to leave may have done so.
            let _ = fs::remove_dir_all(&folder);
        }
    }

    /// The processors that the calling thread may run on.
    fn allowed() -> libc::cpu_set_t {
        // SAFETY: all zeroes is a set; the kernel fills it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let read = libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
            assert_eq!(read, 0, "{}", io::Error::last_os_error());
            set
        }
    }

    /// The first processor of `set` alone.
    fn first_of(set: &libc::cpu_set_t) -> libc::cpu_set_t {
        // SAFETY: all zeroes is a set; the numbers are below the size of one.
        unsafe {
            let first =
                (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, set)).unwrap();
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(first, &mut one);
            one
        }
    }

    /// Binds every thread of this process.
    fn bind(set: &libc::cpu_set_t) {
        for task in fs::read_dir("/proc/self/task").unwrap() {
            let thread = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
            // SAFETY: the kernel reads a set.
            let bound = unsafe { libc::sched_setaffinity(thread, size_of_val(set), set) };
            let why = io::Error::last_os_error();
            let has_ended = why.raw_os_error() == Some(libc::ESRCH);
            assert!(bound == 0 || has_ended, "{why}");
        }
    }

    /// Works until `pool` has found that `threads` may work; the time limit of `ends` catches one
    /// that never does.
    fn work_until(pool: &ThreadPool, threads: usize) {
        while pool.active_threads() != threads {
            assert_eq!(pool.install(|| fib(10)), 55);
            thread::yield_now();
        }
    }

    /// Catches: a pool that does not look again, or looks and does nothing; one that was told
    /// its number, or not to look, and does so nevertheless.
    #[test]
    fn a_pool_follows_the_affinity_of_its_process() {
        if thread::available_parallelism().map_or(1, usize::from) < 2 {
            println!("skipped: this process may use one processor only");
            return;
        }
        alone("ext::limits::a_pool_follows_the_affinity_of_its_process", &[], || {
            ends(|| {
                let (unset, set) = (pool(0), pool(2));
                let follows =
                    ThreadPoolBuilder::new().num_threads(2).follow_limits(true).build().unwrap();
                let ignores = ThreadPoolBuilder::new().follow_limits(false).build().unwrap();
                let (most, all) = (unset.current_num_threads(), allowed());
                assert!(most >= 2);
                for _ in 0..2 {
                    bind(&first_of(&all));
                    work_until(&unset, 1);
                    work_until(&follows, 1);
                    bind(&all);
                    work_until(&unset, most);
                    work_until(&follows, 2);
                    // All at once, again.
                    let met = Barrier::new(most);
                    unset.scope(|s| (0..most).for_each(|_| s.spawn(|_| _ = met.wait())));
                    assert_eq!((set.active_threads(), ignores.active_threads()), (2, most));
                }
                assert_eq!(unset.current_num_threads(), most);
            });
        });
    }
}
