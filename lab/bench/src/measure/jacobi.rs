//! The six-point stencil beside a copy of the same memory, with the same threads and the same kind
//! of store.
//!
//! An update moves 24 bytes with ordinary stores (a line is read before it is overwritten) and 16
//! with those that go past the caches; so does a copied site. The field is much larger than any
//! cache. Every form runs once a round, and so does the copy, by the loop's schedule over the same
//! pieces; the ratio is taken within rounds. Blocks are the published ones and larger ones, of
//! which three layers still fit into a cache. Last come several time steps while the data is in the
//! cache, which may well be quicker than any copy.

use super::line::{Line, Unit};
use crate::bars::Verdict;
use crate::problem::Scale;
use crate::runtimes::sinew;
use crate::statistics::Summary;
use ::sinew::iter::LoopOptions;
use ::sinew::iter::{IndexedParIter, ParIter, ParallelSliceMut};
use ::sinew::locality::{Distribution, DomainOrder};
use ::sinew::{DomainKind, Domains, Placement, Pool, Schedule, streaming};
use sinew_apps::jacobi::{Form, Fronts, Lattice, Plan, Stores, Strips};
use std::time::Instant;

const BAR: &str = "at least 0.9 of the copy";
const LEAST: f64 = 0.9;

/// The domains of the published machine.
const PARTS: usize = 4;

/// The largest error per sweep that counts as a right result.
const TOLERANCE: f64 = 1e-13;

/// Measures every form with every kind of store and every size of block.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = sinew::pool(threads)?;
    let mut lines = Vec::new();
    for plan in plans(scale.pick(600, 24)) {
        let domains =
            Domains::new(&pool, DomainKind::Parts(PARTS)).map_err(|error| error.to_string())?;
        let lattice =
            pool.run(|_| Lattice::new(plan, &domains, Distribution::Static, Placement::FirstTouch));
        let mut lattice = lattice.map_err(|error| error.to_string())?;
        for stores in [Stores::Ordinary, Stores::Streaming] {
            lattice.plan_mut().stores = stores;
            lines.extend(compare(&pool, &mut lattice, scale.pick(3, 2))?);
        }
    }
    drop(pool);
    lines.extend(fronts(&sinew::pinned_pool(threads)?, scale)?);
    Ok(lines)
}

/// Several time steps at once, by depth. Strips belong to caches, so that the pool has to know on
/// which each worker runs.
fn fronts(pool: &Pool, scale: Scale) -> Result<Vec<Line>, String> {
    let domains = Domains::new(pool, DomainKind::Cache).map_err(|error| error.to_string())?;
    let side: usize = scale.pick(600, 24);
    let depths = [1, 4, 8].map(|depth| {
        let mut strips = Strips::new(Fronts { side, rows: side.div_ceil(24), depth });
        let run = |strips: &mut Strips| timed(|| pool.run(|_| strips.run(&domains, 8)));
        run(&mut strips);
        let updates = (8 * (side - 2).pow(3)) as f64;
        let rates: Vec<f64> =
            (0..scale.pick(3, 1)).map(|_| updates / run(&mut strips) / 1e6).collect();
        let what = format!("fronts, {depth} steps deep, strips of {} rows", side.div_ceil(24));
        let rate = Summary::of(rates).map_or(0.0, |rate| rate.median);
        Line::single(what, "MLUP/s", rate, Unit::Number)
    });
    Ok(depths.into())
}

/// The published blocks, and deep ones, through which one goes layer by layer.
fn plans(side: usize) -> [Plan; 2] {
    let deep = Plan { block: (side.div_ceil(12), side.div_ceil(12)), ..Plan::published(side) };
    [Plan::published(side), deep]
}

