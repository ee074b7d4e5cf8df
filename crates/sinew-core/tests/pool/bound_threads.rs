//! Threads that the program has bound, in pools whose share changes: no grant moves them.
//!
//! Blind to: bindings by other programs, which the system does not tell from these.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use sinew_coord::{Coordinator, CpuSet, Policy, Table};
use sinew_core::{Pool, PoolBuilder};
use sinew_topology::{Mapping, ThreadRef};

use crate::sharing::{is_supported, wait_until};
use crate::support::{bind_to, ends, own_mask};

/// Two processors, a pool of this machine that shares it, and its table.
fn on_two_cpus(
    builder: PoolBuilder,
    test: impl FnOnce([usize; 2], &Pool, &Table) + Send + 'static,
) {
    ends(|| {
        let cpus: Vec<usize> = sinew_topology::Limits::read().allowed().iter().take(2).collect();
        let (true, &[first, second]) = (is_supported(), &*cpus) else {
            println!("skipped: it takes two processors, and a table");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let pool = builder.coordinate_in(folder.path().join("shared")).build().unwrap();
        wait_until(|| pool.share().is_some());
        let table = Table::open(&folder.path().join("shared")).unwrap();
        test([first, second], &pool, &table);
    });
}

/// Calls `f` while a script keeps `pool` to one thread on `cpu`.
fn while_kept_to<R>(cpu: usize, pool: &Pool, table: &Table, f: impl FnOnce() -> R) -> R {
    let script = format!("at 0 {} threads 1 cores {cpu}", table.read()[0].name);
    let mut coordinator =
        Coordinator::start(table, Policy::Script, script.parse().unwrap()).unwrap();
    // The pool limits its workers after it has set their pins.
    wait_until(|| {
        coordinator.step().unwrap();
        pool.threads() == 1
    });
    let result = f();
    drop(coordinator);
    wait_until(|| pool.threads() == 2);
    result
}

/// Catches: an external thread that the program has bound and that a call moves to the granted
/// cores, if only for a moment; and one that is taken for unbound once it had a wider mask.
#[test]
fn an_external_thread_that_is_bound_is_never_off_its_mask() {
    on_two_cpus(Pool::builder().threads(2), |[first, second], pool, table| {
        let is_called = |pool: &Pool| pool.run(|w| assert_eq!(w.index(), 0));
        let whole = own_mask();
        let bound = CpuSet::from_iter([second]);
        // The second thread binds itself after the pool has moved it.
        for moves_first in [false, true] {
            let (over, whole) = (&AtomicBool::new(false), &whole);
            std::thread::scope(|s| {
                let (tell, told) = mpsc::channel();
                let (begin, begins) = mpsc::channel::<()>();
                s.spawn(move || {
                    if moves_first {
                        tell.send(ThreadRef::current().unwrap()).unwrap();
                        begins.recv().unwrap();
                        (0..100).for_each(|_| is_called(pool));
                        assert_eq!(own_mask(), *whole);
                    }
                    bind_to(second);
                    tell.send(ThreadRef::current().unwrap()).unwrap();
                    begins.recv().unwrap();
                    (0..1_000).for_each(|_| is_called(pool));
                    over.store(true, Ordering::Relaxed);
                });
                while_kept_to(first, pool, table, || {
                    if moves_first {
                        told.recv().unwrap();
                        begin.send(()).unwrap();
                    }
                    let thread = told.recv().unwrap();
                    begin.send(()).unwrap();
                    while !over.load(Ordering::Relaxed) {
                        // Between its last call and its end the thread may be gone.
                        let seen = thread.affinity();
                        assert!(seen.is_none_or(|mask| mask == bound), "moved off its mask");
                    }
                });
            });
        }
    });
}

/// Catches: a worker that binds itself in a task, pinned or not, and that a later grant or the end
/// of one moves; and other workers that are then not moved.
#[test]
fn a_worker_that_a_task_has_bound_keeps_its_mask() {
    for is_pinned in [false, true] {
        let builder = Pool::builder().threads(2).external_slot(false);
        on_two_cpus(builder, move |[first, second], pool, table| {
            let whole = own_mask();
            let masks = || pool.broadcast(|_| own_mask());
            let bind = || {
                pool.broadcast(|w| {
                    if w.index() == 0 {
                        bind_to(second);
                    }
                });
            };
            let bound = CpuSet::from_iter([second]);
            if is_pinned {
                while_kept_to(first, pool, table, || {
                    assert_eq!(masks(), vec![CpuSet::from_iter([first]); 2]);
                    bind();
                });
            } else {
                bind();
            }
            assert_eq!(masks(), [bound.clone(), whole.clone()]);
            for cpu in [first, second, first] {
                while_kept_to(cpu, pool, table, || {
                    assert_eq!(masks(), [bound.clone(), CpuSet::from_iter([cpu])]);
                });
                assert_eq!(masks(), [bound.clone(), whole.clone()]);
            }
        });
    }
}

/// Catches: a grant after a newer request that moves a thread off the binding that the end of that
/// request has restored, and a newer request that a binding outlasts.
#[test]
fn a_mapping_moves_a_bound_worker_and_its_end_restores_the_binding() {
    let builder = Pool::builder().threads(2).external_slot(false);
    on_two_cpus(builder, |[first, second], pool, table| {
        let whole = own_mask();
        let masks = || pool.broadcast(|_| own_mask());
        let [on_first, bound] = [first, second].map(|cpu| CpuSet::from_iter([cpu]));
        while_kept_to(first, pool, table, || {
            assert_eq!(masks(), vec![on_first.clone(); 2]);
            pool.broadcast(|w| {
                if w.index() == 0 {
                    bind_to(second);
                }
            });
            assert_eq!(pool.control().snapshot().bound_workers, [0]);
            pool.set_mapping(&Mapping::Explicit(vec![first])).unwrap();
            assert_eq!(masks(), vec![on_first.clone(); 2]);
            pool.set_mapping(&Mapping::None).unwrap();
            assert_eq!(masks()[0], bound);
        });
        assert_eq!(masks(), [bound.clone(), whole]);
        while_kept_to(first, pool, table, || assert_eq!(masks(), [bound, on_first]));
        assert_eq!(pool.control().snapshot().bound_workers, [0]);
    });
}
