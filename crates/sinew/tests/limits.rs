//! Worklists that follow limits on their workers, changed while they run: those of the pool, of a
//! container that is faked in files, and of a control.
//!
//! Blind to: which files a container has (`sinew-topology`), and other programs'
//! shares (`sinew-core`'s `tests/pool/sharing.rs`), which set the same limit.

#[cfg(target_os = "linux")]
use std::sync::Mutex;
use std::sync::mpsc;
#[cfg(target_os = "linux")]
use std::thread::{self, ThreadId};
use std::time::Duration;

use sinew::prelude::*;
use sinew::stm::{Tx, TxResult};
use sinew::worklist::{More, Settings, Work};
use sinew_sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_os = "linux")]
#[path = "../../sinew-core/tests/pool/container.rs"]
mod container;
#[cfg(target_os = "linux")]
use container::Container;

/// Runs `test` on a thread of its own; one that hangs fails.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    if wait.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("it hangs");
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

/// A pool with a thread at each slot.
fn pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).build().unwrap()
}

/// Stages that a run goes through, each left by the first unit that finds it reached.
struct Stages {
    now: AtomicUsize,
    last: usize,
}

impl Stages {
    fn new(last: usize) -> Self {
        Self { now: AtomicUsize::new(0), last }
    }

    fn is_over(&self) -> bool {
        self.now.load(Ordering::SeqCst) >= self.last
    }

    /// Goes on to the next stage if this one is `reached`, and has its number prepared by `next`.
    fn leave(&self, reached: impl Fn(usize) -> bool, next: impl Fn(usize)) {
        let (now, order) = (self.now.load(Ordering::SeqCst), Ordering::SeqCst);
        if now < self.last
            && reached(now)
            && self.now.compare_exchange(now, now + 1, order, order).is_ok()
        {
            next(now + 1);
        }
    }
}

/// A unit that has another run in its place until the last stage is over.
fn goes_on(stages: &Stages, more: &mut More<()>) {
    more.extend((!stages.is_over()).then_some(()));
}

/// Catches: a worklist whose workers do not read the pool's limit, or read it once; with a
/// control and without. Workers that have left are asleep.
#[test]
fn a_worklist_follows_the_limit_of_its_pool() {
    ends(|| {
        for follows in [false, true] {
            let (pool, control) = (pool(2), Control::new());
            let handle = pool.control();
            // Both at work, one, both again, and so on.
            let (stages, wanted) = (Stages::new(6), |stage: usize| 2 - stage % 2);
            let mut list = Worklist::from(vec![(); 8]);
            if follows {
                list = list.control(&control);
            }
            let report = pool.install(|_| {
                list.run_plain(|(), more| {
                    let reached = |stage| {
                        let working =
                            if follows { control.snapshot().working } else { wanted(stage) };
                        handle.snapshot().awake_threads == wanted(stage) && working == wanted(stage)
                    };
                    stages.leave(reached, |next| {
                        handle.set_threads(wanted(next));
                    });
                    goes_on(&stages, more);
                })
            });
            assert!(report.unwrap().commits >= 8);
            assert_eq!(control.snapshot().working, 0);
        }
    });
}

/// Catches: a quota that no worker reads while all are in a worklist; and a tuner that keeps the
/// initial number of cores.
#[cfg(target_os = "linux")]
#[test]
fn a_worklist_and_its_tuner_follow_the_quota_of_their_container() {
    if sinew_topology::Limits::read().affinity().len() < 2 {
        println!("skipped: one CPU");
        return;
    }
    ends(|| {
        let (container, control) = (Container::feeding(2), Control::new());
        let builder = Pool::builder().threads(2).external_slot(false);
        let pool = builder.follow_limits_below(container.root()).build().unwrap();
        let (stages, wanted) = (Stages::new(5), |stage: usize| 2 - stage % 2);
        let sum = TVar::new(0_u64);
        let mut list = Worklist::from(vec![(); 8]).control(&control).tune(Tuning::Auto);
        let tuned = list.settings_handle();
        let report = pool.install(|_| {
            list.run_adding(|tx, (), more| {
                let reached = |stage| {
                    // A tuner may come to fewer by itself.
                    let working = control.snapshot().working;
                    pool.threads() == wanted(stage)
                        && tuned.settings().threads <= wanted(stage)
                        && working <= wanted(stage)
                };
                stages.leave(reached, |next| container.feed(wanted(next)));
                goes_on(&stages, more);
                sum.modify(tx, |sum| sum + 1)
            })
        });
        assert_eq!(report.unwrap().commits, sum.load());
    });
}

