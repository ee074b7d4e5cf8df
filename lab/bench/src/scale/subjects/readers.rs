//! Transactions that only read: a hundred variables each. Readers write nothing that they share, so
//! they should scale as plain loads do.

use super::super::subject::{Ask, Contender, Group, Place, Ready, Subject, Teams};
use crate::problem::{Case, Sample, Scale, ns_since};
use crate::runtimes::sinew::{ParIter, Pool, Schedule, over, pool};
use ::sinew::iter::LoopOptions;
use sinew_stm::{TVar, atomically};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Variables of a transaction.
const MANY: u64 = 100;

pub(super) fn all(scale: Scale) -> Vec<Subject> {
    let repeats = scale.pick(400_000, 200);
    let case = Case { label: "", size: MANY, kind: 0, repeats, operations: repeats };
    let here = |name, teams| Contender { name, teams, place: Place::Here };
    vec![Subject {
        group: Group::Transactions,
        name: "reads of 100 variables".to_owned(),
        unit: "transaction",
        case,
        contenders: vec![
            here("serial", Teams::One),
            here("sinew", Teams::Each),
            here("plain loads", Teams::Each),
        ],
        known: Some(repeats * MANY * (MANY - 1) / 2),
        weight: 1,
        cell_ms: 100,
        prepare: Box::new(|| Ok(ready())),
    }]
}

fn ready() -> Ready {
    let vars: Vec<CachePadded<TVar<u64>>> = (0..MANY).map(|n| CachePadded(TVar::new(n))).collect();
    let plain: Vec<CachePadded<AtomicU64>> =
        (0..MANY).map(|n| CachePadded(AtomicU64::new(n))).collect();
    Box::new(move |ask: &Ask| {
        let read =
            || atomically(|tx| vars.iter().try_fold(0_u64, |sum, var| Ok(sum + var.get(tx)?)));
        // Acquire: as the loads of a transaction.
        let load = || plain.iter().map(|value| value.load(Ordering::Acquire)).sum();
        match ask.contender.as_str() {
            "serial" => {
                let start = Instant::now();
                let answer = (0..ask.case.repeats).map(|_| read()).sum();
                Ok(Sample { ns: ns_since(start), answer })
            }
            "sinew" => Ok(parallel(&pool(ask.threads)?, ask.case.repeats, read)),
            _ => Ok(parallel(&pool(ask.threads)?, ask.case.repeats, load)),
        }
    })
}

fn parallel(pool: &Pool, repeats: u64, sum: impl Fn() -> u64 + Sync) -> Sample {
    let run = |repeats| {
        let sums = over(0..repeats).schedule(Schedule::Dynamic { chunk: 256 }).map(|_| sum());
        pool.run(|_| sums.reduce(|| 0, |a, b| a + b))
    };
    // The threads find cores, and transactions their records.
    run(repeats / 16);
    let start = Instant::now();
    let answer = run(repeats);
    Sample { ns: ns_since(start), answer }
}
