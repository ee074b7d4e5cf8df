//! Pools under a coordinator's script: what they do, compared with what their row says.
//!
//! The script is made up from a seed, which a failure prints: programs come and go, and at each event somebody asks for
//! threads, cores or a schedule on the pool's behalf, or takes that back. After each event the pool is measured until it
//! agrees with its row: the workers that run items and arms, the masks of its threads, the chunks of its loops. A watchdog
//! turns disagreement that lasts into a failure with the last difference. `SINEW_SCRIPT_SEED` repeats one script;
//! `SINEW_DEEP=1` runs many.
//!
//! Blind to: cores on machines with more than the host has, and on which of them a guest runs between two calls.

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_coord::{Ask, Coordinator, CoreSet, Member, Offer, Policy, Table};
use sinew_core::loops::{Options, for_each};
use sinew_core::{Pool, Worker, with_current};
use sinew_policy::chunk::Schedule;
use sinew_topology::{CpuSet, Limits, ThreadRef};

use crate::support::ends;

/// How long a pool may take until it does what its row says. Generous: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long workers wait for each other, before the row is read again.
const MEETING: Duration = Duration::from_millis(500);

const ITEMS: usize = 300;

/// The events of one script.
const STEPS: usize = 6;

/// A table, the one pool in it, and the coordinator.
struct World {
    folder: tempfile::TempDir,
    /// Cores of a described machine, or the host.
    cores: Option<usize>,
    threads: usize,
    has_guest: bool,
    steps: Vec<Step>,
}

/// What happens at one event.
#[derive(Debug)]
struct Step {
    /// What is asked for when the neighbour of this step joins.
    ask: Option<Ask>,
    /// How many threads the neighbour would use; none for one that only comes by.
    demand: u32,
    /// The pool leaves afterwards, and another one joins.
    anew: bool,
}

impl World {
    fn random(rng: &mut Rng) -> Self {
        let cores = [None, Some(4), Some(8)][rng.usize(..3)];
        let most = cores.unwrap_or_else(|| Limits::read().allowed().len());
        let steps = (0..STEPS).map(|_| Step::random(rng, cores, most)).collect();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, cores, threads: rng.usize(1..=most), has_guest: rng.bool(), steps }
    }

    fn pool(&self, table: &Table) -> Pool {
        let builder = match self.cores {
            Some(cores) => Pool::builder().machine(format!("core:{cores}").parse().unwrap()),
            None => Pool::builder(),
        };
        let builder = builder.threads(self.threads).guest_seat(self.has_guest).coordinate_in(self.place());
        let pool = builder.build().unwrap();
        eventually(|| pool.share().map(drop).ok_or_else(|| format!("no share in {:?}", table.read())));
        pool
    }

    fn place(&self) -> std::path::PathBuf {
        self.folder.path().join("shared")
    }

    fn table(&self) -> Table {
        let layout = self.cores.map_or_else(sinew_coord::layout, |cores| {
            sinew_coord::layout_of(&format!("core:{cores}").parse().unwrap())
        });
        Table::open_on(&self.place(), layout).unwrap()
    }

    fn script(&self, name: &str) -> String {
        let line = |(k, step): (usize, &Step)| format!("when step-{k} joins {name} {}\n", words(step.ask));
        self.steps.iter().enumerate().map(line).collect()
    }
}

impl Step {
    fn random(rng: &mut Rng, cores: Option<usize>, most: usize) -> Self {
        let cpus: Vec<usize> =
            cores.map_or_else(|| Limits::read().allowed().iter().collect(), |n| (0..n).collect());
        let count = rng.usize(1..=cpus.len());
        let some = rng.choose_multiple(cpus, count);
        let schedules = [Schedule::Static, Schedule::Dynamic { chunk: 1 }, Schedule::Dynamic { chunk: 3 }];
        let ask = Ask {
            threads: rng.bool().then(|| rng.u32(1..=most as u32)),
            cores: rng.bool().then(|| some.into_iter().collect()),
            schedule: rng.bool().then(|| schedules[rng.usize(..3)]),
        };
        let ask = Some(ask).filter(|ask| *ask != Ask::default());
        let demand = if rng.bool() { 0 } else { rng.u32(1..=most as u32) };
        Self { ask, demand, anew: rng.u8(..4) == 0 }
    }
}