fn forms() -> [(&'static str, Form); 5] {
    [
        ("serial", Form::Serial),
        ("loop, static", Form::Loop(Schedule::Static)),
        ("loop, dynamic", Form::Loop(Schedule::Dynamic { chunk: 1 })),
        ("tasks", Form::Tasks(DomainOrder::Together)),
        ("tasks + queues", Form::Tasks(DomainOrder::Ring)),
    ]
}

/// All forms in turn, and the copies they are held against.
fn compare(pool: &Pool, lattice: &mut Lattice, rounds: usize) -> Result<Vec<Line>, String> {
    let forms = forms();
    let mut times = vec![Vec::new(); forms.len()];
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let copy_alone = timed(|| copy(None, lattice));
        let copy_together = timed(|| copy(Some(pool), lattice));
        // The copy has left the field in both places; the field is unchanged.
        for (times, (_, form)) in times.iter_mut().zip(&forms) {
            let time = timed(|| pool.run(|_| lattice.run(*form, 1)));
            // The first round warms up.
            times.extend((round > 0).then_some(time));
        }
        alone.extend((round > 0).then_some(copy_alone));
        together.extend((round > 0).then_some(copy_together));
    }
    let error = lattice.error();
    let tolerance = TOLERANCE * (forms.len() * (rounds + 1)) as f64;
    if error.is_nan() || error > tolerance {
        return Err(format!("a site is wrong by {error:e} of the largest"));
    }
    let line = |(times, (name, form)): (&Vec<f64>, &(&str, Form))| {
        let copies = if *form == Form::Serial { &alone } else { &together };
        line(name, lattice, times, copies)
    };
    Ok(times.iter().zip(&forms).filter_map(line).collect())
}

fn line(name: &str, lattice: &mut Lattice, times: &[f64], copies: &[f64]) -> Option<Line> {
    let plan = lattice.plan_mut();
    let (bytes, updates) = (plan.stores.bytes_an_update() as f64, plan.updates() as f64);
    let (sites, (rows, layers)) = (plan.side.pow(3) as f64, plan.block);
    let stores = if plan.stores == Stores::Streaming { "streaming" } else { "ordinary" };
    let ratio =
        Summary::of(times.iter().zip(copies).map(|(time, copy)| updates / time / (sites / copy)))?;
    let (time, copy) = (Summary::of(times.iter().copied())?, Summary::of(copies.iter().copied())?);
    let what = format!("{name}, {stores} stores, {} x {rows} x {layers}", plan.side);
    let figures = vec![
        ("MLUP/s", updates / time.median / 1e6),
        ("GB/s", bytes * updates / time.median / 1e9),
        ("copy GB/s", bytes * sites / copy.median / 1e9),
        ("ratio", ratio.median),
    ];
    let bar = Verdict { bar: BAR, limit: LEAST, measured: ratio, passed: ratio.median >= LEAST };
    Some(Line { what, figures, unit: Unit::Number, bars: vec![bar] })
}

fn timed(f: impl FnOnce()) -> f64 {
    let began = Instant::now();
    f();
    began.elapsed().as_secs_f64()
}

/// Copies the field, with all workers or on this thread, by the kind of store of the plan.
fn copy(pool: Option<&Pool>, lattice: &mut Lattice) {
    let (side, slab, stores) =
        (lattice.plan_mut().side, lattice.plan_mut().slab(), lattice.plan_mut().stores);
    let (now, next) = lattice.fields_mut();
    let piece = |(number, to): (usize, &mut [f64])| {
        copy_rows(side, stores, to, &now[number * slab..][..to.len()]);
    };
    match pool {
        None => next.chunks_mut(slab).enumerate().for_each(piece),
        Some(pool) => pool.run(|_| {
            next.par_chunks_mut(slab).enumerate().schedule(Schedule::Static).for_each(piece);
        }),
    }
}

fn copy_rows(side: usize, stores: Stores, to: &mut [f64], from: &[f64]) {
    let rows = to.chunks_mut(side).zip(from.chunks(side));
    match stores {
        Stores::Ordinary => rows.for_each(|(to, from)| copy_row(to, from)),
        Stores::Streaming => {
            streaming(|streams| {
                rows.for_each(|(to, from)| streams.write(to, |to, at| copy_row(to, &from[at..])));
            });
        }
    }
}

/// An addition keeps the compiler from calling the library's copy, which has stores of its own
/// choice.
fn copy_row(to: &mut [f64], from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from + 0.0;
    }
}
