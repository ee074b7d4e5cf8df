//! Scopes with domains: which worker runs which task, in which order, how many wait, and what
//! happens if a domain has no thread. Arrays whose blocks know their domain.

#![cfg(not(any(loom, shuttle)))]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use sinew_core::{Pool, ScopeBuilder, Wait, Worker};
use sinew_locality::{
    Distribution, DomainKind, DomainOrder, DomainScope, Domains, DomainsError, Placed, Placement,
    domain_scope,
};
use sinew_topology::Mapping;

/// How long anything may take before it counts as hanging. Generous: the machine may be busy with
/// other tests.
const LIMIT: Duration = Duration::from_secs(120);

/// Every choice of the tasks that a waiting worker may run.
const WAITS: [Wait; 5] =
    [Wait::Leapfrog, Wait::Any, Wait::Descendants, Wait::Transitive, Wait::Block];

/// A pool of `threads` workers, one of which is the external slot's.
fn pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).build().unwrap()
}

/// A pool with a thread for each of its `threads` workers.
fn full_pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).build().unwrap()
}

/// Calls `test` with a pool of `threads` workers without an external slot, for each wait policy.
fn with_each_full_pool(threads: usize, test: impl Fn(&Pool)) {
    for wait in WAITS {
        test(&Pool::builder().threads(threads).external_slot(false).wait(wait).build().unwrap());
    }
}

/// Runs `test` on a thread of its own. If it hangs, the process ends with the name of the test
/// instead of hanging the whole run.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let thread = thread::spawn(move || {
        test();
        done.send(()).is_ok()
    });
    match ended.recv_timeout(LIMIT) {
        Ok(()) => {}
        Err(mpsc::RecvTimeoutError::Disconnected) => resume_unwind(thread.join().unwrap_err()),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            eprintln!("{name} hangs");
            std::process::abort();
        }
    }
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

fn meet(barrier: &Barrier) {
    barrier.wait();
}

/// The text with which `f` panics.
fn message_of<R>(f: impl FnOnce() -> R) -> &'static str {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic"),
        Err(payload) => {
            payload.downcast_ref::<&str>().copied().expect("a payload that is a literal")
        }
    }
}

const ORDERS: [DomainOrder; 4] =
    [DomainOrder::Ring, DomainOrder::Nearest, DomainOrder::Strict, DomainOrder::Together];

fn parts(pool: &Pool, parts: usize) -> Domains {
    Domains::new(pool, DomainKind::Parts(parts)).unwrap()
}

/// Catches: a task that is lost, run twice, or waited for without end, in any order, with any
/// number of domains and any way of waiting.
#[test]
fn every_task_of_every_domain_runs_once() {
    ends(|| {
        for threads in [1, 2, 5] {
            with_each_full_pool(threads, |pool| {
                for (count, order) in
                    [1, 2, 3, 7].into_iter().flat_map(|n| ORDERS.map(|order| (n, order)))
                {
                    let domains = parts(pool, count);
                    let ran: Vec<_> = (0..200).map(|_| AtomicUsize::new(0)).collect();
                    pool.run(|_| {
                        ScopeBuilder::new().queues(domains.queues(order)).run(|s| {
                            for (task, ran) in ran.iter().enumerate() {
                                s.spawn_into(task % count, move |_| add(ran));
                            }
                        });
                    });
                    assert!(
                        ran.iter().all(|ran| ran.load(Ordering::SeqCst) == 1),
                        "{count} domains, {order}"
                    );
                }
            });
        }
    });
}

