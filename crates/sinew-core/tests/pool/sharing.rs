//! Pools that share a described machine.
//!
//! Blind to: where threads run, and the benefit of sharing; `bench -- coord` measures that.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use sinew_coord::{Coordinator, CpuSet, Policy, Script, Table};
use sinew_core::{Mapping, Pool, PoolBuilder, Worker};
use sinew_loops::Control;
use sinew_loops::loops::Options;
use sinew_policy::chunk::Schedule;

use crate::support::{chunks, ends};

/// A table on a machine of so many cores.
struct Machine {
    folder: tempfile::TempDir,
    cores: usize,
}

impl Machine {
    fn new(cores: usize) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), cores }
    }

    fn place(&self) -> std::path::PathBuf {
        self.folder.path().join("shared")
    }

    fn builder(&self, threads: usize) -> PoolBuilder {
        let machine = format!("core:{}", self.cores).parse().unwrap();
        Pool::builder().machine(machine).threads(threads).coordinate_in(self.place())
    }

    fn pool(&self, threads: usize) -> Pool {
        let pool = self.builder(threads).build().unwrap();
        if cfg!(target_os = "linux") {
            wait_until(|| pool.share().is_some());
        }
        pool
    }
}

pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

/// Keeps all workers of `pool` below the limit busy, while `f` runs.
fn while_busy<R>(pool: &Pool, f: impl FnOnce() -> R) -> R {
    while_at_work(pool, pool.max_threads(), f)
}

/// Keeps the external thread of `pool` at work on so many tasks, of which others may take some,
/// while `f` runs.
fn while_at_work<R>(pool: &Pool, tasks: usize, f: impl FnOnce() -> R) -> R {
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (begun, begins) = mpsc::channel();
        let over = &over;
        s.spawn(move || {
            pool.run(|w| {
                begun.send(()).unwrap();
                occupy(w, tasks, over);
            });
        });
        begins.recv().unwrap();
        let result = f();
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// As many tasks as there are workers, each of which lasts until it is over.
fn occupy(w: &Worker, tasks: usize, over: &AtomicBool) {
    match tasks {
        0 | 1 => wait_until(|| over.load(Ordering::Relaxed)),
        tasks => {
            w.join(|w| occupy(w, tasks / 2, over), |w| occupy(w, tasks - tasks / 2, over));
        }
    }
}

pub(crate) fn is_supported() -> bool {
    if !cfg!(target_os = "linux") {
        println!("skipped: programs share a table on Linux only");
    }
    cfg!(target_os = "linux")
}

/// Catches: a limit although no other program shares.
#[test]
fn a_pool_without_neighbours_has_all_its_workers() {
    ends(|| {
        if is_supported() {
            let pool = Machine::new(2).pool(4);
            assert_eq!((pool.threads(), pool.share().unwrap().neighbours), (4, 0));
            assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
        }
    });
}

/// Catches: a lone pool that leaves its row saying "1 on 1" while all of its workers run anywhere.
#[test]
fn a_pool_without_neighbours_keeps_to_what_a_script_asks_for() {
    ends(|| {
        let Some(cpu) =
            sinew_topology::Limits::read().allowed().iter().last().filter(|_| is_supported())
        else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let builder = Pool::builder().threads(2).external_slot(false);
        let pool = builder.coordinate_in(folder.path().join("shared")).build().unwrap();
        wait_until(|| pool.share().is_some());
        let table = Table::open(&folder.path().join("shared")).unwrap();
        let script = format!("at 0 {} threads 1 cores {cpu}", table.read()[0].name);
        let mut coordinator =
            Coordinator::start(&table, Policy::Script, script.parse().unwrap()).unwrap();
        wait_until(|| {
            coordinator.step().unwrap();
            pool.threads() == 1 && pool.install(|_| sinew_topology::current_cpu()) == Some(cpu)
        });
        let share = pool.share().unwrap();
        assert_eq!(
            (share.threads, share.cores, share.neighbours),
            (1, [cpu].into_iter().collect(), 0)
        );
        drop(coordinator);
        wait_until(|| pool.threads() == 2);
    });
}

/// Catches: pools that do not follow their shares, and cores that an ended program keeps.
#[test]
fn pools_share_while_both_have_work() {
    ends(|| {
        if !is_supported() {
            return;
        }
        let machine = Machine::new(8);
        let first = machine.pool(8);
        while_busy(&first, || {
            let second = machine.pool(8);
            while_busy(&second, || {
                wait_until(|| (first.threads(), second.threads()) == (4, 4));
                let third = machine.pool(2);
                while_busy(&third, || {
                    wait_until(|| first.threads() + second.threads() + third.threads() == 8);
                });
            });
            drop(second);
            wait_until(|| first.threads() == 8);
        });
    });
}

/// Catches: a weight and a least number that are set and not told, or told and not kept; a
/// weight that is none.
#[test]
fn a_pool_has_its_weight_and_its_least_number_of_threads() {
    ends(|| {
        let error = Pool::builder().weight(1e3).build().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("a weight of 1000 is not possible; take 0.01 to 100"));
        if !is_supported() {
            return;
        }
        let machine = Machine::new(8);
        let join = |builder: PoolBuilder| {
            let pool = builder.build().unwrap();
            wait_until(|| pool.share().is_some());
            pool
        };
        let heavy = join(machine.builder(8).weight(3.0));
        let light = join(machine.builder(8));
        while_busy(&heavy, || {
            while_busy(&light, || wait_until(|| (heavy.threads(), light.threads()) == (6, 2)));
        });
        drop(light);
        let least = join(machine.builder(8).min_threads(5));
        while_busy(&heavy, || {
            while_busy(&least, || wait_until(|| (heavy.threads(), least.threads()) == (3, 5)));
        });
    });
}

