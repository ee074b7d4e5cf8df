//! Programs that hold a lock across a join or a scope, under the wait policies made for them. The
//! model in `sinew_deque::stack::parts` checks the epochs of claims.

use super::*;
use crate::tasks::open::OpenScope;
use shuttle::sync::Mutex;

fn pool(threads: usize, wait: Wait) -> Pool {
    Pool::builder().threads(threads).external_slot(false).wait(wait).build().unwrap()
}

/// Takes the lock, and calls a small join while it holds it.
fn locked(w: &Worker, lock: &Mutex<usize>) {
    let mut count = lock.lock().unwrap();
    w.join(|_| thread::yield_now(), |_| ());
    *count += 1;
}

/// One worker waits under the lock; the other runs its arm, and afterwards has a task that takes
/// the lock, `depth` levels down.
fn locks_across_joins(wait: Wait, depth: usize) {
    let (pool, lock, begun) = (pool(2, wait), Mutex::new(0), Barrier::new(2));
    pool.in_place_scope(|s| {
        pool.install(|w| {
            let mut count = lock.lock().unwrap();
            w.join(
                |_| meet(&begun),
                |w| {
                    spawn_locked(s, &lock, depth);
                    meet(&begun);
                    w.join(|_| thread::yield_now(), |_| ());
                },
            );
            *count += 1;
        });
    });
    assert_eq!(lock.into_inner().unwrap(), 2);
}

fn spawn_locked<'s>(s: &OpenScope<'s>, lock: &'s Mutex<usize>, depth: usize) {
    s.spawn(move |s| match depth {
        0 => crate::with_current(|w| {
            w.unwrap().join(|_| thread::yield_now(), |w| locked(w, lock));
        }),
        _ => spawn_locked(s, lock, depth - 1),
    });
}

fn careful_joins() {
    locks_across_joins(Wait::Descendants, 0);
}

/// Catches: a waiting worker that runs a task which is no part of the awaited one.
#[test]
fn shuttle_a_lock_may_be_held_across_a_join() {
    explore(careful_joins);
    explore(|| locks_across_joins(Wait::Block, 0));
}

fn careful_scopes(wait: Wait) {
    let (pool, lock) = (pool(3, wait), Mutex::new(0));
    pool.open_scope(|outer| {
        for _ in 0..3 {
            outer.spawn(|_| {
                let mut count = lock.lock().unwrap();
                let inner = AtomicUsize::new(0);
                crate::with_current(|w| {
                    w.unwrap().open_scope(|s| {
                        s.spawn(|_| add(&inner));
                        s.spawn(|s| s.spawn(|_| add(&inner)));
                    });
                });
                *count += inner.into_inner();
            });
        }
    });
    assert_eq!(lock.into_inner().unwrap(), 6);
}

/// Catches: the same at the end of a scope, and tasks of the scope that no other worker may run
/// while their owner sleeps.
#[test]
fn shuttle_a_lock_may_be_held_across_a_scope() {
    explore(|| careful_scopes(Wait::Descendants));
    explore(|| careful_scopes(Wait::Block));
}

/// Catches: models that no policy fails, so that the tests above pass for nothing.
#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_that_any_task_will_not_do() {
    explore_long(|| locks_across_joins(Wait::Any, 0));
}

/// Catches: the same for depth: a deeper task need not be a part.
#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_that_deeper_tasks_will_not_do() {
    explore_long(|| locks_across_joins(Wait::Leapfrog, 2));
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_claim_after_the_awaited_task_was_over() {
    hunt(Bug::LateCheck, careful_joins);
}