/// Catches: a worker that serves another domain in a strict scope, also where it finds the
/// tokens itself and where its own tasks are over.
#[test]
fn strict_tasks_run_in_their_domain_only() {
    ends(|| {
        for (threads, count) in [(2, 2), (4, 2), (3, 3), (2, 4)] {
            let pool = full_pool(threads);
            let domains = parts(&pool, count);
            for round in 0..20 {
                let strays = AtomicUsize::new(0);
                pool.run(|_| {
                    ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict)).run(|s| {
                        for task in 0..64 {
                            // Whole domains without tasks, and unequal numbers, in some rounds.
                            let domain = task * (round % 3) % count;
                            let (strays, s_domains) = (&strays, s.queues().domains());
                            s.spawn_into(domain, move |w| {
                                if !s_domains.slots_of(domain).contains(&w.index()) {
                                    add(strays);
                                }
                            });
                        }
                    });
                });
                assert_eq!(strays.into_inner(), 0, "{threads} workers, {count} domains");
            }
        }
    });
}

/// Catches: a strict task that no worker begins while another task runs, which may wait for it.
#[test]
fn strict_tasks_of_all_domains_run_at_once() {
    ends(|| {
        for (threads, count) in [(2, 2), (4, 2), (6, 3), (8, 4)] {
            let pool = full_pool(threads);
            let domains = parts(&pool, count);
            let met = Barrier::new(threads);
            for _ in 0..300 {
                pool.run(|w| {
                    ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict)).run_on(
                        w,
                        |s| {
                            for slot in (0..threads).filter(|&slot| slot != w.index()) {
                                s.spawn_into(domains.of_slot(slot), |_| meet(&met));
                            }
                            meet(&met);
                        },
                    );
                });
            }
        }
    });
}

/// Catches: a worker that takes another domain's task while its own domain has one. Both workers
/// hold a task; behind these each domain has a row, from which its worker takes first.
#[test]
fn own_tasks_come_first_and_the_oldest_of_them() {
    ends(|| {
        let pool = full_pool(2);
        let domains = parts(&pool, 2);
        let orders = [Mutex::new(Vec::new()), Mutex::new(Vec::new())];
        let (begun, all_there) = (Barrier::new(2), Barrier::new(2));
        pool.run(|_| {
            domain_scope(&domains, |s| {
                let (begun, all_there, orders) = (&begun, &all_there, &orders);
                s.spawn_into(1, move |_| {
                    meet(begun);
                    meet(all_there);
                });
                meet(begun);
                for (task, domain) in (0..20).flat_map(|task| [(task, 0), (task, 1)]) {
                    s.spawn_into(domain, move |w: &Worker| {
                        orders[w.index()].lock().unwrap().push((domain, task));
                    });
                }
                meet(all_there);
            });
        });
        for (slot, order) in orders.into_iter().enumerate() {
            let order = order.into_inner().unwrap();
            let own: Vec<_> =
                order.iter().filter(|(domain, _)| *domain == domains.of_slot(slot)).collect();
            assert!(own.is_sorted_by_key(|(_, task)| *task), "{order:?}");
            let first_stranger =
                order.iter().position(|(domain, _)| *domain != domains.of_slot(slot));
            let after = &order[first_stranger.unwrap_or(order.len())..];
            assert!(after.iter().all(|(domain, _)| *domain != domains.of_slot(slot)), "{order:?}");
        }
    });
}

/// Catches: one queue that is not first in, first out.
#[test]
fn together_is_one_queue_in_order() {
    ends(|| {
        let pool = full_pool(1);
        let domains = parts(&pool, 4);
        let order = Mutex::new(Vec::new());
        pool.run(|_| {
            ScopeBuilder::new().queues(domains.queues(DomainOrder::Together)).run(|s| {
                for task in 0..20 {
                    let order = &order;
                    s.spawn_into(3 - task % 4, move |_| order.lock().unwrap().push(task));
                }
            });
        });
        assert!(order.into_inner().unwrap().into_iter().eq(0..20));
    });
}

