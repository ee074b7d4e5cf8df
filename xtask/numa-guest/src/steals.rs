//! Thieves go to their own package first, to the nearest victim of the others, slaves nowhere else,
//! and strand no task.
//!
//! An emulated CPU stands still for longer than a policy may usually keep a worker from work, so
//! all workers would be stranded now and then. Where slaves have to stay in their package, rules
//! may withhold work for ever.

use std::sync::{Barrier, Mutex};
use std::time::Duration;

use numa_protocol::{Outcome, Shape};
use sinew_core::victims::{AfterSuccess, LoadScope, Loads};
use sinew_core::{Mapping, Pool, Spin, Victims, Worker, scope};

use crate::check::{Check, Verdict, ensure, same};
use crate::tree::nearness;
use crate::workers::{Gate, survey};

pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "steals/nearest-first-take-from-the-own-package-first-then-by-distance",
        run: nearest_first,
    },
    Check {
        name: "steals/a-rule-that-keeps-to-the-package-empties-that-first",
        run: strictly_at_home,
    },
    Check { name: "steals/slaves-never-leave-their-package", run: slaves_stay },
    Check { name: "steals/every-rule-leaves-no-task-behind", run: every_rule },
];

fn pool(shape: &Shape, victims: Victims) -> Result<Pool, String> {
    let builder =
        Pool::builder().threads(shape.cpus()).mapping(Mapping::Compact).external_slot(false);
    builder.victims(victims).build().map_err(|error| error.to_string())
}

/// The CPU of each worker.
fn cpus(pool: &Pool) -> Vec<usize> {
    survey(pool).iter().flat_map(|worker| worker.mask.iter()).collect()
}

/// Tasks in the queue of each worker but the thief.
const TASKS: usize = 5;

/// Every worker but `thief` fills its own queue and is held up; the thief, alone, takes all there
/// is. Records the victims in order, and the thieves.
fn rob(pool: &Pool, thief: usize) -> Vec<(usize, usize)> {
    let workers = pool.max_threads();
    let (all_held, all_filled) = (Barrier::new(workers), Barrier::new(workers));
    let over = Gate::default();
    let taken = Mutex::new(Vec::new());
    pool.install(|_| {
        scope(|scope| {
            let (all_held, all_filled, over, taken) = (&all_held, &all_filled, &over, &taken);
            let hold = move |worker: &Worker| {
                all_held.wait();
                let from = worker.index();
                for _ in 0..if from == thief { 0 } else { TASKS } {
                    scope.spawn(move |worker| {
                        let mut taken = taken.lock().expect("no task panics");
                        taken.push((worker.index(), from));
                        if taken.len() == TASKS * (workers - 1) {
                            over.open();
                        }
                    });
                }
                all_filled.wait();
                if from != thief {
                    over.wait();
                }
            };
            (1..workers).for_each(|_| scope.spawn(hold));
            pool.with_current(|body| hold(body.expect("the body runs on a worker")));
        });
    });
    taken.into_inner().expect("no task panics")
}

/// Each worker in turn robs all others, alone, in the order of `key`, which gets its CPU and the
/// victim's.
fn each_thief<K: Ord>(shape: &Shape, victims: Victims, key: impl Fn(usize, usize) -> K) -> Verdict {
    let pool = pool(shape, victims)?;
    let cpus = cpus(&pool);
    for thief in 0..cpus.len() {
        let taken = rob(&pool, thief);
        for from in (0..cpus.len()).filter(|&from| from != thief) {
            let tasks = taken.iter().filter(|&&task| task == (thief, from)).count();
            same(&format!("tasks that slot {thief} took from slot {from}"), &tasks, &TASKS)?;
        }
        ensure(taken.is_sorted_by_key(|&(_, from)| key(cpus[thief], cpus[from])), || {
            format!("slot {thief} took (by, from) {taken:?}")
        })?;
    }
    Ok(Outcome::Passed)
}

fn nearest_first(shape: &Shape) -> Verdict {
    each_thief(shape, Victims::Nearest, |here, there| {
        (shape.package_of(here) != shape.package_of(there), nearness(shape, here, there))
    })
}

/// A rule that keeps all workers in the package goes beyond it, too, when nothing else is left: no
/// task is stranded.
fn strictly_at_home(shape: &Shape) -> Verdict {
    let loads =
        Loads { refresh: 5, scope: LoadScope::StrictlyPackage, after_success: AfterSuccess::Stay };
    each_thief(shape, Victims::SortedLoads(loads), |here, there| {
        shape.package_of(here) != shape.package_of(there)
    })
}

/// Looks in vain after which a thief may not do what it has not done.
const LOOKS: u64 = 300;

/// Holds all workers up but `thief`, with tasks in the queue of `owner`. Returns the number of
/// steals when the thief has all tasks, or after many failed attempts.
fn taken_by(pool: &Pool, thief: usize, owner: usize) -> usize {
    let workers = pool.max_threads();
    let (held, offered) = (Barrier::new(workers), Barrier::new(workers));
    let (over, taken) = (Gate::default(), Mutex::new(0));
    let all_taken = || *taken.lock().expect("no task panics") == TASKS;
    pool.broadcast(|context| {
        held.wait();
        if context.index() == owner {
            scope(|scope| {
                let take = |worker: &Worker| {
                    *taken.lock().expect("no task panics") += usize::from(worker.index() == thief);
                };
                (0..TASKS).for_each(|_| scope.spawn(take));
                offered.wait();
                let often = pool.counters().failed_steals + LOOKS;
                while !all_taken() && pool.counters().failed_steals < often {
                    std::thread::yield_now();
                }
                over.open();
            });
        } else {
            offered.wait();
            if context.index() != thief {
                over.wait();
            }
        }
    });
    taken.into_inner().expect("no task panics")
}

/// Of two workers of a package, let go in turn while all others are held up, one is the master and
/// may leave it, and the other is not.
fn slaves_stay(shape: &Shape) -> Verdict {
    let builder =
        Pool::builder().threads(shape.cpus()).mapping(Mapping::Compact).external_slot(false);
    let builder = builder.victims(Victims::Nearest).spin(Spin::Forever).withhold(Duration::MAX);
    let pool = builder.build().map_err(|error| error.to_string())?;
    let package: Vec<usize> = cpus(&pool).iter().map(|&cpu| shape.package_of(cpu)).collect();
    for home in 1..=package.iter().copied().max().unwrap_or(0) {
        let thieves: Vec<usize> =
            (0..package.len()).filter(|&slot| package[slot] == home).collect();
        let taken: Vec<usize> = thieves.iter().map(|&thief| taken_by(&pool, thief, 0)).collect();
        let masters = taken.iter().filter(|&&tasks| tasks == TASKS).count();
        let slaves = taken.iter().filter(|&&tasks| tasks == 0).count();
        same(
            &format!("masters and slaves of package {home}"),
            &(masters, slaves),
            &(1, thieves.len() - 1),
        )?;
    }
    Ok(Outcome::Passed)
}

fn every_rule(shape: &Shape) -> Verdict {
    for victims in Victims::all() {
        each_thief(shape, *victims, |_, _| ()).map_err(|why| format!("{victims}: {why}"))?;
    }
    Ok(Outcome::Passed)
}
