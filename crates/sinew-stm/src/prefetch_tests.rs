//! Runs ahead: their reads, their traces, their ends, and stops at any access.
//!
//! [`Prefetch::stopped_by`] calls its closure at each access, so the closure also counts accesses,
//! and panics at a chosen one.

use crate::record::{LOCKED, Record};
use crate::{
    Prefetch, PrefetchEnd, Prefetched, TArray, TBox, TGrid, THashMap, THeap, TList, TMap, TQueue,
    TVar, Transaction, Tx, TxResult, atomically, counters_by_site, in_transaction,
};
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::{Cell, RefCell};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Instant;

/// Longer than any run of these tests.
const LONG: u32 = 1_000_000;

fn long() -> Prefetch<'static> {
    Prefetch::new(LONG).buffer(10_000)
}

/// A value that counts its live instances.
struct Counted(u64, &'static AtomicUsize);

impl Counted {
    fn new(value: u64, alive: &'static AtomicUsize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(value, alive)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0, self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.1.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0 && !in_transaction(), "dropped twice, or inside a transaction");
    }
}

struct Node {
    value: TVar<u64>,
    next: TBox<Option<Arc<Node>>>,
}

/// One of each kind of variable.
struct World {
    word: TVar<u64>,
    unit: TVar<()>,
    wide: TVar<[u64; 3]>,
    array: TArray<u64>,
    pairs: TArray<(u64, u64)>,
    boxed: TBox<Counted>,
    list: TBox<Option<Arc<Node>>>,
    map: TMap<u64, u64>,
    hashed: THashMap<u64, u64>,
    sorted: TList<u64, u64>,
    queue: TQueue<u64>,
    heap: THeap<u64>,
    grid: TGrid<u64>,
}

impl World {
    fn new(alive: &'static AtomicUsize) -> Self {
        let node =
            |next, value| Some(Arc::new(Node { value: TVar::new(value), next: TBox::new(next) }));
        let world = Self {
            word: TVar::new(1),
            unit: TVar::new(()),
            wide: TVar::new([1; 3]),
            array: TArray::new(6, 1),
            pairs: TArray::new(4, (1, 1)),
            boxed: TBox::new(Counted::new(1, alive)),
            list: TBox::new((0..4).fold(None, node)),
            map: TMap::new(),
            hashed: THashMap::with_buckets(4),
            sorted: TList::new(),
            queue: TQueue::new(),
            heap: THeap::new(),
            grid: TGrid::new([2, 2, 2], 1),
        };
        atomically(|tx| (0..4).try_for_each(|key| world.fill(tx, key)));
        world
    }

    fn fill<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: u64) -> TxResult<()> {
        self.map.insert(tx, key, key)?;
        self.hashed.insert(tx, key, key)?;
        self.sorted.insert(tx, key, key)?;
        self.queue.push(tx, key)?;
        self.heap.push(tx, key)
    }

    /// Writes `value` everywhere, partly in branches and nested transactions, and checks each read.
    fn change<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        value: u64,
        alive: &'static AtomicUsize,
    ) -> TxResult<()> {
        self.word.modify(tx, |old| old + value)?;
        self.unit.set(tx, ())?;
        self.wide.set(tx, [value; 3])?;
        for i in 0..6 {
            self.array.set(tx, i, value)?;
        }
        self.pairs.set(tx, 1, (value, value))?;
        self.boxed.set(tx, Counted::new(value, alive))?;
        self.in_branches(tx, value, alive)?;
        tx.atomically(|tx| self.fill(tx, value))?;
        self.grid.set(tx, [1, 1, 1], value)?;
        let mut link = self.list.get(tx)?;
        while let Some(node) = link {
            let node = tx.keep(node);
            node.value.set(tx, value)?;
            link = node.next.get(tx)?;
        }
        self.list.set(tx, None)
    }

    /// A branch that overwrites a write and is undone, and one that stays.
    fn in_branches<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        value: u64,
        alive: &'static AtomicUsize,
    ) -> TxResult<()> {
        tx.or_else(
            |tx| {
                self.word.set(tx, 0)?;
                self.wide.set(tx, [8; 3])?;
                self.wide.set(tx, [9; 3])?;
                self.boxed.set(tx, Counted::new(9, alive))?;
                self.pairs.set(tx, 0, (9, 9))?;
                self.pairs.set(tx, 0, (8, 8))?;
                assert_eq!((self.wide.get(tx)?, self.pairs.get(tx, 0)?), ([9; 3], (8, 8)));
                tx.retry()
            },
            |tx| {
                assert_eq!((self.word.get(tx)?, self.wide.get(tx)?), (value + 1, [value; 3]));
                assert_eq!(
                    (self.boxed.with(tx, |old| old.0)?, self.pairs.get(tx, 0)?),
                    (value, (1, 1))
                );
                self.boxed.set(tx, Counted::new(value, alive))
            },
        )
    }

    /// Checks the writes of `change` from the same transaction.
    fn check_changed<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: u64) -> TxResult<()> {
        assert_eq!((self.word.get(tx)?, self.unit.get(tx)?), (value + 1, ()));
        assert_eq!(
            (self.wide.get(tx)?, self.boxed.with(tx, |boxed| boxed.0)?),
            ([value; 3], value)
        );
        for i in 0..6 {
            assert_eq!(self.array.get(tx, i)?, value);
        }
        assert_eq!((self.pairs.get(tx, 0)?, self.pairs.get(tx, 1)?), ((1, 1), (value, value)));
        assert!(self.map.contains(tx, &value)? && self.hashed.contains(tx, &value)?);
        assert!(self.sorted.contains(tx, &value)? && self.queue.to_vec(tx)?.last() == Some(&value));
        assert!(self.heap.len(tx)? == 5 && self.grid.get(tx, [1, 1, 1])? == value);
        assert!(self.list.with(tx, Option::is_none)?);
        Ok(())
    }

    /// Words of records, and values, as other threads see them.
    fn picture(&self) -> Vec<u64> {
        [self.records(), self.values()].concat()
    }

    fn records(&self) -> Vec<u64> {
        let word = |record: &Record| record.look();
        let mut all =
            vec![word(self.word.parts().0), word(self.wide.parts().0), word(self.unit.parts().0)];
        all.extend(self.array.records().chain(self.pairs.records()).map(word));
        all.extend([self.boxed.record(), self.list.record()].map(word));
        all
    }

    fn values(&self) -> Vec<u64> {
        let mut all = Vec::new();
        let values = atomically(|tx| {
            let mut values = vec![self.word.get(tx)?, self.boxed.with(tx, |boxed| boxed.0)?];
            values.extend(self.wide.get(tx)?);
            let mut link = self.list.get(tx)?;
            while let Some(node) = link {
                let node = tx.keep(node);
                values.push(node.value.get(tx)?);
                link = node.next.get(tx)?;
            }
            let pairs = [self.map.to_vec(tx)?, self.hashed.to_vec(tx)?, self.sorted.to_vec(tx)?];
            values.extend(pairs.into_iter().flatten().flat_map(|(key, value)| [key, value]));
            values.extend(self.queue.to_vec(tx)?);
            values.push(self.heap.len(tx)? as u64);
            Ok(values)
        });
        all.extend(values.into_iter().chain(self.array.load_all()).chain(self.grid.load_all()));
        all.extend(self.pairs.load_all().into_iter().flat_map(|(a, b)| [a, b]));
        all
    }
}

