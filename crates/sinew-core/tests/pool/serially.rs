//! Code that runs serially: one thread does it all, whatever it calls, and runs nothing else
//! meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::{self, ThreadId};

use sinew_core::{Pool, Scope, ScopeBuilder, join, scope, serially, spawn, with_current};
use sinew_locality::{DomainKind, Domains, domain_scope};
use sinew_loops::loops::{self, Options};

use crate::support::{ends, message_of, payload_of, pool, with_each_pool};

fn here() -> ThreadId {
    thread::current().id()
}

/// Calls everything that might go to another thread, also in other pools; returns who did it.
fn everything(others: &[&Pool], domains: &Domains) -> Vec<ThreadId> {
    let who = Mutex::new(Vec::new());
    let note = || who.lock().unwrap().push(here());
    join(|| join(note, note), || join(note, note));
    scope(|s| (0..5).for_each(|_| s.spawn(|_| scope(|s| s.spawn(|_| note())))));
    domain_scope(domains, |s| {
        (0..domains.len()).for_each(|domain| s.spawn_into(domain, |_| note()));
    });
    sinew_core::run(|w| loops::for_each(w, 0..1_000_usize, &Options::default(), |_| note()))
        .unwrap();
    for pool in others {
        pool.run(|w| w.join(|_| note(), |_| note()));
        pool.install(|w| w.join(|_| note(), |_| note()));
        pool.open_scope(|s| s.spawn(|s| s.spawn(|_| note())));
        pool.open_scope_fifo(|s| s.spawn_fifo(|s| s.spawn_fifo(|_| note())));
        pool.in_place_scope(|s| s.spawn(|_| note()));
        pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| note()));
    }
    who.into_inner().unwrap()
}

/// Catches: a way to another thread that was forgotten, on workers, inside two pools, and
/// outside of all.
#[test]
fn whatever_is_called_runs_on_this_thread() {
    ends(|| {
        let other = pool(2);
        with_each_pool(4, |pool| {
            let domains = Domains::new(pool, DomainKind::Parts(2)).unwrap();
            let call = || {
                let who = serially(|| everything(&[pool, &other], &domains));
                assert!(who.len() > 1_000 && who.iter().all(|one| *one == here()));
            };
            call();
            pool.run(|_| call());
            pool.install(|_| other.run(|_| call()));
            pool.run(|w| {
                w.join(|_| call(), |_| call());
            });
        });
    });
}

/// Catches: a way to another thread that only transactions have, the worker before that is not
/// found again after them, also after a panic.
#[test]
fn whatever_a_transaction_calls_runs_on_its_thread() {
    ends(|| {
        let other = pool(2);
        with_each_pool(4, |pool| {
            let domains = Domains::new(pool, DomainKind::Parts(2)).unwrap();
            let number = || with_current(|w| w.map(|w| w.index()));
            let call = || {
                let before = number();
                for _ in 0..2 {
                    let who = sinew_stm::atomically(|_| Ok(everything(&[pool, &other], &domains)));
                    assert!(who.len() > 1_000 && who.iter().all(|one| *one == here()));
                    assert_eq!(number(), before);
                }
                let panics = || sinew_stm::atomically(|_| Ok(join(|| panic!("in an arm"), || ())));
                assert!(std::panic::catch_unwind(panics).is_err());
                assert_eq!(number(), before);
            };
            call();
            pool.run(|_| call());
            pool.install(|_| other.run(|_| call()));
            pool.run(|w| {
                w.join(|_| call(), |_| call());
            });
            serially(call);
        });
        thread::spawn(|| sinew_stm::atomically(|_| Ok(join(here, here)))).join().unwrap();
    });
}

/// Catches: a task that runs in the middle of a transaction of its thread and joins it unseen.
#[test]
fn a_transaction_in_the_middle_of_another_panics_and_names_both() {
    let here = line!() + 1;
    let both = || sinew_stm::atomically(|_| Ok(join(|| sinew_stm::atomically(|_| Ok(())), || ())));
    let payload = payload_of(|| pool(2).run(|_| both()));
    let message = payload.downcast_ref::<String>().expect("a text");
    assert_eq!(message.matches(&format!("serially.rs:{here}:")).count(), 2, "{message}");
}

/// Catches: tasks that wait for the end of the scope, arms in the wrong order.
#[test]
fn tasks_run_at_their_spawn_and_arms_in_order() {
    let order = Mutex::new(Vec::new());
    let note = |what| order.lock().unwrap().push(what);
    serially(|| {
        scope(|s| {
            s.spawn(|_| note(1));
            note(2);
        });
        sinew_core::run(|w| {
            w.open_scope(|s| {
                s.spawn(|s| {
                    s.spawn(|_| note(3));
                    note(4);
                });
                note(5);
            });
        });
        join(|| note(6), || note(7));
    });
    assert_eq!(order.into_inner().unwrap(), [1, 2, 3, 4, 5, 6, 7]);
}

