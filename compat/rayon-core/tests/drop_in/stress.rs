//! Random programs of everything there is, in two pools that call into each other: joins, scopes of
//! every kind, broadcasts, yields, detached tasks, and panics that are caught at any distance.
//! Another thread changes how many threads may work, where, and whom they steal from.
//!
//! The sum of a program is known without running it, since every arm and every task runs, whatever
//! panics beside it; so is which calls panic. None begins while its thread unwinds.
//!
//! `SINEW_STRESS_SECONDS` says for how long (default: one second, with `SINEW_DEEP=1` two minutes),
//! `SINEW_STRESS_SEED` repeats one program. A failure names its seed, and so does the watchdog of a
//! program that does not end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rayon_core::ext::{Mapping, ThreadPoolBuilderExt, ThreadPoolExt, Victims, Wait};
use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::support::watched;

/// A part of a program, which adds up numbers.
#[derive(Debug)]
enum Part {
    Number(u64),
    /// Panics, after it has added its number.
    Throw(u64),
    /// Catches what its part panics with.
    Catch(Box<Part>),
    Join(Box<[Part; 2]>),
    /// Each task of the scope spawns the next one.
    Scope(Vec<Part>),
    Fifo(Vec<Part>),
    /// A scope of the other pool around what stays on this thread.
    InPlace(Vec<Part>),
    /// In the other pool.
    There(Box<Part>),
    /// The number once for each thread. The first thread panics after that if it is even.
    Everywhere(u64),
    /// The same as tasks of a scope.
    Tasks(u64),
    Yield,
}

/// Threads of the two pools.
const THREADS: [usize; 2] = [5, 8];

/// How often a path from the root of a program to a leaf enters the other pool.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Enter {
    Never,
    Once,
    Always,
}

/// The parts that a program may have.
#[derive(Debug, Clone, Copy)]
struct Kinds {
    enter: Enter,
    broadcast: bool,
}

impl Kinds {
    /// Pools that broadcast and call into each other need workers that run anything while they
    /// wait. Workers that run descendants alone serve no call, so pools in a ring wait for each
    /// other.
    fn random(rng: &mut Rng, wait: Wait) -> Self {
        let enter = if wait == Wait::Descendants { Enter::Once } else { Enter::Always };
        match wait {
            Wait::Any => Self { enter, broadcast: true },
            _ if rng.bool() => Self { enter, broadcast: false },
            _ => Self { enter: Enter::Never, broadcast: true },
        }
    }

    /// For the parts that run in the pool that was entered.
    fn inside(self) -> Self {
        let enter = if self.enter == Enter::Once { Enter::Never } else { self.enter };
        Self { enter, ..self }
    }
}

impl Part {
    fn random(rng: &mut Rng, depth: u32, kinds: Kinds) -> Self {
        let Some(depth) = depth.checked_sub(1) else { return Self::leaf(rng) };
        let one = |rng: &mut Rng, kinds| Box::new(Self::random(rng, depth, kinds));
        let some = |rng: &mut Rng, kinds| {
            (0..rng.usize(..4)).map(|_| Self::random(rng, depth, kinds)).collect()
        };
        let enters = kinds.enter != Enter::Never;
        match rng.u32(..20) {
            0..8 => Self::Join(Box::new([*one(rng, kinds), *one(rng, kinds)])),
            8 | 9 => Self::Scope(some(rng, kinds)),
            10 | 11 => Self::Fifo(some(rng, kinds)),
            12 if enters => Self::InPlace(some(rng, kinds.inside())),
            13 if enters => Self::There(one(rng, kinds.inside())),
            14 if kinds.broadcast => Self::Everywhere(rng.u64(..1000)),
            15 if kinds.broadcast => Self::Tasks(rng.u64(..1000)),
            16 | 17 => Self::Catch(one(rng, kinds)),
            18 => Self::Yield,
            _ => Self::leaf(rng),
        }
    }

    fn leaf(rng: &mut Rng) -> Self {
        let number = rng.u64(..1000);
        if rng.u32(..8) == 0 { Self::Throw(number) } else { Self::Number(number) }
    }

