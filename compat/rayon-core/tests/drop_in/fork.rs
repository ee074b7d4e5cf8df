//! `fork(2)`: the child has none of the parent's threads, and works nevertheless. Each test forks
//! in a child process of its own.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::support::{alone, fib, pool, use_much_stack};

/// How a forked child ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Exit(i32),
    Signal(i32),
}

/// Forks; the child calls `f` and ends without unwinding, since it has a copy of the test harness
/// on its stack. A child that hangs is killed.
fn fork(f: impl FnOnce()) -> End {
    // SAFETY: the child has one thread, and calls only what this library promises to work there.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: no destructors and no handlers run; the alarm ends a child that hangs.
        unsafe {
            libc::alarm(60);
            let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_ok();
            libc::_exit(if passed { 0 } else { 1 });
        }
    }
    wait_for(pid)
}

fn wait_for(pid: libc::pid_t) -> End {
    let mut status = 0;
    // SAFETY: the child is this process's, and no other thread waits for it.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid, "{}", io::Error::last_os_error());
    if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Exit(libc::WEXITSTATUS(status))
    }
}

/// Every way into the global pool.
fn use_global_pool() {
    assert_eq!(fib(12), 144);
    let mut sums = [0; 3];
    rayon_core::scope(|s| sums.iter_mut().for_each(|sum| s.spawn(|_| *sum = fib(10))));
    rayon_core::in_place_scope_fifo(|s| s.spawn_fifo(|_| assert_eq!(fib(5), 5)));
    assert_eq!(sums, [55; 3]);
    let (done, end) = mpsc::channel();
    rayon_core::spawn(move || done.send(rayon_core::current_thread_index().is_some()).unwrap());
    assert_eq!(end.recv(), Ok(true));
    assert_eq!(rayon_core::broadcast(|part| part.index()).len(), rayon_core::current_num_threads());
}

/// Every way into a pool.
fn use_pool(pool: &ThreadPool) {
    let threads = pool.current_num_threads();
    assert_eq!(pool.install(|| fib(12)), 144);
    assert_eq!(pool.join(|| fib(8), || fib(9)), (21, 34));
    let all = Barrier::new(threads);
    pool.scope(|s| (0..threads).for_each(|_| s.spawn(|_| _ = all.wait())));
    pool.in_place_scope(|s| s.spawn(|s| s.spawn(|_| assert_eq!(fib(5), 5))));
    assert!(pool.broadcast(|part| part.index()).into_iter().eq(0..threads));
    let (done, end) = mpsc::channel();
    pool.spawn_fifo(move || done.send(rayon_core::current_num_threads()).unwrap());
    assert_eq!(end.recv(), Ok(threads));
}

/// Catches: a child that waits for threads it does not have, or locks that they held; and a
/// parent that suffers by the fork.
#[test]
fn a_child_has_a_global_pool_of_its_own() {
    alone("fork::a_child_has_a_global_pool_of_its_own", &[("RAYON_NUM_THREADS", "3")], || {
        for _ in 0..20 {
            use_global_pool();
            let end = fork(|| {
                assert_eq!(rayon_core::current_num_threads(), 3);
                use_global_pool();
                // The child of a child, too.
                assert_eq!(fork(use_global_pool), End::Exit(0));
                use_global_pool();
            });
            assert_eq!(end, End::Exit(0));
        }
        use_global_pool();
    });
}

/// Catches: a child that joins threads of its parent, or a pool that cannot be used, or that is
/// another one afterwards.
#[test]
fn a_pool_that_came_along_works_in_the_child() {
    alone("fork::a_pool_that_came_along_works_in_the_child", &[], || {
        for threads in [1, 2, 3] {
            let mut along = Some(pool(threads));
            use_pool(along.as_ref().unwrap());
            let end = fork(|| {
                let pool = along.take().unwrap();
                use_pool(&pool);
                let end = fork(|| {
                    use_pool(&pool);
                    rayon_core::ext::ThreadPoolExt::shutdown(pool);
                });
                assert_eq!(end, End::Exit(0));
            });
            assert_eq!(end, End::Exit(0));
            // Unused there, and dropped.
            assert_eq!(fork(|| drop(along.take())), End::Exit(0));
            use_pool(along.as_ref().unwrap());
        }
    });
}