/// Catches: a bound per domain, or one that lets more tasks wait. The submitter is the only worker,
/// so a task waits if it is spawned and not begun.
#[test]
fn no_more_than_the_bound_are_pending_over_all_domains() {
    ends(|| {
        for (bound, order) in
            [0, 1, 5, 257].into_iter().flat_map(|bound| ORDERS.map(|order| (bound, order)))
        {
            let pool = full_pool(1);
            let domains = parts(&pool, 4);
            let (spawned, over, most) =
                (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            pool.run(|_| {
                ScopeBuilder::new().queues(domains.queues(order)).max_pending(bound).run(|s| {
                    for task in 0..600 {
                        add(&spawned);
                        let over = &over;
                        s.spawn_into(task % 4, move |_| add(over));
                        let pending = spawned.load(Ordering::SeqCst) - over.load(Ordering::SeqCst);
                        most.fetch_max(pending, Ordering::SeqCst);
                    }
                });
            });
            assert_eq!((most.into_inner(), over.into_inner()), (bound, 600), "{order}");
        }
    });
}

fn grow<'scope>(s: &'scope DomainScope<'scope, '_>, work: usize, leaves: &'scope AtomicUsize) {
    if work == 0 {
        return add(leaves);
    }
    for child in 0..3 {
        s.spawn_into((work + child) % s.queues().domains().len(), move |_| {
            grow(s, work - 1, leaves);
        });
    }
}

/// Catches: a parallel while that ends too early, or whose spawns hold each other up until the
/// stack is full.
#[test]
fn tasks_may_spawn_into_domains_as_well() {
    ends(|| {
        for (wait, order) in WAITS.into_iter().flat_map(|wait| ORDERS.map(|order| (wait, order))) {
            let pool = Pool::builder().threads(3).external_slot(false).wait(wait).build().unwrap();
            let (domains, leaves) = (parts(&pool, 3), AtomicUsize::new(0));
            pool.run(|_| {
                let scope = ScopeBuilder::new().queues(domains.queues(order)).max_pending(4);
                scope.run(|s| grow(s, 6, &leaves));
            });
            assert_eq!(leaves.into_inner(), 729);
        }
        // A chain in which every spawn is one too many: held up inside each other they would need
        // 100,000 frames.
        fn chain<'scope>(s: &'scope DomainScope<'scope, '_>, left: u32) {
            if left > 0 {
                s.spawn_into(0, move |_| chain(s, left - 1));
            }
        }
        let pool = full_pool(1);
        let domains = parts(&pool, 1);
        pool.run(|_| {
            ScopeBuilder::new()
                .queues(domains.queues(DomainOrder::Ring))
                .max_pending(0)
                .run(|s| chain(s, 100_000));
        });
    });
}

/// Catches: tasks that no worker finds while the submitter is busy.
#[test]
fn tasks_are_taken_while_the_submitter_computes() {
    ends(|| {
        for order in ORDERS {
            let pool = full_pool(2);
            let (domains, met) = (parts(&pool, 2), Barrier::new(2));
            for _ in 0..50 {
                pool.run(|w| {
                    let other = 1 - domains.of(w);
                    ScopeBuilder::new().queues(domains.queues(order)).run_on(w, |s| {
                        s.spawn_into(other, |_| meet(&met));
                        meet(&met);
                    });
                });
            }
        }
    });
}

/// Catches: strict tasks that never run, of a domain with the external slot alone or whose workers
/// stand down.
#[test]
fn all_workers_serve_a_domain_without_threads() {
    ends(|| {
        let with_external_slot = pool(2);
        let domains = parts(&with_external_slot, 2);
        let ran = AtomicUsize::new(0);
        let strict = || ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict));
        with_external_slot
            .install(|_| strict().run(|s| (0..8).for_each(|_| s.spawn_into(0, |_| add(&ran)))));
        let full = full_pool(4);
        full.control().set_threads(1);
        let domains = parts(&full, 4);
        let scope = ScopeBuilder::new().queues(domains.queues(DomainOrder::Strict));
        full.run(|_| scope.run(|s| (0..8).for_each(|task| s.spawn_into(task % 4, |_| add(&ran)))));
        assert_eq!(ran.into_inner(), 16);
    });
}