    /// The expected result in the pool number `at`.
    fn sum(&self, at: usize) -> u64 {
        let all = |parts: &[Self], at| parts.iter().map(|part| part.sum(at)).sum::<u64>();
        match self {
            Self::Number(number) | Self::Throw(number) => *number,
            Self::Join(parts) => all(&**parts, at),
            Self::Scope(parts) | Self::Fifo(parts) => all(parts, at),
            Self::InPlace(parts) => all(parts, 1 - at),
            Self::There(part) => part.sum(1 - at),
            Self::Everywhere(number) | Self::Tasks(number) => number * THREADS[at] as u64,
            Self::Catch(part) => part.sum(at),
            Self::Yield => 0,
        }
    }

    fn panics(&self) -> bool {
        match self {
            Self::Number(_) | Self::Catch(_) | Self::Yield => false,
            Self::Throw(_) => true,
            Self::Join(parts) => parts.iter().any(Self::panics),
            Self::Scope(parts) | Self::Fifo(parts) | Self::InPlace(parts) => {
                parts.iter().any(Self::panics)
            }
            Self::There(part) => part.panics(),
            Self::Everywhere(number) | Self::Tasks(number) => number.is_multiple_of(2),
        }
    }
}

/// Where a program runs.
struct World {
    pools: [ThreadPool; 2],
    sum: AtomicU64,
}

impl World {
    fn add(&self, number: u64) {
        self.sum.fetch_add(number, Ordering::Relaxed);
    }

    /// Runs `part` on a thread of the pool number `at`.
    fn run(&self, part: &Part, at: usize) {
        assert!(!thread::panicking(), "a task runs while its thread unwinds");
        match part {
            Part::Number(number) => self.add(*number),
            Part::Throw(number) => {
                self.add(*number);
                fail();
            }
            Part::Catch(part) => assert_eq!(panics(|| self.run(part, at)), part.panics()),
            Part::Join(parts) => {
                rayon_core::join(|| self.run(&parts[0], at), || self.run(&parts[1], at));
            }
            Part::Scope(parts) => rayon_core::scope(|s| self.chain(s, parts, at)),
            Part::Fifo(parts) => rayon_core::scope_fifo(|s| {
                parts.iter().for_each(|part| s.spawn_fifo(move |_| self.run(part, at)));
            }),
            Part::InPlace(parts) => self.pools[1 - at].in_place_scope(|s| {
                parts.iter().for_each(|part| s.spawn(move |_| self.run(part, 1 - at)));
            }),
            Part::There(part) => self.pools[1 - at].install(|| self.run(part, 1 - at)),
            Part::Everywhere(number) => {
                let parts = rayon_core::broadcast(|context| {
                    self.add_everywhere(*number, context.index());
                    context.index()
                });
                assert!(parts.into_iter().eq(0..THREADS[at]));
            }
            Part::Tasks(number) => rayon_core::scope(|s| {
                s.spawn_broadcast(|_, context| self.add_everywhere(*number, context.index()));
            }),
            Part::Yield => {
                assert!(rayon_core::yield_now().is_some() && rayon_core::yield_local().is_some());
            }
        }
    }

    fn add_everywhere(&self, number: u64, thread: usize) {
        self.add(number);
        if number.is_multiple_of(2) && thread == 0 {
            fail();
        }
    }

