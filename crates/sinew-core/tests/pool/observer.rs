//! Pools with an observer: its events are nested at every worker, and notes return to it.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};

use sinew_core::observer::{
    Activity, Event, Observer, ScopeNote, Source, TaskNote, WorkerObserver,
};
use sinew_core::{Pool, Worker};
use sinew_loops::Control;
use sinew_loops::data::IntoItems;
use sinew_loops::loops::{Options, for_each};

use crate::support::{WAITS, add, ends};

/// Activities and tasks that have begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Open {
    Activity(Activity),
    Task(Source),
    Join,
    Loop,
}

/// The events of all workers, as an observer has seen them.
#[derive(Default)]
struct Seen {
    mistakes: Mutex<Vec<String>>,
    forks: AtomicUsize,
    here: AtomicUsize,
    stolen: AtomicUsize,
    next_note: AtomicU64,
    /// Notes of tasks that have not begun.
    waiting: Mutex<HashSet<u64>>,
    scopes: AtomicUsize,
    scopes_ended: AtomicUsize,
    scope_tasks: AtomicUsize,
    calls: AtomicUsize,
}

/// Checks the events of a pool.
#[derive(Clone, Default)]
struct Checker(Arc<Seen>);

struct WorkerChecker {
    seen: Arc<Seen>,
    open: Mutex<Vec<Open>>,
    owner: Mutex<Option<ThreadId>>,
}

impl Observer for Checker {
    fn watch(&self, workers: usize) -> Vec<Box<dyn WorkerObserver>> {
        let worker = |_| {
            let (open, owner) = (Mutex::default(), Mutex::default());
            Box::new(WorkerChecker { seen: Arc::clone(&self.0), open, owner })
                as Box<dyn WorkerObserver>
        };
        (0..workers).map(worker).collect()
    }

    fn scope_begins(&self) -> ScopeNote {
        add(&self.0.scopes);
        Box::new(AtomicUsize::new(0))
    }

    fn scope_ends(&self, note: &ScopeNote) {
        self.0.scope_ends(note);
    }
}

impl Seen {
    fn scope_ends(&self, note: &ScopeNote) {
        let tasks = note.downcast_ref::<AtomicUsize>().expect("the note of this scope");
        self.scope_tasks.fetch_add(tasks.load(Ordering::SeqCst), Ordering::SeqCst);
        add(&self.scopes_ended);
    }
}

impl WorkerChecker {
    fn expect(&self, holds: bool, what: impl std::fmt::Debug) {
        if !holds {
            self.seen.mistakes.lock().unwrap().push(format!("{what:?}"));
        }
    }

    fn ends(&self, what: Open) {
        let ended = self.open.lock().unwrap().pop();
        self.expect(ended == Some(what), (what, ended));
    }

    fn begins(&self, what: Open) {
        self.open.lock().unwrap().push(what);
    }

    fn innermost(&self) -> Option<Open> {
        self.open.lock().unwrap().last().copied()
    }
}

impl WorkerObserver for WorkerChecker {
    fn on(&self, event: Event<'_>) {
        let mut owner = self.owner.lock().unwrap();
        if let Event::Enter { .. } = event {
            self.expect(owner.is_none() && self.innermost().is_none(), event);
            *owner = Some(thread::current().id());
        }
        self.expect(*owner == Some(thread::current().id()), event);
        match event {
            Event::Leave => {
                self.expect(self.innermost().is_none(), self.innermost());
                *owner = None;
            }
            Event::Begin(activity) => self.begins(Open::Activity(activity)),
            Event::End(activity) => self.ends(Open::Activity(activity)),
            Event::Chosen { .. } => self.ends(Open::Activity(Activity::Choose)),
            Event::Attempted { .. } => self.ends(Open::Activity(Activity::Attempt)),
            Event::TaskBegin(source) => self.begins(Open::Task(source)),
            Event::TaskEnd(source) => self.ends(Open::Task(source)),
            Event::SpawnedTask([note, ..]) => {
                self.expect(self.seen.waiting.lock().unwrap().remove(&note), event);
            }
            Event::Fork => {
                add(&self.seen.forks);
                self.begins(Open::Join);
            }
            Event::FirstArmEnd => self.expect(self.innermost() == Some(Open::Join), event),
            Event::SecondArmBegin => {
                add(&self.seen.here);
                self.expect(self.innermost() == Some(Open::Join), event);
            }
            Event::JoinEnd { stolen } => {
                self.seen.stolen.fetch_add(usize::from(stolen.is_some()), Ordering::SeqCst);
                self.ends(Open::Join);
            }
            Event::LoopBegin { .. } => self.begins(Open::Loop),
            Event::PieceEnd => self.expect(self.innermost() == Some(Open::Loop), event),
            Event::LoopEnd => self.ends(Open::Loop),
            Event::ScopeTaskEnd(note) => add(note.downcast_ref().expect("the note of this scope")),
            Event::ScopeEnd(note) => self.seen.scope_ends(note),
            Event::CallEnd => add(&self.seen.calls),
            _ => {}
        }
    }

