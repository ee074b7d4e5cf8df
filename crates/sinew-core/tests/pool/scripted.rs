//! Pools under a coordinator's script: their behaviour, compared with their row.
//!
//! The script is generated from a seed, which a failure prints. Programs join and leave, and at
//! each event the script requests threads, cores or a schedule for the pool, or withdraws the
//! request. The program names no schedule for its loops, names one, sets one by a control, or sets
//! one for its pool. After each event the pool is measured until it agrees with its row: the
//! workers that run items and arms, the masks of its threads, the chunks of its loops, and the
//! schedule of the last one. A watchdog turns disagreement that lasts into a failure with the last
//! difference. `SINEW_SCRIPT_SEED` repeats one script; `SINEW_DEEP=1` runs many.
//!
//! Blind to: cores on machines with more than the host has, and on which of them an external thread
//! runs between two calls.

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_coord::{Coordinator, LastLoop, Member, Offer, Policy, Request, Row, Table};
use sinew_core::{Pool, Share, Worker, with_current};
use sinew_loops::Control;
use sinew_loops::loops::{Options, for_each};
use sinew_policy::chunk::{SLICES, Schedule};
use sinew_topology::{CpuSet, Limits, ThreadRef, pin_current_thread};

use crate::support::ends;

/// How long a pool may take to follow its row. Generous, since the machine may be busy with other
/// tests.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How long workers wait for each other, before the row is read again.
const MEETING: Duration = Duration::from_millis(500);

/// The iterations of a loop in a pool of so many threads: at least ten chunks of three a thread,
/// which is more than the slices of a static share.
fn items(threads: usize) -> usize {
    const { assert!(SLICES < 10) };
    30 * (threads + 1).max(10)
}

/// The events of one script.
const STEPS: usize = 6;

/// A table, the one pool in it, and the coordinator.
struct World {
    folder: tempfile::TempDir,
    /// Cores of a described machine, or the host.
    cores: Option<usize>,
    threads: usize,
    has_external_thread: bool,
    steps: Vec<Step>,
}

/// One event.
#[derive(Debug)]
struct Step {
    /// The script's request when the other program of this step joins.
    request: Option<Request>,
    /// How many threads the neighbour would use; none for one that only comes by.
    demand: u32,
    /// The schedule that the program has itself.
    own: Own,
    /// The pool leaves afterwards, and another one joins.
    anew: bool,
}

/// How a program says by which schedule its loops run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Own {
    /// As applications do: the schedule is open to others.
    Default(Schedule),
    Named(Schedule),
    /// By the control of the loop.
    Wished(Schedule),
    /// For the whole pool.
    Set(Schedule),
}

impl Own {
    fn random(rng: &mut Rng) -> Self {
        let schedule = schedule(rng);
        match rng.u8(..8) {
            0 => Self::Named(schedule),
            1 => Self::Wished(schedule),
            2 => Self::Set(schedule),
            _ => Self::Default(schedule),
        }
    }

    fn of_pool(self) -> Option<Schedule> {
        if let Self::Set(schedule) = self { Some(schedule) } else { None }
    }

    /// The last loop of a program of which others have asked for `granted`.
    fn last_loop(self, granted: Option<Schedule>) -> LastLoop {
        match self {
            Self::Named(schedule) | Self::Wished(schedule) => LastLoop { schedule, named: true },
            Self::Set(schedule) => LastLoop { schedule, named: false },
            Self::Default(schedule) => {
                LastLoop { schedule: granted.unwrap_or(schedule), named: false }
            }
        }
    }

    fn run(self, w: &Worker, item: &(dyn Fn(usize) + Sync)) {
        let control = Control::new();
        let mut options = Options { open: true, ..Options::default() };
        match self {
            Self::Default(schedule) => options.schedule = schedule,
            Self::Named(schedule) => options = Options { schedule, open: false, ..options },
            Self::Wished(schedule) => {
                control.set_schedule(schedule);
                options.control = Some(&control);
            }
            Self::Set(_) => {}
        }
        for_each(w, 0..items(w.max_threads()), &options, item).unwrap();
    }
}

/// Their numbers of chunks tell them apart, with enough [`items`].
fn schedule(rng: &mut Rng) -> Schedule {
    [Schedule::Static, Schedule::Dynamic { chunk: 1 }, Schedule::Dynamic { chunk: 3 }]
        [rng.usize(..3)]
}

impl World {
    fn random(rng: &mut Rng) -> Self {
        let cores = [None, Some(4), Some(8)][rng.usize(..3)];
        let most = cores.unwrap_or_else(|| Limits::read().allowed().len());
        let steps = (0..STEPS).map(|_| Step::random(rng, cores, most)).collect();
        let folder = tempfile::tempdir().unwrap();
        Self { folder, cores, threads: rng.usize(1..=most), has_external_thread: rng.bool(), steps }
    }