/// Units of a list that says which of its slots have had one.
struct SlotsWithWork<'a> {
    seen: &'a AtomicUsize,
    stages: &'a Stages,
    unit: &'a (dyn Fn() + Sync),
    sum: &'a TVar<u64>,
}

impl<'env> Work<'env> for SlotsWithWork<'env> {
    type Unit = ();
    type Value = ();
    type Local = usize;

    fn init(&self, slot: usize) -> usize {
        slot
    }
    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        (): &(),
        _: &mut usize,
        more: &mut More<()>,
    ) -> TxResult<()> {
        goes_on(self.stages, more);
        self.sum.modify(tx, |sum| sum + 1)
    }
    fn fold(&self, slot: &mut usize, (): ()) {
        self.seen.fetch_or(1 << *slot, Ordering::SeqCst);
        (self.unit)();
    }
}

/// Catches: helpers that keep their role when a control raises or lowers the number of workers:
/// then no worker runs at their slots, or they help a worker that has left.
#[test]
fn helpers_follow_a_control_that_changes_the_number_of_workers() {
    ends(|| {
        let (pool, control) = (pool(4), Control::new());
        let (handle, settings) =
            (pool.control(), Settings::baseline(4).stealing(true).lifespan(100));
        control.set_threads(2);
        let (stages, seen, sum) = (Stages::new(3), AtomicUsize::new(0), TVar::new(0));
        let unit = || {
            let reached = |stage| match stage {
                // Two work, and two help.
                0 => handle.snapshot().awake_threads == 4 && control.snapshot().working == 2,
                1 => seen.load(Ordering::SeqCst) == 0b1111,
                // One works, one helps, and the others sleep.
                _ => handle.snapshot().awake_threads == 2 && control.snapshot().working == 1,
            };
            stages.leave(reached, |next| control.set_threads(if next == 1 { 4 } else { 1 }));
        };
        let work = SlotsWithWork { seen: &seen, stages: &stages, unit: &unit, sum: &sum };
        let mut list = Worklist::from(vec![(); 16])
            .speculative()
            .tune(Tuning::Fixed(settings))
            .control(&control);
        let report = pool.install(|_| list.run_work(&work)).unwrap();
        assert_eq!((report.commits, report.locals), (sum.load(), vec![0, 1, 2, 3]));
    });
}

/// The CPUs that the calling thread may run on.
#[cfg(target_os = "linux")]
fn mine() -> Vec<usize> {
    use sinew_topology::ThreadRef;
    ThreadRef::current().and_then(ThreadRef::affinity).unwrap().iter().collect()
}

/// Catches: a worklist that lets its control's mapping pass, or goes by the first one only, and
/// a thread that does not get its processors back.
#[cfg(target_os = "linux")]
#[test]
fn the_workers_of_a_list_sit_where_its_control_has_them() {
    let cpus: Vec<usize> = sinew_topology::Limits::read().affinity().iter().collect();
    if cpus.len() < 2 {
        println!("skipped: one CPU");
        return;
    }
    ends(move || {
        let (pool, control) = (pool(1), Control::new());
        let stages = Stages::new(4);
        let settle = |stage: usize| {
            let mapping = if stage.is_multiple_of(3) {
                Mapping::None
            } else {
                Mapping::Explicit(vec![cpus[stage % 2]])
            };
            control.set_mapping(&mapping).unwrap();
        };
        settle(0);
        let mut list = Worklist::from(vec![(); 2]).control(&control);
        let report = pool.install(|_| {
            list.run_plain(|(), more| {
                let wanted = |stage: usize| {
                    if stage.is_multiple_of(3) { cpus.clone() } else { vec![cpus[stage % 2]] }
                };
                stages.leave(|stage| mine() == wanted(stage), settle);
                goes_on(&stages, more);
            })
        });
        assert!(!report.unwrap().cancelled);
        control.set_mapping(&Mapping::Explicit(vec![cpus[1]])).unwrap();
        list.push(());
        let inside = pool.install(|_| {
            list.run_plain(|(), _| assert_eq!(mine().len(), 1)).unwrap();
            mine()
        });
        assert_eq!(inside, cpus);
    });
}

