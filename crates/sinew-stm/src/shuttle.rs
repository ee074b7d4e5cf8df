//! Whole transactions under random schedules.
//!
//! Each test runs its program under `SINEW_SHUTTLE_ITERATIONS` schedules, half drawn at random,
//! half from PCT (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs", 2010). A failure prints its schedule; `SHUTTLE_RANDOM_SEED` repeats a run. All
//! accesses are sequentially consistent here: `loom` checks weaker orders.

use crate::container_history::{self, Log, Plan};
use crate::container_model::{Kind, Op};
use crate::history::{Recorder, steps};
use crate::{
    ContentionManager, Locking, PrefetchEnd, TArray, TBox, THashMap, TVar, Transaction, atomically,
};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner, thread};
use sinew_sync::plant::{Bug, plant};
use std::sync::Arc;

pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    // Hundreds of steps are usual. A program that reaches this limit spins.
    config.max_steps = MaxSteps::FailAfter(100_000);
    config
}

/// Half of the schedules of a test.
pub(crate) fn half() -> usize {
    let schedules =
        std::env::var("SINEW_SHUTTLE_ITERATIONS").ok().and_then(|text| text.parse().ok());
    schedules.unwrap_or(500_usize).div_ceil(2)
}

fn explore(program: fn()) {
    Runner::new(RandomScheduler::new(half()), config()).run(program);
    Runner::new(PctScheduler::new(3, half()), config()).run(program);
}

/// Plants `bug` and explores: the test that calls it expects the checker to fail.
fn hunt(bug: Bug, program: fn()) {
    plant(&[bug]);
    for _ in 0..20 {
        explore(program);
    }
}

/// Three threads, two transactions each, under `manager`.
fn opaque_under(manager: ContentionManager, max_aborts: u32) {
    opaque(Transaction::new().manager(manager).max_aborts(max_aborts));
}

/// Three threads, two transactions each.
fn opaque(how: Transaction) {
    let recorder = Recorder::new(3);
    let threads = (0..3).map(|thread| {
        let recorder = Arc::clone(&recorder);
        thread::spawn(move || (0..2).for_each(|turn| recorder.run(how, &steps(3, thread, turn))))
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    let verdict = recorder.verdict();
    // Reported after the run, because the checker prints a schedule for every panic that begins.
    assert!(verdict.is_ok(), "{verdict:?}");
}

fn impatient() {
    opaque_under(ContentionManager::Suicide, 2);
}

/// Catches: inconsistent snapshots, lost updates and tokens without effect, in the schedules that
/// run.
#[test]
fn shuttle_histories_are_opaque_under_suicide() {
    explore(impatient);
}

/// Catches: the same with waits, and a deadlock of transactions that wait for each other.
#[test]
fn shuttle_histories_are_opaque_under_backoff() {
    explore(|| opaque_under(ContentionManager::Backoff, 10));
}

/// Catches: the same if the older one waits without a bound.
#[test]
fn shuttle_histories_are_opaque_under_age() {
    explore(|| opaque_under(ContentionManager::Age, 10));
}

fn late_and_impatient() {
    opaque(
        Transaction::new()
            .manager(ContentionManager::Suicide)
            .max_aborts(2)
            .locking(Locking::Commit),
    );
}

/// Catches: inconsistent snapshots, lost updates and deadlocks of transactions that lock when
/// they commit.
#[test]
fn shuttle_histories_are_opaque_under_late_locks() {
    explore(late_and_impatient);
    explore(|| opaque(Transaction::new().manager(ContentionManager::Age).locking(Locking::Commit)));
}

/// Catches: a checker that does not check the locks at the commit.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_late_lock_of_what_is_younger_than_the_snapshot() {
    hunt(Bug::BlindLock, late_and_impatient);
}

/// Catches: a checker that does not check commits under late locks.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_late_commit_without_validation() {
    hunt(Bug::NoCommitValidation, late_and_impatient);
}

/// One thread that commits, so that it never extends its snapshot, and one that runs ahead.
fn ahead_of_another() {
    let recorder = Recorder::new(3);
    let other = Arc::clone(&recorder);
    let writer = thread::spawn(move || {
        (0..3).for_each(|turn| other.run(Transaction::new(), &steps(3, 0, turn)))
    });
    let ends = [1, 2].map(|thread| recorder.run_ahead(&steps(3, thread, 0)));
    writer.join().unwrap();
    assert!(
        ends.iter().all(|end| [PrefetchEnd::Through, PrefetchEnd::Conflict].contains(end)),
        "{ends:?}"
    );
    let verdict = recorder.verdict();
    assert!(verdict.is_ok(), "{verdict:?}");
}

/// Catches: a run ahead that sees inconsistent values, changes something, or waits.
#[test]
fn shuttle_histories_with_runs_ahead_are_opaque() {
    explore(ahead_of_another);
}