    fn pool(&self, table: &Table) -> Pool {
        let builder = match self.cores {
            Some(cores) => Pool::builder().machine(format!("core:{cores}").parse().unwrap()),
            None => Pool::builder(),
        };
        let builder = builder
            .threads(self.threads)
            .external_slot(self.has_external_thread)
            .coordinate_in(self.place());
        let pool = builder.build().unwrap();
        eventually(|| {
            pool.share().map(drop).ok_or_else(|| format!("no share in {:?}", table.read()))
        });
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
        let line = |(k, step): (usize, &Step)| {
            format!("when step-{k} joins {name} {}\n", words(step.request.clone()))
        };
        self.steps.iter().enumerate().map(line).collect()
    }
}

impl Step {
    fn random(rng: &mut Rng, cores: Option<usize>, most: usize) -> Self {
        let cpus: Vec<usize> =
            cores.map_or_else(|| Limits::read().allowed().iter().collect(), |n| (0..n).collect());
        let count = rng.usize(1..=cpus.len());
        let some = rng.choose_multiple(cpus, count);
        let request = Request {
            threads: rng.bool().then(|| rng.u32(1..=most as u32)),
            cores: rng.bool().then(|| some.into_iter().collect()),
            schedule: rng.bool().then(|| schedule(rng)),
        };
        let request = Some(request).filter(|request| *request != Request::default());
        let demand = if rng.bool() { 0 } else { rng.u32(1..=most as u32) };
        Self { request, demand, own: Own::random(rng), anew: rng.u8(..4) == 0 }
    }
}