    fn spawns(&self) -> TaskNote {
        let note = self.seen.next_note.fetch_add(1, Ordering::SeqCst);
        self.seen.waiting.lock().unwrap().insert(note);
        [note, 0, 0, 0]
    }
}

/// Builds pools with each wait policy, calls `test` with each, and checks what was seen when the
/// pool has ended.
fn with_each_watched_pool(test: impl Fn(&Pool)) -> Vec<Arc<Seen>> {
    let watched = |(wait, has_external_slot)| {
        let checker = Checker::default();
        let builder = Pool::builder().threads(3).wait(wait).external_slot(has_external_slot);
        let pool = builder.observer(checker.clone()).build().unwrap();
        test(&pool);
        pool.shutdown();
        let seen = checker.0;
        assert_eq!(*seen.mistakes.lock().unwrap(), [""; 0]);
        assert!(seen.waiting.lock().unwrap().is_empty());
        let count = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        assert_eq!(count(&seen.forks), count(&seen.here) + count(&seen.stolen));
        assert_eq!(count(&seen.scopes), count(&seen.scopes_ended));
        seen
    };
    WAITS.into_iter().flat_map(|wait| [(wait, true), (wait, false)]).map(watched).collect()
}

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Catches: an event that another thread tells, a begin without its end, an end of something else,
/// a note that is lost, or that comes twice.
#[test]
fn events_nest_at_every_worker_and_notes_come_back() {
    ends(|| {
        let all = with_each_watched_pool(|pool| {
            let ran = AtomicUsize::new(0);
            pool.run(|w| {
                assert_eq!(fib(w, 10), 55);
                w.scope(|s| (0..10).for_each(|_| s.spawn(|w| assert_eq!(fib(w, 3), 2))));
                w.open_scope_fifo(|s| (0..10).for_each(|_| s.spawn_fifo(|_| add(&ran))));
                (0..10).for_each(|_| w.spawn(|w| assert_eq!(fib(w, 3), 2)));
                for_each(w, (0..100).into_items(), &Options::default(), |_| add(&ran)).unwrap();
                let control = Control::new();
                let options = Options { control: Some(&control), ..Options::default() };
                for_each(w, (0..100).into_items(), &options, |_| add(&ran)).unwrap();
            });
            pool.in_place_scope(|s| s.spawn(|_| add(&ran)));
            pool.broadcast(|_| add(&ran));
            // A pool with an external thread's worker has a thread less, and so a part of the
            // broadcast.
            assert!([213, 214].contains(&ran.into_inner()));
        });
        for seen in all {
            // A loop with a control has a scope for its helpers.
            assert!(seen.scope_tasks.load(Ordering::SeqCst) >= 21);
            assert!(seen.forks.load(Ordering::SeqCst) >= 88 + 20 * 2);
            assert!(seen.calls.load(Ordering::SeqCst) >= 1);
        }
    });
}

/// Catches: an arm that a thief runs and that counts as the owner's.
#[test]
fn an_arm_that_must_be_stolen_is_told_as_stolen() {
    ends(|| {
        let all = with_each_watched_pool(|pool| {
            let barrier = Barrier::new(2);
            let meet = || barrier.wait().is_leader();
            pool.run(|w| w.join(|_| meet(), |_| meet()));
        });
        for seen in all {
            assert_eq!(seen.stolen.load(Ordering::SeqCst), 1);
        }
    });
}

/// Catches: a panic that leaves something open: of either arm, of a task, in a loop.
#[test]
fn events_nest_where_code_panics() {
    ends(|| {
        with_each_watched_pool(|pool| {
            let caught = |f: &(dyn Fn(&Worker) + Sync)| {
                pool.run(|w| assert!(catch_unwind(AssertUnwindSafe(|| f(w))).is_err()));
                assert!(catch_unwind(AssertUnwindSafe(|| pool.run(|w| f(w)))).is_err());
                assert_eq!(pool.run(|w| fib(w, 8)), 21);
            };
            caught(&|w| _ = w.join(|_| fall(), |w| fib(w, 5)));
            caught(&|w| _ = w.join(|w| fib(w, 5), |_| fall()));
            caught(&|w| w.scope(|s| s.spawn(|_| fall())));
            caught(&|w| {
                let fall_at_50 = |i| {
                    if i == 50 {
                        fall();
                    }
                };
                for_each(w, (0..100).into_items(), &Options::default(), fall_at_50).unwrap();
            });
        });
    });
}

fn fall() {
    resume_unwind(Box::new("fallen"));
}

/// Catches: an observer that was not set, and one that the pool does not return.
#[test]
fn a_pool_has_the_observer_that_it_was_built_with() {
    let pool = Pool::builder().threads(1).build().unwrap();
    assert!(pool.observer().is_none());
    let pool = Pool::builder().threads(1).observer(Checker::default()).build().unwrap();
    let observer: &dyn std::any::Any = pool.observer().unwrap();
    assert!(observer.is::<Checker>());
}
