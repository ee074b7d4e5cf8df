//! Random graphs of units that wait for each other, against a serial model: each unit that can run
//! commits once, and those that cannot are left, with the error that says so.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sinew::stm::{Locking, TArray, TVar, Transaction};
use sinew::worklist::{Settings, WorklistError};

use super::{WORKERS, every_kind, list_of, pool, watched};

/// A unit, and those whose values it needs.
#[derive(Debug, Clone)]
struct Unit {
    number: usize,
    needs: Vec<usize>,
    /// Units that it adds.
    adds: Vec<usize>,
}

/// Units in the order of the list; of those that are added, by whom.
struct Graph {
    units: Vec<Unit>,
    is_added: Vec<bool>,
}

impl Graph {
    /// Up to `most` units. One unit in some needs one that comes after it, so there may be circles.
    fn random(rng: &mut fastrand::Rng, most: usize) -> Self {
        let size = rng.usize(1..=most);
        let mut order: Vec<usize> = (0..size).collect();
        rng.shuffle(&mut order);
        let backwards = rng.choice([0, 0, 20, 200]).unwrap();
        let mut units: Vec<Unit> = (0..size)
            .map(|at| {
                let needs = (0..rng.usize(0..4)).filter_map(|_| {
                    let is_later = backwards > 0 && rng.usize(..backwards) == 0;
                    let among = if is_later { 0..size } else { 0..at };
                    (!among.is_empty()).then(|| order[rng.usize(among)])
                });
                Unit { number: order[at], needs: needs.collect(), adds: Vec::new() }
            })
            .collect();
        rng.shuffle(&mut units);
        let mut is_added = vec![false; size];
        for unit in 0..size {
            // Only units that stand in the list add others, so that each is added once.
            let other = rng.usize(..size);
            if rng.u8(..8) == 0
                && other > unit
                && !is_added[unit]
                && units[other].adds.is_empty()
                && !is_added[other]
            {
                units[unit].adds.push(other);
                is_added[other] = true;
            }
        }
        Self { units, is_added }
    }

    /// The value of a unit, from those that it needs.
    fn value(number: usize, needs: impl Iterator<Item = u64>) -> u64 {
        needs.fold(number as u64 + 1, |value, need| value.wrapping_mul(31).wrapping_add(need)) | 1
    }

    /// The values of the units that can run, by numbers; 0 for all others. And how many units are
    /// left in the list.
    fn expected(&self) -> (Vec<u64>, usize) {
        let mut values = vec![0_u64; self.units.len()];
        let mut is_ready: Vec<bool> = self.is_added.iter().map(|added| !added).collect();
        loop {
            let next = (0..self.units.len()).find(|&at| {
                let Unit { number, needs, .. } = &self.units[at];
                is_ready[at] && values[*number] == 0 && needs.iter().all(|&need| values[need] > 0)
            });
            let Some(at) = next else { break };
            let Unit { number, needs, adds } = &self.units[at];
            values[*number] = Self::value(*number, needs.iter().map(|&need| values[need]));
            adds.iter().for_each(|&added| is_ready[added] = true);
        }
        let left =
            (0..self.units.len()).filter(|&at| is_ready[at] && values[self.units[at].number] == 0);
        let left = left.count();
        (values, left)
    }
}

/// One random graph under random settings that change meanwhile, run twice if units are left.
fn try_graph(rng: &mut fastrand::Rng, pool: &sinew::Pool) {
    let graph = Graph::random(rng, 120);
    let settings = |rng: &mut fastrand::Rng| -> Settings {
        every_kind(rng.usize(1..=WORKERS)).nth(rng.usize(..16)).unwrap()
    };
    let (first, later) = (settings(rng), [0; 3].map(|_| settings(rng)));
    let locking = if rng.bool() { Locking::Encounter } else { Locking::Commit };
    let units = (0..graph.units.len()).filter(|&at| !graph.is_added[at]);
    let mut list =
        list_of(units.collect::<Vec<_>>(), first).transactions(Transaction::new().locking(locking));
    let (control, limits) = (list.settings_handle(), [0; 3].map(|_| rng.usize(1..=WORKERS)));
    let changes = rng.bool();
    // Neighbours of an array share a lock, single variables do not.
    let (array, single) = (TArray::new(graph.units.len(), 0_u64), rng.bool());
    let vars: Vec<TVar<u64>> = graph.units.iter().map(|_| TVar::new(0)).collect();
    let (expected, left) = graph.expected();
    let runs: Vec<AtomicU32> = graph.units.iter().map(|_| AtomicU32::new(0)).collect();
    let ended = std::thread::scope(|s| {
        if changes {
            s.spawn(|| {
                for (settings, limit) in later.into_iter().zip(limits) {
                    control.set(settings);
                    pool.control().set_threads(limit);
                    std::thread::yield_now();
                }
            });
        }
        pool.run(|_| {
            list.run_fold(
                |tx, &at, more| {
                    let Unit { number, needs, adds } = &graph.units[at];
                    let mut seen = Vec::new();
                    for &need in needs {
                        let value =
                            if single { vars[need].get(tx)? } else { array.get(tx, need)? };
                        if value == 0 {
                            return tx.retry();
                        }
                        seen.push(value);
                    }
                    more.extend(adds.iter().copied());
                    let value = Graph::value(*number, seen.into_iter());
                    if single {
                        vars[*number].set(tx, value)?;
                    } else {
                        array.set(tx, *number, value)?;
                    }
                    Ok(*number)
                },
                |(): &mut (), number| {
                    runs[number].fetch_add(1, Ordering::Relaxed);
                },
            )
        })
    });
    pool.control().set_threads(WORKERS);
    let values = if single { vars.iter().map(TVar::load).collect() } else { array.load_all() };
    assert_eq!(values, expected, "{first}, {locking:?}");
    let once =
        |(runs, value): (&AtomicU32, &u64)| runs.load(Ordering::Relaxed) == u32::from(*value > 0);
    assert!(runs.iter().zip(&expected).all(once), "{runs:?}, {first}, {locking:?}");
    match ended {
        Ok(report) => assert_eq!(
            (report.commits, left),
            (expected.iter().filter(|value| **value > 0).count() as u64, 0)
        ),
        Err(error) => {
            let WorklistError::Waiting { units, report } = &error else { panic!("{error}") };
            let committed = expected.iter().filter(|value| **value > 0).count() as u64;
            assert_eq!((*units, left, report.commits), (list.len(), list.len(), committed));
        }
    }
}

/// Catches: a wake-up that is lost, a unit that is lost or run twice, an end while units can run,
/// and none while they cannot: whatever waits for whatever. A second of it, a minute with
/// `SINEW_DEEP=1`.
#[test]
fn random_graphs_run_as_the_serial_model_does() {
    let seconds = if std::env::var_os("SINEW_DEEP").is_some() { 60 } else { 1 };
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut graphs = 0_u64;
    while Instant::now() < end {
        let seed = rng.u64(..);
        watched(move || {
            let (mut rng, pool) = (fastrand::Rng::with_seed(seed), pool(WORKERS));
            (0..20).for_each(|_| try_graph(&mut rng, &pool));
        });
        graphs += 20;
    }
    println!("{graphs} graphs");
}