    fn chain<'s>(&'s self, s: &Scope<'s>, parts: &'s [Part], at: usize) {
        if let [part, rest @ ..] = parts {
            s.spawn(move |s| {
                self.chain(s, rest, at);
                self.run(part, at);
            });
        }
    }

    /// Runs the program of `seed`, and leaves a task behind.
    fn check(&self, seed: u64, wait: Wait, detached: &Arc<AtomicU64>) {
        let mut rng = Rng::with_seed(seed);
        let (depth, at) = (rng.u32(3..11), rng.usize(..2));
        let kinds = Kinds::random(&mut rng, wait);
        let program = Part::random(&mut rng, depth, kinds);
        let before = self.sum.load(Ordering::Relaxed);
        let left = Arc::clone(detached);
        self.pools[at].spawn_fifo(move || {
            rayon_core::spawn(move || _ = left.fetch_add(1, Ordering::Relaxed));
        });
        assert_eq!(panics(|| self.pools[at].install(|| self.run(&program, at))), program.panics());
        assert_eq!(self.sum.load(Ordering::Relaxed) - before, program.sum(at), "seed {seed}");
    }

    /// Changes the pools until it is over.
    fn change(&self, over: &AtomicBool) {
        let mut rng = Rng::new();
        while !over.load(Ordering::Relaxed) {
            let pool = &self.pools[rng.usize(..2)];
            match rng.u32(..8) {
                0 => pool.set_victims(Victims::MostLoaded { every: 1 + rng.u32(..3) }),
                1 => pool.set_victims(Victims::Random),
                2 => pool
                    .set_mapping(if rng.bool() { &Mapping::Compact } else { &Mapping::None })
                    .unwrap(),
                _ => assert!((1..=8).contains(&pool.set_active_threads(rng.usize(..10)))),
            }
            (0..rng.u32(..50)).for_each(|_| thread::yield_now());
        }
    }
}

/// The payload of every panic.
const WANTED: &str = "wanted";

fn fail() {
    resume_unwind(Box::new(WANTED));
}

/// Whether `f` panics, with the payload that [`fail`] gives.
fn panics(f: impl FnOnce()) -> bool {
    let caught = catch_unwind(AssertUnwindSafe(f));
    caught.is_err_and(|payload| match payload.downcast_ref::<&str>() {
        Some(&WANTED) => true,
        _ => resume_unwind(payload),
    })
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Random programs for a share of the time, one after another. Returns how many tasks were stolen.
fn stress(wait: Wait, share: f64, begins: &dyn Fn(&str)) -> u64 {
    let build = |threads| ThreadPoolBuilder::new().num_threads(threads).wait(wait).build().unwrap();
    let world = World { pools: THREADS.map(build), sum: AtomicU64::new(0) };
    let (over, detached) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
    let usual = if std::env::var_os("SINEW_DEEP").is_some() { 120.0 } else { 1.0 };
    let seconds: f64 = variable("SINEW_STRESS_SECONDS").unwrap_or(usual);
    let until = Instant::now() + Duration::from_secs_f64(seconds * share);
    let mut programs = 0;
    thread::scope(|s| {
        s.spawn(|| world.change(&over));
        let all = catch_unwind(AssertUnwindSafe(|| {
            while Instant::now() < until {
                let seed = variable("SINEW_STRESS_SEED").unwrap_or_else(|| fastrand::u64(..));
                let program = format!("SINEW_STRESS_SEED={seed} repeats it, under {wait}");
                begins(&program);
                let run = catch_unwind(AssertUnwindSafe(|| world.check(seed, wait, &detached)));
                run.inspect_err(|_| eprintln!("{program}")).unwrap();
                programs += 1;
            }
        }));
        over.store(true, Ordering::Relaxed);
        all.unwrap_or_else(|payload| resume_unwind(payload));
    });
    let stolen = world.pools.iter().map(|pool| pool.counters().stolen).sum();
    begins(&format!("the end of two pools under {wait}"));
    world.pools.into_iter().for_each(ThreadPoolExt::shutdown);
    assert_eq!(detached.load(Ordering::Relaxed), programs);
    println!("{programs} programs under {wait}");
    stolen
}

/// Catches: whatever the other tests did not think of.
#[test]
fn random_programs_come_to_what_they_should() {
    let waits = [Wait::Any, Wait::Leapfrog, Wait::Descendants, Wait::Transitive, Wait::Block];
    let stolen = watched(|begins| waits.map(|wait| stress(wait, 1.0 / 5.0, begins)));
    assert!(stolen.iter().all(|&stolen| stolen > 0), "{stolen:?}");
}
