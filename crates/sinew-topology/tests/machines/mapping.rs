//! Orders of workers: the properties of scatter and compact, on real and random machines and masks.
//!
//! Blind to: the speed of a mapping; benchmarks measure that.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sinew_topology::{CpuAssignment, CpuSet, Level, Machine, Mapping, MappingError, PuId, place};

use crate::fake;

fn order(machine: &Machine, allowed: &CpuSet, mapping: &Mapping, workers: usize) -> Vec<PuId> {
    place(machine, allowed, mapping, workers).unwrap().into_iter().map(Option::unwrap).collect()
}

fn cpus(machine: &Machine, mapping: &Mapping, workers: usize) -> Vec<usize> {
    order(machine, &machine.cpus(), mapping, workers)
        .into_iter()
        .map(|id| machine.pu(id).cpu)
        .collect()
}

fn distances_from(cpu_assignment: &CpuAssignment, worker: usize) -> Vec<u8> {
    (0..cpu_assignment.workers()).map(|other| cpu_assignment.distance(worker, other)).collect()
}

fn numa_server() -> Machine {
    Machine::from_sysfs(fake::numa_server().path())
}

#[test]
fn scatter_goes_round_the_packages_then_their_nodes_then_cores_then_siblings() {
    let machine = numa_server();
    assert_eq!(cpus(&machine, &Mapping::Scatter, 9), [0, 8, 16, 24, 4, 12, 20, 28, 1]);
    assert_eq!(cpus(&machine, &Mapping::Scatter, 64)[32..35], [32, 40, 48]);
}