/// Catches: an end that is reported as another, or not at all.
#[test]
fn every_end_is_told() {
    let (a, b) = (TVar::new(1_u64), TVar::new(2_u64));
    let end = |ahead: Prefetched| (ahead.words_read, ahead.writes, ahead.ended);
    assert_eq!(end(long().run(|tx| a.get(tx))), (1, 0, PrefetchEnd::Through));
    assert_eq!(
        end(long().run(|tx| a.set(tx, 2).and_then(|()| tx.retry::<()>()))),
        (0, 1, PrefetchEnd::Through)
    );
    assert_eq!(
        end(long().run(|tx| tx.irrevocable().and_then(|()| a.get(tx)))),
        (0, 0, PrefetchEnd::Through)
    );
    let both = |how: Prefetch<'_>| end(how.run(|tx| a.get(tx).and_then(|_| b.set(tx, 1))));
    assert_eq!(both(Prefetch::new(0)), (0, 0, PrefetchEnd::Lifespan));
    assert_eq!(both(Prefetch::new(1)), (1, 0, PrefetchEnd::Lifespan));
    assert_eq!(both(Prefetch::new(2)), (1, 1, PrefetchEnd::Through));
    assert_eq!(both(Prefetch::new(2).buffer(0)), (1, 0, PrefetchEnd::BufferFull));
    assert_eq!(both(long().stopped_by(&|| true)), (0, 0, PrefetchEnd::Stopped));
    assert_eq!(
        end(long().run(|tx| a.get(tx).map(|value| assert_eq!(value, 3, "in a test")))),
        (1, 0, PrefetchEnd::Panicked)
    );
    assert_eq!(end(long().run(|tx| a.get(tx).map(|_| a.load()))), (1, 0, PrefetchEnd::Panicked));
    let hides = |how: Prefetch<'_>| {
        end(how.run(|tx| {
            (0..9).for_each(|_| _ = a.get(tx));
            Ok(())
        }))
    };
    assert_eq!(hides(Prefetch::new(3)), (3, 0, PrefetchEnd::Lifespan));
    assert_eq!((a.load(), b.load()), (1, 2));
}