/// Catches: a pool that is built again without what it was told.
#[test]
fn a_pool_in_a_child_has_the_names_hooks_and_stacks_of_its_parent() {
    alone("fork::a_pool_in_a_child_has_the_names_hooks_and_stacks_of_its_parent", &[], || {
        let (starts, (panicked, panic)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
        let started = Arc::clone(&starts);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(|index| format!("mine {index}"))
            .stack_size(8 << 20)
            .start_handler(move |_| _ = started.fetch_add(1, Ordering::SeqCst))
            .panic_handler(move |payload| {
                panicked.send(*payload.downcast::<&str>().unwrap()).unwrap();
            })
            .build()
            .unwrap();
        let names = || pool.broadcast(|_| thread::current().name().map(str::to_owned));
        let wanted = [Some("mine 0".to_owned()), Some("mine 1".to_owned())];
        assert_eq!(names(), wanted);
        let end = fork(|| {
            assert_eq!(names(), wanted);
            // Two in the parent, and two here.
            assert_eq!(starts.load(Ordering::SeqCst), 4);
            pool.install(use_much_stack);
            pool.spawn(|| panic!("in the child"));
            assert_eq!(panic.recv(), Ok("in the child"));
        });
        assert_eq!((end, starts.load(Ordering::SeqCst)), (End::Exit(0), 2));
    });
}

/// Catches: a pool whose threads were the user's, and cannot be had again, or were bound to a
/// scope that the child is not in.
#[test]
fn pools_of_other_threads_work_in_a_child() {
    alone("fork::pools_of_other_threads_work_in_a_child", &[], || {
        let spawn = |thread: rayon_core::ThreadBuilder| {
            thread::spawn(|| thread.run());
            Ok(())
        };
        let pool = ThreadPoolBuilder::new().num_threads(2).spawn_handler(spawn).build().unwrap();
        assert_eq!(fork(|| use_pool(&pool)), End::Exit(0));
        use_pool(&pool);
        let scoped = |pool: &ThreadPool| {
            assert_eq!(fork(|| use_pool(pool)), End::Exit(0));
            use_pool(pool);
        };
        ThreadPoolBuilder::new()
            .num_threads(2)
            .build_scoped(|thread| thread.run(), scoped)
            .unwrap();
    });
}

/// Catches: a child that forgets what the program said about its global pool.
#[test]
fn a_global_pool_that_was_described_is_so_in_a_child() {
    alone("fork::a_global_pool_that_was_described_is_so_in_a_child", &[], || {
        ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(|index| format!("mine {index}"))
            .build_global()
            .unwrap();
        let names = || rayon_core::broadcast(|_| thread::current().name().map(str::to_owned));
        let wanted = [Some("mine 0".to_owned()), Some("mine 1".to_owned())];
        assert_eq!(names(), wanted);
        let end = fork(|| {
            assert_eq!(names(), wanted);
            let again = ThreadPoolBuilder::new().build_global().unwrap_err();
            assert_eq!(again.to_string(), "The global thread pool has already been initialized.");
            use_global_pool();
        });
        assert_eq!(end, End::Exit(0));
        use_global_pool();
    });
}

/// Catches: a child whose only thread still takes itself for a worker of its parent's pool, and
/// waits for that one's threads.
#[test]
fn a_thread_that_was_a_worker_can_use_pools_in_a_child() {
    alone("fork::a_thread_that_was_a_worker_can_use_pools_in_a_child", &[], || {
        let (mine, other) = (pool(2), pool(2));
        let end = mine.install(|| {
            fork(|| {
                assert_eq!(fib(10), 55);
                use_pool(&other);
                use_pool(&mine);
            })
        });
        assert_eq!(end, End::Exit(0));
        // The main thread of a program may be one for good.
        let build =
            || ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        let ends = thread::spawn(move || {
            let pool = build();
            assert_eq!(pool.install(|| fib(10)), 55);
            fork(|| {
                assert_eq!(fib(10), 55);
                use_pool(&other);
                use_pool(&pool);
            })
        });
        assert_eq!(ends.join().unwrap(), End::Exit(0));
    });
}