/// Catches: a checker that does not check later reads of runs ahead.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_run_ahead_whose_extension_does_not_validate() {
    hunt(Bug::NoExtensionValidation, ahead_of_another);
}

/// Catches: a checker that does not switch threads between the parts of a read ahead.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_run_ahead_without_a_second_look() {
    hunt(Bug::NoSecondCheck, ahead_of_another);
}

/// Catches: a checker that does not check commits.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_commit_without_validation() {
    hunt(Bug::NoCommitValidation, impatient);
}

/// Catches: a checker that does not check attempts in progress.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_an_extension_without_validation() {
    hunt(Bug::NoExtensionValidation, impatient);
}

/// Catches: a checker that does not check the release of records.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_record_released_before_its_value_is_stored() {
    hunt(Bug::EarlyRelease, impatient);
}

/// Catches: a checker that does not switch threads between the parts of a read.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_read_without_a_second_look() {
    hunt(Bug::NoSecondCheck, impatient);
}

/// Catches: a checker that does not check the first snapshots of later transactions.
#[test]
#[should_panic(expected = "opaque")]
fn shuttle_finds_a_snapshot_of_a_time_to_come() {
    hunt(Bug::FutureSnapshot, impatient);
}

fn handing_over() {
    let cell = Arc::new(TVar::new(0_u64));
    let other = Arc::clone(&cell);
    let giver = thread::spawn(move || {
        for value in 1..3 {
            atomically(|tx| if other.get(tx)? == 0 { other.set(tx, value) } else { tx.retry() });
        }
    });
    for expected in 1..3 {
        let take = |value| if value == 0 { None } else { Some(value) };
        let taken = atomically(|tx| match take(cell.replace(tx, 0)?) {
            None => tx.retry(),
            Some(value) => Ok(value),
        });
        assert_eq!(taken, expected);
    }
    giver.join().unwrap();
}

/// Catches: a wake-up that is lost between the last look and the sleep.
#[test]
fn shuttle_sleepers_are_woken() {
    explore(handing_over);
}

/// Catches: a checker that does not detect a thread that sleeps for ever.
#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_sleeper_that_leaves_no_mark() {
    hunt(Bug::UnmarkedSleep, handing_over);
}

/// Catches: an irrevocable transaction that is repeated, a deadlock around the token, a token
/// that is lost.
#[test]
fn shuttle_irrevocable_transactions_take_turns() {
    explore(|| {
        let shared = Arc::new((TVar::new(0_u64), TVar::new(0_u64)));
        let work = |shared: Arc<(TVar<u64>, TVar<u64>)>| {
            let mut effects = 0;
            atomically(|tx| {
                let before = shared.0.get(tx)?;
                shared.1.modify(tx, |n| n + 1)?;
                tx.irrevocable()?;
                effects += 1;
                shared.0.set(tx, before + 1)
            });
            assert_eq!(effects, 1);
            atomically(|tx| shared.0.modify(tx, |n| n + 1));
        };
        let threads = [Arc::clone(&shared), Arc::clone(&shared)]
            .map(|shared| thread::spawn(move || work(shared)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((shared.0.load(), shared.1.load()), (4, 2));
    });
}

/// Catches: a version that is freed, or changed, while a thread reads it; neighbours in an array
/// that disagree.
#[test]
fn shuttle_boxes_and_arrays_change_together() {
    explore(|| {
        let shared = Arc::new((TBox::new(vec![0_u64; 2]), TArray::new(6, 0_u64)));
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            for value in 1..3 {
                atomically(|tx| {
                    other.0.set(tx, vec![value; 2])?;
                    (0..6).try_for_each(|i| other.1.set(tx, i, value))
                });
            }
        });
        for _ in 0..2 {
            atomically(|tx| {
                let value = shared.0.with(tx, |values| values[0] + values[1])?;
                for i in 0..6 {
                    assert_eq!(shared.1.get(tx, i)? * 2, value);
                }
                Ok(())
            });
        }
        writer.join().unwrap();
    });
}

