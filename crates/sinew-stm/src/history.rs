//! Recorded histories of plain variables, and a checker of opacity. `container_history` has those
//! of containers.
//!
//! Each attempt records the values that it read and wrote. Every written value is the number of its
//! attempt, so it identifies its writer. A writer of a variable has read it first, so the versions
//! of a variable form a chain. The history is opaque if and only if this graph over all attempts,
//! including aborted ones (as readers), has no cycle:
//!
//! - from the writer of a version to its readers and to the writer of the next version;
//! - from the readers of a version to the writer of the next;
//! - from an attempt that ended to each one that began later.
//!
//! Source: Guerraoui and Kapałka, "On the Correctness of Transactional Memory" (2008), the graph
//! characterisation.

use crate::{Prefetch, PrefetchEnd, TVar, Transaction, Tx, TxResult};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The record of one attempt. Number 0 is the writer of all initial values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attempt {
    number: u64,
    began: u64,
    ended: u64,
    committed: bool,
    /// Variables with the values read from them.
    reads: Vec<(usize, u64)>,
    /// Overwritten variables.
    writes: Vec<usize>,
}

/// A test transaction's access to a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Read(usize),
    Write(usize),
}

/// Variables, and the history of their accesses.
pub(crate) struct Recorder {
    vars: Vec<TVar<u64>>,
    /// The time, and all attempts that ended.
    log: Mutex<(u64, Vec<Attempt>)>,
}

impl Recorder {
    pub(crate) fn new(vars: usize) -> Arc<Self> {
        Arc::new(Self { vars: (0..vars).map(|_| TVar::new(0)).collect(), log: Mutex::default() })
    }

    fn tick(&self) -> u64 {
        let mut log = self.log.lock().unwrap();
        log.0 += 1;
        log.0
    }

    fn note(&self, mut attempt: Attempt, committed: bool) {
        let mut log = self.log.lock().unwrap();
        log.0 += 1;
        (attempt.ended, attempt.committed) = (log.0, committed);
        log.1.push(attempt);
    }

    /// Runs `steps` as one transaction, and records all its attempts.
    pub(crate) fn run(&self, how: Transaction, steps: &[Step]) {
        let current = RefCell::new(None);
        how.atomically(|tx| self.follow(tx, steps, &current));
        current.into_inner().into_iter().for_each(|attempt| self.note(attempt, true));
    }

    /// Runs `steps` ahead: an attempt that commits nothing.
    pub(crate) fn run_ahead(&self, steps: &[Step]) -> PrefetchEnd {
        let current = RefCell::new(None);
        let ahead = Prefetch::new(1_000).run(|tx| self.follow(tx, steps, &current));
        current.into_inner().into_iter().for_each(|attempt| self.note(attempt, false));
        ahead.ended
    }

    /// One attempt at `steps`, recorded in `current`; the content before it is discarded.
    fn follow<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        steps: &[Step],
        current: &RefCell<Option<Attempt>>,
    ) -> TxResult<()> {
        let number = self.tick();
        let lost = current.replace(Some(Attempt { number, began: number, ..Attempt::default() }));
        lost.into_iter().for_each(|attempt| self.note(attempt, false));
        for step in steps {
            let (Step::Read(var) | Step::Write(var)) = *step;
            let value = self.vars[var].get(tx)?;
            let mut current = current.borrow_mut();
            let attempt = current.as_mut().expect("begun above");
            if value != number {
                attempt.reads.push((var, value));
            }
            if matches!(step, Step::Write(_)) {
                attempt.writes.push(var);
                drop(current);
                self.vars[var].set(tx, number)?;
            }
        }
        Ok(())
    }

    /// Checks the history so far and clears it; returns its length, or the first error.
    pub(crate) fn verdict(&self) -> Result<usize, String> {
        check(&std::mem::take(&mut self.log.lock().unwrap().1))
    }
}

/// Whether `history` is opaque: returns the number of its attempts, or the first error.
pub(crate) fn check(history: &[Attempt]) -> Result<usize, String> {
    let places: HashMap<u64, usize> =
        history.iter().enumerate().map(|(i, a)| (a.number, i)).collect();
    let next = successors(history)?;
    let mut edges = vec![Vec::new(); history.len()];
    for (reader, attempt) in history.iter().enumerate() {
        for (var, value) in &attempt.reads {
            match places.get(value) {
                Some(writer) if history[*writer].committed => edges[*writer].push(reader),
                // A value from before this part of the history.
                None => {}
                Some(_) => {
                    return Err(format!(
                        "not opaque: {attempt:?} read {value}, which was never committed"
                    ));
                }
            }
            let overwriter = next.get(&(*var, *value)).filter(|writer| **writer != reader);
            edges[reader].extend(overwriter);
        }
        edges[reader]
            .extend((0..history.len()).filter(|later| history[*later].began > attempt.ended));
    }
    acyclic(&edges).then_some(history.len()).ok_or_else(|| format!("not opaque: {history:#?}"))
}