/// An ask as a script has it.
fn words(request: Option<Request>) -> String {
    let Some(Request { threads, cores, schedule }) = request else { return "free".to_owned() };
    let list =
        |cores: CpuSet| cores.iter().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
    let parts = [
        threads.map(|threads| format!("threads {threads}")),
        cores.map(|cores| format!("cores {}", list(cores))),
        schedule.map(|schedule| format!("schedule {schedule}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The behaviour of a pool while it was measured.
#[derive(Debug, Default, Clone)]
struct Done {
    /// Workers that ran items of a loop or arms of joins.
    workers: BTreeSet<usize>,
    /// How many were at work at one moment.
    together: usize,
    /// Masks of the pool's own threads.
    masks: HashSet<CpuSet>,
    /// Masks of external threads.
    external_threads: HashSet<CpuSet>,
    chunks: u64,
}

/// Runs a tree of joins and a loop on `pool`, and has `threads` workers meet.
fn measure(pool: &Pool, threads: usize, has_external_thread: bool, own: Own) -> Done {
    let done = Mutex::new(Done::default());
    let note = |w: &Worker| {
        let mask = ThreadRef::current().and_then(|thread| thread.affinity());
        let mut done = done.lock().unwrap();
        done.workers.insert(w.index());
        let masks = if has_external_thread && w.index() == 0 {
            &mut done.external_threads
        } else {
            &mut done.masks
        };
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
    pool.run(|w| own.run(w, &|_| with_current(|w| w.map_or((), note))));
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
        assert!(began.elapsed() < TIME_LIMIT, "{difference}");
        std::thread::yield_now();
    }
}

/// All that is compared.
#[derive(Debug, Clone)]
struct Look {
    request: Option<Request>,
    own: Own,
    alone: bool,
    /// The grant of a pool without other programs.
    alone_threads: u32,
    /// How many workers are to run.
    threads: usize,
    /// All processors, where the cores of the table are the host's.
    host: Option<CpuSet>,
    row: Row,
    share: Share,
    limit: usize,
    items: usize,
    did: Done,
}

impl Look {
    /// Measures the pool of `world`. An error if its row changes meanwhile.
    fn take(
        world: &World,
        pool: &Pool,
        step: (Option<Request>, Own),
        alone: bool,
    ) -> Result<Self, String> {
        let ((request, own), table, name) = (step, world.table(), program_name());
        let row = || table.read().into_iter().find(|row| row.name.as_str() == name).ok_or("no row");
        let (before, share) = (row()?, pool.share().ok_or("no share")?);
        let threads =
            if alone && !request.as_ref().is_some_and(|request| Policy::Script.follows(request)) {
                pool.max_threads()
            } else {
                before.grant.threads as usize
            };
        let did = measure(pool, threads, world.has_external_thread, own);
        let (row, limit) = (row()?, pool.threads());
        if (&row.grant, row.schedule) != (&before.grant, before.schedule)
            || pool.share().as_ref() != Some(&share)
        {
            return Err(format!("it changed meanwhile: {before:?}, {row:?}"));
        }
        let host = world.cores.is_none().then(|| Limits::read().affinity().clone());
        let alone_threads = world.alone_threads(request.clone());
        let items = items(pool.max_threads());
        Ok(Self {
            request,
            own,
            alone,
            alone_threads,
            threads,
            host,
            row,
            share,
            limit,
            items,
            did,
        })
    }

    /// The differences between the pool's behaviour and its row.
    fn agrees(&self) -> Result<(), String> {
        let Self { request, row, share, did, threads, .. } = self;
        let is = |holds: bool, what: &str| {
            holds.then_some(()).ok_or_else(|| format!("{what}: {self:?}"))
        };
        is(
            (share.threads, &share.cores) == (row.grant.threads, &row.grant.cores),
            "another share",
        )?;
        is(row.request == *request, "not what was asked for")?;
        is(row.own_settings.schedule == self.own.of_pool(), "another choice")?;
        let granted = request
            .as_ref()
            .and_then(|request| request.schedule)
            .filter(|_| row.own_settings.schedule.is_none());
        is(row.schedule == granted, "another schedule granted")?;
        is(
            !self.alone || row.grant.threads == self.alone_threads,
            "not as many threads as asked for",
        )?;
        is(self.limit == *threads, "another limit")?;
        is((did.together, did.workers.len()) == (*threads, *threads), "other workers ran")?;
        is(self.cores_agree(), "other cores")?;
        is(
            self.host.iter().all(|all| did.external_threads.iter().all(|mask| mask == all)),
            "the mask of an external thread",
        )?;
        is(row.last_loop == Some(self.own.last_loop(granted)), "another last loop")?;
        is(self.chunks_agree(), "other chunks")
    }

    fn cores_agree(&self) -> bool {
        let Some(all) = &self.host else { return true };
        let binding = !self.alone
            || self.request.as_ref().is_some_and(|request| Policy::Script.follows(request));
        let confined = binding && self.row.grant.cores.len() == self.threads;
        let cores = if confined { self.row.grant.cores.iter().collect() } else { all.clone() };
        self.did.masks.iter().all(|mask| *mask == cores)
    }

    /// The last loop ran in as many chunks as the schedule makes that the row tells of.
    fn chunks_agree(&self) -> bool {
        let (chunks, items) = (self.did.chunks, self.items as u64);
        match self.row.last_loop.filter(|_| self.threads > 1).map(|last| last.schedule) {
            Some(Schedule::Static) => chunks < items / 3,
            Some(Schedule::Dynamic { chunk }) => chunks == items.div_ceil(chunk as u64),
            _ => true,
        }
    }
}

impl World {
    /// The grant of a pool without other programs.
    fn alone_threads(&self, request: Option<Request>) -> u32 {
        let cores = self.table().layout().cores();
        let asked = request
            .and_then(|request| request.threads.or(request.cores.map(|cores| cores.len() as u32)));
        asked.unwrap_or(u32::MAX).min(self.threads as u32).min(cores.len() as u32)
    }

    /// Waits until the behaviour of `pool` agrees with its row.
    fn settle(&self, pool: &Pool, step: &(Option<Request>, Own), alone: bool) -> Look {
        let mut last = None;
        eventually(|| last.insert(Look::take(self, pool, step.clone(), alone)?).agrees());
        last.expect("one that agrees")
    }

    fn play(&self) {
        let table = self.table();
        self.while_coordinated(&table, || {
            let mut pool = self.pool(&table);
            for (k, step) in self.steps.iter().enumerate() {
                pool.control().set_schedule(step.own.of_pool());
                let offer = Offer::on(&format!("step-{k}"), table.layout().cores(), MANY);
                let neighbour = Member::join(&table, offer.demand(step.demand)).unwrap();
                self.settle(&pool, &(step.request.clone(), step.own), false);
                drop(neighbour);
                self.settle(&pool, &(step.request.clone(), step.own), true);
                if step.anew {
                    drop(pool);
                    pool = self.pool(&table);
                    self.settle(&pool, &(None, Own::Default(Schedule::Static)), true);
                }
            }
        });
    }

    /// Calls `f` while a coordinator follows the script.
    fn while_coordinated(&self, table: &Table, f: impl FnOnce()) {
        let script = self.script(&program_name()).parse().unwrap();
        let mut coordinator = Coordinator::start(table, Policy::Script, script).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let version = table.version();
                    coordinator.step().unwrap();
                    coordinator.wait(version, Duration::from_millis(20));
                }
            });
            let called = catch_unwind(AssertUnwindSafe(f));
            over.store(true, Ordering::Relaxed);
            called.unwrap_or_else(|payload| resume_unwind(payload));
        });
    }
}

const MANY: u32 = 64;

fn program_name() -> String {
    let path = std::env::current_exe().unwrap();
    path.file_stem().unwrap().to_string_lossy().chars().take(32).collect()
}

