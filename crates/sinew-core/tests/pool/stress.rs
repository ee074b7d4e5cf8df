//! Random trees of joins, scopes, broadcasts, detached tasks, entries into pools, serial parts and
//! panics that are caught. There are four times as many workers as cores, in pools with and without
//! external threads, with every way of waiting, and with a number of workers that changes all the
//! time.
//!
//! The trees come from a seeded generator. The sum of a tree and its panicking calls are computed
//! in advance, since every arm and every task runs, even if another one panics. No call changes the
//! depth of its worker, whether it returns or unwinds, and none begins while its thread unwinds.
//!
//! `SINEW_STRESS_SECONDS` says for how long (default: two seconds, with `SINEW_DEEP=1` two
//! minutes), `SINEW_STRESS_SEED` repeats one tree. A failure names its seed, and so does the
//! watchdog of a tree that does not end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_core::open::OpenScope as Open;
use sinew_core::{Fences, Pool, Scope, ScopeBuilder, StackKind, Wait, Worker, serially};

use crate::support::{WAITS, watched};

/// One tree: every node adds its weight once, however it is run.
#[derive(Debug)]
enum Tree {
    Leaf(u64),
    /// Panics, after it has added its weight.
    Throw(u64),
    /// Catches what its tree panics with.
    Catch(Box<Tree>),
    Join(Box<[Tree; 2]>),
    /// The last one is run by the body, after it has spawned the others.
    Scope(Vec<Tree>, usize),
    /// Spawned into the scope around all.
    Outer(Box<Tree>),
    /// Run in the other pool.
    Enter(Box<Tree>),
    /// Run serially.
    Serial(Box<Tree>),
    /// Run by the first part of a broadcast.
    Broadcast(Box<Tree>),
    /// An open scope, whose tasks spawn the next one each.
    Open(Vec<Tree>),
}

/// How often a path from the root to a leaf may change between the pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Enter {
    Never,
    /// Only once, if a waiting worker serves no callers.
    Once,
    Always,
}

/// Which trees may be run in a pair of pools.
#[derive(Debug, Clone, Copy)]
struct Kinds {
    enter: Enter,
    broadcast: bool,
}

impl Tree {
    fn random(rng: &mut Rng, depth: u32, kinds: Kinds, entered: bool) -> Self {
        if depth == 0 {
            return Self::leaf(rng);
        }
        let depth = depth - 1;
        let random = |rng: &mut Rng| Self::random(rng, depth, kinds, entered);
        match rng.u32(..24) {
            0..10 => Self::Join(Box::new([random(rng), random(rng)])),
            10..13 => {
                let bound = if rng.bool() { rng.usize(..4) } else { usize::MAX };
                Self::Scope((0..rng.usize(..4)).map(|_| random(rng)).collect(), bound)
            }
            // A task of the outermost pool, spawned anywhere.
            13 => Self::Outer(Box::new(Self::random(rng, depth, kinds, false))),
            14 if kinds.enter == Enter::Always || (kinds.enter == Enter::Once && !entered) => {
                Self::Enter(Box::new(Self::random(rng, depth, kinds, true)))
            }
            15..18 => Self::Catch(Box::new(random(rng))),
            18 if kinds.broadcast => Self::Broadcast(Box::new(random(rng))),
            19 => Self::Open((0..rng.usize(..4)).map(|_| random(rng)).collect()),
            20 => {
                // Code that needs all threads of a pool cannot run serially.
                let kinds = Kinds { broadcast: false, ..kinds };
                Self::Serial(Box::new(Self::random(rng, depth, kinds, entered)))
            }
            _ => Self::leaf(rng),
        }
    }

    fn leaf(rng: &mut Rng) -> Self {
        let weight = rng.u64(..1000);
        if rng.u32(..8) == 0 { Self::Throw(weight) } else { Self::Leaf(weight) }
    }

    fn sum(&self) -> u64 {
        match self {
            Self::Leaf(weight) | Self::Throw(weight) => *weight,
            Self::Join(arms) => arms[0].sum() + arms[1].sum(),
            Self::Scope(tasks, _) | Self::Open(tasks) => tasks.iter().map(Self::sum).sum(),
            Self::Outer(tree)
            | Self::Enter(tree)
            | Self::Catch(tree)
            | Self::Serial(tree)
            | Self::Broadcast(tree) => tree.sum(),
        }
    }

    /// Whether the call panics: `here` in the call itself, and else in what it spawns into the
    /// scope around all.
    fn panics(&self, here: bool) -> bool {
        match self {
            Self::Leaf(_) => false,
            Self::Throw(_) => here,
            Self::Join(arms) => arms.iter().any(|arm| arm.panics(here)),
            Self::Scope(tasks, _) | Self::Open(tasks) => tasks.iter().any(|task| task.panics(here)),
            Self::Catch(tree) => !here && tree.panics(false),
            Self::Outer(tree) => !here && (tree.panics(true) || tree.panics(false)),
            Self::Enter(tree) | Self::Serial(tree) | Self::Broadcast(tree) => tree.panics(here),
        }
    }
}

