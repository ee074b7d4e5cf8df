//! `fork(2)`: the child has none of the parent's workers. Each test forks in a child process of its
//! own.

use std::io;
use std::sync::Barrier;

use sinew_core::Worker;

use crate::support::{assert_one_line, assert_passed, child, errors, is_child, pool};

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

/// Runs `test` in a child process and asserts that it passes; its standard error is returned.
fn alone(name: &str, test: impl FnOnce()) -> Option<std::process::Output> {
    if is_child() {
        test();
        return None;
    }
    let output = child(&format!("fork::{name}")).output().unwrap();
    assert_passed(&output);
    Some(output)
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = sinew_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Catches: a child that waits for threads it does not have, or locks that they held; and a
/// parent that suffers by the fork.
#[test]
fn a_child_builds_a_global_pool_of_its_own() {
    alone("a_child_builds_a_global_pool_of_its_own", || {
        for _ in 0..20 {
            assert_eq!(fib(15), 610);
            let end = fork(|| {
                assert_eq!(fib(15), 610);
                // The child of a child, too.
                assert_eq!(fork(|| assert_eq!(fib(10), 55)), End::Exit(0));
            });
            assert_eq!(end, End::Exit(0));
        }
        assert_eq!(fib(15), 610);
    });
}

/// Catches: a child that joins threads of its parent, or runs tasks in a pool that cannot.
#[test]
fn a_pool_that_came_along_can_be_run_and_dropped() {
    alone("a_pool_that_came_along_can_be_run_and_dropped", || {
        for threads in [1, 2, 3] {
            let mut pool = Some(pool(threads));
            let end = fork(|| {
                let pool = pool.take().unwrap();
                assert_eq!(pool.run(|_| fib(10)), 55);
                assert_eq!(pool.install(|_| fib(10)), 55);
                assert_eq!(
                    pool.run(|_| sinew_core::scope(|s| {
                        s.spawn(|_| ());
                        5
                    })),
                    5
                );
                drop(pool);
                assert_eq!(fib(10), 55);
            });
            assert_eq!(end, End::Exit(0));
            assert_eq!(pool.unwrap().run(|_| fib(10)), 55);
        }
    });
}

/// Catches: a fork in a join whose second arm is still there, which the child must run itself.
#[test]
fn a_child_runs_the_arms_that_nobody_had_stolen() {
    alone("a_child_runs_the_arms_that_nobody_had_stolen", || {
        let pool = pool(1);
        let mut end = None;
        let (in_parent, second) = pool.run(|w| w.join(|_| forked(&mut end), |_| 7));
        assert_eq!(second, 7);
        match in_parent {
            true => assert_eq!(end, Some(End::Exit(7))),
            // SAFETY: this is the child, which must not go on as a second harness.
            false => unsafe { libc::_exit(second) },
        }
    });
}

/// Forks in the middle of an arm. True in the parent, which knows how the child ended.
fn forked(end: &mut Option<End>) -> bool {
    // SAFETY: as in `fork`.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(60) };
            false
        }
        pid => {
            *end = Some(wait_for(pid));
            true
        }
    }
}

/// Forks in the first arm while another thread runs the second, and says how the child ended.
fn fork_beside_a_stolen_arm(
    enter: impl Fn(&Worker, &(dyn Fn() + Sync), &(dyn Fn() + Sync)) + Sync,
) -> End {
    let (begun, may_end) = (Barrier::new(2), Barrier::new(2));
    let end = std::sync::Mutex::new(None);
    let first = || {
        begun.wait();
        let mut how = None;
        if forked(&mut how) {
            *end.lock().unwrap() = how;
            may_end.wait();
        }
    };
    let second = || {
        begun.wait();
        may_end.wait();
    };
    let parent = std::process::id();
    pool(2).run(|w| enter(w, &first, &second));
    if std::process::id() != parent {
        // SAFETY: the child has lost its task and must not have come here.
        unsafe { libc::_exit(3) };
    }
    end.into_inner().unwrap().unwrap()
}

/// Catches: a child that waits for ever for a result that no thread of its own computes.
#[test]
fn a_child_that_joins_a_stolen_arm_aborts_with_one_line() {
    let output = alone("a_child_that_joins_a_stolen_arm_aborts_with_one_line", || {
        let end = fork_beside_a_stolen_arm(|w, first, second| {
            w.join(|_| first(), |_| second());
        });
        assert_eq!(end, End::Signal(libc::SIGABRT));
    });
    if let Some(output) = output {
        assert_one_line(&output, "a task that a thread of its parent had taken");
    }
}

/// Catches: the same at the end of a scope.
#[test]
fn a_child_that_waits_for_a_stolen_scope_task_aborts_with_one_line() {
    let output = alone("a_child_that_waits_for_a_stolen_scope_task_aborts_with_one_line", || {
        let end = fork_beside_a_stolen_arm(|_, first, second| {
            sinew_core::scope(|s| {
                s.spawn(|_| second());
                first();
            });
        });
        assert_eq!(end, End::Signal(libc::SIGABRT));
    });
    if let Some(output) = output {
        assert_one_line(&output, "a task that a thread of its parent had taken");
    }
}

/// Catches: a child that waits for an external thread of the parent's to leave.
#[test]
fn a_child_that_enters_a_pool_whose_slot_was_taken_aborts_with_one_line() {
    let output =
        alone("a_child_that_enters_a_pool_whose_slot_was_taken_aborts_with_one_line", || {
            let pool = pool(2);
            let (inside, leave) = (Barrier::new(2), Barrier::new(2));
            std::thread::scope(|s| {
                s.spawn(|| {
                    pool.run(|_| {
                        inside.wait();
                        leave.wait();
                    });
                });
                inside.wait();
                assert_eq!(fork(|| pool.run(|_| ())), End::Signal(libc::SIGABRT));
                leave.wait();
            });
        });
    if let Some(output) = output {
        assert!(errors(&output).contains("sinew: a forked child"), "{}", errors(&output));
    }
}

/// Catches: a child that takes its parent's row for its own, removes it or keeps it alive, and a
/// row that stays when a child has ended without leaving.
#[test]
#[cfg(target_os = "linux")]
fn a_child_shares_the_machine_by_itself() {
    alone("a_child_shares_the_machine_by_itself", || {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("shared");
        let coordinated =
            || sinew_core::Pool::builder().threads(2).coordinate_in(&place).build().unwrap();
        let neighbours = |pool: &sinew_core::Pool| pool.share().map(|share| share.neighbours);
        let wait_for = |pool: &sinew_core::Pool, others: usize| {
            while neighbours(pool) != Some(others) {
                std::thread::yield_now();
            }
        };
        let pool = coordinated();
        wait_for(&pool, 0);
        for _ in 0..5 {
            let end = fork(|| {
                assert_eq!(neighbours(&pool), None);
                let own = coordinated();
                wait_for(&own, 1);
                assert_eq!(own.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
                std::mem::forget(own);
            });
            assert_eq!(end, End::Exit(0));
            wait_for(&pool, 0);
        }
    });
}
