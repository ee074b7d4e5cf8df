//! Recorded histories of container operations, and a checker of their opacity.
//!
//! Random transactions of several operations on several containers run concurrently. Some undo a
//! part, by `retry` or by a panic that they catch. Some catch a panic of a comparison within an
//! operation, which then has had no effect. Some end by a panic, restart, run ahead, or become
//! irrevocable. Each attempt records the result of each operation, and the time of the snapshot.
//! The versions of the commits order the transactions. The checker repeats the commits in that
//! order on containers of the standard library, and requires:
//!
//! - of each commit: its operations returned the results that they have at its position in the
//!   order;
//! - of each attempt, including aborted ones and undone parts: at every operation, all operations
//!   up to there returned the results that they have in the state of the snapshot;
//! - of each snapshot: it is not older than the beginning of the transaction.
//!
//! So an attempt is checked while it runs, not only if it commits. A search without an end fails by
//! itself, and tests run under a watchdog.

use crate::container_model::{Answer, KEYS, KINDS, Model, OnPurpose, Op, World, panic_on_purpose};
use crate::engine::engine;
use crate::record::WAITED;
use crate::{Locking, Manager, Prefetch, TVar, Transaction, Tx, TxResult};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// How a part of a transaction is undone.
#[derive(Debug, Clone, Copy)]
enum Undo {
    Retry,
    PanicInFirst,
    PanicInSecond,
    PanicInNested,
}

const UNDOS: [Undo; 4] =
    [Undo::Retry, Undo::PanicInFirst, Undo::PanicInSecond, Undo::PanicInNested];

#[derive(Debug, Clone)]
enum Step {
    Do(Op),
    Undone(Undo, Vec<Op>),
    /// Performs it, unless it has a comparison of that number, which panics.
    Interrupted(Op, u32),
    Irrevocable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    /// Restarts once, then commits.
    Restart,
    Panic,
    Ahead,
}

/// The steps of a transaction.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    end: End,
}

fn random_op(rng: &mut fastrand::Rng) -> Op {
    // Half of all operations are on the containers whose nodes are found by key.
    let kind = KINDS[if rng.bool() { rng.usize(..3) } else { rng.usize(..KINDS.len()) }];
    let key = rng.u8(..KEYS);
    match rng.u8(..10) {
        0..4 => Op::Put(kind, key, rng.u16(..)),
        4..7 => Op::Take(kind, key),
        7..9 => Op::Look(kind, key),
        _ => Op::Walk(kind),
    }
}

impl Plan {
    /// One to `longest` operations, and sometimes more in parts that are undone.
    pub(crate) fn random(rng: &mut fastrand::Rng, longest: usize) -> Self {
        let steps = (0..rng.usize(1..=longest)).map(|_| match rng.u8(..40) {
            0..4 => {
                let undo = UNDOS[rng.usize(..UNDOS.len())];
                Step::Undone(undo, (0..rng.usize(1..4)).map(|_| random_op(rng)).collect())
            }
            4 => Step::Irrevocable,
            5..9 => Step::Interrupted(random_op(rng), rng.u32(1..6)),
            _ => Step::Do(random_op(rng)),
        });
        let steps = steps.collect();
        let end =
            [End::Commit, End::Restart, End::Panic, End::Ahead][rng.usize(..20).saturating_sub(16)];
        Self { steps, end }
    }

    pub(crate) fn of(ops: &[Op]) -> Self {
        Self { steps: ops.iter().map(|op| Step::Do(*op)).collect(), end: End::Commit }
    }
}

/// The results of operations under one snapshot.
#[derive(Debug, Clone)]
struct View {
    /// The clock before the transaction.
    began: u64,
    snapshot: u64,
    ops: Vec<(Op, Answer)>,
}

/// The record of a thread.
#[derive(Debug, Default)]
pub(crate) struct Log {
    views: Vec<View>,
    /// Versions, and the operations of the commits.
    commits: Vec<(u64, Vec<(Op, Answer)>)>,
}

/// The attempt in progress.
struct Attempt<'a> {
    log: &'a mut Log,
    began: u64,
    snapshot: u64,
    ops: Vec<(Op, Answer)>,
    attempts: usize,
}

impl Attempt<'_> {
    /// Records the view so far.
    fn note(&mut self) {
        if !self.ops.is_empty() {
            let Self { began, snapshot, .. } = *self;
            self.log.views.push(View { began, snapshot, ops: self.ops.clone() });
        }
    }

    fn add(&mut self, op: Op, answer: Answer, snapshot: u64) {
        if snapshot != self.snapshot {
            self.note();
            self.snapshot = snapshot;
        }
        self.ops.push((op, answer));
    }
}

