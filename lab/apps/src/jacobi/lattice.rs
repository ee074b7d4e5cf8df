//! The cube in memory, cut into blocks, and the ways to sweep over it once.
//!
//! A block is a tile of whole rows: some rows of some layers. The loop takes blocks that share
//! their layers together, as an iteration; tasks are one block each, in one queue or in the queues
//! of the domains their layers belong to.

use std::mem;

use sinew::locality::{Distribution, DomainOrder};
use sinew::prelude::*;
use sinew::{Row, ScopeBuilder, Shape, Tile, TileOrder, locality, tiles};

use super::kernel::{Field, Stores, Wave};

/// The blocks of the cube, and the order of the sweep.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Sites along an edge, faces included; at least 3.
    pub side: usize,
    /// Rows and layers of a block; blocks have whole rows.
    pub block: (usize, usize),
    /// The order in which blocks are submitted.
    pub order: TileOrder,
    /// Number of pending tasks at which the submitter runs some itself.
    pub max_pending: usize,
    /// The way to store results.
    pub stores: Stores,
}

impl Plan {
    /// The published way to cut a cube of this side: 60 x 60 blocks, 257 tasks pending; 600 x 10 x
    /// 10 sites each in the published size, 600.
    pub fn published(side: usize) -> Self {
        let edge = side.div_ceil(60);
        let (order, stores) = (TileOrder::default(), Stores::default());
        Self { side, block: (edge, edge), order, max_pending: 257, stores }
    }

    /// Updates of a sweep: the sites that have six neighbours.
    pub fn updates(&self) -> usize {
        (self.side - 2).pow(3)
    }

    /// Sites of as many layers as a block has.
    pub fn slab(&self) -> usize {
        self.side * self.side * self.block.1
    }

    fn shape(&self) -> Shape {
        Shape { row: self.side, rows: self.side, layers: self.side }
    }

    fn tiles<'a>(&self, sites: &'a mut [f64]) -> impl Iterator<Item = Tile<'a, f64>> {
        tiles(sites, self.shape(), self.block, self.order)
    }
}

/// The executor of a sweep, and the distribution of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The calling thread, block by block.
    Serial,
    /// A loop over the layers of blocks.
    Loop(Schedule),
    /// A task a block, in queues that are served in this order; [`DomainOrder::Together`] is one
    /// queue for all.
    Tasks(DomainOrder),
}

/// The two fields that take turns, placed.
#[derive(Debug)]
pub struct Lattice {
    plan: Plan,
    now: Placed<f64>,
    next: Placed<f64>,
    steps: usize,
}

impl Lattice {
    /// The field that the stencil only scales, in the current pool, whose domains are given:
    /// touched by `distribution`, placed by `placement`.
    ///
    /// # Errors
    ///
    /// As [`PlacedOptions::fill`](locality::PlacedOptions::fill).
    ///
    /// # Panics
    ///
    /// If the side is below 3.
    pub fn new(
        plan: Plan,
        domains: &Domains,
        distribution: Distribution,
        placement: Placement,
    ) -> Result<Self, locality::PlacementError> {
        assert!(
            plan.side >= 3,
            "a cube with an inside has a side of 3 at least, not {}",
            plan.side
        );
        let wave = Wave::new(plan.side);
        let field = || {
            let options = Placed::options(domains)
                .distribution(distribution)
                .placement(placement)
                .large_pages(true);
            options.fill(plan.side.pow(3), plan.slab(), |at| wave.site(at))
        };
        Ok(Self { now: field()?, next: field()?, plan, steps: 0 })
    }

    /// Sweeps over the cube `sweeps` times.
    pub fn run(&mut self, form: Form, sweeps: usize) {
        for _ in 0..sweeps {
            let owners = |slab: usize| self.now.domain_of(slab);
            let domains = self.now.domains().clone();
            sweep(&self.plan, form, &domains, owners, &self.now, &mut self.next);
            mem::swap(&mut self.now, &mut self.next);
        }
        self.steps += sweeps;
    }

    /// The plan, to be changed between sweeps. Its side and the layers of its blocks must stay.
    pub fn plan_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }

    /// The field.
    pub fn sites(&self) -> &[f64] {
        &self.now
    }

    /// Both fields: where measurements of the same memory may copy.
    pub fn fields_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.now, &mut self.next)
    }

    /// The largest error, as a share of the largest site.
    pub fn error(&self) -> f64 {
        Wave::new(self.plan.side).error(&self.now, self.steps)
    }
}

/// One sweep from `now` to `next`, in the current pool. `owners` tells the domain of each layer of
/// blocks.
pub(crate) fn sweep(
    plan: &Plan,
    form: Form,
    domains: &Domains,
    owners: impl Fn(usize) -> usize + Sync,
    now: &[f64],
    next: &mut [f64],
) {
    let field = Field { side: plan.side, sites: now };
    match form {
        Form::Serial => sweep_serial(plan, now, next),
        Form::Loop(schedule) => {
            let slabs = next.par_chunks_mut(plan.slab()).enumerate().schedule(schedule);
            slabs.for_each(|(slab, sites)| relax_slab(plan, &field, slab, sites));
        }
        Form::Tasks(order) => {
            let scope =
                ScopeBuilder::new().queues(domains.queues(order)).max_pending(plan.max_pending);
            scope.run(|s| {
                for tile in plan.tiles(next) {
                    let domain = owners(tile.layers().start / plan.block.1);
                    s.spawn_into(domain, move |_| field.relax(tile.into_rows(), plan.stores));
                }
            });
        }
    }
}

/// The same on the calling thread.
pub(crate) fn sweep_serial(plan: &Plan, now: &[f64], next: &mut [f64]) {
    let field = Field { side: plan.side, sites: now };
    plan.tiles(next).for_each(|tile| field.relax(tile.into_rows(), plan.stores));
}

/// All blocks of the same layers.
fn relax_slab(plan: &Plan, field: &Field<'_>, slab: usize, sites: &mut [f64]) {
    let shape = Shape { layers: sites.len() / (plan.side * plan.side), ..plan.shape() };
    let first = slab * plan.block.1;
    for tile in tiles(sites, shape, plan.block, TileOrder::LayersOutside) {
        let rows = tile.into_rows().map(|row| Row { layer: first + row.layer, ..row });
        field.relax(rows, plan.stores);
    }
}
