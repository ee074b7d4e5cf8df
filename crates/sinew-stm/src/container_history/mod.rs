//! Recorded histories of transactions with nested parts, and a checker of their opacity.
//!
//! Random transactions of several operations on several containers and variables run concurrently
//! ([`Plan`]). They consist of nested parts: transactions within a transaction, and branches. Some
//! parts are undone, by `retry` or by a panic that is caught around them or further out. Some
//! comparisons and some drops of values panic. Some transactions wait, restart, are given up, run
//! ahead, or become irrevocable. Each attempt records the result of each operation, and the time of
//! the snapshot. The versions of the commits order the transactions. The checker repeats the
//! commits in that order on containers of the standard library, and checks:
//!
//! - each commit: its operations returned the results of its place in the order;
//! - each attempt, aborted or not, and each part, undone or not: at every operation, all operations
//!   so far returned the results of the snapshot's state;
//! - each snapshot: it is not older than the beginning of the transaction;
//! - the handlers: those of a commit's parts ran once and in order, all others ran as handlers of
//!   an abort.
//!
//! So every step of an attempt is checked, whether it commits or not. A search that does not end
//! fails by itself, and tests run under a watchdog.

mod plan;
#[cfg(not(any(loom, shuttle)))]
mod tests;

pub(crate) use plan::{Plan, random_way};

use crate::container_model::{
    Answer, KINDS, Model, OnPurpose, Op, World, drops_may_panic, panic_on_purpose,
};
use crate::engine::engine;
use crate::record::WAITED;
use crate::{Prefetch, TVar, Transaction, Tx, TxResult, Unfinished};
use plan::{Caller, End, Part, PartEnd, Step};
use sinew_sync::thread;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Mutex;

/// Operations of an attempt and their results under one snapshot.
#[derive(Debug, Clone)]
struct View {
    /// The clock before the transaction.
    began: u64,
    snapshot: u64,
    ops: Vec<(Op, Answer)>,
}

/// The history of a thread.
#[derive(Debug, Default)]
pub(crate) struct Log {
    views: Vec<View>,
    /// The version of each commit, and its operations.
    commits: Vec<(u64, Vec<(Op, Answer)>)>,
}

/// The handlers of a transaction.
#[derive(Default)]
struct Handlers {
    /// The number of registered pairs of handlers, in all attempts.
    given: Cell<usize>,
    /// The numbers of the commit handlers that ran.
    committed: Rc<RefCell<Vec<usize>>>,
    /// The number of abort handlers that ran.
    aborted: Rc<Cell<usize>>,
}

impl Handlers {
    /// Registers a commit handler and an abort handler with `tx`; returns the number of both.
    fn give(&self, tx: &mut Tx<'_, '_>) -> usize {
        let number = self.given.replace(self.given.get() + 1);
        let (committed, aborted) = (Rc::clone(&self.committed), Rc::clone(&self.aborted));
        tx.on_commit(move || committed.borrow_mut().push(number));
        tx.on_abort(move || aborted.set(aborted.get() + 1));
        number
    }

    /// Checks the handlers that ran, after a transaction that committed the parts with the numbers
    /// `kept`.
    fn check(&self, kept: &[usize]) {
        assert_eq!(*self.committed.borrow(), kept, "handlers of the commit");
        assert_eq!(self.aborted.get(), self.given.get() - kept.len(), "handlers of aborts");
    }
}

/// The attempt in progress, without the parts that were undone.
#[derive(Default)]
struct Attempt {
    snapshot: u64,
    ops: Vec<(Op, Answer)>,
    /// Numbers of the handlers.
    handlers: Vec<usize>,
}

/// A transaction in progress.
struct Running<'a> {
    recorder: &'a Recorder,
    plan: &'a Plan,
    lane: usize,
    began: u64,
    views: RefCell<Vec<View>>,
    attempt: RefCell<Attempt>,
    attempts: Cell<usize>,
    handlers: Handlers,
}

/// Returns the value of `f`, or `None` if it panicked on purpose.
fn unless_on_purpose<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<OnPurpose>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

impl<'a> Running<'a> {
    fn new(recorder: &'a Recorder, lane: usize, plan: &'a Plan) -> Self {
        Self {
            recorder,
            plan,
            lane,
            began: engine().clock.now(),
            views: RefCell::default(),
            attempt: RefCell::default(),
            attempts: Cell::default(),
            handlers: Handlers::default(),
        }
    }