/// An ask as a script has it.
fn words(ask: Option<Ask>) -> String {
    let Some(Ask { threads, cores, schedule }) = ask else { return "free".to_owned() };
    let list = |cores: CoreSet| cores.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    let parts = [
        threads.map(|threads| format!("threads {threads}")),
        cores.map(|cores| format!("cores {}", list(cores))),
        schedule.map(|schedule| format!("schedule {schedule}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What a pool did while it was measured.
#[derive(Debug, Default)]
struct Done {
    /// Workers that ran items of a loop or arms of joins.
    workers: BTreeSet<usize>,
    /// How many were at work at one moment.
    together: usize,
    /// Masks of the pool's own threads.
    masks: HashSet<CpuSet>,
    /// Masks of guests.
    guests: HashSet<CpuSet>,
    chunks: u64,
}

/// Runs a loop and a tree of joins on `pool`, and has `threads` workers meet.
fn measure(pool: &Pool, threads: usize, has_guest: bool) -> Done {
    let done = Mutex::new(Done::default());
    let note = |w: &Worker| {
        let mask = ThreadRef::current().and_then(|thread| thread.affinity());
        let mut done = done.lock().unwrap();
        done.workers.insert(w.index());
        let masks = if has_guest && w.index() == 0 { &mut done.guests } else { &mut done.masks };
        masks.extend(mask);
    };
    let together = AtomicUsize::new(0);
    let began = Instant::now();
    pool.run(|w| {
        meet(w, threads, &|w| {
            note(w);
            together.fetch_add(1, Ordering::Relaxed);
            while together.load(Ordering::Relaxed) < threads && began.elapsed() < MEETING {
                std::thread::yield_now();
            }
        });
    });
    let before = pool.counters().chunks;
    let open = Options { open: true, ..Options::default() };
    pool.run(|w| for_each(w, 0..ITEMS, &open, |_| with_current(|w| w.map_or((), note)))).unwrap();
    let chunks = pool.counters().chunks - before;
    Done { together: together.into_inner(), chunks, ..done.into_inner().unwrap() }
}

/// As many arms as `tasks`.
fn meet(w: &Worker, tasks: usize, arm: &(dyn Fn(&Worker) + Sync)) {
    match tasks {
        0 | 1 => arm(w),
        tasks => drop(w.join(|w| meet(w, tasks / 2, arm), |w| meet(w, tasks - tasks / 2, arm))),
    }
}

/// Tries until it works.
fn eventually(mut attempt: impl FnMut() -> Result<(), String>) {
    let began = Instant::now();
    while let Err(difference) = attempt() {
        assert!(began.elapsed() < PATIENCE, "{difference}");
        std::thread::yield_now();
    }
}

/// What the pool does against what its row says.
fn agree(world: &World, table: &Table, pool: &Pool, ask: Option<Ask>, alone: bool) -> Result<(), String> {
    let name = program_name();
    let row = || table.read().into_iter().find(|row| row.name.as_str() == name).ok_or("no row");
    let (before, share) = (row()?, pool.share().ok_or("no share")?);
    let binding = !alone || ask.is_some_and(|ask| Policy::Script.goes_by(&ask));
    let threads = if binding { before.grant.threads as usize } else { pool.max_workers() };
    let done = measure(pool, threads, world.has_guest);
    let says = format!("{before:?} while the pool has {share:?} and did {done:?}");
    let is = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| format!("{what}: {says}"));
    is(row()?.grant == before.grant && pool.share() == Some(share), "it changed meanwhile")?;
    is((share.threads, share.cores) == (before.grant.threads, before.grant.cores), "another share")?;
    is((before.ask, before.schedule) == (ask, ask.and_then(|ask| ask.schedule)), "not what was asked for")?;
    is(!alone || before.grant.threads == world.alone_threads(ask), "not as many threads as asked for")?;
    is(pool.workers() == threads, "another limit")?;
    is((done.together, done.workers.len()) == (threads, threads), "other workers ran")?;
    if world.cores.is_none() {
        let all = Limits::read().affinity().clone();
        let confined = binding && before.grant.cores.len() == threads;
        let cores = if confined { before.grant.cores.iter().collect() } else { all.clone() };
        is(done.masks.iter().all(|mask| *mask == cores), "other cores")?;
        is(done.guests.iter().all(|mask| *mask == all), "the mask of a guest")?;
    }
    let chunks = ITEMS as u64;
    match before.schedule.filter(|_| threads > 1) {
        Some(Schedule::Static) => is(done.chunks < chunks / 3, "other chunks"),
        Some(Schedule::Dynamic { chunk }) => is(done.chunks == chunks.div_ceil(chunk as u64), "other chunks"),
        _ => Ok(()),
    }
}

impl World {
    /// What a lone pool is granted.
    fn alone_threads(&self, ask: Option<Ask>) -> u32 {
        let cores = self.table().layout().cores();
        let asked = ask.and_then(|ask| ask.threads.or(ask.cores.map(|cores| cores.len() as u32)));
        asked.unwrap_or(u32::MAX).min(self.threads as u32).min(cores.len() as u32)
    }

    fn play(&self) {
        let table = self.table();
        let mut pool = self.pool(&table);
        let script = self.script(&program_name()).parse().unwrap();
        let mut coordinator = Coordinator::start(&table, Policy::Script, script).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let version = table.version();
                    coordinator.step().unwrap();
                    coordinator.wait(version, Duration::from_millis(20));
                }
            });
            let played = catch_unwind(AssertUnwindSafe(|| {
                for (k, step) in self.steps.iter().enumerate() {
                    let offer = Offer::on(&format!("step-{k}"), table.layout().cores(), MANY);
                    let neighbour = Member::join(&table, offer.demand(step.demand)).unwrap();
                    eventually(|| agree(self, &table, &pool, step.ask, false));
                    drop(neighbour);
                    eventually(|| agree(self, &table, &pool, step.ask, true));
                    if step.anew {
                        drop(pool);
                        pool = self.pool(&table);
                        eventually(|| agree(self, &table, &pool, None, true));
                    }
                }
            }));
            over.store(true, Ordering::Relaxed);
            played.unwrap_or_else(|payload| resume_unwind(payload));
        });
    }
}

const MANY: u32 = 64;

fn program_name() -> String {
    let path = std::env::current_exe().unwrap();
    path.file_stem().unwrap().to_string_lossy().chars().take(32).collect()
}

/// Catches: a pool that ignores what it was granted, keeps a grant that is over, or pins its threads elsewhere than its row says; and a loop that does not follow the schedule that its row shows.
#[test]
fn pools_under_a_random_script_do_what_their_rows_say() {
    if !cfg!(target_os = "linux") {
        println!("skipped: programs share a table on Linux only");
        return;
    }
    let repeated = std::env::var("SINEW_SCRIPT_SEED").ok().and_then(|text| text.parse().ok());
    let scripts = if repeated.is_some() {
        1
    } else if std::env::var_os("SINEW_DEEP").is_some() {
        100
    } else {
        3
    };
    for _ in 0..scripts {
        let seed = repeated.unwrap_or_else(|| fastrand::u64(..));
        let played = catch_unwind(|| ends(move || World::random(&mut Rng::with_seed(seed)).play()));
        if let Err(payload) = played {
            eprintln!("SINEW_SCRIPT_SEED={seed} repeats this script");
            resume_unwind(payload);
        }
    }
}
