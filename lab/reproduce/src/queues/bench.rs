//! The solver in a pool, ready to be swept over and timed.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use sinew::iter::{IndexedParIter, ParIter, ParallelSliceMut};
use sinew::locality::Distribution;
use sinew::{DomainKind, Domains, Mapping, Placement, Pool, PoolBuilder, TileOrder};
use sinew_apps::jacobi::{Form, Lattice, Plan, Stores};
use sinew_topology::Machine;

use crate::common::place::mapping;
use crate::failure::Failure;
use crate::paper::queues::DOMAINS;
use crate::results::Metrics;
use crate::setting::Scale;

/// The largest error a site may have, as a share of the largest one, after all sweeps of all cases.
const TOLERANCE: f64 = 1e-9;

/// The purpose of a lattice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) scale: Scale,
    pub(crate) workers: usize,
    pub(crate) distribution: Distribution,
    pub(crate) placement: Placement,
}

/// A pool, and the lattice that its workers have touched. Cheap to clone: it is shared.
#[derive(Clone)]
pub(crate) struct Bench(Rc<PoolAndLattice>);

struct PoolAndLattice {
    pool: Pool,
    lattice: RefCell<Lattice>,
    plan: Plan,
    sweeps: usize,
}

/// Sites along an edge: what a cache cannot hold, from the default size on.
fn side(scale: Scale) -> usize {
    scale.pick(30, 240, 600)
}

/// The kind of domain: a NUMA node, or a part of the pool if there is only one node.
pub(crate) fn domain_kind() -> DomainKind {
    if Machine::host().nodes().len() > 1 { DomainKind::Node } else { DomainKind::Parts(DOMAINS) }
}

impl Bench {
    /// Starts the workers, each on a processor of its own, and has them fill the lattice.
    ///
    /// # Errors
    ///
    /// An impossible placement, or too little memory.
    pub(crate) fn prepare(shape: Shape) -> Result<Self, Failure> {
        let Shape { scale, workers, distribution, placement } = shape;
        let pool = pinned_pool(workers)?;
        let plan = Plan::published(side(scale));
        let domains = Domains::new(&pool, domain_kind()).map_err(Failure::impossible)?;
        let lattice = pool.run(|_| Lattice::new(plan.clone(), &domains, distribution, placement));
        let lattice = RefCell::new(lattice.map_err(Failure::impossible)?);
        Ok(Self(Rc::new(PoolAndLattice { pool, lattice, plan, sweeps: scale.pick(1, 4, 10) })))
    }

    /// Sweeps over the lattice in this form, blocks in this order.
    ///
    /// # Errors
    ///
    /// If a site is wrong afterwards.
    pub(crate) fn sweep(&self, form: Form, order: TileOrder) -> Result<Metrics, Failure> {
        let PoolAndLattice { pool, lattice, plan, sweeps } = &*self.0;
        let mut lattice = lattice.borrow_mut();
        lattice.plan_mut().order = order;
        let lattice = &mut *lattice;
        let begin = Instant::now();
        pool.run(|_| lattice.run(form, *sweeps));
        let wall_s = begin.elapsed().as_secs_f64();
        let error = lattice.error();
        if error.is_nan() || error > TOLERANCE {
            return Err(Failure::Wrong(format!("a site is wrong by {error:e} of the largest")));
        }
        Ok(vec![("wall_s", wall_s), ("mlups", (plan.updates() * sweeps) as f64 / wall_s / 1e6)])
    }

    /// Copies one field onto the other with ordinary stores, the sign changed so that it stays a
    /// loop; returns how many updates a second the same traffic would be.
    pub(crate) fn copy(&self) -> Result<Metrics, Failure> {
        let PoolAndLattice { pool, lattice, plan, sweeps } = &*self.0;
        let mut lattice = lattice.borrow_mut();
        let (from, to) = lattice.fields_mut();
        let begin = Instant::now();
        for _ in 0..*sweeps {
            pool.run(|_| negate(from, to, plan.slab()));
        }
        let wall_s = begin.elapsed().as_secs_f64();
        let bytes = (from.len() * sweeps * Stores::Ordinary.bytes_an_update()) as f64;
        let mlups = bytes / Stores::Ordinary.bytes_an_update() as f64 / wall_s / 1e6;
        Ok(vec![("wall_s", wall_s), ("mlups", mlups), ("gigabytes_a_s", bytes / wall_s / 1e9)])
    }
}

/// A pool all of whose workers are pinned, if there are processors for them; an external thread
/// would not be.
pub(crate) fn pinned_pool(workers: usize) -> Result<Pool, Failure> {
    pinned(workers).build().map_err(Failure::impossible)
}

/// The builder of such a pool.
pub(crate) fn pinned(workers: usize) -> PoolBuilder {
    let builder = Pool::builder().threads(workers).external_slot(false);
    let fits = workers <= sinew_topology::Limits::read().allowed().len();
    builder.mapping(if fits { mapping(Mapping::Compact) } else { Mapping::None })
}

fn negate(from: &[f64], to: &mut [f64], slab: usize) {
    to.par_chunks_mut(slab).enumerate().for_each(|(at, to)| {
        for (to, from) in to.iter_mut().zip(&from[at * slab..]) {
            *to = -from;
        }
    });
}