/// Catches: a run that waits for a lock, or that continues with inconsistent values.
#[test]
fn a_lock_or_a_change_in_the_way_ends_the_run() {
    let (a, b) = (TVar::new(0), TVar::new(0));
    let on_another_thread =
        |f: &(dyn Fn() + Sync)| std::thread::scope(|s| s.spawn(f).join().expect("no panic"));
    atomically(|tx| {
        a.set(tx, 1)?;
        on_another_thread(&|| {
            assert_eq!(long().run(|tx| a.get(tx)).ended, PrefetchEnd::Conflict);
            assert_eq!(long().run(|tx| a.set(tx, 2)).ended, PrefetchEnd::Conflict);
            assert_eq!(long().run(|tx| b.get(tx)).ended, PrefetchEnd::Through);
        });
        Ok(())
    });
    let changed = long().run(|tx| {
        let first = a.get(tx)?;
        on_another_thread(&|| atomically(|tx| a.set(tx, 5).and_then(|()| b.set(tx, 5))));
        assert_eq!(first, b.get(tx)?, "of two moments");
        Ok(())
    });
    assert_eq!(changed.ended, PrefetchEnd::Conflict);
    let extended = long().run(|tx| {
        let first = a.get(tx)?;
        on_another_thread(&|| b.store(6));
        assert_eq!((first, b.get(tx)?), (5, 6));
        Ok(())
    });
    assert_eq!(extended.ended, PrefetchEnd::Through);
}

/// Catches: a write that other threads can see, a version or a lock that stays, a read that misses
/// an earlier write.
#[test]
fn own_writes_are_seen_and_nothing_shared_changes() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    let world = World::new(&ALIVE);
    let before = world.picture();
    let handlers = Cell::new((0, 0));
    let count =
        |commits, aborts| handlers.set((handlers.get().0 + commits, handlers.get().1 + aborts));
    let ahead = long().run(|tx| {
        tx.on_commit(|| count(1, 0));
        tx.on_abort(|| count(0, 1));
        world.change(tx, 7, &ALIVE)?;
        world.check_changed(tx, 7)
    });
    assert_eq!((ahead.ended, handlers.get()), (PrefetchEnd::Through, (0, 1)));
    assert!(ahead.words_read > 50 && ahead.writes > 20, "{ahead:?}");
    assert_eq!(world.picture(), before);
    // The same closure as a transaction.
    atomically(|tx| world.change(tx, 7, &ALIVE).and_then(|()| world.check_changed(tx, 7)));
    assert_ne!(world.picture(), before);
    drop(world);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

