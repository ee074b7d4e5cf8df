//! Invariants under real threads: two seconds for each test, a minute with `SINEW_DEEP=1`, or
//! `SINEW_STRESS_SECONDS`.
//!
//! Blind to: a memory order that this machine does not show (loom), a schedule that does not occur
//! (shuttle).

mod support;

use sinew_stm::{
    ContentionManager, Locking, TArray, TBox, THashMap, TList, TMap, TQueue, TVar, Transaction,
    atomically, in_transaction,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::ends;

const MANAGERS: [ContentionManager; 3] =
    [ContentionManager::Suicide, ContentionManager::Backoff, ContentionManager::Age];

fn stress_time() -> Duration {
    let seconds = std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let deep = std::env::var_os("SINEW_DEEP").map(|_| 60);
    Duration::from_secs(seconds.or(deep).unwrap_or(2))
}

/// Calls `work` with the thread's number and the number of the call, on `threads` threads, until
/// the time is over.
fn hammer(threads: u64, work: impl Fn(u64, u64) + Sync) {
    hammer_for(stress_time(), threads, work);
}

/// The same for `time`.
fn hammer_for(time: Duration, threads: u64, work: impl Fn(u64, u64) + Sync) {
    let end = Instant::now() + time;
    std::thread::scope(|s| {
        for thread in 0..threads {
            let work = &work;
            s.spawn(move || {
                let mut turn = 0;
                while Instant::now() < end {
                    work(thread, turn);
                    turn += 1;
                }
            });
        }
    });
}

/// A pseudo-random number, the same in every run.
fn scramble(thread: u64, turn: u64) -> usize {
    let x = (thread << 32 | turn).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(x >> 33).unwrap_or_default()
}

/// Catches: a sum that changes, seen by others in progress or at the end; under each manager, in
/// variables and in an array, of threads that lock early and of one that locks late.
#[test]
fn transfers_keep_the_sum() {
    ends(stress_time(), || {
        for manager in MANAGERS {
            let vars: Vec<TVar<i64>> = (0..16).map(|_| TVar::new(100)).collect();
            let array = TArray::new(16, 100_i64);
            let how = Transaction::new().manager(manager);
            hammer_for(stress_time() / MANAGERS.len() as u32, 3, |thread, turn| {
                let how = if thread == 0 { how.locking(Locking::Commit) } else { how };
                let (from, to) = (scramble(thread, turn) % 16, scramble(turn, thread) % 16);
                if turn % 8 == 0 {
                    let sums = how.atomically(|tx| {
                        let of_vars = vars.iter().try_fold(0, |sum, var| Ok(sum + var.get(tx)?))?;
                        let of_array = (0..16).try_fold(0, |sum, i| Ok(sum + array.get(tx, i)?))?;
                        Ok((of_vars, of_array))
                    });
                    assert_eq!(sums, (1_600, 1_600));
                }
                how.atomically(|tx| {
                    vars[from].modify(tx, |n| n - 1)?;
                    array.modify(tx, to, |n| n + 1)?;
                    vars[to].modify(tx, |n| n + 1)?;
                    array.modify(tx, from, |n| n - 1)
                });
            });
        }
    });
}

/// Catches: a value of several words that mixes two commits.
#[test]
fn large_values_are_never_torn() {
    ends(stress_time(), || {
        let var = TVar::new([0_u64; 8]);
        hammer(3, |thread, turn| {
            if thread == 0 {
                atomically(|tx| var.set(tx, [turn; 8]));
            } else {
                let value = var.load();
                assert!(value.iter().all(|word| *word == value[0]), "{value:?}");
            }
        });
    });
}

struct Node {
    value: u64,
    next: TBox<Option<Arc<Node>>>,
}

/// The first node that a transaction still sees keeps the nodes behind it. When that transaction
/// ends, its nodes are dropped one after the other, not recursively.
impl Drop for Node {
    fn drop(&mut self) {
        let take_next = |node: &mut Self| std::mem::replace(&mut node.next, TBox::new(None)).load();
        let mut next = take_next(self);
        while let Some(mut node) = next.and_then(|node| Arc::try_unwrap(node).ok()) {
            next = take_next(&mut node);
        }
    }
}

/// Catches: nodes freed while a thread walks them, a window that is seen with a gap.
#[test]
fn a_window_moves_along_a_linked_list() {
    ends(stress_time(), || {
        const WIDTH: u64 = 8;
        let node = |value, next| Some(Arc::new(Node { value, next: TBox::new(next) }));
        let first = TBox::new((0..WIDTH).rev().fold(None, |next, value| node(value, next)));
        let walk = |advance: bool| {
            atomically(|tx| {
                let link = first.get(tx)?;
                let mut last: &Node = tx.keep(link.expect("a window is never empty"));
                let (start, mut seen) = (last.value, 1);
                let second = last.next.get(tx)?;
                while let Some(next) = last.next.get(tx)? {
                    let next = tx.keep(next);
                    assert_eq!(next.value, last.value + 1);
                    (last, seen) = (next, seen + 1);
                }
                assert_eq!((seen, last.value), (WIDTH, start + WIDTH - 1));
                if advance {
                    last.next.set(tx, node(start + WIDTH, None))?;
                    first.set(tx, second)?;
                }
                Ok(())
            });
        };
        hammer(3, |thread, turn| walk(thread == 0 || turn % 16 == 0));
    });
}

/// Catches: a long reader that never commits beside fast writers.
#[test]
fn a_long_reader_commits_within_a_bounded_number_of_attempts() {
    ends(stress_time(), || {
        let vars: Vec<TVar<u64>> = (0..2_000).map(|_| TVar::new(0)).collect();
        let (done, worst) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut turn = 0;
                while !done.load(Ordering::Relaxed) {
                    turn += 1;
                    let (a, b) = (scramble(0, turn) % 2_000, scramble(1, turn) % 2_000);
                    atomically(|tx| vars[a].set(tx, turn).and_then(|()| vars[b].set(tx, turn)));
                }
            });
            let end = Instant::now() + stress_time();
            while Instant::now() < end {
                let mut attempts = 0;
                atomically(|tx| {
                    attempts += 1;
                    let sum = vars
                        .iter()
                        .try_fold(0_u64, |sum, var| Ok(sum.wrapping_add(var.get(tx)?)))?;
                    // An update, so that the commit itself has to find everything unchanged.
                    vars[0].set(tx, sum)
                });
                worst.fetch_max(attempts, Ordering::Relaxed);
            }
            done.store(true, Ordering::Relaxed);
        });
        // Ten attempts, and one with the token.
        assert!(worst.into_inner() <= 11);
    });
}

