//! CPUs of helpers on synthetic machines, under each mapping.
//!
//! Blind to: the CPUs on which the threads really run; `tests/limits.rs` of the crate `sinew`
//! checks those.

use sinew_topology::{Machine, Mapping, PuId, place, place_helpers};

/// Workers and helpers under a mapping, by the numbers of their CPUs.
fn placed(
    description: &str,
    mapping: &str,
    workers: usize,
    helpers: usize,
) -> (Vec<usize>, Vec<usize>) {
    let machine: Machine = description.parse().unwrap();
    let mapping: Mapping = mapping.parse().unwrap();
    let all = match &mapping {
        Mapping::Explicit(cpus) => cpus.len(),
        _ => machine.pus().len(),
    };
    let choice = place(&machine, &machine.cpus(), &mapping, all).unwrap();
    let workers: Vec<Option<PuId>> = choice.iter().copied().cycle().take(workers).collect();
    let choice: Vec<PuId> = choice.into_iter().flatten().collect();
    let helpers = place_helpers(&machine, &choice, &workers, helpers);
    let cpus =
        |pus: Vec<Option<PuId>>| pus.into_iter().flatten().map(|pu| machine.pu(pu).cpu).collect();
    (cpus(workers), cpus(helpers))
}

/// Catches: helpers in the order of the mapping, which are the farther away the better it spreads.
#[test]
fn a_helper_has_the_sibling_of_its_worker() {
    let smt = "package:2 l3:2 core:2 pu:2";
    assert_eq!(placed(smt, "scatter", 4, 4), (vec![0, 8, 4, 12], vec![1, 9, 5, 13]));
    assert_eq!(placed(smt, "compact", 4, 4), (vec![0, 2, 4, 6], vec![1, 3, 5, 7]));
    assert_eq!(placed(smt, "compact", 4, 2), (vec![0, 2, 4, 6], vec![1, 3]));
}

/// Catches: siblings as the only neighbours, and a helper outside of a cache that has room.
#[test]
fn without_siblings_it_stays_in_the_cache_and_then_in_the_package() {
    let cores = "package:2 l3:2 core:2";
    assert_eq!(placed(cores, "scatter", 4, 4), (vec![0, 4, 2, 6], vec![1, 5, 3, 7]));
    assert_eq!(placed(cores, "compact", 2, 2), (vec![0, 1], vec![2, 3]));
    let crowded = "package:2 core:4";
    assert_eq!(placed(crowded, "0,1,2,4,3,5,6,7", 4, 4), (vec![0, 1, 2, 4], vec![3, 6, 7, 5]));
}

/// Catches: a PU that goes to a distant helper, because that one came first, though it is next to
/// another worker.
#[test]
fn a_pu_goes_to_the_helper_of_the_nearest_worker() {
    // The first worker's cache is full, the second one's has room for its own helper only.
    let caches = "l3:3 core:2";
    assert_eq!(placed(caches, "0,2,1,3,4", 3, 2), (vec![0, 2, 1], vec![4, 3]));
}

/// Catches: a helper outside of the mapping, and one on its worker's PU though others are free.
#[test]
fn a_helper_keeps_to_the_mapping_and_shares_when_nothing_is_free() {
    let smt = "package:2 core:2 pu:2";
    assert_eq!(placed(smt, "0,4,6", 1, 1), (vec![0], vec![4]));
    assert_eq!(placed(smt, "0,4", 2, 2), (vec![0, 4], vec![4, 0]));
    assert_eq!(placed(smt, "0,2,4", 3, 3), (vec![0, 2, 4], vec![2, 0, 0]));
    assert_eq!(placed(smt, "2", 1, 1), (vec![2], vec![2]));
}

/// Catches: a CPU near a worker that is not placed, and a panic when there are no CPUs to choose
/// from.
#[test]
fn a_worker_without_a_pu_has_no_pu_for_its_helper() {
    assert_eq!(placed("core:4", "none", 2, 2), (vec![], vec![]));
    let machine = Machine::flat(2);
    let pus: Vec<PuId> = machine.pu_ids().collect();
    let workers = [None, Some(pus[0])];
    assert_eq!(place_helpers(&machine, &pus, &workers, 2), [None, Some(pus[1])]);
    assert_eq!(place_helpers(&machine, &[], &workers, 2), [None, None]);
    assert_eq!(place_helpers(&machine, &pus, &workers, 9).len(), 2);
}