/// The payload of every panic.
const WANTED: &str = "wanted";

/// Whether `f` panics, with the payload that it should have.
fn panics(f: impl FnOnce()) -> bool {
    let caught = catch_unwind(AssertUnwindSafe(f));
    caught.is_err_and(|payload| match payload.downcast_ref::<&str>() {
        Some(&WANTED) => true,
        _ => resume_unwind(payload),
    })
}

/// The state of a run besides the tree.
struct World<'a> {
    pools: [&'a Pool; 2],
    sum: AtomicU64,
}

impl World<'_> {
    fn add(&self, weight: u64) {
        self.sum.fetch_add(weight, Ordering::Relaxed);
    }

    fn run<'s>(&'s self, w: &Worker, outer: &'s Scope<'s, '_>, tree: &'s Tree) {
        assert!(!thread::panicking(), "a task runs while its thread unwinds");
        match tree {
            Tree::Leaf(weight) => self.add(*weight),
            Tree::Throw(weight) => {
                self.add(*weight);
                resume_unwind(Box::new(WANTED));
            }
            Tree::Catch(tree) => self.run_caught(w, outer, tree),
            Tree::Join(arms) => {
                w.join(|w| self.run(w, outer, &arms[0]), |w| self.run(w, outer, &arms[1]));
            }
            Tree::Scope(tasks, bound) => ScopeBuilder::new().max_pending(*bound).run(|s| {
                let Some((last, tasks)) = tasks.split_last() else { return };
                tasks.iter().for_each(|task| s.spawn(|w| self.run(w, outer, task)));
                sinew_core::run(|w| self.run(w, outer, last));
            }),
            Tree::Outer(tree) => outer.spawn(|w| self.run(w, outer, tree)),
            Tree::Enter(tree) => {
                let pool = self.pools[usize::from(w.max_threads() == self.pools[0].max_threads())];
                pool.run(|w| self.run(w, outer, tree));
            }
            Tree::Serial(tree) => serially(|| sinew_core::run(|w| self.run(w, outer, tree))),
            Tree::Broadcast(tree) => {
                let parts = w.broadcast(|part| {
                    if part.index() == 0 {
                        sinew_core::run(|w| self.run(w, outer, tree));
                    }
                    part.index()
                });
                assert!(parts.iter().copied().eq(0..parts.len()) && !parts.is_empty());
            }
            Tree::Open(tasks) => w.open_scope(|s| self.run_chain(s, outer, tasks)),
        }
    }

    fn run_caught<'s>(&'s self, w: &Worker, outer: &'s Scope<'s, '_>, tree: &'s Tree) {
        let depth = w.depth();
        assert_eq!(panics(|| self.run(w, outer, tree)), tree.panics(true));
        assert_eq!(w.depth(), depth, "a call has changed the depth of its worker");
    }

    fn run_chain<'t>(&'t self, s: &Open<'t>, outer: &'t Scope<'t, '_>, tasks: &'t [Tree]) {
        if let [tree, rest @ ..] = tasks {
            s.spawn(move |s| {
                self.run_chain(s, outer, rest);
                sinew_core::run(|w| self.run(w, outer, tree));
            });
        }
    }
}