/// Catches: a token that is taken for a plain task, or a plain task that the scope does not count,
/// where both lie in one deque.
#[test]
fn a_scope_runs_plain_tasks_beside_those_of_its_domains() {
    ends(|| {
        for order in ORDERS {
            with_each_full_pool(2, |pool| {
                let (domains, ran) = (parts(pool, 2), [AtomicUsize::new(0), AtomicUsize::new(0)]);
                let [plain, placed] = &ran;
                pool.run(|_| {
                    ScopeBuilder::new().queues(domains.queues(order)).max_pending(7).run(|s| {
                        for task in 0..60 {
                            s.spawn(move |_| {
                                add(plain);
                                s.spawn_into(task % 2, move |_| add(placed));
                            });
                        }
                    });
                });
                assert_eq!(ran.map(AtomicUsize::into_inner), [60, 60], "{order}");
            });
        }
    });
}

/// Catches: a panic that is lost, or comes before the other tasks are over.
#[test]
fn a_panic_comes_out_when_all_tasks_are_over() {
    ends(|| {
        for order in ORDERS {
            let pool = full_pool(2);
            let (domains, ran) = (parts(&pool, 2), AtomicUsize::new(0));
            let message = message_of(|| {
                pool.run(|_| {
                    ScopeBuilder::new().queues(domains.queues(order)).run(|s| {
                        for task in 0..40 {
                            let ran = &ran;
                            s.spawn_into(task % 2, move |_| {
                                add(ran);
                                assert!(task != 11, "one of forty");
                            });
                        }
                    });
                });
            });
            assert_eq!((message, ran.into_inner()), ("one of forty", 40));
        }
    });
}

/// Catches: a number that is found out when tasks run already, or a message that does not name
/// it.
#[test]
fn a_domain_that_does_not_exist_is_named_before_anything_runs() {
    let (small, large) = (full_pool(2), full_pool(3));
    let domains = parts(&small, 2);
    let text = |f: &(dyn Fn() + Sync)| -> String {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        *payload.downcast::<String>().unwrap()
    };
    let none =
        text(&|| small.run(|_| domain_scope(&domains, |s| s.spawn_into(2, |_| unreachable!()))));
    assert!(none.contains("no locality domain 2") && none.contains("0 to 1"), "{none}");
    let other = text(&|| large.run(|_| domain_scope(&domains, |_| unreachable!())));
    assert!(other.contains("2 threads") && other.contains('3'), "{other}");
    for parts in [0, usize::MAX] {
        let error = Domains::new(&small, DomainKind::Parts(parts)).unwrap_err();
        assert_eq!(error, DomainsError::Parts(parts));
        assert!(error.to_string().contains(&parts.to_string()));
    }
}

/// Catches: domains of the machine at hand that leave a worker out. Several nodes need the machine
/// of `xtask/numa-guest`.
#[test]
fn the_machine_at_hand_has_domains_of_every_kind() {
    let pool = Pool::builder().threads(2).mapping(Mapping::Compact).build().unwrap();
    for text in ["node", "cache", "package", "machine", "l3", "l2", "core", "pu"] {
        let domains = Domains::new(&pool, text.parse().unwrap()).unwrap();
        assert!((1..=2).contains(&domains.len()), "{text}");
        assert!(
            (0..2).all(|slot| domains.slots_of(domains.of_slot(slot)).contains(&slot)),
            "{text}"
        );
        if let Some(node) = domains.node(0) {
            assert!(domains.on_node(node).is_some(), "{text}");
        }
    }
}