/// Catches: locks, values or memory that remain after a transaction that panics, waits, is undone
/// in part, or is given up.
#[test]
fn whatever_happens_inside_nothing_is_left_behind() {
    ends(stress_time(), || {
        let (sum, texts) = (TVar::new((0_u64, 0_u64)), TBox::new(vec!["text".to_owned()]));
        let commits = AtomicU64::new(0);
        hammer(3, |thread, turn| {
            let how = Transaction::new()
                .locking([Locking::Encounter, Locking::Commit][(turn / 4 % 2) as usize]);
            let run = || {
                how.attempt(|tx| {
                    sum.modify(tx, |(a, b)| (a + 1, b + 1))?;
                    texts.modify(tx, |mut texts| {
                        texts[0] = format!("{thread} {turn}");
                        texts
                    })?;
                    match turn % 4 {
                        0 => resume_unwind(Box::new("on purpose")),
                        1 => tx.retry(),
                        2 => tx.or_else(
                            |tx| texts.set(tx, vec![]).and_then(|()| tx.retry()),
                            |_| Ok(()),
                        ),
                        _ => tx.atomically(|tx| sum.modify(tx, |both| both)),
                    }
                })
            };
            let outcome = catch_unwind(AssertUnwindSafe(run));
            assert!(!in_transaction());
            if matches!(outcome, Ok(Ok(()))) {
                commits.fetch_add(1, Ordering::Relaxed);
            }
            let (both, count) = atomically(|tx| Ok((sum.get(tx)?, texts.with(tx, Vec::len)?)));
            assert_eq!((both.0, count), (both.1, 1));
        });
        assert_eq!(sum.load().0, commits.into_inner());
    });
}

/// Catches: a value passed on twice, or never, by transactions that wait for each other.
#[test]
fn values_pass_through_a_slot_once_each() {
    ends(stress_time(), || {
        let (slot, sent, received) = (TVar::new(None::<u64>), AtomicU64::new(0), AtomicU64::new(0));
        let end = Instant::now() + stress_time();
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while let Some(value) =
                        atomically(|tx| slot.replace(tx, None)?.map_or_else(|| tx.retry(), Ok))
                            .checked_sub(1)
                    {
                        received.fetch_add(value, Ordering::Relaxed);
                    }
                });
            }
            let send = |value| {
                atomically(|tx| match slot.get(tx)? {
                    Some(_) => tx.retry(),
                    None => slot.set(tx, Some(value)),
                });
            };
            let mut value = 0;
            while Instant::now() < end {
                value += 1;
                send(value + 1);
                sent.fetch_add(value, Ordering::Relaxed);
            }
            send(0);
            send(0);
        });
        assert_eq!(sent.into_inner(), received.into_inner());
    });
}

/// Catches: nodes with two owners, links to nodes that are reused, orders that are broken only
/// under contention.
#[test]
fn tokens_move_between_containers_and_none_is_lost() {
    ends(stress_time(), || {
        const TOKENS: u32 = 40;
        let (map, hash, list, queue) =
            (TMap::new(), THashMap::with_buckets(7), TList::new(), TQueue::new());
        atomically(|tx| (0..TOKENS).try_for_each(|token| queue.push(tx, token)));
        hammer(3, |thread, turn| {
            let key = u32::try_from(scramble(thread, turn)).unwrap_or_default() % TOKENS;
            atomically(|tx| match turn % 4 {
                0 => match queue.pop(tx)? {
                    Some(token) => map.insert(tx, token, turn).map(drop),
                    None => Ok(()),
                },
                1 => match map.at_least(tx, key)? {
                    Some((token, value)) => {
                        assert_eq!(map.remove(tx, &token)?, Some(value));
                        hash.insert(tx, token, value).map(drop)
                    }
                    None => Ok(()),
                },
                2 => match hash.remove(tx, &key)? {
                    Some(value) => list.insert(tx, key, value).map(drop),
                    None => Ok(()),
                },
                _ => match list.remove(tx, &key)? {
                    Some(_) => queue.push(tx, key),
                    None => Ok(()),
                },
            });
            if turn % 16 == 0 {
                let mut tokens = atomically(|tx| {
                    let in_map: Vec<u32> =
                        map.to_vec(tx)?.into_iter().map(|(token, _)| token).collect();
                    let in_list: Vec<u32> =
                        list.to_vec(tx)?.into_iter().map(|(token, _)| token).collect();
                    assert!(in_map.is_sorted() && in_list.is_sorted());
                    let in_hash = hash.to_vec(tx)?.into_iter().map(|(token, _)| token);
                    Ok([in_map, in_list, in_hash.collect(), queue.to_vec(tx)?].concat())
                });
                tokens.sort_unstable();
                assert_eq!(tokens, (0..TOKENS).collect::<Vec<_>>());
            }
        });
    });
}
