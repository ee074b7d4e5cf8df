//! The order in which workers take calls of different priorities.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use sinew_core::{Pool, PoolHook, Priority, Worker};

use crate::support::ends;

/// Counts the pieces of work that arrived from outside.
#[derive(Default)]
struct Arrivals(AtomicUsize);

impl PoolHook for Arrivals {
    fn work_arrived(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    Call(Priority),
    /// A detached task, which has a number.
    Task(usize),
}

use Priority::{High, Low, Normal};
use Work::{Call, Task};

/// How the only worker takes what has arrived.
#[derive(Debug, Clone, Copy)]
enum Taker {
    /// It has no other work.
    Idle,
    /// It serves calls between two pieces of its work.
    Busy,
}

/// The only worker is blocked until all of `arriving` is queued, in that order. Returns the order
/// in which the worker then takes it.
fn order(arriving: &[Work], taker: Taker) -> Vec<Work> {
    let arrivals = Arc::new(Arrivals::default());
    let pool = Pool::builder().threads(1).external_slot(false).hook(Arc::clone(&arrivals));
    let pool = &pool.build().unwrap();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (begun, hold) = (Barrier::new(2), Barrier::new(2));
    let calls = arriving.iter().filter(|work| matches!(work, Call(_))).count();
    let blocked = |w: &Worker| {
        begun.wait();
        hold.wait();
        if let Taker::Busy = taker {
            // Each call may interrupt the wait of another one, so none waits.
            while taken.lock().unwrap().len() < calls {
                w.safe_point();
                w.serve_calls();
            }
        }
    };
    thread::scope(|s| {
        s.spawn(|| pool.install(blocked));
        begun.wait();
        // Its own arrival may be counted after it has begun.
        while arrivals.0.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        for work in arriving.iter().copied() {
            let queued = arrivals.0.load(Ordering::SeqCst);
            let taken = Arc::clone(&taken);
            let take = move |_: &Worker| taken.lock().unwrap().push(work);
            match work {
                Call(Normal) => _ = s.spawn(|| pool.install(take)),
                Call(priority) => {
                    s.spawn(move || pool.call().priority(priority).run(take).unwrap());
                }
                Task(_) => pool.spawn(take),
            }
            while arrivals.0.load(Ordering::SeqCst) == queued {
                thread::yield_now();
            }
        }
        hold.wait();
    });
    // Detached tasks that are left precede this call.
    pool.install(|_| ());
    let taken = taken.lock().unwrap();
    taken.clone()
}

/// Catches: calls in the order of their arrival, or in the reverse order of their priorities.
#[test]
fn the_only_worker_takes_the_highest_priority_first() {
    ends(|| {
        let arriving = [Low, Normal, High, Low, High, Normal].map(Call);
        for taker in [Taker::Idle, Taker::Busy] {
            let expected = [High, High, Normal, Normal, Low, Low].map(Call);
            assert_eq!(order(&arriving, taker), expected, "{taker:?}");
        }
    });
}

/// Catches: a call of a lower priority that waits for ever, and a bound that is not the documented
/// one. A worker that has other work takes only calls that may interrupt it.
#[test]
fn sixteen_calls_overtake_a_lower_one() {
    ends(|| {
        let arriving: Vec<Work> = [Low, Normal].into_iter().chain([High; 20]).map(Call).collect();
        let first = [Call(High); 16].into_iter();
        let expected: Vec<Work> =
            first.chain([Normal, Low, High, High, High, High].map(Call)).collect();
        assert_eq!(order(&arriving, Taker::Idle), expected);
        let taken = order(&arriving, Taker::Busy);
        assert_eq!(taken.iter().filter(|work| **work == Call(High)).count(), 20);
        assert_eq!(taken.len(), 22);
    });
}

/// Catches: detached tasks that lose their place among calls of normal priority.
#[test]
fn detached_tasks_have_normal_priority() {
    ends(|| {
        let arriving = [Call(Low), Task(1), Call(Normal), Task(2), Call(High), Task(3)];
        let expected = [Call(High), Task(1), Call(Normal), Task(2), Task(3), Call(Low)];
        assert_eq!(order(&arriving, Taker::Idle), expected);
    });
}