    /// Runs the transaction by its plan. It may not commit.
    fn run(&self, how: Transaction) {
        match (self.plan.end, self.plan.caller) {
            (End::Ahead, _) => _ = Prefetch::new(1_000).run(|tx| self.follow(tx)),
            (End::GivenUp, _) => _ = how.attempt(|tx| self.follow(tx)),
            (_, Caller::Atomically) => how.atomically(|tx| self.follow(tx)),
            (_, Caller::Attempts) => {
                while how.attempt(|tx| self.follow(tx)).is_err() {
                    thread::yield_now();
                }
            }
            (_, Caller::AttemptsThatWait) => {
                while let Err(why) = how.attempt_or_wait(|tx| self.follow(tx)) {
                    match why {
                        Unfinished::Waits(change) => change.wait(),
                        Unfinished::GivenUp(_) => thread::yield_now(),
                    }
                }
            }
        }
    }

    /// Records the view so far.
    fn note(&self) {
        let attempt = self.attempt.borrow();
        if !attempt.ops.is_empty() {
            let (snapshot, ops) = (attempt.snapshot, attempt.ops.clone());
            self.views.borrow_mut().push(View { began: self.began, snapshot, ops });
        }
    }

    fn add(&self, op: Op, answer: Answer, snapshot: u64) {
        if snapshot != self.attempt.borrow().snapshot {
            self.note();
        }
        let mut attempt = self.attempt.borrow_mut();
        attempt.snapshot = snapshot;
        attempt.ops.push((op, answer));
    }

    /// The number of operations and of handlers so far.
    fn mark(&self) -> [usize; 2] {
        let attempt = self.attempt.borrow();
        [attempt.ops.len(), attempt.handlers.len()]
    }

    /// Removes the operations and handlers since `mark`.
    fn undone(&self, [ops, handlers]: [usize; 2]) {
        self.note();
        let mut attempt = self.attempt.borrow_mut();
        attempt.ops.truncate(ops);
        attempt.handlers.truncate(handlers);
    }

    /// Makes one attempt.
    fn follow<'tx>(&self, tx: &mut Tx<'tx, '_>) -> TxResult<()>
    where
        'a: 'tx,
    {
        self.undone([0; 2]);
        self.attempts.set(self.attempts.get() + 1);
        let first = self.attempts.get() == 1;
        self.give_handlers(tx);
        self.plan.steps.iter().try_for_each(|step| self.step(tx, step, false))?;
        match self.plan.end {
            End::Panic => panic_on_purpose(),
            End::Restart if first && !tx.is_irrevocable() => return tx.restart(),
            End::GivenUp if !tx.is_irrevocable() => return tx.restart(),
            End::Wait => self.retry(tx, false)?,
            _ => {}
        }
        self.recorder.stamps[self.lane].modify(tx, |stamp| stamp + 1)
    }

    fn give_handlers(&self, tx: &mut Tx<'_, '_>) {
        if self.plan.end != End::Ahead {
            let number = self.handlers.give(tx);
            self.attempt.borrow_mut().handlers.push(number);
        }
    }

    /// Retries, where there is a branch to take instead (`sheltered`) or the first attempt may
    /// wait.
    fn retry<'tx>(&self, tx: &mut Tx<'tx, '_>, sheltered: bool) -> TxResult<()>
    where
        'a: 'tx,
    {
        let may_wait = self.recorder.beats && self.attempts.get() == 1;
        if tx.is_irrevocable() || !sheltered && !may_wait {
            return Ok(());
        }
        self.recorder.beat.get(tx)?;
        tx.retry()
    }

    fn step<'tx>(&self, tx: &mut Tx<'tx, '_>, step: &'a Step, sheltered: bool) -> TxResult<()>
    where
        'a: 'tx,
    {
        let mark = self.mark();
        match step {
            Step::Do(op) => self.perform(tx, *op),
            Step::Interrupted(op, at) => self.interrupted(tx, *op, *at),
            Step::Irrevocable => tx.irrevocable(),
            Step::Nested(part) => tx.atomically(|tx| self.part(tx, part, sheltered)),
            Step::OrElse(first, second) => tx.or_else(
                |tx| self.part(tx, first, true),
                |tx| {
                    self.undone(mark);
                    self.part(tx, second, sheltered)
                },
            ),
            Step::Caught(step) => unless_on_purpose(|| self.step(tx, step, sheltered))
                .unwrap_or_else(|| {
                    self.undone(mark);
                    Ok(())
                }),
        }
    }

    fn part<'tx>(&self, tx: &mut Tx<'tx, '_>, part: &'a Part, sheltered: bool) -> TxResult<()>
    where
        'a: 'tx,
    {
        self.give_handlers(tx);
        part.steps.iter().try_for_each(|step| self.step(tx, step, sheltered))?;
        match part.end {
            PartEnd::Kept => Ok(()),
            PartEnd::Retry => self.retry(tx, sheltered),
            PartEnd::Panic => panic_on_purpose(),
        }
    }

    fn perform<'tx>(&self, tx: &mut Tx<'tx, '_>, op: Op) -> TxResult<()>
    where
        'a: 'tx,
    {
        let answer = self.recorder.world.perform(tx, op)?;
        self.add(op, answer, tx.descriptor.pin_time());
        Ok(())
    }

    /// Performs `op`, or nothing if its comparison number `at` panics.
    fn interrupted<'tx>(&self, tx: &mut Tx<'tx, '_>, op: Op, at: u32) -> TxResult<()>
    where
        'a: 'tx,
    {
        let done = unless_on_purpose(|| self.recorder.world.panic_at(tx, op, at));
        if let Some(answer) = done.transpose()? {
            self.add(op, answer, tx.descriptor.pin_time());
        }
        Ok(())
    }
}

