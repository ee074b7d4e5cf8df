//! Random trees of joins, scopes, detached tasks and entries into pools, with four times as many workers as cores.
//!
//! The trees come from a seeded generator, and their sums are known without running them. `SINEW_STRESS_SECONDS` says for how long (default:
//! two seconds), `SINEW_STRESS_SEED` repeats one tree; a failure names its seed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_core::{Fences, Pool, ScopeBuilder, Wait, Worker};

use crate::support::ends;

/// One tree: every node adds its weight once, however it is run.
#[derive(Debug)]
enum Tree {
    Leaf(u64),
    Join(Box<[Tree; 2]>),
    Scope(Vec<Tree>, usize),
    /// Spawned into the scope around all.
    Outer(Arc<Tree>),
    Enter(Box<Tree>),
    Panic(Box<Tree>),
}

impl Tree {
    fn random(rng: &mut Rng, depth: u32) -> Self {
        if depth == 0 {
            return Self::Leaf(rng.u64(..1000));
        }
        let depth = depth - 1;
        match rng.u32(..20) {
            0..10 => Self::Join(Box::new([Self::random(rng, depth), Self::random(rng, depth)])),
            10..13 => {
                let bound = if rng.bool() { rng.usize(..4) } else { usize::MAX };
                Self::Scope((0..rng.usize(..4)).map(|_| Self::random(rng, depth)).collect(), bound)
            }
            13 => Self::Outer(Arc::new(Self::random(rng, depth))),
            14 => Self::Enter(Box::new(Self::random(rng, depth))),
            15 => Self::Panic(Box::new(Self::random(rng, depth))),
            _ => Self::Leaf(rng.u64(..1000)),
        }
    }

    fn sum(&self) -> u64 {
        match self {
            Self::Leaf(weight) => *weight,
            Self::Join(arms) => arms[0].sum() + arms[1].sum(),
            Self::Scope(tasks, _) => tasks.iter().map(Self::sum).sum(),
            Self::Outer(tree) => tree.sum(),
            Self::Enter(tree) | Self::Panic(tree) => tree.sum(),
        }
    }
}

/// What a run needs beside the tree.
struct World<'a> {
    pools: [&'a Pool; 2],
    sum: AtomicU64,
}

impl World<'_> {
    fn run<'s>(&'s self, w: &Worker, outer: &'s sinew_core::Scope<'s, '_>, tree: &'s Tree) {
        match tree {
            Tree::Leaf(weight) => {
                self.sum.fetch_add(*weight, Ordering::Relaxed);
            }
            Tree::Join(arms) => {
                w.join(|w| self.run(w, outer, &arms[0]), |w| self.run(w, outer, &arms[1]));
            }
            Tree::Scope(tasks, bound) => ScopeBuilder::new().max_pending(*bound).run(|s| {
                tasks.iter().for_each(|task| s.spawn(|w| self.run(w, outer, task)));
            }),
            Tree::Outer(tree) => outer.spawn(|w| self.run(w, outer, tree)),
            Tree::Enter(tree) => {
                let pool = self.pools[usize::from(w.max_workers() == self.pools[0].max_workers())];
                pool.run(|w| self.run(w, outer, tree));
            }
            Tree::Panic(tree) => {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    w.join(|_| resume_unwind(Box::new("wanted")), |w| self.run(w, outer, tree));
                }));
                assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"wanted"));
            }
        }
    }
}

fn check(pools: [&Pool; 2], seed: u64, detached: &Arc<AtomicU64>) {
    let mut rng = Rng::with_seed(seed);
    let depth = rng.u32(4..14);
    let tree = Tree::random(&mut rng, depth);
    let world = World { pools, sum: AtomicU64::new(0) };
    pools[rng.usize(..2)].run(|_| {
        let counted = Arc::clone(detached);
        sinew_core::spawn(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        sinew_core::scope(|s| sinew_core::run(|w| world.run(w, s, &tree)));
    });
    assert_eq!(world.sum.into_inner(), tree.sum(), "seed {seed}");
}

fn seconds() -> f64 {
    std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0)
}

/// Random trees for a share of the time, all in pools built alike.
fn stress(share: f64, fences: Fences, wait: Wait) {
    let workers = 4 * std::thread::available_parallelism().map_or(2, usize::from);
    // Two sizes, by which the trees tell the pools apart.
    let pools =
        [workers, workers + 1].map(|n| Pool::builder().threads(n).fences(fences).wait(wait).build().unwrap());
    let repeated = std::env::var("SINEW_STRESS_SEED").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs_f64(seconds() * share);
    let (mut trees, detached) = (0, Arc::new(AtomicU64::new(0)));
    while Instant::now() < until {
        trees += 1;
        let seed = repeated.unwrap_or_else(|| fastrand::u64(..));
        if let Err(payload) =
            catch_unwind(AssertUnwindSafe(|| check([&pools[0], &pools[1]], seed, &detached)))
        {
            eprintln!("SINEW_STRESS_SEED={seed} repeats this tree");
            resume_unwind(payload);
        }
    }
    assert!(pools.iter().map(|pool| pool.counters().stolen).sum::<u64>() > 0);
    drop(pools);
    assert_eq!(detached.load(Ordering::Relaxed), trees);
}

/// Would miss: whatever the other tests did not think of.
#[test]
fn random_trees_sum_up_with_four_workers_a_core() {
    for (fences, wait) in [
        (Fences::Auto, Wait::Leapfrog),
        (Fences::Full, Wait::Leapfrog),
        (Fences::Auto, Wait::Block),
        (Fences::Full, Wait::Block),
    ] {
        ends_within_budget(move || stress(0.25, fences, wait));
    }
}

/// Long runs are asked for; the watchdog is for the default.
fn ends_within_budget(test: impl FnOnce() + Send + 'static) {
    if seconds() > 60.0 { test() } else { ends(test) }
}