/// The result of `f`, or `None` if it panicked on purpose.
fn unless_on_purpose<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<OnPurpose>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Containers, and the history of their operations.
pub(crate) struct Recorder {
    world: World,
    /// One per thread, which writes it in every transaction: so its record has the version of the
    /// last commit.
    stamps: Vec<TVar<u64>>,
    initial: Model,
    logs: Mutex<Vec<Log>>,
}

impl Recorder {
    /// Containers with some entries, for `threads` threads.
    pub(crate) fn new(threads: usize) -> Self {
        let world = World::new();
        let mut initial = Model::default();
        for kind in KINDS {
            for key in (0..KEYS).step_by(2) {
                let op = Op::Put(kind, key, u16::from(key) + 100);
                crate::atomically(|tx| world.perform(tx, op));
                initial.perform(op);
            }
        }
        let stamps = (0..threads).map(|_| TVar::new(0)).collect();
        Self { world, stamps, initial, logs: Mutex::default() }
    }

    /// Runs `plan` on thread number `thread`.
    pub(crate) fn run(&self, thread: usize, how: Transaction, plan: &Plan, log: &mut Log) {
        let began = engine().clock.now();
        let attempt =
            RefCell::new(Attempt { log, began, snapshot: 0, ops: Vec::new(), attempts: 0 });
        let done = unless_on_purpose(|| {
            if plan.end == End::Ahead {
                Prefetch::new(1_000)
                    .run(|tx| self.follow(thread, tx, plan, &mut attempt.borrow_mut()));
                return None;
            }
            how.atomically(|tx| self.follow(thread, tx, plan, &mut attempt.borrow_mut()));
            Some(self.stamps[thread].parts().0.look() & !WAITED)
        });
        let mut attempt = attempt.into_inner();
        attempt.note();
        if let Some(Some(version)) = done {
            let ops = std::mem::take(&mut attempt.ops);
            attempt.log.commits.push((version, ops));
        }
    }

    fn follow<'tx>(
        &'tx self,
        thread: usize,
        tx: &mut Tx<'tx, '_>,
        plan: &Plan,
        attempt: &mut Attempt<'_>,
    ) -> TxResult<()> {
        attempt.note();
        attempt.ops.clear();
        attempt.attempts += 1;
        let mut irrevocable = false;
        for step in &plan.steps {
            match step {
                Step::Do(op) => self.perform(tx, *op, attempt)?,
                Step::Interrupted(op, at) => self.interrupted(tx, *op, *at, attempt)?,
                Step::Undone(undo, ops) => self.undone(tx, *undo, ops, attempt)?,
                Step::Irrevocable => {
                    tx.irrevocable()?;
                    irrevocable = plan.end != End::Ahead;
                }
            }
        }
        match plan.end {
            End::Panic => panic_on_purpose(),
            End::Restart if attempt.attempts == 1 && !irrevocable => return tx.restart(),
            _ => {}
        }
        self.stamps[thread].modify(tx, |stamp| stamp + 1)
    }

    fn perform<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        op: Op,
        attempt: &mut Attempt<'_>,
    ) -> TxResult<()> {
        let answer = self.world.perform(tx, op)?;
        attempt.add(op, answer, tx.descriptor.pin_time());
        Ok(())
    }

    /// Performs `op`, or nothing if its comparison number `at` panics.
    fn interrupted<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        op: Op,
        at: u32,
        attempt: &mut Attempt<'_>,
    ) -> TxResult<()> {
        let done = unless_on_purpose(|| self.world.panic_at(tx, op, at));
        if let Some(answer) = done.transpose()? {
            attempt.add(op, answer, tx.descriptor.pin_time());
        }
        Ok(())
    }

    /// Performs `ops` in a part that leaves no trace.
    fn undone<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        undo: Undo,
        ops: &[Op],
        attempt: &mut Attempt<'_>,
    ) -> TxResult<()> {
        let before = attempt.ops.len();
        let mut all =
            |tx: &mut Tx<'tx, '_>| ops.iter().try_for_each(|op| self.perform(tx, *op, attempt));
        let done = unless_on_purpose(|| match undo {
            Undo::Retry => tx.or_else(|tx| all(tx).and_then(|()| tx.retry()), |_| Ok(())),
            Undo::PanicInFirst => tx.or_else(|tx| all(tx).map(|()| panic_on_purpose()), |_| Ok(())),
            Undo::PanicInSecond => {
                tx.or_else(|tx| tx.retry(), |tx| all(tx).map(|()| panic_on_purpose()))
            }
            Undo::PanicInNested => tx.atomically(|tx| all(tx).map(|()| panic_on_purpose())),
        });
        attempt.note();
        attempt.ops.truncate(before);
        done.unwrap_or(Ok(()))
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

/// Checks that operations have in `state` the recorded results; updates the state.
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
    let judged = views.len() + commits.len();
    views.sort_unstable_by_key(|view| view.snapshot);
    commits.sort_unstable_by_key(|(version, _)| *version);
    let (mut state, mut views) = (initial.clone(), views.into_iter().peekable());
    let last = (u64::MAX, Vec::new());
    for (version, ops) in commits.iter().chain([&last]) {
        while let Some(view) = views.next_if(|view| view.snapshot < *version) {
            if view.snapshot < view.began {
                return Err(format!(
                    "not opaque: a snapshot from before the transaction, {view:?}"
                ));
            }
            repeat(&mut state.clone(), &view.ops)?;
        }
        repeat(&mut state, ops)?;
    }
    Ok(judged)
}

