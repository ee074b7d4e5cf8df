//! The transactional worklist: what it adds to a transaction that is written by hand, by setting.
//!
//! Each unit adds to two of a thousand variables, chosen at random. By hand, each worker has its
//! share of the units and starts a transaction for each. All variants of a round run one after the
//! other; figures are medians of the rounds, for one unit of all together.

use super::line::{Line, Unit};
use crate::problem::Scale;
use sinew_core::Pool;
use sinew_stm::{TVar, atomically};
use sinew_sync::CachePadded;
use sinew_sync::clock::now_ns;

use sinew::worklist::{Settings, Tuning, Worklist};

/// Rounds of which the median counts.
const ROUNDS: usize = 15;

/// Variables of all units together.
const VARS: usize = 1_000;

/// The places of two variables.
type Pair = (u32, u32);

type Vars = Vec<CachePadded<TVar<u64>>>;

/// The way the units are run.
#[derive(Debug, Clone, Copy)]
enum Variant {
    ByHand,
    Plain,
    List(Tuning),
}

struct Table {
    vars: Vars,
    pairs: Vec<Pair>,
}

impl Table {
    fn new(units: u32) -> Self {
        let spread = |n: u32| n.wrapping_mul(2_654_435_769) % VARS as u32;
        let pairs = (0..units).map(|n| (spread(2 * n), spread(2 * n + 1))).collect();
        Self { vars: (0..VARS).map(|_| CachePadded(TVar::new(0))).collect(), pairs }
    }

    /// Nanoseconds for each unit.
    fn time(&self, pool: &Pool, variant: Variant) -> f64 {
        let mut list: Worklist<Pair> = self.pairs.iter().copied().collect();
        let start = now_ns();
        match variant {
            Variant::ByHand => self.by_hand(pool),
            Variant::Plain => drop(pool.run(|_| list.run_plain(|&pair, _| self.touch(pair)))),
            Variant::List(tuning) => {
                let mut list = list.tune(tuning);
                let add = |place: u32| &self.vars[place as usize];
                drop(pool.run(|_| {
                    list.run(|tx, &(a, b)| {
                        add(a).modify(tx, |n| n + 1)?;
                        add(b).modify(tx, |n| n + 1)
                    })
                }));
            }
        }
        (now_ns() - start) as f64 / self.pairs.len() as f64
    }

    fn by_hand(&self, pool: &Pool) {
        let share = self.pairs.len().div_ceil(pool.max_threads());
        pool.run(|w| {
            w.scope(|s| {
                for pairs in self.pairs.chunks(share) {
                    s.spawn(move |_| {
                        for &(a, b) in pairs {
                            atomically(|tx| {
                                self.vars[a as usize].modify(tx, |n| n + 1)?;
                                self.vars[b as usize].modify(tx, |n| n + 1)
                            });
                        }
                    });
                }
            });
        });
    }

    fn touch(&self, (a, b): Pair) {
        std::hint::black_box(self.vars[a as usize].load() + self.vars[b as usize].load());
    }
}

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let table = Table::new(scale.pick(200_000, 200));
    let pools = [1, 2].map(|threads| Pool::builder().threads(threads).build());
    let [one, two] = pools.map(|pool| pool.map_err(|error| error.to_string()));
    let pools = [one?, two?];
    let mut lines = Vec::new();
    for (what, variant) in variants() {
        lines.push((what, variant, [Vec::new(), Vec::new()]));
    }
    for _ in 0..scale.pick(ROUNDS, 2) {
        for (_, variant, times) in &mut lines {
            for (pool, times) in pools.iter().zip(times) {
                times.push(table.time(pool, variant(pool.max_threads())));
            }
        }
    }
    Ok(lines.into_iter().map(|(what, _, times)| line(what, times)).collect())
}

/// A variant by the number of threads.
type OfThreads = fn(usize) -> Variant;

fn variants() -> Vec<(&'static str, OfThreads)> {
    vec![
        ("by hand: a share of the units for each worker", |_| Variant::ByHand),
        ("worklist: stealing", |threads| fixed(Settings::baseline(threads).stealing(true))),
        ("worklist: stealing, coalescing", |threads| {
            fixed(Settings::baseline(threads).stealing(true).coalescing(true))
        }),
        ("worklist: stealing, swap after 2 retries", |threads| {
            fixed(Settings::baseline(threads).stealing(true).swap_after(Some(2)))
        }),
        ("worklist: one list for all", |threads| fixed(Settings::baseline(threads))),
        ("worklist: tuned", |_| Variant::List(Tuning::Auto)),
        ("worklist: without transactions", |_| Variant::Plain),
    ]
}

fn fixed(settings: Settings) -> Variant {
    Variant::List(Tuning::Fixed(settings))
}

fn line(what: &str, times: [Vec<f64>; 2]) -> Line {
    let [one, two] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let figures = vec![("one thread", one), ("two threads", two)];
    Line { what: what.to_owned(), figures, unit: Unit::Ns, bars: Vec::new() }
}
