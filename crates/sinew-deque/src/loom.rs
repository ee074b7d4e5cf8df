//! loom models of the deque and the injector: an owner that pushes and pops, thieves that steal,
//! callers that withdraw, each task taken exactly once.

use sinew_sync::statics::{AtomicU32 as PlainU32, Ordering as PlainOrdering};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::plant::{self, Bug, plant};

use crate::by_priority::Priority;
use crate::deque::{Deque, Taken};
use crate::injector::Injector;
use crate::task::{Queued, TaskRef};

/// The depth doubles as the number of the task.
fn queued(number: u32) -> Queued {
    Queued { task: TaskRef::new(NonNull::<u8>::dangling()), depth: number }
}

#[derive(Clone, Copy)]
enum OwnerStep {
    Push,
    Pop,
}
use OwnerStep::{Pop, Push};

struct World {
    deque: Deque,
    taken: [PlainU32; 4],
}

impl World {
    fn take(&self, queued: Queued) {
        let times = self.taken[queued.depth as usize].fetch_add(1, PlainOrdering::Relaxed) + 1;
        assert_eq!(times, 1, "task {} was taken twice", queued.depth);
    }
}

fn check(script: &'static [OwnerStep], thieves: usize, preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let world = Arc::new(World {
            deque: Deque::new(),
            taken: std::array::from_fn(|_| PlainU32::new(0)),
        });
        let threads: Vec<_> = (0..thieves)
            .map(|_| {
                let world = Arc::clone(&world);
                loom::thread::spawn(move || {
                    for _ in 0..2 {
                        if let Taken::Task(queued) = world.deque.steal(None) {
                            world.take(queued);
                        }
                    }
                })
            })
            .collect();
        let mut pushed = 0;
        for step in script {
            match step {
                // SAFETY: this is the owner.
                Push => unsafe {
                    world.deque.push(queued(pushed));
                    pushed += 1;
                },
                // SAFETY: as above.
                Pop => {
                    if let Some(queued) = unsafe { world.deque.pop() } {
                        world.take(queued);
                    }
                }
            }
        }
        for robber in threads {
            robber.join().unwrap();
        }
        // SAFETY: as above.
        while let Some(queued) = unsafe { world.deque.pop() } {
            world.take(queued);
        }
        for number in 0..pushed as usize {
            assert_eq!(
                world.taken[number].load(PlainOrdering::Relaxed),
                1,
                "task {number} was lost"
            );
        }
    });
}

/// Catches: the last task taken by owner and thief.
#[test]
fn loom_the_last_task_goes_to_one() {
    check(&[Push, Pop, Push, Pop], 1, 3);
    check(&[Push, Push, Pop, Pop], 1, 3);
}

/// Catches: two thieves with one task, against an owner.
#[test]
fn loom_two_thieves_and_an_owner() {
    check(&[Push, Push, Pop], 2, 2);
}

/// Catches: a thief with the old buffer while the owner grows it (the model's first buffer holds
/// two).
#[test]
fn loom_a_growing_deque_loses_nothing() {
    check(&[Push, Push, Push, Pop], 1, 2);
}

#[test]
#[should_panic]
fn loom_finds_a_pop_without_its_fence() {
    plant(&[Bug::NoQueueFence]);
    check(&[Push, Push, Pop, Pop], 1, 3);
}

/// The owner queues two tasks in order; a worker that takes a token runs the oldest task. Thief and
/// owner together run each task once, and each token finds one.
fn check_order() {
    struct Ordered {
        deque: Deque,
        tasks: Injector,
        taken: [PlainU32; 2],
    }
    impl Ordered {
        /// Runs the oldest task, as a token does.
        fn run_token(&self) {
            let oldest = self.tasks.pop(None).expect("a token found no task");
            let times = self.taken[oldest.depth as usize].fetch_add(1, PlainOrdering::Relaxed) + 1;
            assert_eq!(times, 1, "task {} was run twice", oldest.depth);
        }
    }
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let world = Arc::new(Ordered {
            deque: Deque::new(),
            tasks: Injector::new(),
            taken: std::array::from_fn(|_| PlainU32::new(0)),
        });
        let theirs = Arc::clone(&world);
        let thief = loom::thread::spawn(move || {
            if let Taken::Task(_) = theirs.deque.steal(None) {
                theirs.run_token();
            }
        });
        for number in 0..2 {
            let token = || world.tasks.push(queued(number));
            if plant::planted(Bug::EarlyToken) {
                // SAFETY: this is the owner.
                unsafe { world.deque.push(queued(9)) };
                token();
            } else {
                token();
                // SAFETY: as above.
                unsafe { world.deque.push(queued(9)) };
            }
        }
        // SAFETY: as above.
        while unsafe { world.deque.pop() }.is_some() {
            world.run_token();
        }
        thief.join().unwrap();
        assert!(world.taken.iter().all(|times| times.load(PlainOrdering::Relaxed) == 1));
    });
}

/// Catches: a token that finds no task, or a task without a token.
#[test]
fn loom_every_token_finds_a_task() {
    check_order();
}

#[test]
#[should_panic(expected = "a token found no task")]
fn loom_finds_a_token_that_comes_before_its_task() {
    plant(&[Bug::EarlyToken]);
    check_order();
}

/// A caller queues a call of low priority and one of high priority, and withdraws the first. A
/// worker takes both, by the ways of an idle and of a busy worker.
fn check_priorities() {
    const LOW: usize = 0;
    const HIGH: usize = 1;
    struct Calls {
        injector: Injector,
        are_queued: AtomicU32,
        taken: [PlainU32; 2],
    }
    impl Calls {
        fn take(&self, call: Option<Queued>) -> Option<usize> {
            let call = call?.depth as usize;
            let times = self.taken[call].fetch_add(1, PlainOrdering::Relaxed) + 1;
            assert_eq!(times, 1, "call {call} was taken twice");
            Some(call)
        }
    }
    loom::model(|| {
        let calls = Arc::new(Calls {
            injector: Injector::new(),
            are_queued: AtomicU32::new(0),
            taken: std::array::from_fn(|_| PlainU32::new(0)),
        });
        let theirs = Arc::clone(&calls);
        let worker = loom::thread::spawn(move || {
            // Acquire: pairs with the caller's store.
            let are_queued = theirs.are_queued.load(Ordering::Acquire) == 1;
            let first = theirs.take(theirs.injector.pop(None));
            assert!(!are_queued || first == Some(HIGH), "a lower one precedes");
            theirs.take(theirs.injector.pop_call(Priority::Low));
        });
        let low = calls.injector.push_call(queued(LOW as u32), Priority::Low);
        calls.injector.push_call(queued(HIGH as u32), Priority::High);
        calls.are_queued.store(1, Ordering::Release);
        calls.take(calls.injector.withdraw(low));
        worker.join().unwrap();
        while calls.take(calls.injector.pop(None)).is_some() {}
        assert!(calls.taken.iter().all(|times| times.load(PlainOrdering::Relaxed) == 1));
    });
}

/// Catches: a call that is taken twice or lost, and one that precedes a higher one.
#[test]
fn loom_calls_go_to_one_and_in_the_order_of_their_priorities() {
    check_priorities();
}

#[test]
#[should_panic(expected = "a lower one precedes")]
fn loom_finds_a_queue_that_forgets_priorities() {
    plant(&[Bug::LostPriority]);
    check_priorities();
}

#[test]
#[should_panic(expected = "was taken twice")]
fn loom_finds_a_withdrawal_under_two_locks() {
    plant(&[Bug::TornWithdrawal]);
    check_priorities();
}