/// Catches: a single pool that does not report its progress, so that a coordinator cannot measure
/// its speed on all cores.
#[test]
fn a_lone_pool_says_how_much_it_has_done() {
    ends(|| {
        if !is_supported() {
            return;
        }
        let machine = Machine::new(2);
        let pool = machine.pool(2);
        let table = Table::open(&machine.place()).unwrap();
        let mut coordinator =
            Coordinator::start(&table, Policy::Efficiency, Script::default()).unwrap();
        wait_until(|| {
            pool.run(|w| tree(w, 4));
            coordinator.step().unwrap();
            let row = table.read().remove(0);
            row.progress > 0 && row.curve.points().iter().any(|speed| speed.cores == 2)
        });
    });
}

/// Catches: cores that lie idle with a pool that has nothing to do, and one that does not get
/// them back.
#[test]
fn the_cores_of_an_idle_pool_go_to_the_others_until_it_is_called() {
    ends(|| {
        if !is_supported() {
            return;
        }
        let machine = Machine::new(4);
        let (busy, idle) = (machine.pool(4), machine.pool(4));
        while_busy(&busy, || {
            for _ in 0..3 {
                wait_until(|| (busy.threads(), idle.threads()) == (4, 1));
                while_busy(&idle, || wait_until(|| (busy.threads(), idle.threads()) == (2, 2)));
            }
        });
    });
}