/// A task that spawns the next one, `left` times. `deepest` is how many lay on the stack at once.
fn chain<'s>(s: &'s Scope<'s, '_>, left: usize, now: &'s AtomicUsize, deepest: &'s AtomicUsize) {
    deepest.fetch_max(now.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    if left > 0 {
        s.spawn(move |_| chain(s, left - 1, now, deepest));
    }
    now.fetch_sub(1, Ordering::Relaxed);
}

fn open_chain(s: &sinew_core::open::OpenScope<'_>, left: usize) {
    if left > 0 {
        s.spawn(move |s| open_chain(s, left - 1));
    }
}

/// Catches: a stack that overflows, and tasks that are queued although the stack has room for them.
#[test]
fn a_long_chain_of_spawns_needs_little_stack() {
    const LINKS: usize = 100_000;
    ends(|| {
        let check = |chained: &dyn Fn(&AtomicUsize, &AtomicUsize)| {
            let (now, deepest) = (AtomicUsize::new(0), AtomicUsize::new(0));
            chained(&now, &deepest);
            assert_eq!((now.into_inner(), deepest.into_inner()), (0, 64));
        };
        check(&|now, deepest| serially(|| scope(|s| chain(s, LINKS, now, deepest))));
        let bounded = |now: &AtomicUsize, deepest: &AtomicUsize| {
            ScopeBuilder::new().max_pending(0).run(|s| chain(s, LINKS, now, deepest));
        };
        check(&|now, deepest| serially(|| bounded(now, deepest)));
        check(&|now, deepest| pool(1).run(|_| bounded(now, deepest)));
        serially(|| sinew_core::run(|w| w.open_scope(|s| open_chain(s, LINKS))));
        serially(|| sinew_core::run(|w| w.open_scope_fifo(|s| s.spawn_fifo(|_| ()))));
        // With thieves the chain lies on several stacks, so only its end is sure.
        with_each_pool(3, |pool| {
            let none = AtomicUsize::new(0);
            pool.run(|_| bounded(&none, &AtomicUsize::new(0)));
            assert_eq!(none.into_inner(), 0);
        });
    });
}

/// Catches: a scope that ends beside a task which was queued, and one that runs a task of the scope
/// around where both have queued some.
#[test]
fn scopes_deep_in_chains_end_with_their_tasks() {
    fn down(left: usize, done: &AtomicUsize) {
        let mine = AtomicUsize::new(0);
        scope(|outer| {
            scope(|s| {
                for _ in 0..3 {
                    s.spawn(|_| {
                        outer.spawn(|_| _ = done.fetch_add(1, Ordering::Relaxed));
                        mine.fetch_add(1, Ordering::Relaxed);
                    });
                }
                if left > 0 {
                    s.spawn(|_| down(left - 1, done));
                }
            });
            assert_eq!(mine.load(Ordering::Relaxed), 3);
        });
    }
    ends(|| {
        let done = AtomicUsize::new(0);
        serially(|| down(80, &done));
        assert_eq!(done.into_inner(), 243);
    });
}

/// Catches: a wait in serial code that runs a task of the pool around.
#[test]
fn nothing_else_runs_meanwhile() {
    ends(|| {
        let pool = pool(3);
        let (serial, intruders) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread_local! {
            static INSIDE: AtomicBool = const { AtomicBool::new(false) };
        }
        let task = || {
            intruders.fetch_add(
                usize::from(INSIDE.with(|inside| inside.load(Ordering::Relaxed))),
                Ordering::Relaxed,
            );
            serially(|| {
                INSIDE.with(|inside| inside.store(true, Ordering::Relaxed));
                let sum = join(|| fib(12), || fib(12));
                scope(|s| (0..10).for_each(|_| s.spawn(|_| _ = fib(8))));
                INSIDE.with(|inside| inside.store(false, Ordering::Relaxed));
                serial.fetch_add(usize::from(sum == (144, 144)), Ordering::Relaxed);
            });
        };
        pool.run(|_| {
            scope(|s| (0..300).for_each(|_| s.spawn(|w| _ = w.join(|_| task(), |_| task()))));
        });
        assert_eq!((serial.into_inner(), intruders.into_inner()), (600, 0));
    });
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Catches: a thread that stays serial, or loses its worker, after the end or a panic.
#[test]
fn afterwards_everything_is_as_before() {
    ends(|| {
        let pool = pool(2);
        pool.run(|w| {
            let slots = || with_current(|w| w.map_or(0, sinew_core::Worker::max_threads));
            assert_eq!(serially(|| serially(slots)), 1);
            assert_eq!(slots(), 2);
            let panicking =
                || serially(|| scope(|s| s.spawn(|_| _ = join(|| panic!("an arm"), || ()))));
            assert_eq!(message_of(panicking), "an arm");
            assert_eq!((slots(), serially(|| fib(10)), w.depth()), (2, 55, 0));
            // A meeting of two threads, which only a parallel join brings about.
            let barrier = std::sync::Barrier::new(2);
            w.join(|_| barrier.wait(), |_| barrier.wait());
        });
        assert!(with_current(|w| w.is_none()));
    });
}

/// Catches: detached tasks that are lost with the serial code, or that it has to wait for; a
/// broadcast that never ends.
#[test]
fn detached_tasks_go_to_the_pool_around_and_broadcasts_are_refused() {
    ends(|| {
        let pool = pool(2);
        let (sender, receiver) = mpsc::channel();
        pool.run(|_| {
            let again = sender.clone();
            serially(|| {
                spawn(move |w| sender.send(w.max_threads()).unwrap());
                sinew_core::run(|w| w.spawn_fifo(move |w| again.send(w.max_threads()).unwrap()));
            });
        });
        assert_eq!([receiver.recv(), receiver.recv()], [Ok(2), Ok(2)]);
        assert!(message_of(|| serially(|| pool.broadcast(|_| ()))).contains("runs serially"));
    });
}