#[test]
fn compact_fills_a_node_then_its_package_then_the_next_then_siblings() {
    let machine = numa_server();
    assert_eq!(cpus(&machine, &Mapping::Compact, 9), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(cpus(&machine, &Mapping::Compact, 64)[31..34], [31, 32, 33]);
}

#[test]
fn compact_begins_where_most_is_allowed() {
    let allowed = "0,8-10,16-31".parse().unwrap();
    let machine = numa_server();
    let order = order(&machine, &allowed, &Mapping::Compact, 20);
    let packages: Vec<usize> = order.iter().map(|&id| machine.pu(id).cpu / 8).collect();
    assert_eq!(packages, [[2; 8].as_slice(), &[3; 8], &[1; 3], &[0]].concat());
}

#[test]
fn fast_cores_come_before_slow_ones_and_siblings_last() {
    let machine = Machine::from_sysfs(fake::hybrid_laptop().path());
    let compact = cpus(&machine, &Mapping::Compact, 22);
    assert_eq!(
        compact,
        [0, 2, 4, 6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 1, 3, 5, 7, 9, 11]
    );
    let scatter = cpus(&machine, &Mapping::Scatter, 22);
    assert_eq!(
        scatter,
        [0, 2, 4, 6, 8, 10, 12, 16, 13, 17, 14, 18, 15, 19, 20, 21, 1, 3, 5, 7, 9, 11]
    );
}

#[test]
fn a_core_whose_first_pu_is_forbidden_is_a_whole_core() {
    let machine: Machine = "core:2 pu:2".parse().unwrap();
    let allowed = "1-3".parse().unwrap();
    let order = order(&machine, &allowed, &Mapping::Scatter, 3);
    assert_eq!(order.into_iter().map(PuId::index).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn more_workers_than_pus_start_over() {
    let machine = Machine::flat(2);
    assert_eq!(cpus(&machine, &Mapping::Scatter, 5), [0, 1, 0, 1, 0]);
    assert_eq!(cpus(&machine, &Mapping::Explicit(vec![1]), 2), [1, 1]);
}

#[test]
fn an_explicit_mapping_keeps_its_order() {
    assert_eq!(cpus(&Machine::flat(8), &"5,2-3".parse().unwrap(), 4), [5, 2, 3, 5]);
}

#[test]
fn an_explicit_mapping_outside_of_what_is_allowed_names_the_cpu() {
    let machine = Machine::flat(8);
    let allowed: CpuSet = "0-3,99".parse().unwrap();
    for cpu in [4, 9, 99] {
        let error = place(&machine, &allowed, &Mapping::Explicit(vec![0, cpu]), 1).unwrap_err();
        assert_eq!(error, MappingError::NotAllowed { cpu, allowed: CpuSet::first(4) });
        let message =
            format!("CPU {cpu} of the mapping is not one this process may use: choose from 0-3");
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(place(&machine, &allowed, &Mapping::Explicit(vec![]), 1), Err(MappingError::Empty));
}

#[test]
fn a_mask_from_another_machine_leaves_no_cpu() {
    let foreign = "64".parse().unwrap();
    assert_eq!(place(&Machine::flat(2), &foreign, &Mapping::Scatter, 1), Err(MappingError::NoCpu));
    assert_eq!(place(&Machine::flat(2), &foreign, &Mapping::None, 2), Ok(vec![None, None]));
}

#[test]
fn a_cpu_assignment_has_cpus_distances_and_packages() {
    let machine = numa_server();
    let cpu_assignment =
        CpuAssignment::new(&machine, &machine.cpus(), &Mapping::Scatter, 5).unwrap();
    assert_eq!((cpu_assignment.workers(), cpu_assignment.farthest()), (5, 5));
    assert_eq!(cpu_assignment.cpus(), [0, 8, 16, 24, 4].map(Some));
    assert_eq!(distances_from(&cpu_assignment, 0), [0, 4, 5, 4, 3]);
    assert_eq!(cpu_assignment.pin_of(4).unwrap().to_string(), "4");
    let packages = cpu_assignment.objects(&machine, Level::Package);
    assert!(packages[0] == packages[4] && packages[0] != packages[1] && packages[0].is_some());
}

#[test]
fn workers_without_a_place_are_equally_far() {
    let machine = numa_server();
    let cpu_assignment = CpuAssignment::new(&machine, &machine.cpus(), &Mapping::None, 3).unwrap();
    assert_eq!(
        (distances_from(&cpu_assignment, 1), cpu_assignment.pin_of(1)),
        (vec![1, 0, 1], None)
    );
    assert_eq!(cpu_assignment.objects(&machine, Level::Package), [None; 3]);
    assert_eq!(
        CpuAssignment::new(&machine, &machine.cpus(), &Mapping::None, 0).unwrap().farthest(),
        0
    );
}

/// A random machine with a random mask of at least one CPU.
fn machines() -> impl Strategy<Value = (Machine, CpuSet)> {
    let counts = (1_usize..5, 1_usize..3, 1_usize..3, 1_usize..5, 1_usize..4);
    counts.prop_flat_map(|(package, node, l3, core, pu)| {
        let text = format!("package:{package} node:{node} l3:{l3} core:{core} pu:{pu}");
        let machine: Machine = text.parse().unwrap();
        let pus = machine.count(Level::Pu);
        let mask =
            prop_oneof![Just(vec![true; pus]), proptest::collection::vec(any::<bool>(), pus)];
        mask.prop_map(move |mask| {
            let allowed: CpuSet = (0..pus).filter(|&cpu| mask[cpu]).collect();
            (machine.clone(), if allowed.is_empty() { CpuSet::first(1) } else { allowed })
        })
    })
}

fn package(machine: &Machine, id: PuId) -> usize {
    machine.ancestor(id, Level::Package).unwrap()
}

/// For each package how many of its cores have an allowed PU.
fn cores_by_package(machine: &Machine, allowed: &CpuSet) -> BTreeMap<usize, usize> {
    let ids = machine.pu_ids().filter(|&id| allowed.contains(machine.pu(id).cpu));
    let cores: BTreeSet<(usize, usize)> =
        ids.map(|id| (package(machine, id), machine.pu(id).core)).collect();
    let mut counts = BTreeMap::new();
    cores.into_iter().for_each(|(package, _)| *counts.entry(package).or_default() += 1);
    counts
}

proptest! {
    #[test]
    fn both_orders_are_permutations_that_take_every_core_before_any_sibling(
        (machine, allowed) in machines(),
    ) {
        for mapping in [Mapping::Scatter, Mapping::Compact] {
            let order = order(&machine, &allowed, &mapping, allowed.len());
            let taken: CpuSet = order.iter().map(|&id| machine.pu(id).cpu).collect();
            prop_assert_eq!(&taken, &allowed);
            let cores = cores_by_package(&machine, &allowed).values().sum();
            let first: BTreeSet<usize> =
                order[..cores].iter().map(|&id| machine.pu(id).core).collect();
            prop_assert_eq!(first.len(), cores);
        }
    }

    #[test]
    fn a_longer_order_begins_with_the_shorter(
        (machine, allowed) in machines(),
        workers in 1_usize..20,
    ) {
        for mapping in [Mapping::Scatter, Mapping::Compact] {
            let longer = place(&machine, &allowed, &mapping, workers + 1).unwrap();
            prop_assert_eq!(
                &place(&machine, &allowed, &mapping, workers).unwrap()[..],
                &longer[..workers]
            );
        }
    }

    #[test]
    fn scatter_uses_packages_evenly_until_one_is_full((machine, allowed) in machines()) {
        let room = cores_by_package(&machine, &allowed);
        let cores = room.values().sum();
        let mut used: BTreeMap<usize, usize> = room.keys().map(|&package| (package, 0)).collect();
        for id in order(&machine, &allowed, &Mapping::Scatter, cores) {
            *used.get_mut(&package(&machine, id)).unwrap() += 1;
            let fewest = used
                .iter()
                .filter(|(package, used)| **used < room[package])
                .map(|(_, used)| *used)
                .min();
            let most = used.values().max().copied().unwrap();
            let is_even = fewest.is_none_or(|fewest| most <= fewest + 1);
            prop_assert!(is_even, "{:?} of {:?}", used, room);
        }
    }

    #[test]
    fn compact_uses_as_few_packages_as_can_be((machine, allowed) in machines()) {
        let mut room: Vec<usize> = cores_by_package(&machine, &allowed).into_values().collect();
        room.sort_unstable_by(|a, b| b.cmp(a));
        let order = order(&machine, &allowed, &Mapping::Compact, room.iter().sum());
        for workers in 1..=order.len() {
            let used: BTreeSet<usize> =
                order[..workers].iter().map(|&id| package(&machine, id)).collect();
            let needed =
                (1..=room.len()).find(|&n| room[..n].iter().sum::<usize>() >= workers).unwrap();
            prop_assert_eq!(used.len(), needed);
        }
    }

    #[test]
    fn a_list_is_read_back_from_what_it_prints(
        cpus in proptest::collection::vec(0_usize..200, 1..20),
    ) {
        let mapping = Mapping::Explicit(cpus);
        prop_assert_eq!(mapping.to_string().parse::<Mapping>().unwrap(), mapping);
    }
}

/// Catches: package numbers with gaps or in the machine's own order, and workers without a PU that
/// are left out.
#[test]
fn packages_of_workers_are_numbered_from_zero_in_their_order() {
    let machine: Machine = "package:4 l3:1 core:2".parse().unwrap();
    let packages = |mapping: &Mapping, workers| {
        CpuAssignment::new(&machine, &machine.cpus(), mapping, workers).unwrap().packages(&machine)
    };
    assert_eq!(packages(&Mapping::Compact, 5), [0, 0, 1, 1, 2]);
    assert_eq!(packages(&Mapping::Scatter, 5), [0, 1, 2, 3, 0]);
    assert_eq!(packages(&Mapping::Explicit(vec![7, 2, 6]), 3), [0, 1, 0]);
    assert_eq!(packages(&Mapping::None, 3), [0, 0, 0]);
}

/// Catches: the distance of workers that share more than the last-level cache, or less.
#[test]
fn workers_nearer_than_the_last_level_share_more_than_that_cache() {
    for (machine, from, to) in [
        ("package:4 l3:1 l2:3 core:2", [0, 1], [0, 2]),
        ("package:2 l3:2 core:2 pu:2", [0, 1], [0, 2]),
        ("package:2 l2:1 core:4 pu:2", [0, 1], [0, 2]),
    ] {
        let machine: Machine = machine.parse().unwrap();
        let workers = machine.pus().len();
        let every_cpu = Mapping::Explicit((0..workers).collect());
        let cpu_assignment =
            CpuAssignment::new(&machine, &machine.cpus(), &every_cpu, workers).unwrap();
        let level = cpu_assignment.last_level_distance(&machine);
        assert!(cpu_assignment.distance(from[0], from[1]) < level);
        assert_eq!(cpu_assignment.distance(to[0], to[1]), level);
        assert!(cpu_assignment.distance(0, workers - 1) > level);
    }
    let flat = Machine::flat(4);
    let cpu_assignment = CpuAssignment::new(&flat, &flat.cpus(), &Mapping::None, 4).unwrap();
    assert_eq!(cpu_assignment.last_level_distance(&flat), 1);
}
