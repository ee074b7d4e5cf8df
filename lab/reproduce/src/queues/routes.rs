//! Counts which worker runs which block: the effect of the bound of pending tasks on the order of
//! submission, on any machine.
//!
//! As many workers and domains as in the publication, 60 × 60 blocks, at most 257 pending. A task
//! sleeps for some microseconds instead of moving memory, so all workers are busy at the same time
//! even if they share a processor. It notes whether its worker belongs to the block's domain, and
//! how many domains are active at that time. The former determines distances, the latter the number
//! of memories in use.

use std::thread;
use std::time::Duration;

use sinew::locality::{Distribution, DomainOrder};
use sinew::{DomainKind, Domains, ScopeBuilder, TileOrder};
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::bench::pinned_pool;
use crate::failure::Failure;
use crate::paper::queues::DOMAINS;
use crate::results::Metrics;

/// The publication's workers, blocks along an edge, and bound on pending tasks.
const WORKERS: usize = 8;
const EDGE: usize = 60;
const PENDING: usize = 257;

/// Duration of a task, and the system's addition to it.
const TASK: Duration = Duration::from_micros(50);

/// The observations of a run's tasks.
#[derive(Default)]
struct Notes {
    /// Number of running tasks in each domain.
    at_work: [AtomicUsize; DOMAINS],
    own: AtomicUsize,
    all: AtomicUsize,
    /// The sum over all tasks of how many domains were at work when each began.
    domains: AtomicUsize,
}

impl Notes {
    /// A block of `domain` is worked on, by one of its own workers or not.
    fn visit(&self, domain: usize, own: bool) {
        // Relaxed, here and below: counts, published by the end of the scope; a look at the others
        // may be out of date.
        self.at_work[domain].fetch_add(1, Ordering::Relaxed);
        let at_work = self.at_work.iter().filter(|tasks| tasks.load(Ordering::Relaxed) > 0).count();
        self.domains.fetch_add(at_work, Ordering::Relaxed);
        thread::sleep(TASK);
        self.at_work[domain].fetch_sub(1, Ordering::Relaxed);
        self.all.fetch_add(1, Ordering::Relaxed);
        self.own.fetch_add(usize::from(own), Ordering::Relaxed);
    }

    fn metrics(self) -> Result<Metrics, Failure> {
        let [own, all, domains] =
            [self.own, self.all, self.domains].map(|count| count.into_inner() as f64);
        if all != (EDGE * EDGE) as f64 {
            return Err(Failure::Wrong(format!("{all} of {} blocks were run", EDGE * EDGE)));
        }
        Ok(vec![("own_share", own / all), ("domains", domains / all)])
    }
}

/// Submits all blocks once; returns the share of them that ran in its own domain, and the mean
/// number of domains that were active at the same time.
///
/// # Errors
///
/// If the workers cannot be started, or a block was lost.
pub(super) fn routes(
    distribution: Distribution,
    order: TileOrder,
    queues: DomainOrder,
) -> Result<Metrics, Failure> {
    let pool = pinned_pool(WORKERS)?;
    let domains = Domains::new(&pool, DomainKind::Parts(DOMAINS)).map_err(Failure::impossible)?;
    let notes = Notes::default();
    pool.run(|_| {
        let scope = ScopeBuilder::new().queues(domains.queues(queues)).max_pending(PENDING);
        scope.run(|s| {
            for layer in layers(order) {
                let domain = distribution.domain(layer, EDGE, DOMAINS);
                let (notes, domains) = (&notes, &domains);
                s.spawn_into(domain, move |worker| {
                    notes.visit(domain, domains.of(worker) == domain);
                });
            }
        });
    });
    notes.metrics()
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

    /// Catches: an order that leaves blocks out, or the two exchanged.
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