/// Catches: threads outside the pool that cannot spawn, or are held up.
#[test]
fn foreign_threads_may_spawn_into_domains() {
    ends(|| {
        for order in ORDERS {
            let pool = full_pool(2);
            let (domains, ran) = (parts(&pool, 2), AtomicUsize::new(0));
            let ran = &ran;
            pool.run(|_| {
                ScopeBuilder::new().queues(domains.queues(order)).max_pending(3).run(|s| {
                    thread::scope(|foreign| {
                        for _ in 0..3 {
                            foreign.spawn(|| {
                                (0..50).for_each(|task| s.spawn_into(task % 2, move |_| add(ran)));
                            });
                        }
                    });
                });
            });
            assert_eq!(ran.load(Ordering::SeqCst), 150);
        }
    });
}

/// Catches: a missing or wrong value, and a block that a worker of another domain touches, with any
/// placement, also at the uneven end.
#[test]
fn placed_blocks_hold_their_values_and_the_domain_of_their_worker() {
    ends(|| {
        let pool = full_pool(3);
        let domains = parts(&pool, 3);
        let placements =
            ["first-touch", "bind-local", "cyclic", "one-node"].map(|text| text.parse().unwrap());
        for (placement, distribution) in placements.into_iter().flat_map(|p| {
            [Distribution::Static, Distribution::Cyclic, Distribution::One(2)].map(|d| (p, d))
        }) {
            let placed = pool.run(|_| {
                let options =
                    Placed::options(&domains).distribution(distribution).placement(placement);
                options.fill(10_001, 1_000, |i| i as u64)
            });
            let mut placed = match placed {
                Ok(placed) => placed,
                Err(error) => {
                    println!("skipped: {error}");
                    continue;
                }
            };
            assert!(placed.iter().copied().eq(0..10_001) && placed.blocks() == 11);
            let assigned: Vec<_> = (0..11).map(|block| distribution.domain(block, 11, 3)).collect();
            assert!(
                assigned
                    .iter()
                    .enumerate()
                    .all(|(block, domain)| placed.domain_of(block) == *domain)
            );
            placed.follow_pages().unwrap_or_else(|error| println!("skipped: {error}"));
            let owners: Vec<_> =
                placed.blocks_mut().map(|(domain, block)| (domain, block.len())).collect();
            assert!(
                owners.iter().map(|(domain, _)| *domain).eq(assigned),
                "parts lie on no node, so they stay"
            );
            assert_eq!((owners[9].1, owners[10].1), (1_000, 1));
        }
    });
}

/// Catches: blocks that are said to be the external slot's, though a thread of the pool touched
/// them.
#[test]
fn a_block_belongs_to_the_worker_that_touched_it() {
    ends(|| {
        let pool = pool(2);
        let domains = parts(&pool, 2);
        let placed = pool.install(|_| Placed::options(&domains).fill(64, 8, |i| i)).unwrap();
        assert!((0..8).all(|block| placed.domain_of(block) == 1), "only slot 1 has a thread here");
    });
}

/// Catches: arrays of nothing, and of nothing's size; errors after the fact.
#[test]
fn odd_arrays_are_arrays_and_impossible_ones_are_errors() {
    let pool = full_pool(2);
    let domains = parts(&pool, 2);
    let empty = pool.run(|_| Placed::options(&domains).fill(0, 5, |i| i)).unwrap();
    assert_eq!((empty.len(), empty.blocks()), (0, 0));
    let units = pool.run(|_| Placed::options(&domains).fill(9, 5, |_| ())).unwrap();
    assert_eq!((units.len(), units.blocks()), (9, 2));
    let touched = AtomicUsize::new(0);
    let nowhere = Placed::options(&domains).placement(Placement::Bind(999_999));
    let error = pool.run(|_| nowhere.fill(9, 5, |_| add(&touched))).unwrap_err();
    assert!(error.to_string().contains("`bind:999999`") && touched.into_inner() == 0, "{error}");
    let error =
        pool.run(|_| Placed::options(&domains).fill(usize::MAX, 1 << 40, |i| i)).unwrap_err();
    assert!(error.to_string().contains("not enough memory"), "{error}");
}