/// Catches: a run that is counted, also on a thread without earlier transactions.
#[test]
fn no_site_counts_a_run() {
    let var = TVar::new(1);
    let at = std::thread::scope(|s| {
        let run = || (long().run(|tx| var.get(tx)).ended, line!());
        s.spawn(run).join().expect("no panic").1
    });
    assert!(counters_by_site().iter().all(|(site, _)| (site.file(), site.line()) != (file!(), at)));
}

/// The end of `change` if at access number `n` it is stopped, or a panic begins.
fn interrupted(world: &World, n: usize, panics: bool, alive: &'static AtomicUsize) -> Prefetched {
    let accesses = Cell::new(0);
    let at_n = || {
        accesses.set(accesses.get() + 1);
        // Without the hook that prints: there are hundreds.
        if accesses.get() > n && panics {
            std::panic::resume_unwind(Box::new(Counted::new(0, alive)));
        }
        accesses.get() > n
    };
    long().stopped_by(&at_n).run(|tx| world.change(tx, 7, alive).map(|()| Counted::new(3, alive)))
}

/// Catches: a state between two accesses in which a stop or a panic leaves a trace.
#[test]
fn a_run_may_end_at_every_access() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    let world = World::new(&ALIVE);
    let (before, alive) = (world.picture(), ALIVE.load(Ordering::Relaxed));
    for (panics, expected) in [(false, PrefetchEnd::Stopped), (true, PrefetchEnd::Panicked)] {
        let mut n = 0;
        loop {
            let ahead = interrupted(&world, n, panics, &ALIVE);
            assert!(!in_transaction());
            assert_eq!(ALIVE.load(Ordering::Relaxed), alive, "at access {n}");
            if ahead.ended == PrefetchEnd::Through {
                break;
            }
            assert_eq!(ahead.ended, expected, "at access {n}");
            n += 1;
        }
        assert!(n > 50, "{n} accesses");
    }
    for lifespan in 0..60 {
        let ahead = Prefetch::new(lifespan).run(|tx| world.change(tx, 7, &ALIVE));
        assert!(ahead.words_read <= u64::from(lifespan) + 2 && ahead.ended != PrefetchEnd::Through);
    }
    assert_eq!(world.picture(), before);
}

/// Catches: a run that continues with data that another commit has changed at any time; one that
/// such a commit ends without restoring everything; one that ends although nothing that it read has
/// changed.
#[test]
fn a_run_may_be_overtaken_by_a_commit_at_every_access() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    let world = World::new(&ALIVE);
    let (before, alive) = (world.values(), ALIVE.load(Ordering::Relaxed));
    // The same values again: only the versions change, so the closure's own checks hold.
    let commit = || {
        atomically(|tx| {
            world.word.set(tx, 1)?;
            world.wide.set(tx, [1; 3])?;
            // Read in the middle, after the word was read.
            world.pairs.set(tx, 0, (1, 1))?;
            (0..6).try_for_each(|i| world.array.set(tx, i, 1))
        });
    };
    let (mut n, mut ends) = (0, Vec::new());
    loop {
        let accesses = Cell::new(0);
        let at_n = || {
            if accesses.replace(accesses.get() + 1) == n {
                std::thread::scope(|s| s.spawn(commit).join().expect("no panic"));
            }
            false
        };
        let ahead = long().stopped_by(&at_n).run(|tx| world.change(tx, 7, &ALIVE));
        assert!(
            [PrefetchEnd::Through, PrefetchEnd::Conflict].contains(&ahead.ended),
            "{ahead:?} at access {n}"
        );
        assert_eq!(
            (world.values(), ALIVE.load(Ordering::Relaxed)),
            (before.clone(), alive),
            "at access {n}"
        );
        assert!(world.records().iter().all(|word| word & LOCKED == 0), "at access {n}");
        if accesses.get() <= n {
            break;
        }
        ends.push(ahead.ended);
        n += 1;
    }
    assert_eq!(ends[0], PrefetchEnd::Through, "nothing had been seen");
    assert!(n > 50 && ends.contains(&PrefetchEnd::Conflict), "{ends:?}");
}