/// Ways to run a transaction: managers, patience, and both lock times.
pub(crate) fn random_way(rng: &mut fastrand::Rng) -> Transaction {
    let manager = [Manager::Suicide, Manager::Backoff, Manager::Age][rng.usize(..3)];
    let locking = [Locking::Encounter, Locking::Commit][rng.usize(..2)];
    Transaction::new().manager(manager).locking(locking).patience([1, 3, 10, 10][rng.usize(..4)])
}

#[cfg(not(any(loom, shuttle)))]
mod tests {
    use super::{Log, Plan, Recorder, View, check, random_way};
    use crate::container_model::{Kind, Model, Op};
    use crate::support::ends;
    use std::time::Instant;

    /// Catches: a checker that accepts wrong values in a commit, in an aborted attempt, or of an
    /// old snapshot.
    #[test]
    fn the_checker_of_containers_refuses_what_is_not_opaque() {
        let put = |value| (Op::Put(Kind::Map, 1, value), vec![]);
        let look = |answer: &[u16]| (Op::Look(Kind::Map, 1), answer.to_vec());
        let judge = |began, snapshot, view, commit| {
            let views = vec![View { began, snapshot, ops: vec![view] }];
            check(&Model::default(), Log { views, commits: vec![(4, vec![put(7), commit])] })
        };
        assert_eq!(judge(2, 2, look(&[]), look(&[1, 7])), Ok(2));
        assert_eq!(judge(4, 4, look(&[1, 7]), look(&[1, 7])), Ok(2));
        assert!(judge(2, 2, look(&[1, 7]), look(&[1, 7])).is_err(), "a value of a later commit");
        assert!(judge(4, 4, look(&[]), look(&[1, 7])).is_err(), "a value of an earlier commit");
        assert!(judge(4, 2, look(&[]), look(&[1, 7])).is_err(), "an old snapshot");
        assert!(judge(2, 2, look(&[]), look(&[])).is_err(), "a wrong commit");
    }

    /// Runs one round of `transactions` transactions on three threads. Returns the number of
    /// checked views and commits.
    fn round(number: u64, transactions: usize) -> usize {
        let recorder = Recorder::new(3);
        std::thread::scope(|s| {
            for thread in 0..3 {
                let recorder = &recorder;
                s.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(number * 3 + thread as u64);
                    let mut log = Log::default();
                    for _ in 0..transactions {
                        let (how, plan) = (random_way(&mut rng), Plan::random(&mut rng, 6));
                        recorder.run(thread, how, &plan, &mut log);
                    }
                    recorder.finish(log);
                });
            }
        });
        recorder.verdict().unwrap_or_else(|wrong| panic!("round {number}: {wrong}"))
    }

    /// Catches: nodes that are reused too early, operations that are undone in part, and
    /// inconsistent views, in attempts that commit and in those that abort, with early and late
    /// locks side by side.
    #[test]
    fn container_histories_of_real_threads_are_opaque() {
        let time = crate::stress_time();
        let judged = ends(time, move || {
            let (end, first) = (Instant::now() + time, fastrand::u64(..1 << 40));
            let (mut rounds, mut judged) = (0, 0);
            while rounds < 10 || Instant::now() < end {
                judged += round(first + rounds, 100);
                rounds += 1;
            }
            eprintln!(
                "{rounds} rounds of 300 transactions, {judged} views and commits, seeds from \
                 {first}"
            );
            judged
        });
        assert!(judged > 0);
    }
}
