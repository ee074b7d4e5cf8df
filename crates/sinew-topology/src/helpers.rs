//! PUs for helper threads, each near the worker that it helps.
//!
//! A helper warms a cache for its worker, which pays only if the two share that cache. So it gets
//! a free PU of the same core, else of the same cache, and so on outwards. A PU that is the
//! nearest one for two workers goes to the one that is nearer to it.
//!
//! # Cost
//!
//! One distance for each pair of a helped worker and a free PU.
//!
//! # Tests
//!
//! `tests/machines/helpers.rs`, on synthetic machines.

use crate::machine::{Machine, PuId};

/// A PU of `choice` for the helper of each of the first `helpers` workers.
///
/// It is the nearest PU that no worker and no other helper has. If none is free, it is the nearest
/// one other than the worker's own, and the worker's own if `choice` has no other. `None` if the
/// worker's PU is unknown or `choice` is empty.
///
/// ```
/// use sinew_topology::{CpuSet, Machine, Mapping, place, place_helpers};
///
/// let machine: Machine = "package:2 core:2 pu:2".parse()?;
/// let workers = place(&machine, &machine.cpus(), &Mapping::Scatter, 2)?;
/// let choice: Vec<_> = machine.pu_ids().collect();
/// let helpers = place_helpers(&machine, &choice, &workers, 2);
/// let all = workers.iter().chain(&helpers).flatten();
/// let cpus: Vec<_> = all.map(|&pu| machine.pu(pu).cpu).collect();
/// assert_eq!(cpus, [0, 4, 1, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If a PU comes from a larger machine.
#[track_caller]
pub fn place_helpers(
    machine: &Machine,
    choice: &[PuId],
    workers: &[Option<PuId>],
    helpers: usize,
) -> Vec<Option<PuId>> {
    let helped = &workers[..helpers.min(workers.len())];
    let mut free = vec![false; machine.pus().len()];
    choice.iter().for_each(|pu| free[pu.index()] = true);
    workers.iter().flatten().for_each(|pu| free[pu.index()] = false);
    let mut places = vec![None; helped.len()];
    for distance in 1..=machine.distance_levels() {
        for (place, worker) in places.iter_mut().zip(helped) {
            let Some(worker) = worker.filter(|_| place.is_none()) else { continue };
            let fits = |pu: &PuId| free[pu.index()] && machine.distance(worker, *pu) == distance;
            *place = machine.pu_ids().find(fits);
            if let Some(pu) = place {
                free[pu.index()] = false;
            }
        }
    }
    for (place, worker) in places.iter_mut().zip(helped) {
        if let (None, Some(worker)) = (*place, *worker) {
            *place = shared(machine, choice, worker);
        }
    }
    places
}

/// The nearest PU of the choice, if possible not the worker's own.
fn shared(machine: &Machine, choice: &[PuId], worker: PuId) -> Option<PuId> {
    let mut nearest = None;
    for &pu in choice {
        let key = (pu == worker, machine.distance(worker, pu));
        if nearest.is_none_or(|(least, _)| key < least) {
            nearest = Some((key, pu));
        }
    }
    nearest.map(|(_, pu)| pu)
}