/// Catches: work that waits for a worker that may not work: parts of joins, tasks of scopes,
/// calls and detached tasks, with the external thread there and without.
#[test]
fn everything_runs_on_a_single_core() {
    ends(|| {
        if !is_supported() {
            return;
        }
        let machine = Machine::new(2);
        let (pool, other) = (machine.pool(3), machine.pool(3));
        while_busy(&other, || {
            wait_until(|| pool.threads() == 1);
            // One task, the external thread's own: who stands in for the external thread would be
            // busy for good with another.
            while_at_work(&pool, 1, || {
                assert_eq!(pool.install(|w| w.join(|_| 1, |_| 2)), (1, 2));
                let (sender, receiver) = mpsc::channel();
                pool.spawn(move |w| w.spawn(move |_| sender.send(3).unwrap()));
                assert_eq!(receiver.recv(), Ok(3));
            });
            for _ in 0..100 {
                let done = AtomicUsize::new(0);
                pool.run(|w| {
                    w.scope(|s| {
                        for _ in 0..10 {
                            s.spawn(|_| {
                                done.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    });
                });
                assert_eq!(done.into_inner(), 10);
            }
            // The external thread waits in a way that the pool does not see.
            let (sender, receiver) = mpsc::channel();
            pool.run(move |w| {
                w.spawn(move |_| sender.send(4).unwrap());
                assert_eq!(receiver.recv(), Ok(4));
            });
        });
    });
}

/// Catches: iterations that are lost or run twice when shares change in the middle, and workers
/// that do not come back.
#[test]
fn nothing_is_lost_while_neighbours_come_and_go() {
    ends(|| {
        if !is_supported() {
            return;
        }
        let machine = Machine::new(4);
        let pool = machine.pool(4);
        let over = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..if std::env::var_os("SINEW_DEEP").is_some() { 1_000 } else { 20 } {
                    let neighbour = machine.pool(4);
                    while_busy(&neighbour, || wait_until(|| neighbour.threads() < 4));
                }
                over.store(true, Ordering::Relaxed);
            });
            let mut rounds = 0;
            while !over.load(Ordering::Relaxed) || rounds < 10 {
                let counts: Vec<AtomicUsize> = (0..2_000).map(|_| AtomicUsize::new(0)).collect();
                pool.run(|w| {
                    let all = sinew_loops::loops::for_each(
                        w,
                        0..counts.len(),
                        &Default::default(),
                        |i| {
                            counts[i].fetch_add(1, Ordering::Relaxed);
                        },
                    );
                    assert!(all.is_ok());
                    let tree = tree(w, 10);
                    assert_eq!(tree, 1 << 10);
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
                rounds += 1;
            }
        });
        wait_until(|| pool.threads() == 4);
    });
}

fn tree(w: &Worker, depth: u32) -> usize {
    match depth {
        0 => 1,
        _ => {
            let (a, b) = w.join(|w| tree(w, depth - 1), |w| tree(w, depth - 1));
            a + b
        }
    }
}

/// Calls `test` with a pool, the table that it has joined, and a coordinator's script that has its
/// loops handed out one by one.
fn with_a_grant(test: impl FnOnce(&Pool, &Table, Script) + Send + 'static) {
    ends(|| {
        if is_supported() {
            let machine = Machine::new(2);
            let pool = machine.pool(2);
            let table = Table::open(&machine.place()).unwrap();
            let script = format!("at 0 {} schedule dynamic:1", table.read()[0].name);
            test(&pool, &table, script.parse().unwrap());
        }
    });
}

/// Catches: loops that do not follow a schedule that is granted, those that must not, and a
/// grant that outlives the coordinator who asked for it.
#[test]
fn loops_that_leave_their_schedule_open_follow_a_granted_one() {
    with_a_grant(|pool, table, single| {
        let (open, fixed) = (Options { open: true, ..Options::default() }, Options::default());
        let (control, requesting) = (Control::new(), Control::new());
        requesting.set_schedule(Schedule::Static);
        let under =
            |control| Options { control: Some(control), schedule: Schedule::Static, ..open };
        let count = |options: &Options<'_>| chunks(pool, 700, options, |_| ());
        assert!(count(&open) < 700 && count(&under(&control)) < 700);

        let mut coordinator = Coordinator::start(table, Policy::Script, single).unwrap();
        wait_until(|| {
            coordinator.step().unwrap();
            count(&open) == 700
        });
        assert_eq!(count(&under(&control)), 700);
        assert!(count(&fixed) < 700 && count(&under(&requesting)) < 700);

        drop(coordinator);
        wait_until(|| count(&open) < 700);
        assert!(count(&under(&control)) < 700);
    });
}

/// Catches: a loop under a control that follows a grant only when it begins.
#[test]
fn a_controlled_loop_follows_a_grant_while_it_runs() {
    with_a_grant(|pool, table, single| {
        let control = Control::new();
        let options = Options {
            control: Some(&control),
            schedule: Schedule::Static,
            open: true,
            ..Options::default()
        };
        // The pool gets a grant a moment after the program's row: the loop continues until it must
        // have seen it.
        let asked = |item: usize| {
            if item == 0 {
                let mut coordinator =
                    Coordinator::start(table, Policy::Script, single.clone()).unwrap();
                wait_until(|| {
                    coordinator.step().unwrap();
                    pool.share().is_some_and(|share| share.schedule.is_some())
                });
                // A coordinator that ends withdraws its requests.
                std::mem::forget(coordinator);
            }
        };
        wait_until(|| {
            let claimed = chunks(pool, 100_000, &options, asked);
            let mut coordinator =
                Coordinator::start(table, Policy::Equal, Script::default()).unwrap();
            coordinator.step().unwrap();
            drop(coordinator);
            wait_until(|| pool.share().is_some_and(|share| share.schedule.is_none()));
            claimed > 1_000
        });
    });
}

/// Catches: what a pool has chosen when it was built and its row does not say, cores beside
/// those that it is pinned to, and others that are kept from it for nothing.
#[test]
fn a_pinned_pool_is_given_none_but_its_own_cores() {
    ends(|| {
        if !is_supported() {
            return;
        }
        let machine = Machine::new(4);
        let pinned = machine.builder(4).mapping(Mapping::Explicit(vec![3, 1])).build().unwrap();
        wait_until(|| pinned.share().is_some());
        let own: CpuSet = [1, 3].into_iter().collect();
        let row = || Table::open(&machine.place()).unwrap().read().remove(0);
        assert_eq!((row().own_settings.cores, row().grant.cores), (own.clone(), own.clone()));
        let free = machine.pool(4);
        while_busy(&pinned, || {
            while_busy(&free, || {
                wait_until(|| (pinned.threads(), free.threads()) == (2, 2));
                assert!(pinned.share().unwrap().cores.is_subset(&own));
            });
        });
    });
}

/// Catches: a thread that stays where the list has its slot, on a core that a neighbour was
/// given, while the pool's own lies idle.
#[test]
fn a_pinned_pool_runs_on_what_its_neighbours_leave_of_its_list() {
    ends(|| {
        let cpus: Vec<usize> = sinew_topology::Limits::read().allowed().iter().take(2).collect();
        if !is_supported() || cpus.len() < 2 {
            println!("skipped: it takes two processors, and a table");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let builder = || {
            Pool::builder().threads(2).external_slot(false).mapping(Mapping::Explicit(cpus.clone()))
        };
        let pool = || builder().coordinate_in(folder.path().join("shared")).build().unwrap();
        let (first, second, settled) = (pool(), pool(), AtomicUsize::new(0));
        let is_at_home = |pool: &Pool| {
            let cpu = pool.install(|_| sinew_topology::current_cpu());
            let share = pool.share().filter(|share| (share.threads, share.cores.len()) == (1, 1));
            share.zip(cpu).is_some_and(|(share, cpu)| share.cores.contains(cpu))
        };
        std::thread::scope(|s| {
            for pool in [&first, &second] {
                let (settled, is_at_home) = (&settled, &is_at_home);
                s.spawn(move || {
                    wait_until(|| is_at_home(pool));
                    settled.fetch_add(1, Ordering::Relaxed);
                    // At work for as long as the other one needs it as a neighbour.
                    wait_until(|| {
                        is_at_home(pool);
                        settled.load(Ordering::Relaxed) == 2
                    });
                });
            }
        });
    });
}

/// Catches: a schedule that the pool has chosen and its row does not say, so that others believe
/// that it follows theirs; and one that it has given up and still has there.
#[test]
fn a_pool_says_which_schedule_it_has_chosen() {
    with_a_grant(|pool, table, single| {
        let mut coordinator = Coordinator::start(table, Policy::Script, single).unwrap();
        let dynamic = Some(Schedule::Dynamic { chunk: 1 });
        for own in [None, Some(Schedule::Static), Some(Schedule::Auto), None] {
            pool.control().set_schedule(own);
            wait_until(|| {
                coordinator.step().unwrap();
                let row = table.read().remove(0);
                (row.own_settings.schedule, row.schedule)
                    == (own, dynamic.filter(|_| own.is_none()))
            });
        }
    });
}