/// Containers, and the history of their operations.
pub(crate) struct Recorder {
    world: World,
    /// One for each concurrent thread. The thread writes it in every transaction, so its record
    /// shows the version of the thread's last commit.
    stamps: Vec<TVar<u64>>,
    /// Transactions that wait read this variable.
    beat: TVar<u64>,
    /// Whether a thread changes `beat` repeatedly, so that transactions may wait.
    beats: bool,
    initial: Model,
    logs: Mutex<Vec<Log>>,
}

impl Recorder {
    /// Containers with some entries, for `threads` concurrent threads.
    pub(crate) fn new(threads: usize) -> Self {
        let world = World::new();
        let mut initial = Model::default();
        for kind in KINDS {
            for key in (0..crate::container_model::KEYS).step_by(2) {
                let op = Op::Put(kind, key, u16::from(key) + 100);
                crate::atomically(|tx| world.perform(tx, op));
                initial.perform(op);
            }
        }
        let stamps = (0..threads).map(|_| TVar::new(0)).collect();
        let (beat, beats) = (TVar::new(0), false);
        Self { world, stamps, beat, beats, initial, logs: Mutex::default() }
    }

    /// The same, with another thread that changes [`beat`](Self::beat) repeatedly.
    #[cfg(not(any(loom, shuttle)))]
    fn with_a_beat(threads: usize) -> Self {
        Self { beats: true, ..Self::new(threads) }
    }

    /// Runs `plan` as the thread with number `lane`.
    pub(crate) fn run(&self, lane: usize, how: Transaction, plan: &Plan, log: &mut Log) {
        let stamp = &self.stamps[lane];
        let before = stamp.load();
        let running = Running::new(self, lane, plan);
        unless_on_purpose(|| drops_may_panic(|| running.run(how)));
        let commits = stamp.load() - before;
        assert!(commits <= 1, "{commits} commits of one transaction");
        if commits == 0 {
            running.undone([0; 2]);
        }
        running.note();
        let Attempt { ops, handlers, .. } = running.attempt.into_inner();
        running.handlers.check(&handlers);
        log.views.append(&mut running.views.into_inner());
        if commits == 1 {
            log.commits.push((stamp.parts().0.look() & !WAITED, ops));
        }
    }

    pub(crate) fn finish(&self, log: Log) {
        self.logs.lock().unwrap().push(log);
    }

    /// The number of views and commits, or the first error.
    pub(crate) fn verdict(&self) -> Result<usize, String> {
        let mut all = Log::default();
        self.run(0, Transaction::new(), &Plan::of(&KINDS.map(Op::Walk)), &mut all);
        for mut log in std::mem::take(&mut *self.logs.lock().unwrap()) {
            all.views.append(&mut log.views);
            all.commits.append(&mut log.commits);
        }
        check(&self.initial, all)
    }
}

/// Checks that the operations return the recorded results in `state`, and applies them to it.
fn repeat(state: &mut Model, ops: &[(Op, Answer)]) -> Result<(), String> {
    let before = state.clone();
    let wrong = ops.iter().find_map(|(op, answer)| {
        let expected = state.perform(*op);
        (expected != *answer).then(|| format!("{op:?} returned {answer:?}, not {expected:?}"))
    });
    wrong.map_or(Ok(()), |wrong| Err(format!("not opaque: {wrong}; all of {ops:?} in {before:?}")))
}

fn check(initial: &Model, history: Log) -> Result<usize, String> {
    let Log { mut views, mut commits } = history;
    let checked = views.len() + commits.len();
    // By I18 the snapshot may be older than the transaction: it has values that are still current.
    let time = |view: &View| view.snapshot.max(view.began);
    views.sort_unstable_by_key(time);
    commits.sort_unstable_by_key(|(version, _)| *version);
    let (mut state, mut views) = (initial.clone(), views.into_iter().peekable());
    let last = (u64::MAX, Vec::new());
    for (version, ops) in commits.iter().chain([&last]) {
        while let Some(view) = views.next_if(|view| time(view) < *version) {
            repeat(&mut state.clone(), &view.ops)?;
        }
        repeat(&mut state, ops)?;
    }
    Ok(checked)
}
