//! The memory of workers themselves, their state and their task stacks, lies on the nodes that they
//! are pinned to, or on the nearest with memory.

use numa_protocol::{Outcome, Shape};
use sinew_core::{Mapping, OwnPages, Pool, StackKind, Worker, run};

use crate::check::{Check, Verdict, ensure, same};
use crate::pages::nearest_memory;
use crate::workers::here;

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "worker-memory/a-worker-and-its-stack-lie-near-its-cpu", run: near_cpu },
    Check { name: "worker-memory/a-stack-used-again-where-it-lies-is-kept", run: kept },
    Check { name: "worker-memory/a-stack-used-again-on-another-node-comes-anew", run: anew },
];

/// Nested joins that fill several pages of a stack, of descriptors of 32 bytes.
const DEEP: usize = 600;
/// Pages that this touches at least.
const PAGES: usize = DEEP * 32 / 4096;

/// The observations of a worker.
struct Found {
    cpu: usize,
    pages: OwnPages,
}

/// Workers on these CPUs, in order, each with a thread of its own.
fn pool(cpus: &[usize], stack: StackKind) -> Result<Pool, String> {
    let builder = Pool::builder().threads(cpus.len()).mapping(Mapping::Explicit(cpus.to_vec()));
    builder.stack(stack).external_slot(false).build().map_err(|error| error.to_string())
}

fn nest(w: &Worker, joins: usize) -> usize {
    match joins.checked_sub(1) {
        None => 0,
        Some(less) => {
            let (inner, one) = w.join(|w| nest(w, less), |_| 1);
            inner + one
        }
    }
}

/// Has every worker join to this depth, and tells where its memory is then.
fn survey(pool: &Pool, depth: usize) -> Result<Vec<Found>, String> {
    let look = |w: &Worker| {
        same("joins", &nest(w, depth), &depth)?;
        let pages = w.page_nodes().map_err(|error| error.to_string())?;
        Ok(Found { cpu: here(), pages })
    };
    pool.broadcast(|_| run(look)).into_iter().collect()
}

impl Found {
    fn used(&self) -> Vec<usize> {
        self.pages.stack.iter().copied().flatten().collect()
    }

    /// All resident pages lie on the node from which the CPU has its memory.
    fn lies_near_its_cpu(&self, shape: &Shape) -> Result<(), String> {
        let (cpu, nearest) = (self.cpu, nearest_memory(shape, self.cpu)?);
        let state = &self.pages.state;
        ensure(!state.is_empty() && state.iter().all(|node| *node == Some(nearest)), || {
            format!("state of the worker on CPU {cpu}, of node {nearest}: {state:?}")
        })?;
        let stack = self.used();
        ensure(!stack.is_empty() && stack.iter().all(|node| *node == nearest), || {
            format!("stack of the worker on CPU {cpu}, of node {nearest}: {stack:?}")
        })
    }
}

fn near_cpu(shape: &Shape) -> Verdict {
    let forth: Vec<usize> = (0..shape.cpus()).collect();
    let back: Vec<usize> = forth.iter().rev().copied().collect();
    for (cpus, stack) in
        [(&forth, StackKind::Split), (&back, StackKind::Split), (&back, StackKind::TwoField)]
    {
        let found = survey(&pool(cpus, stack)?, DEEP)?;
        same("CPUs", &found.iter().map(|worker| worker.cpu).collect::<Vec<_>>(), cpus)?;
        for worker in found {
            worker.lies_near_its_cpu(shape)?;
            ensure(worker.used().len() >= PAGES, || format!("{} pages", worker.used().len()))?;
        }
    }
    Ok(Outcome::Passed)
}

/// The pages in use of the stacks of workers on `then`, which take over what deep workers on
/// `before` have left, and join but once.
fn taken_over(shape: &Shape, before: usize, then: usize) -> Result<Vec<usize>, String> {
    let four = |cpu: usize| pool(&[cpu; 4], StackKind::Split);
    // More stacks than are kept: what other checks have left is gone afterwards.
    let many = pool(&[before; 16], StackKind::Split)?;
    survey(&many, DEEP)?;
    drop(many);
    let found = survey(&four(then)?, 1)?;
    found.iter().try_for_each(|worker| worker.lies_near_its_cpu(shape))?;
    Ok(found.iter().map(|worker| worker.used().len()).collect())
}

fn kept(shape: &Shape) -> Verdict {
    let used = taken_over(shape, 0, 0)?;
    ensure(used.iter().all(|&pages| pages >= PAGES), || format!("pages in use: {used:?}"))?;
    Ok(Outcome::Passed)
}

fn anew(shape: &Shape) -> Verdict {
    let nearest = nearest_memory(shape, 0)?;
    let with_another = (0..shape.cpus()).find(|&cpu| nearest_memory(shape, cpu) != Ok(nearest));
    let Some(cpu) = with_another else {
        return Ok(Outcome::Skipped("all CPUs have their memory from one node".into()));
    };
    for (before, then) in [(0, cpu), (cpu, 0)] {
        let used = taken_over(shape, before, then)?;
        same("pages in use", &used, &vec![1; 4])?;
    }
    Ok(Outcome::Passed)
}
