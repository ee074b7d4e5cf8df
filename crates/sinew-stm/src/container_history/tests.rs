//! The checker's own tests, and histories of real threads. `SINEW_STRESS_SEED` sets the seed of the
//! first round; a round that takes long prints its seed.

use super::{Handlers, Log, Plan, Recorder, View, check, random_way};
use crate::container_model::{Kind, Model, Op};
use crate::support::ends;
use sinew_sync::atomic::{AtomicBool, Ordering};
use std::cell::RefCell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Catches: a checker that accepts wrong values in a commit, in an attempt that was given up,
/// or of an old snapshot.
#[test]
fn the_checker_of_containers_refuses_what_is_not_opaque() {
    let put = |value| (Op::Put(Kind::Map, 1, value), vec![]);
    let look = |result: &[u16]| (Op::Look(Kind::Map, 1), result.to_vec());
    let check_logs = |began, snapshot, view, commit| {
        let views = vec![View { began, snapshot, ops: vec![view] }];
        check(&Model::default(), Log { views, commits: vec![(4, vec![put(7), commit])] })
    };
    assert_eq!(check_logs(2, 2, look(&[]), look(&[1, 7])), Ok(2));
    assert_eq!(check_logs(4, 4, look(&[1, 7]), look(&[1, 7])), Ok(2));
    assert!(check_logs(2, 2, look(&[1, 7]), look(&[1, 7])).is_err(), "a value of a later commit");
    assert!(check_logs(4, 4, look(&[]), look(&[1, 7])).is_err(), "a value of an earlier commit");
    assert!(check_logs(4, 2, look(&[]), look(&[1, 7])).is_err(), "a value that is not current");
    assert_eq!(check_logs(4, 2, look(&[1, 7]), look(&[1, 7])), Ok(2), "an old snapshot");
    assert!(check_logs(2, 2, look(&[]), look(&[])).is_err(), "a wrong commit");
}

/// Catches: a checker that accepts a handler which was called twice, not at all, or for the wrong
/// outcome.
#[test]
fn the_checker_of_handlers_refuses_wrong_calls() {
    let refuses = |committed: &[usize], aborted| {
        let handlers = Handlers::default();
        handlers.given.set(3);
        handlers.committed.borrow_mut().extend(committed);
        handlers.aborted.set(aborted);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handlers.check(&[0, 2]))).is_err()
    };
    assert!(!refuses(&[0, 2], 1));
    for (committed, aborted) in [(&[0][..], 1), (&[0, 2, 2], 1), (&[2, 0], 1), (&[0, 2], 0)] {
        assert!(refuses(committed, aborted), "{committed:?}, {aborted}");
    }
}

/// Lanes of threads: the threads of a lane run one after the other.
const LANES: usize = 3;

/// The most transactions of one thread.
const LONGEST: usize = 12;

/// A transaction that a thread runs when it ends.
struct Parting {
    recorder: Arc<Recorder>,
    lane: usize,
    rng: fastrand::Rng,
}

impl Drop for Parting {
    fn drop(&mut self) {
        self.recorder.run_random(self.lane, &mut self.rng, 1);
    }
}

thread_local! {
    /// Dropped after the crate's state of the thread.
    static LATE: RefCell<Option<Parting>> = const { RefCell::new(None) };
    /// Dropped before the crate's state of the thread.
    static EARLY: RefCell<Option<Parting>> = const { RefCell::new(None) };
}

impl Recorder {
    /// Runs `transactions` random transactions.
    fn run_random(&self, lane: usize, rng: &mut fastrand::Rng, transactions: usize) {
        let mut log = Log::default();
        for _ in 0..transactions {
            let (how, plan) = (random_way(rng), Plan::random(rng, 6));
            self.run(lane, how, &plan, &mut log);
        }
        self.finish(log);
    }

    /// Runs the transactions of a thread, and sometimes more in destructors when it ends.
    fn live(self: &Arc<Self>, lane: usize, rng: &mut fastrand::Rng, transactions: usize) {
        let mut parting = || {
            let (recorder, rng) = (Arc::clone(self), rng.fork());
            rng.clone().bool().then_some(Parting { recorder, lane, rng })
        };
        let (late, early) = (parting(), parting());
        // Thread-local values are dropped in the reverse order of their first use.
        LATE.set(late);
        self.run_random(lane, rng, transactions);
        EARLY.set(early);
    }

    /// Runs `transactions` transactions on threads that run one after the other.
    fn run_lane(self: Arc<Self>, lane: usize, mut rng: fastrand::Rng, mut transactions: usize) {
        while transactions > 0 {
            let now = rng.usize(1..=LONGEST).min(transactions);
            let (recorder, mut its_own) = (Arc::clone(&self), rng.fork());
            // A joined thread has ended, destructors included.
            let thread = thread::spawn(move || recorder.live(lane, &mut its_own, now));
            thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            transactions -= now;
        }
    }
}

/// Runs one round of `transactions` transactions in each lane. Returns the number of checked views
/// and commits.
fn round(seed: u64, transactions: usize) -> usize {
    let recorder = Arc::new(Recorder::with_a_beat(LANES));
    let over = AtomicBool::new(false);
    let over = &over;
    thread::scope(|s| {
        s.spawn(|| {
            let (began, mut said) = (Instant::now(), false);
            while !over.load(Ordering::Relaxed) {
                if !said && began.elapsed() > Duration::from_secs(30) {
                    eprintln!("seed {seed} takes long");
                    said = true;
                }
                crate::atomically(|tx| recorder.beat.modify(tx, |beat| beat + 1));
                thread::park_timeout(Duration::from_micros(50));
            }
        });
        let lanes = (0..LANES).map(|lane| {
            let rng = fastrand::Rng::with_seed(seed * LANES as u64 + lane as u64);
            let recorder = Arc::clone(&recorder);
            s.spawn(move || recorder.run_lane(lane, rng, transactions))
        });
        let lanes: Vec<_> = lanes.collect();
        let ended: Vec<_> = lanes.into_iter().map(thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        if let Some(Err(payload)) = ended.into_iter().find(Result::is_err) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(payload);
        }
    });
    recorder.verdict().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"))
}

/// Catches: nodes that are reused too early, parts that are undone in part, locks that a panic
/// leaves, and inconsistent views. Threads start and end during the test, and lock early or late.
#[test]
fn histories_of_parts_on_real_threads_are_opaque() {
    let time = crate::stress_time();
    let checked = ends(time, move || {
        let said = std::env::var("SINEW_STRESS_SEED").ok().and_then(|text| text.parse().ok());
        let first = said.unwrap_or_else(|| fastrand::u64(..1 << 40));
        let end = Instant::now() + time;
        eprintln!("seeds from {first}");
        let (mut rounds, mut checked) = (0, 0);
        while rounds < 4 || Instant::now() < end {
            checked += round(first + rounds, 100);
            rounds += 1;
        }
        eprintln!("{rounds} rounds of 300 transactions, {checked} views and commits");
        checked
    });
    assert!(checked > 0);
}