/// Three threads with two transactions each, of several operations on all containers.
fn containers() {
    let recorder = Arc::new(container_history::Recorder::new(3));
    let threads = (0..3).map(|thread| {
        let recorder = Arc::clone(&recorder);
        thread::spawn(move || {
            let (mut rng, mut log) = (fastrand::Rng::with_seed(shuttle_seed()), Log::default());
            for _ in 0..2 {
                let (how, plan) =
                    (container_history::random_way(&mut rng), Plan::random(&mut rng, 3));
                recorder.run(thread, how, &plan, &mut log);
            }
            recorder.finish(log);
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    check_history(&recorder);
}

/// A number from the schedule, so that a schedule repeats the transactions as well.
pub(crate) fn shuttle_seed() -> u64 {
    thread_rng().r#gen()
}

fn check_history(recorder: &container_history::Recorder) {
    let verdict = recorder.verdict();
    assert!(verdict.is_ok(), "{verdict:?}");
}

/// Catches: nodes reused too early, and operations that are undone in part, in the schedules that
/// run.
#[test]
fn shuttle_container_histories_are_opaque() {
    explore(containers);
}

/// Catches: a checker that does not check the effects of an undone part. In few schedules such a
/// part leaves a list without an end instead, in which its reader spins.
#[test]
#[should_panic]
fn shuttle_finds_a_part_that_is_undone_in_part() {
    hunt(Bug::TornUndo, containers);
}

/// Catches: a checker that does not check the effects of a nested part. In few schedules such a
/// part leaves a map without the room that it made instead, which its writer makes again for ever.
#[test]
#[should_panic]
fn shuttle_finds_a_part_within_another_that_is_lost() {
    hunt(Bug::LostPart, containers);
}

/// Catches: a checker that does not check the locks after a caught panic. Other threads wait for
/// such a lock without end, or its thread mistakes it for a lock of its next transaction.
#[test]
#[should_panic]
fn shuttle_finds_a_lock_that_a_panic_leaves_behind() {
    hunt(Bug::KeptLock, containers);
}

/// Two neighbours are removed, and one of the threads inserts a key afterwards.
fn neighbours_are_removed() {
    let recorder = Arc::new(container_history::Recorder::new(2));
    let other = Arc::clone(&recorder);
    let remover = thread::spawn(move || {
        let (mut log, plan) = (Log::default(), Plan::of(&[Op::Take(Kind::List, 4)]));
        other.run(1, Transaction::new(), &plan, &mut log);
        other.finish(log);
    });
    let plan = [Op::Take(Kind::List, 2), Op::Put(Kind::List, 3, 7), Op::Walk(Kind::List)];
    let mut log = Log::default();
    recorder.run(0, Transaction::new(), &Plan::of(&plan), &mut log);
    recorder.finish(log);
    remover.join().unwrap();
    check_history(&recorder);
}

/// Catches: a checker that does not check the reads of an attempt with an old snapshot.
#[test]
#[should_panic(expected = "not opaque")]
fn shuttle_finds_a_node_allocated_under_an_old_snapshot() {
    hunt(Bug::StaleNode, neighbours_are_removed);
}

/// Two entries are added together, and the other thread looks for both.
fn two_are_added(kind: Kind) {
    let recorder = Arc::new(container_history::Recorder::new(2));
    let other = Arc::clone(&recorder);
    let adder = thread::spawn(move || {
        let (mut log, plan) = (Log::default(), [Op::Put(kind, 1, 7), Op::Put(kind, 2, 7)]);
        other.run(1, Transaction::new(), &Plan::of(&plan), &mut log);
        other.finish(log);
    });
    let (mut log, plan) = (Log::default(), [Op::Look(kind, 1), Op::Look(kind, 2)]);
    recorder.run(0, Transaction::new(), &Plan::of(&plan), &mut log);
    recorder.finish(log);
    adder.join().unwrap();
    check_history(&recorder);
}

/// Catches: a search for a key whose result no longer holds at the next one.
#[test]
fn shuttle_searches_see_one_state() {
    explore(|| two_are_added(Kind::Map));
    explore(|| two_are_added(Kind::Hash));
}

/// Catches: a checker that does not check searches after a later commit.
#[test]
#[should_panic(expected = "not opaque")]
fn shuttle_finds_a_group_that_is_not_in_the_read_set() {
    hunt(Bug::UnenteredGroup, || two_are_added(Kind::Hash));
}

/// Catches: a checker in which no search overlaps a commit.
#[test]
#[should_panic(expected = "not opaque")]
fn shuttle_finds_a_group_that_changes_during_a_search() {
    hunt(Bug::NoSecondCheck, || two_are_added(Kind::Hash));
}

/// As [`two_are_added`], in a map that never had an entry.
fn the_first_two_are_added() {
    let shared = Arc::new((THashMap::with_buckets(4), TVar::new(0_u64)));
    let other = Arc::clone(&shared);
    let adder = thread::spawn(move || {
        atomically(|tx| (1..3).try_for_each(|key| other.0.insert(tx, key, 7_u64).map(drop)));
    });
    let (map, var) = &*shared;
    atomically(|tx| {
        let first = map.get(tx, &1_u64)?;
        // The other thread may commit here.
        var.get(tx)?;
        assert_eq!(map.get(tx, &2)?, first, "not opaque");
        Ok(())
    });
    adder.join().unwrap();
}

/// Catches: an empty map that gets its groups between two searches.
#[test]
fn shuttle_searches_of_a_new_map_see_one_state() {
    explore(the_first_two_are_added);
}

/// Catches: a checker that does not check searches before the first entry.
#[test]
#[should_panic(expected = "not opaque")]
fn shuttle_finds_a_search_that_does_not_read_that_a_map_is_new() {
    hunt(Bug::UnreadStart, the_first_two_are_added);
}