fn is_supported() -> bool {
    if !cfg!(target_os = "linux") {
        println!("skipped: programs share a table on Linux only");
    }
    cfg!(target_os = "linux")
}

/// The message for a difference, and the change that makes it.
type Fault = (&'static str, fn(&mut Look));

/// Differences of each kind.
fn faults() -> Vec<Fault> {
    vec![
        ("another share", |look| look.share.threads = 1),
        ("not what was asked for", |look| look.row.request = None),
        ("another choice", |look| look.row.own_settings.schedule = Some(Schedule::Static)),
        ("another schedule granted", |look| look.row.schedule = None),
        ("not as many threads", |look| (look.share.threads, look.row.grant.threads) = (1, 1)),
        ("another limit", |look| look.limit = 1),
        ("other workers ran", |look| look.did.together = 1),
        ("other workers ran", |look| look.did.workers.retain(|&worker| worker > 0)),
        ("other cores", |look| look.did.masks.extend([CpuSet::from_iter([0])])),
        ("the mask of an external thread", |look| {
            look.did.external_threads.extend([CpuSet::from_iter([0])]);
        }),
        ("another last loop", |look| look.row.last_loop = None),
        ("another last loop", |look| {
            look.row.last_loop.iter_mut().for_each(|last| last.named = true);
        }),
        ("another last loop", |look| {
            look.row.last_loop.iter_mut().for_each(|last| last.schedule = Schedule::Static);
        }),
        ("other chunks", |look| look.did.chunks = look.items as u64),
        ("other chunks", |look| look.did.chunks = 3),
    ]
}

/// A pool of two under a script that asks for a schedule; `f` gets it when it agrees with its row.
fn with_agreeing_pool(f: impl Fn(&World, &Pool, Look)) {
    let schedule = Schedule::Dynamic { chunk: 3 };
    let request =
        Some(Request { threads: Some(2), schedule: Some(schedule), ..Request::default() });
    let own = Own::Default(Schedule::Static);
    let steps = vec![Step { request: request.clone(), demand: 0, own, anew: false }];
    let folder = tempfile::tempdir().unwrap();
    let world = World { folder, cores: None, threads: 2, has_external_thread: false, steps };
    let table = world.table();
    world.while_coordinated(&table, || {
        let pool = world.pool(&table);
        let offer = Offer::on("step-0", table.layout().cores(), MANY).demand(0);
        let neighbour = Member::join(&table, offer).unwrap();
        world.settle(&pool, &(request.clone(), own), false);
        drop(neighbour);
        let look = world.settle(&pool, &(request.clone(), own), true);
        f(&world, &pool, look);
    });
}

/// Waits until a difference is found, of which this is said.
fn finds(what: &str, mut look: impl FnMut() -> Result<(), String>) {
    eventually(|| match look() {
        Err(difference) if difference.starts_with(what) => Ok(()),
        other => Err(format!("instead of `{what}`: {other:?}")),
    });
}

/// Catches: a checker that does not look, or that finds one difference for another.
#[test]
fn planted_differences_between_a_pool_and_its_row_are_found() {
    if !is_supported() || Limits::read().allowed().len() < 2 {
        println!("skipped: on one CPU the masks and workers of a pool are always the same");
        return;
    }
    ends(|| {
        with_agreeing_pool(|world, pool, look| {
            for (what, plant) in faults() {
                let mut other = look.clone();
                plant(&mut other);
                let difference = other.agrees().expect_err(what);
                assert!(difference.starts_with(what), "instead of `{what}`: {difference}");
            }
            // A change of the pool that its row does not show.
            let (request, own) = (&look.request, look.own);
            finds("another last loop", || {
                let named = Own::Named(Schedule::Dynamic { chunk: 3 });
                let mut other = Look::take(world, pool, (request.clone(), named), true)?;
                other.own = own;
                other.agrees()
            });
            world.settle(pool, &(request.clone(), own), true);
            pool.control().set_threads(1);
            finds("another limit", || {
                Look::take(world, pool, (request.clone(), own), true)?.agrees()
            });
            pool.control().set_threads(2);
            world.settle(pool, &(request.clone(), own), true);
            let cpu = look.row.grant.cores.iter().next().unwrap();
            pool.broadcast(|w| {
                if w.index() > 0 {
                    std::mem::forget(pin_current_thread(&CpuSet::from_iter([cpu])));
                }
            });
            finds("other cores", || {
                Look::take(world, pool, (request.clone(), own), true)?.agrees()
            });
        });
    });
}

/// Catches: a pool that ignores a grant, keeps an ended one, or pins its threads to other cores
/// than its row has; a loop with another schedule than its row; a row with another schedule than
/// its last loop.
#[test]
fn pools_under_a_random_script_do_what_their_rows_say() {
    if !is_supported() {
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
