//! `fork(2)` under random schedules: from the fork on, only the thread that forked runs, as in the
//! child. The other threads stop wherever they are.
//!
//! The child must be able to run transactions of its own, irrevocable ones as well. A transaction
//! on shared variables sees whole commits, or ends the child because a lost thread has locked its
//! variables. A child that blocks or spins hangs, since no thread can wake it.

use crate::shuttle::{config, half, shuttle_seed};
use crate::threads::NeedsLost;
use crate::{TBox, THashMap, TQueue, TVar, Tx, TxResult, atomically, fork};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{MaxSteps, Runner, thread};
use sinew_sync::plant::{Bug, plant};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Copy)]
enum Phase {
    Parent,
    /// The running thread has forked.
    Fork,
    Child(TaskId),
    Over,
}

std::thread_local! {
    static PHASE: Cell<Phase> = const { Cell::new(Phase::Over) };
    /// Whether an execution did not reach its end.
    static HANGS: Cell<bool> = const { Cell::new(false) };
}

/// Runs only the thread that has forked, after a fork.
struct Forking<S>(S);

impl<S: Scheduler> Scheduler for Forking<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        HANGS.set(HANGS.get() || !matches!(PHASE.get(), Phase::Over));
        let schedule = self.0.new_execution();
        PHASE.set(schedule.as_ref().map_or(Phase::Over, |_| Phase::Parent));
        schedule
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if let (Phase::Fork, Some(current)) = (PHASE.get(), current) {
            PHASE.set(Phase::Child(current));
        }
        match PHASE.get() {
            Phase::Child(child) => runnable.iter().any(|task| task.id() == child).then_some(child),
            Phase::Over => None,
            Phase::Parent | Phase::Fork => self.0.next_task(runnable, current, is_yielding),
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Pairs of variables that are always equal, and containers.
struct Shared {
    words: [TVar<u64>; 2],
    texts: [TBox<u64>; 2],
    hash: THashMap<u64, u64>,
    queue: TQueue<u64>,
}

impl Shared {
    fn new() -> Self {
        let (words, texts) = ([TVar::new(0), TVar::new(0)], [TBox::new(0), TBox::new(0)]);
        Self { words, texts, hash: THashMap::with_buckets(2), queue: TQueue::new() }
    }

    fn change<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, rng: &mut fastrand::Rng) -> TxResult<()> {
        let (key, value) = (rng.u64(..3), rng.u64(..));
        match rng.u8(..6) {
            0 => self.words.iter().try_for_each(|word| word.set(tx, value)),
            1 => self.texts.iter().try_for_each(|text| text.set(tx, value)),
            2 => self.hash.insert(tx, key, value).map(drop),
            3 => self.hash.remove(tx, &key).map(drop),
            4 => self.queue.push(tx, value).and_then(|()| self.queue.pop(tx)).map(drop),
            _ => tx.irrevocable().and_then(|()| self.words[0].modify(tx, |n| n)),
        }
    }

    fn look<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()> {
        assert_eq!(self.words[0].get(tx)?, self.words[1].get(tx)?, "half of a commit");
        assert_eq!(self.texts[0].get(tx)?, self.texts[1].get(tx)?, "half of a commit");
        Ok(())
    }

    /// Makes random changes, each in a transaction, and then checks all variables.
    fn work(&self, rng: &mut fastrand::Rng, changes: usize) {
        for _ in 0..changes {
            let once = rng.clone();
            atomically(|tx| self.change(tx, &mut once.clone()));
            rng.u64(..);
        }
        atomically(|tx| self.look(tx));
    }
}

fn fork_beside_commits() {
    let shared = Arc::new(Shared::new());
    for _ in 0..2 {
        let (shared, seed) = (Arc::clone(&shared), shuttle_seed());
        thread::spawn(move || shared.work(&mut fastrand::Rng::with_seed(seed), 3));
    }
    let mut rng = fastrand::Rng::with_seed(shuttle_seed());
    let changes = rng.usize(..3);
    shared.work(&mut rng, changes);
    let fork = || {
        fork::take_locks();
        PHASE.set(Phase::Fork);
        fork::go_on_alone();
    };
    if rng.bool() {
        fork();
    } else {
        atomically(|tx| shared.look(tx).map(|()| fork()));
    }
    // About twice each kind of change.
    Shared::new().work(&mut rng, 12);
    let ended = catch_unwind(AssertUnwindSafe(|| shared.work(&mut rng, 3)));
    if let Err(payload) = ended {
        if !payload.is::<NeedsLost>() {
            resume_unwind(payload);
        }
    }
    PHASE.set(Phase::Over);
    thread::yield_now();
}

fn explore() {
    /// The state that `fork` keeps belongs to the process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // An execution that spins ends like one that blocks.
    let mut config = config();
    config.max_steps = MaxSteps::ContinueAfter(100_000);
    Runner::new(Forking(RandomScheduler::new(half())), config.clone()).run(fork_beside_commits);
    Runner::new(Forking(PctScheduler::new(3, half())), config).run(fork_beside_commits);
    assert!(!HANGS.replace(false), "a forked child hangs");
}

/// Catches: a lock, a token or a number of a lost thread that blocks the child; half of a commit
/// that the child sees.
#[test]
fn shuttle_a_forked_child_goes_on_alone() {
    explore();
}

/// Catches: a model whose child finds no lock held by a lost thread.
#[test]
#[should_panic(expected = "a forked child hangs")]
fn shuttle_finds_a_fork_that_takes_no_locks() {
    plant(&[Bug::UnlockedFork]);
    explore();
}

/// Catches: a model in which no lost thread has the token.
#[test]
#[should_panic(expected = "a forked child hangs")]
fn shuttle_finds_a_fork_that_loses_the_token() {
    plant(&[Bug::LostToken]);
    explore();
}