/// Units of a list of one worker with a helper, which say where the two are.
#[cfg(target_os = "linux")]
struct Pair<'a> {
    worker: Mutex<Option<ThreadId>>,
    helper: Mutex<Vec<usize>>,
    stages: &'a Stages,
    unit: &'a (dyn Fn([Vec<usize>; 2]) + Sync),
    sum: &'a TVar<u64>,
}

#[cfg(target_os = "linux")]
impl<'env> Work<'env> for Pair<'env> {
    type Unit = ();
    type Value = ();
    type Local = ();

    fn init(&self, slot: usize) {
        if slot == 0 {
            *self.worker.lock().unwrap() = Some(thread::current().id());
        }
    }
    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        (): &(),
        _: &mut (),
        more: &mut More<()>,
    ) -> TxResult<()> {
        if *self.worker.lock().unwrap() != Some(thread::current().id()) {
            *self.helper.lock().unwrap() = mine();
        }
        goes_on(self.stages, more);
        self.sum.modify(tx, |sum| sum + 1)
    }
    fn fold(&self, (): &mut (), (): ()) {
        let helper = self.helper.lock().unwrap().clone();
        (self.unit)([mine(), helper]);
    }
}

/// Catches: a helper that stays on the core of the pool's mapping, instead of one next to its
/// worker's, or that runs on its worker's own core. Also one that does not move when a mapping of
/// the control or of the pool changes, and one that stays pinned.
#[cfg(target_os = "linux")]
#[test]
fn a_helper_sits_beside_its_worker_wherever_that_is_put() {
    let &[a, b, ..] = &mine()[..] else {
        println!("skipped: one CPU");
        return;
    };
    let free = mine();
    // The pool's threads are all in the list; which of them helps is open.
    let mapping = move |stage: usize| match stage % 4 {
        0 => Mapping::Explicit(vec![a, b]),
        1 => Mapping::Explicit(vec![a]),
        2 => Mapping::Explicit(vec![b, a]),
        _ => Mapping::None,
    };
    let places = move |stage: usize| match stage % 4 {
        0 | 2 => [vec![a], vec![b]],
        1 => [vec![a], vec![a]],
        _ => [free.clone(), free.clone()],
    };
    ends(move || {
        let settings = Settings::baseline(1).stealing(true).lifespan(100);
        for by_control in [true, false] {
            let (pool, control) = (pool(2), Control::new());
            let (stages, sum) = (Stages::new(8), TVar::new(0));
            let put = |stage: usize| {
                let mapping = mapping(stage);
                if by_control { control.set_mapping(&mapping) } else { pool.set_mapping(&mapping) }
                    .unwrap();
            };
            let unit = |mut pair: [Vec<usize>; 2]| {
                pair.sort_unstable();
                stages.leave(|stage| pair == places(stage), put);
            };
            put(0);
            let (worker, helper) = (Mutex::new(None), Mutex::default());
            let work = Pair { worker, helper, stages: &stages, unit: &unit, sum: &sum };
            let list = Worklist::from(vec![(); 16]).speculative().tune(Tuning::Fixed(settings));
            let report = pool.install(|_| list.control(&control).run_work(&work)).unwrap();
            assert_eq!(report.commits, sum.load());
            pool.set_mapping(&Mapping::None).unwrap();
            assert!(pool.broadcast(|_| mine()).iter().all(|cpus| cpus.len() >= 2), "not let go");
        }
    });
}