/// Catches: a buffer that grows when the same places are written repeatedly, or a wrong count.
#[test]
fn the_buffer_holds_what_it_says() {
    let (word, wide, boxed) = (TVar::new(0), TVar::new([0_u64; 4]), TBox::new(0));
    let ahead = Prefetch::new(LONG).buffer(5).run(|tx| {
        for i in 0..1_000 {
            word.set(tx, i)?;
            wide.set(tx, [i; 4])?;
        }
        Ok(())
    });
    assert_eq!((ahead.writes, ahead.ended), (2, PrefetchEnd::Through));
    let versions = Cell::new(0);
    let ahead = Prefetch::new(LONG).buffer(5).run(|tx| {
        loop {
            boxed.set(tx, 1)?;
            versions.set(versions.get() + 1);
        }
        #[expect(unreachable_code, reason = "the type of the result")]
        Ok(())
    });
    assert_eq!((versions.get(), ahead.writes, ahead.ended), (5, 1, PrefetchEnd::BufferFull));
    let branches = Cell::new(0);
    let ahead = Prefetch::new(LONG).buffer(9).run(|tx| {
        wide.set(tx, [1; 4])?;
        loop {
            tx.or_else(|tx| wide.set(tx, [2; 4]).and_then(|()| tx.retry()), |_| Ok(()))?;
            branches.set(branches.get() + 1);
        }
        #[expect(unreachable_code, reason = "the type of the result")]
        Ok(())
    });
    assert_eq!((branches.get(), ahead.ended), (1, PrefetchEnd::BufferFull));
}

/// Panics when it is dropped, with another instance as payload, `u32` times.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!in_transaction());
        if self.0 > 0 && !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Self(self.0 - 1)));
        }
    }
}

/// Catches: a panic that propagates, or a thread that stays inside a transaction, because of a
/// panic's payload or a dropped value.
#[test]
fn panics_of_drops_and_handlers_stay_inside() {
    let boxed = TBox::new(Bomb(0));
    let ended = |ahead: Prefetched| {
        assert!(!in_transaction());
        ahead.ended
    };
    assert_eq!(
        ended(long().run::<()>(|_| std::panic::resume_unwind(Box::new(Bomb(3))))),
        PrefetchEnd::Panicked
    );
    assert_eq!(ended(long().run(|_| Ok(Bomb(1)))), PrefetchEnd::Panicked);
    assert_eq!(ended(long().run(|tx| boxed.set(tx, Bomb(1)))), PrefetchEnd::Panicked);
    assert_eq!(ended(long().run(|tx| Ok(tx.keep(Arc::new(Bomb(1))).0))), PrefetchEnd::Panicked);
    let handler = || std::panic::resume_unwind(Box::new(Bomb(1)));
    let handled = long().run(|tx| {
        tx.on_abort(handler);
        Ok(())
    });
    assert_eq!(ended(handled), PrefetchEnd::Panicked);
    assert_eq!(ended(long().run(|tx| boxed.with(tx, |bomb| bomb.0))), PrefetchEnd::Through);
}