fn check(pools: [&Pool; 2], kinds: Kinds, seed: u64, detached: &Arc<AtomicU64>) {
    let mut rng = Rng::with_seed(seed);
    let depth = rng.u32(4..14);
    let tree = Tree::random(&mut rng, depth, kinds, false);
    let world = World { pools, sum: AtomicU64::new(0) };
    pools[rng.usize(..2)].run(|w| {
        let counted = Arc::clone(detached);
        sinew_core::spawn(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let depth = w.depth();
        let all = || sinew_core::scope(|s| sinew_core::run(|w| world.run(w, s, &tree)));
        assert_eq!(panics(all), tree.panics(true) || tree.panics(false));
        assert_eq!(w.depth(), depth);
    });
    assert_eq!(world.sum.into_inner(), tree.sum(), "seed {seed}");
}

fn seconds() -> f64 {
    let usual = if std::env::var_os("SINEW_DEEP").is_some() { 120.0 } else { 2.0 };
    std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// How the pools of one run are built.
#[derive(Debug, Clone, Copy)]
struct Plan {
    stack: StackKind,
    fences: Fences,
    wait: Wait,
    has_external_slot: bool,
    kinds: Kinds,
    /// A thread changes the number of workers of both all the time.
    changes: bool,
}

impl Plan {
    fn new(fences: Fences, wait: Wait, has_external_slot: bool) -> Self {
        let enter = if wait == Wait::Descendants { Enter::Once } else { Enter::Always };
        Self {
            stack: StackKind::Split,
            fences,
            wait,
            has_external_slot,
            kinds: Kinds { enter, broadcast: false },
            changes: false,
        }
    }

    /// Some nodes are broadcasts. A waiting worker runs its part if the part is deeper than the
    /// awaited task, and than all tasks that it has begun meanwhile; or if its policy allows any
    /// task. A thread that has entered another pool runs its part when it returns.
    fn broadcasting(self) -> Self {
        let enter = match self.wait {
            Wait::Any if !self.has_external_slot => Enter::Always,
            Wait::Any | Wait::Descendants => Enter::Once,
            _ => Enter::Never,
        };
        Self { kinds: Kinds { enter, broadcast: true }, ..self }
    }

    fn two_field(self) -> Self {
        Self { stack: StackKind::TwoField, ..self }
    }

    fn changing(self) -> Self {
        Self { changes: true, ..self }
    }

    fn pool(&self, threads: usize) -> Pool {
        let builder =
            Pool::builder().threads(threads).stack(self.stack).fences(self.fences).wait(self.wait);
        builder.external_slot(self.has_external_slot).build().unwrap()
    }
}

/// Random trees for a share of the time, all in pools built alike. Returns how many tasks were
/// stolen.
fn stress(share: f64, plan: Plan) -> u64 {
    let workers = 4 * thread::available_parallelism().map_or(2, usize::from);
    // Two sizes, by which the trees tell the pools apart.
    let pools = [workers, workers + 1].map(|n| plan.pool(n));
    let (over, detached) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
    watched(|begins| {
        let trees = thread::scope(|s| {
            if plan.changes {
                s.spawn(|| change_workers(&pools, &over));
            }
            let run = || run_trees([&pools[0], &pools[1]], share, plan, &detached, begins);
            let trees = catch_unwind(AssertUnwindSafe(run));
            over.store(true, Ordering::Relaxed);
            trees.unwrap_or_else(|payload| resume_unwind(payload))
        });
        let stolen = pools.iter().map(|pool| pool.counters().stolen).sum();
        begins(&format!("the end of two pools under {plan:?}"));
        drop(pools);
        assert_eq!(detached.load(Ordering::Relaxed), trees);
        println!("{trees} trees under {plan:?}");
        stolen
    })
}

fn change_workers(pools: &[Pool; 2], over: &AtomicBool) {
    let mut rng = Rng::new();
    while !over.load(Ordering::Relaxed) {
        let pool = &pools[rng.usize(..2)];
        pool.control().set_threads(rng.usize(1..=pool.max_threads()));
        (0..rng.u32(..50)).for_each(|_| thread::yield_now());
    }
}

/// Returns how many trees were run.
fn run_trees(
    pools: [&Pool; 2],
    share: f64,
    plan: Plan,
    detached: &Arc<AtomicU64>,
    begins: &dyn Fn(&str),
) -> u64 {
    let repeated = std::env::var("SINEW_STRESS_SEED").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs_f64(seconds() * share);
    let mut trees = 0;
    while Instant::now() < until {
        trees += 1;
        let seed = repeated.unwrap_or_else(|| fastrand::u64(..));
        let tree = format!("SINEW_STRESS_SEED={seed} repeats this tree, under {plan:?}");
        begins(&tree);
        let run = || check(pools, plan.kinds, seed, detached);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            eprintln!("{tree}");
            resume_unwind(payload);
        }
    }
    trees
}

/// Catches: errors in combinations that no other test has.
#[test]
fn random_trees_sum_up_with_four_workers_a_core() {
    let waits = [Wait::Leapfrog, Wait::Block];
    for plan in waits.map(|wait| Plan::new(Fences::Auto, wait, true)) {
        for plan in [plan, Plan { fences: Fences::Full, ..plan }] {
            assert!(stress(0.25, plan) > 0);
        }
    }
}

/// Catches: the same in the pools that a drop-in for rayon-core uses, and while the number of
/// workers changes.
#[test]
fn random_trees_sum_up_without_external_threads_and_with_workers_that_come_and_go() {
    let mut stolen = 0;
    for wait in WAITS {
        let plan = Plan::new(Fences::Auto, wait, false);
        for plan in [plan.changing(), plan.broadcasting(), plan.broadcasting().changing()] {
            stolen += stress(0.03, plan);
        }
        let has_external_slot = Plan::new(Fences::Auto, wait, true).broadcasting().changing();
        stolen += stress(0.03, has_external_slot);
    }
    assert!(stolen > 0);
}

/// Catches: the same on two-field stacks.
#[test]
fn random_trees_sum_up_on_two_field_stacks() {
    for wait in WAITS {
        let plan = Plan::new(Fences::Auto, wait, true).two_field();
        for plan in [plan, plan.broadcasting().changing()] {
            assert!(stress(0.05, plan) > 0);
        }
    }
}
