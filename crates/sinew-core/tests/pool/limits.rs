//! Pools that follow the limits of the process: quotas of simulated containers, and the affinity
//! mask, changed while the pool works.
//!
//! Blind to: which files a container has (`sinew-topology`'s `tests/machines/limits.rs`), and
//! whether the kernel enforces them (`cargo xtask numa-guest`).
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicUsize, Ordering};

use sinew_core::{Cancelled, Pool, Worker};
use sinew_loops::loops::{Options, for_each, try_for_each};
use sinew_loops::stream::{self, Exit, Identity, Parallel, Stages};
use sinew_loops::{Control, Operation};
use sinew_policy::chunk::Schedule;
use sinew_topology::ThreadRef;

use crate::container::Container;
use crate::mapping::two_cpus;
use crate::support::ends;

/// A pool in a container.
fn pool_in(container: &Container, threads: usize) -> Pool {
    let builder = Pool::builder().threads(threads).external_slot(false);
    builder.follow_limits_below(container.root()).build().unwrap()
}

/// Gives the pool something to do until its number of workers is this one: idle workers look at the
/// limits now and then.
fn until_workers(pool: &Pool, workers: usize) {
    while pool.threads() != workers {
        pool.install(|w| w.join(|_| (), |_| ()));
    }
}

/// Catches: a quota that is read once, or is not followed in both directions, and one that setting
/// a number of workers removes.
#[test]
fn a_pool_follows_the_quota_of_its_container() {
    if two_cpus().is_none() {
        return;
    }
    ends(|| {
        let container = Container::feeding(1);
        let pool = pool_in(&container, 2);
        for _ in 0..2 {
            until_workers(&pool, 1);
            container.feed(usize::MAX);
            until_workers(&pool, 2);
            container.feed(1);
        }
        until_workers(&pool, 1);
        // The minimum of both is in force, in any order of changes.
        pool.control().set_threads(2);
        assert_eq!(pool.threads(), 1);
        container.feed(2);
        until_workers(&pool, 2);
        for (asked, limit) in [(1, 1), (9, 2)] {
            pool.control().set_threads(asked);
            assert_eq!(pool.threads(), limit);
        }
    });
}

/// Catches: a quota that no worker reads while all are in a loop.
#[test]
fn a_controlled_loop_follows_the_quota_of_its_container() {
    if two_cpus().is_none() {
        return;
    }
    ends(|| {
        let container = Container::feeding(2);
        let (pool, control) = (pool_in(&container, 2), Control::new());
        let options = Options {
            schedule: Schedule::Dynamic { chunk: 1 },
            control: Some(&control),
            ..Options::default()
        };
        // Both at work, one, both again, and so on.
        let (rounds, stage) = (6, AtomicUsize::new(0));
        let ended = pool.install(|w| {
            for_each(w, 0..usize::MAX, &options, |_| {
                let now = stage.load(Ordering::SeqCst);
                let wanted = 2 - now % 2;
                if now == rounds {
                    control.cancel();
                } else if pool.threads() == wanted && control.snapshot().working == wanted {
                    let order = Ordering::SeqCst;
                    if stage.compare_exchange(now, now + 1, order, order).is_ok() {
                        container.feed(3 - wanted);
                    }
                }
            })
        });
        assert_eq!(ended, Err(Cancelled));
    });
}

/// A container whose quota is one or two in turns, and a pool in it that is to follow.
struct Turns {
    container: Container,
    pool: Pool,
    turn: AtomicUsize,
}

impl Turns {
    fn new() -> Self {
        let container = Container::feeding(2);
        Self { pool: pool_in(&container, 2), container, turn: AtomicUsize::new(0) }
    }

    /// Called repeatedly by all working threads; returns whether there are more turns.
    fn go_on(&self) -> bool {
        let turn = self.turn.load(Ordering::SeqCst);
        let wanted = 2 - turn % 2;
        let order = Ordering::SeqCst;
        if self.pool.threads() == wanted
            && self.turn.compare_exchange(turn, turn + 1, order, order).is_ok()
        {
            self.container.feed(3 - wanted);
        }
        turn < 5
    }
}

/// Catches: a quota that no worker reads while all are in a loop without a control, or while its
/// caller is the only one that may work.
#[test]
fn a_loop_without_a_control_follows_the_quota_of_its_container() {
    if two_cpus().is_none() {
        return;
    }
    ends(|| {
        let (turns, options) = (
            Turns::new(),
            Options { schedule: Schedule::Dynamic { chunk: 1 }, ..Options::default() },
        );
        let item = |_| turns.go_on().then_some(()).ok_or(());
        let ended = turns.pool.install(|w| try_for_each(w, 0..1_usize << 40, &options, item));
        assert!(ended.is_err());
    });
}

/// Catches: the same in a farm.
#[test]
fn a_stream_follows_the_quota_of_its_container() {
    if two_cpus().is_none() {
        return;
    }
    ends(|| {
        let turns = Turns::new();
        let end = Parallel::new(Identity, |()| ()).connect(Exit);
        let items = std::iter::repeat(()).take_while(|()| turns.go_on());
        let ended =
            turns.pool.install(|w| stream::run(w, items, &end, &stream::Options::default()));
        assert_eq!(ended, Ok(()));
    });
}

/// Catches: the same in a skeleton that is made of joins.
#[test]
fn a_skeleton_of_joins_follows_the_quota_of_its_container() {
    fn tree(w: &Worker, operation: &Operation<'_>, turns: &Turns, depth: u32) {
        if depth > 0 && turns.go_on() {
            let half = |w: &Worker| tree(w, operation, turns, depth - 1);
            operation.join(w, half, half);
        }
    }
    if two_cpus().is_none() {
        return;
    }
    ends(|| {
        let (turns, control) = (Turns::new(), Control::new());
        turns.pool.install(|w| {
            let operation = Operation::begin(&control, 0).unwrap();
            let _participant = operation.register(w);
            tree(w, &operation, &turns, 60);
        });
    });
}

/// Catches: processors that are lost or gained between two reads.
#[test]
fn a_pool_follows_the_affinity_mask_of_its_threads() {
    let Some([kept, _]) = two_cpus() else { return };
    ends(move || {
        let container = Container::feeding(2);
        let pool = pool_in(&container, 2);
        until_workers(&pool, 2);
        let masks = pool.broadcast(|_| {
            let (me, mut steps) = (ThreadRef::current().unwrap(), Vec::new());
            while let Some(mask) = me.affinity().filter(|mask| mask.len() > 1) {
                let lost = mask.iter().find(|&cpu| cpu != kept).unwrap();
                assert!(me.exclude_cpu(lost, &mask));
                steps.push((lost, mask));
            }
            (me, steps)
        });
        until_workers(&pool, 1);
        for (thread, steps) in masks {
            steps.iter().rev().for_each(|(cpu, mask)| thread.restore_affinity(*cpu, mask));
        }
        until_workers(&pool, 2);
    });
}