/// Catches: a run that takes a transaction's descriptor, or the reverse.
#[test]
fn a_run_inside_a_transaction_panics_and_names_both() {
    let caught = catch_unwind(|| atomically(|_| Ok(long().run(|_| Ok(())))));
    let message = caught.expect_err("a panic").downcast::<String>().expect("a message");
    assert_eq!(message.matches("prefetch_tests.rs").count(), 2, "{message}");
    let inside = RefCell::new(None);
    let ahead = long().run(|_| {
        *inside.borrow_mut() = catch_unwind(|| atomically(|_| Ok(()))).err();
        Ok(in_transaction())
    });
    assert!(ahead.ended == PrefetchEnd::Through && inside.borrow().is_some() && !in_transaction());
}

/// Catches: a helper that other threads notice, or that sees half of a transfer.
#[test]
fn transfers_beside_runs_ahead_keep_the_sum() {
    let vars: Vec<TVar<u64>> = (0..8).map(|_| TVar::new(100)).collect();
    let (array, lengths) = (TArray::new(8, 100_u64), TBox::new(vec![1_u64; 8]));
    let end = Instant::now() + crate::stress_time();
    let (done, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|s| {
        for helper in 0..2_usize {
            let (vars, array, lengths, done, runs) = (&vars, &array, &lengths, &done, &runs);
            s.spawn(move || {
                let mut turn = helper;
                while !done.load(Ordering::Relaxed) {
                    let ahead = Prefetch::new(if turn % 4 == 0 { 10 } else { LONG }).run(|tx| {
                        vars[turn % 8].modify(tx, |n| n + 5)?;
                        array.modify(tx, turn % 5, |n| n - 5)?;
                        let in_vars = vars.iter().try_fold(0, |sum, var| Ok(sum + var.get(tx)?))?;
                        let in_array = (0..8).try_fold(0, |sum, i| Ok(sum + array.get(tx, i)?))?;
                        assert_eq!(in_vars + in_array, 1_600);
                        let even = lengths
                            .with(tx, |all| all.iter().all(|one| *one == all.len() as u64 / 8))?;
                        assert!(even, "a torn version");
                        lengths.set(tx, vec![turn as u64; 3])
                    });
                    assert_ne!(ahead.ended, PrefetchEnd::Panicked);
                    runs.fetch_add(
                        usize::from(ahead.ended == PrefetchEnd::Through),
                        Ordering::Relaxed,
                    );
                    turn += 1;
                }
            });
        }
        let mut turn = 0;
        while Instant::now() < end || runs.load(Ordering::Relaxed) == 0 {
            let (from, to) = (turn * 7 % 8, turn * 5 % 8);
            atomically(|tx| {
                vars[from].modify(tx, |n| n - 1)?;
                array.modify(tx, to, |n| n + 1)?;
                let long = turn % 3 + 1;
                lengths.set(tx, vec![long as u64; long * 8])
            });
            atomically(|tx| {
                array.modify(tx, to, |n| n - 1).and_then(|()| vars[from].modify(tx, |n| n + 1))
            });
            turn += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(
        vars.iter().map(TVar::load).sum::<u64>() + array.load_all().iter().sum::<u64>(),
        1_600
    );
}

/// Catches: a thread whose later transactions differ after a run of any kind.
#[test]
fn a_transaction_after_a_run_is_as_before() {
    let (var, how) = (TVar::new(0_u64), Transaction::new());
    for n in 0..10 {
        let accesses = Cell::new(0);
        let stop = || accesses.replace(accesses.get() + 1) >= n;
        long().stopped_by(&stop).run(|tx| (0..4).try_for_each(|_| var.modify(tx, |old| old + 1)));
        how.atomically(|tx| var.modify(tx, |old| old + 1));
    }
    let counters = how.counters();
    // An irrevocable transaction of another test aborts any other one.
    let aborts = counters.aborts() - counters.token;
    assert_eq!((var.load(), counters.commits, aborts), (10, 10, 0));
    assert_eq!((counters.reads, counters.writes), (10, 10));
}