/// The writer of the next version after each: two writers after the same one lost an update.
fn successors(history: &[Attempt]) -> Result<HashMap<(usize, u64), usize>, String> {
    let mut next = HashMap::new();
    for (writer, attempt) in history.iter().enumerate().filter(|(_, attempt)| attempt.committed) {
        for var in &attempt.writes {
            let Some((_, before)) = attempt.reads.iter().find(|(read, _)| read == var) else {
                continue;
            };
            if next.insert((*var, *before), writer).is_some() {
                return Err(format!(
                    "not opaque: two successors of {before} in variable {var}, an update was lost"
                ));
            }
        }
    }
    Ok(next)
}

/// Kahn's topological sort: whether it reaches every node.
fn acyclic(edges: &[Vec<usize>]) -> bool {
    let mut before = vec![0; edges.len()];
    edges.iter().flatten().for_each(|to| before[*to] += 1);
    let mut ready: Vec<usize> = (0..edges.len()).filter(|node| before[*node] == 0).collect();
    let mut reached = 0;
    while let Some(node) = ready.pop() {
        reached += 1;
        for to in &edges[node] {
            before[*to] -= 1;
            if before[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    reached == edges.len()
}

/// Transactions that differ by thread and turn: some read all, some write all, most do some of
/// both.
pub(crate) fn steps(vars: usize, thread: usize, turn: usize) -> Vec<Step> {
    let mix = |var: usize| (thread * 7 + turn * 3 + var * 5) % 4;
    let step = |var| if mix(var) == 0 { Step::Write(var) } else { Step::Read(var) };
    let forth = (0..vars).map(step);
    if (thread + turn).is_multiple_of(2) { forth.collect() } else { forth.rev().collect() }
}

#[cfg(not(any(loom, shuttle)))]
mod tests {
    use super::{Attempt, Recorder, check, steps};
    use crate::{ContentionManager, Locking, Transaction};

    fn attempt(
        times: [u64; 2],
        committed: bool,
        reads: &[(usize, u64)],
        writes: &[usize],
    ) -> Attempt {
        let [began, ended] = times;
        let (reads, writes) = (reads.to_vec(), writes.to_vec());
        Attempt { number: began, began, ended, committed, reads, writes }
    }

    /// Catches: a checker that accepts everything, for each way in which a history can be wrong.
    #[test]
    fn the_checker_refuses_histories_that_are_not_opaque() {
        let update = |times| attempt(times, true, &[(0, 0)], &[0]);
        assert!(check(&[update([1, 3]), update([2, 4])]).is_err(), "a lost update");
        let skew = |times, var| attempt(times, true, &[(0, 0), (1, 0)], &[var]);
        assert!(check(&[skew([1, 3], 0), skew([2, 4], 1)]).is_err(), "a write skew");
        let both = attempt([2, 3], true, &[(0, 0), (1, 0)], &[0, 1]);
        for committed in [false, true] {
            let torn = attempt([1, 4], committed, &[(0, 2), (1, 0)], &[]);
            assert!(check(&[both.clone(), torn]).is_err(), "half of a commit");
        }
        let late = attempt([4, 5], true, &[(0, 0)], &[]);
        assert!(check(&[both, late]).is_err(), "a stale read");
        let dirty = attempt([1, 4], false, &[(0, 0)], &[0]);
        assert!(check(&[dirty, attempt([2, 3], true, &[(0, 1)], &[])]).is_err(), "a dirty read");
    }

    /// Catches: a checker that refuses everything.
    #[test]
    fn the_checker_accepts_histories_that_are_opaque() {
        let both = attempt([2, 3], true, &[(0, 0), (1, 0)], &[0, 1]);
        let early = attempt([1, 4], true, &[(0, 0), (1, 0)], &[]);
        let late = attempt([5, 6], true, &[(0, 2), (1, 2)], &[0]);
        assert_eq!(check(&[both, early, late]), Ok(3));
    }

    /// Catches: snapshots and commits that go wrong on the machine itself, under each manager, with
    /// early and late locks side by side, and in runs ahead.
    #[test]
    fn histories_of_real_threads_are_opaque() {
        let end = std::time::Instant::now() + crate::stress_time();
        let mut round = 0;
        while round < 30 || std::time::Instant::now() < end {
            let manager =
                [ContentionManager::Suicide, ContentionManager::Backoff, ContentionManager::Age]
                    [round % 3];
            let recorder = Recorder::new(2 + round % 3);
            let how =
                Transaction::new().manager(manager).max_aborts([3, 10, u32::MAX][round / 3 % 3]);
            std::thread::scope(|s| {
                for thread in 0..3 {
                    let recorder = &recorder;
                    s.spawn(move || {
                        for turn in 0..30 {
                            let steps = steps(recorder.vars.len(), thread, turn + round);
                            let late = (thread * round + turn).is_multiple_of(3);
                            let locking = if late { Locking::Commit } else { Locking::Encounter };
                            recorder.run_ahead(&steps);
                            recorder.run(how.locking(locking), &steps);
                        }
                    });
                }
            });
            let verdict = recorder.verdict();
            assert!(verdict.as_ref().is_ok_and(|attempts| *attempts >= 90), "{verdict:?}");
            round += 1;
        }
    }
}
