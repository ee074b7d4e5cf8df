//! Which worker runs which block, counted: what the bound on pending tasks does to the order of submission, on any machine.
//!
//! As many workers and domains as in the publication, 60 × 60 blocks, at most 257 pending. A task computes for some microseconds instead of moving
//! memory, and notes whether its worker belongs to the block's domain. That share is what decides about bandwidth where memory is near
//! or far.

use std::hint::black_box;

use sinew::locality::{Deal, Order};
use sinew::{DomainKind, DomainScopeBuilder, Domains, TileOrder};
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::bench::pinned_pool;
use crate::experiment::Metrics;
use crate::failure::Failure;
use crate::paper::queues::DOMAINS;

/// The publication's workers, blocks along an edge, and bound on pending tasks.
const WORKERS: usize = 8;
const EDGE: usize = 60;
const PENDING: usize = 257;

/// Steps of arithmetic in a task: some 10 µs.
const STEPS: u64 = 5_000;

/// Submits all blocks once; answers which share of them was run in its own domain.
///
/// # Errors
///
/// If the workers cannot be started, or a block was lost.
pub(super) fn own_share(deal: Deal, order: TileOrder, queues: Order) -> Result<Metrics, Failure> {
    let pool = pinned_pool(WORKERS)?;
    let domains = Domains::new(&pool, DomainKind::Parts(DOMAINS)).map_err(Failure::impossible)?;
    let (own, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.run(|_| {
        let scope = DomainScopeBuilder::new(&domains).order(queues).max_pending(PENDING);
        scope.run(|s| {
            for layer in layers(order) {
                let domain = deal.domain(layer, EDGE, DOMAINS);
                let (own, all, domains) = (&own, &all, &domains);
                s.spawn_into(domain, move |worker| {
                    black_box((0..STEPS).fold(0, |sum, step| black_box(sum ^ step)));
                    // Relaxed: the end of the scope publishes the sums.
                    all.fetch_add(1, Ordering::Relaxed);
                    own.fetch_add(usize::from(domains.of(worker) == domain), Ordering::Relaxed);
                });
            }
        });
    });
    let (own, all) = (own.into_inner(), all.into_inner());
    if all != EDGE * EDGE {
        return Err(Failure::Wrong(format!("{all} of {} blocks were run", EDGE * EDGE)));
    }
    Ok(vec![("own_share", own as f64 / all as f64)])
}

/// The layers of all blocks, in the order of submission.
fn layers(order: TileOrder) -> impl Iterator<Item = usize> {
    (0..EDGE * EDGE).map(move |at| match order {
        TileOrder::LayersOutside => at / EDGE,
        TileOrder::RowsOutside => at % EDGE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: an order that leaves blocks out, or the two exchanged.
    #[test]
    fn both_orders_have_every_layer_as_often_as_there_are_rows() {
        for order in [TileOrder::LayersOutside, TileOrder::RowsOutside] {
            let counts = (0..EDGE).map(|layer| layers(order).filter(|&at| at == layer).count());
            assert!(counts.into_iter().all(|count| count == EDGE));
        }
        assert!(layers(TileOrder::LayersOutside).take(EDGE).all(|layer| layer == 0));
        assert!(layers(TileOrder::RowsOutside).take(EDGE).eq(0..EDGE));
    }
}
