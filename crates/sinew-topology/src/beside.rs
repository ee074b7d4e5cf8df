//! Places for threads that each help another one.
//!
//! What a helper brings into a cache is of use where the two share that cache. So its place is a
//! free processor of the same core, if there is one, else of the same cache, and so on outwards. A
//! processor that is nearest for two goes to the one that it is nearer to.
//!
//! # Cost
//!
//! A distance for each kind of neighbour, worker and free processor.
//!
//! # Tests
//!
//! `tests/beside.rs`, on described machines.

use std::collections::BTreeSet;

use crate::machine::{Machine, PuId};

/// For each of the first `helpers` of these workers, a PU of `choice` for whoever helps it: the
/// nearest that neither a worker nor another helper has; where none is left, the nearest one that
/// is not the worker's own; and that one if there is no other. `None` where nobody knows where the
/// worker is, or there is no choice.
///
/// ```
/// use sinew_topology::{CpuSet, Machine, Mapping, place, place_beside};
///
/// let machine: Machine = "package:2 core:2 pu:2".parse()?;
/// let workers = place(&machine, &machine.cpus(), &Mapping::Scatter, 2)?;
/// let choice: Vec<_> = machine.pu_ids().collect();
/// let helpers = place_beside(&machine, &choice, &workers, 2);
/// let cpus: Vec<_> = workers.iter().chain(&helpers).flatten().map(|&pu| machine.pu(pu).cpu).collect();
/// assert_eq!(cpus, [0, 4, 1, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If a PU comes from a larger machine.
pub fn place_beside(
    machine: &Machine,
    choice: &[PuId],
    workers: &[Option<PuId>],
    helpers: usize,
) -> Vec<Option<PuId>> {
    let helped = &workers[..helpers.min(workers.len())];
    let taken: BTreeSet<PuId> = workers.iter().copied().flatten().collect();
    let mut free: BTreeSet<PuId> =
        choice.iter().copied().filter(|pu| !taken.contains(pu)).collect();
    let mut places = vec![None; helped.len()];
    for distance in 1..=machine.distance_levels() {
        for (place, worker) in places.iter_mut().zip(helped) {
            let Some(worker) = worker.filter(|_| place.is_none()) else { continue };
            *place = free.iter().copied().find(|&pu| machine.distance(worker, pu) == distance);
            if let Some(pu) = place {
                free.remove(pu);
            }
        }
    }
    let shared = |worker: PuId| {
        choice.iter().copied().min_by_key(|&pu| (pu == worker, machine.distance(worker, pu)))
    };
    places
        .into_iter()
        .zip(helped)
        .map(|(place, worker)| place.or_else(|| shared((*worker)?)))
        .collect()
}
