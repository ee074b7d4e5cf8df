//! Whole machines read from faked files: objects, distances, and broken files.
//!
//! Blind to: kernels that lay out their files in another way than the kernels behind the fakes.

use std::ops::RangeInclusive;

use proptest::prelude::*;
use sinew_topology::{Level, Machine, PuId, Source};

use crate::fake::{self, Root};

fn read(root: &Root) -> Machine {
    let machine = Machine::from_sysfs(root.path());
    machine.check().expect("a sound tree");
    machine
}

fn counts(machine: &Machine) -> [usize; 6] {
    [Level::Package, Level::Node, Level::L3, Level::L2, Level::Core, Level::Pu]
        .map(|level| machine.count(level))
}

fn pu(machine: &Machine, cpu: usize) -> PuId {
    machine.find_cpu(cpu).expect("the CPU exists")
}

fn distance(machine: &Machine, a: usize, b: usize) -> u8 {
    machine.distance(pu(machine, a), pu(machine, b))
}

fn only_warning(machine: &Machine) -> String {
    let [warning] = machine.warnings() else { panic!("not one warning: {:?}", machine.warnings()) };
    assert!(!warning.to_string().contains('\n'));
    warning.to_string()
}

fn assert_flat(machine: &Machine, cpus: RangeInclusive<usize>) {
    assert_eq!(machine.source(), &Source::Flat);
    assert!(machine.pus().iter().map(|pu| pu.cpu).eq(cpus));
    assert_eq!(machine.count(Level::Core), machine.count(Level::Pu));
    assert_eq!(machine.levels(), [Level::Package, Level::Core]);
}

#[test]
fn a_small_virtual_machine_is_one_package_of_two_cores() {
    let root = fake::small_vm();
    let machine = read(&root);
    assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    assert_eq!(counts(&machine), [1, 1, 1, 2, 2, 2]);
    assert_eq!(machine.source(), &Source::Sysfs(root.path().to_owned()));
    assert_eq!(machine.nodes()[0].memory_bytes, Some(4_286_676 * 1024));
    let l3 = machine.objects_at(Level::L3).next().unwrap();
    assert_eq!((l3.cache_bytes, l3.pus.clone()), (Some(32 << 20), 0..2));
    let core = machine.objects_at(Level::Core).next().unwrap();
    assert_eq!(core.cache_bytes, Some(48 << 10), "the data cache, not the one for instructions");
    assert_eq!(machine.kinds().len(), 1);
    assert_eq!((machine.distance_levels(), distance(&machine, 0, 1)), (1, 1));
}

#[test]
fn a_numa_server_has_distances_by_its_table() {
    let machine = read(&fake::numa_server());
    assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    assert_eq!(counts(&machine), [4, 8, 8, 32, 32, 64]);
    assert_eq!(machine.pus()[1].cpu, 32, "siblings stand side by side in the tree");
    assert_eq!((machine.pus()[0].sibling, machine.pus()[1].sibling), (0, 1));
    // Sibling, other core of the node, other node of the package, next package, package across the
    // ring.
    let from_0 = [0, 32, 1, 4, 8, 16, 24].map(|cpu| distance(&machine, 0, cpu));
    assert_eq!(from_0, [0, 1, 2, 3, 4, 5, 4]);
    assert_eq!(machine.distance_levels(), 5);
    assert_eq!(
        (machine.node_distance(0, 0), machine.node_distance(0, 1), machine.node_distance(1, 5)),
        (10, 12, 22)
    );
    assert_eq!(machine.last_level_cache(), Some(Level::L3));
}

#[test]
fn a_hybrid_laptop_has_three_kinds_of_cores_and_cores_without_an_l3() {
    let machine = read(&fake::hybrid_laptop());
    assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    assert_eq!(counts(&machine), [1, 1, 1, 9, 16, 22]);
    let kinds: Vec<&str> = machine.kinds().iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["cpu_core", "cpu_atom", "cpu_lowpower"]);
    let kind = |cpu| machine.pu(pu(&machine, cpu)).kind;
    assert_eq!([0, 11, 12, 19, 20, 21].map(kind), [0, 0, 1, 1, 2, 2]);
    assert_eq!(machine.ancestor(pu(&machine, 20), Level::L3), None);
    let shared = machine.ancestor(pu(&machine, 20), Level::L2);
    assert!(shared.is_some() && shared == machine.ancestor(pu(&machine, 21), Level::L2));
    // Sibling, cluster, L3, package. The low-power cores are as near to each other as a cluster.
    assert_eq!(
        [(0, 1), (12, 15), (0, 12), (0, 20), (20, 21)].map(|(a, b)| distance(&machine, a, b)),
        [1, 2, 3, 4, 2]
    );
}

#[test]
fn kinds_follow_the_clock_rate_without_a_better_source() {
    let root = fake::hybrid_laptop();
    for name in ["cpu_core", "cpu_atom", "cpu_lowpower"] {
        root.remove(&format!("sys/devices/{name}"));
    }
    assert_eq!(read(&root).kinds().len(), 1);
    for cpu in 0..22 {
        let khz = if cpu < 4 {
            5_100_000
        } else if cpu < 12 {
            4_900_000
        } else {
            3_800_000
        };
        root.cpu(cpu, "cpufreq/cpuinfo_max_freq", &khz.to_string());
    }
    let machine = read(&root);
    let kinds: Vec<&str> = machine.kinds().iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["5100 MHz", "3800 MHz"]);
    assert!(machine.pus().iter().all(|pu| pu.kind == usize::from(pu.cpu >= 12)));
}

#[test]
fn a_cpu_without_a_driver_leaves_the_kinds_to_other_measures() {
    let root = fake::hybrid_laptop();
    root.write("sys/devices/cpu_atom/cpus", "12-18\n");
    let machine = read(&root);
    assert!(only_warning(&machine).contains("CPU 19 is not in exactly one"));
    assert_eq!(machine.kinds().len(), 1);
}

#[test]
fn cpus_that_are_off_are_left_out() {
    let root = fake::numa_server();
    // Linux keeps the folders of offline CPUs.
    root.online("0-6,32-63");
    for cpu in 0..7 {
        let pair = format!("{cpu},{}", cpu + 32);
        root.core(cpu, "0", &pair);
    }
    let machine = read(&root);
    assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    assert_eq!((machine.count(Level::Pu), machine.count(Level::Core)), (39, 32));
    assert_eq!(machine.find_cpu(7), None);
}

#[test]
fn a_node_that_spans_packages_stands_outside_them() {
    let root = fake::small_vm();
    root.core(0, "0", "0").core(1, "1", "1");
    root.cache(0, 3, 3, "Unified", "16384K", "0").cache(1, 3, 3, "Unified", "16384K", "1");
    let machine = read(&root);
    assert_eq!(machine.levels()[..2], [Level::Node, Level::Package]);
    assert_eq!(counts(&machine), [2, 1, 2, 2, 2, 2]);
}

#[test]
fn an_l3_that_spans_nodes_stands_outside_them() {
    let root = fake::small_vm();
    root.node(0, "0", "10 11", 1 << 20).node(1, "1", "11 10", 1 << 20);
    let machine = read(&root);
    assert_eq!(machine.levels(), [Level::Package, Level::L3, Level::Node, Level::L2, Level::Core]);
    assert_eq!(counts(&machine), [1, 2, 1, 2, 2, 2]);
}

#[test]
fn caches_that_cross_packages_are_cut_at_their_border() {
    let root = Root::new();
    root.online("0-3");
    for cpu in 0..4 {
        root.core(cpu, &(cpu / 2).to_string(), &cpu.to_string());
        let shared = if cpu == 0 || cpu == 3 { cpu.to_string() } else { "1-2".into() };
        root.cache(cpu, 0, 2, "Unified", "1M", &shared);
    }
    let machine = read(&root);
    assert_eq!(machine.count(Level::L2), 4);
    assert!(distance(&machine, 1, 2) > distance(&machine, 0, 1));
}

#[test]
fn a_cache_without_a_larger_one_around_it_stays_together() {
    let root = Root::new();
    root.online("0-2");
    (0..3).for_each(|cpu| {
        root.core(cpu, "0", &cpu.to_string());
    });
    root.cache(0, 0, 2, "Unified", "1M", "0,2").cache(2, 0, 2, "Unified", "1M", "0,2");
    root.cache(1, 0, 2, "Unified", "1M", "1").cache(1, 1, 3, "Unified", "8M", "1");
    let machine = read(&root);
    assert_eq!(counts(&machine), [1, 0, 1, 2, 3, 3]);
    assert!(distance(&machine, 0, 2) < distance(&machine, 0, 1));
}

#[test]
fn caches_for_instructions_do_not_count() {
    let root = fake::small_vm();
    root.cache(0, 0, 1, "Instruction", "64K", "0").cache(0, 1, 1, "Data", "48K", "0");
    root.remove("sys/devices/system/cpu/cpu1/cache/index2").cache(
        1,
        2,
        2,
        "Instruction",
        "1024K",
        "1",
    );
    let machine = read(&root);
    assert_eq!(machine.objects_at(Level::Core).next().unwrap().cache_bytes, Some(48 << 10));
    assert_eq!(machine.count(Level::L2), 1);
}

#[test]
fn memory_without_cpus_is_a_node_but_not_in_the_tree() {
    let root = fake::small_vm();
    root.node(0, "0-1", "10 20", 1 << 20).node(2, "", "20 10", 1 << 20);
    let machine = read(&root);
    assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    assert_eq!((machine.nodes().len(), machine.count(Level::Node)), (2, 1));
    assert_eq!(machine.nodes()[1].number, 2);
}

/// Catches: nodes taken by their rank if the system numbers them with gaps, or a farther node
/// instead of the nearest.
#[test]
fn the_nearest_node_is_its_own_or_else_the_one_at_the_least_distance() {
    let root = fake::small_vm();
    root.node(0, "0", "10 30 20", 1 << 20).node(2, "1", "30 10 20", 1 << 20).node(
        5,
        "",
        "20 20 10",
        1 << 20,
    );
    let machine = read(&root);
    let near =
        |cpu, among: &str| machine.nearest_node(machine.find_cpu(cpu)?, &among.parse().unwrap());
    assert_eq!([near(0, "0,2,5"), near(1, "0,2,5")], [Some(0), Some(2)]);
    assert_eq!([near(0, "2,5"), near(1, "0,5"), near(1, "0")], [Some(5), Some(5), Some(0)]);
    assert_eq!(near(0, "1,3-4"), None);
}

#[test]
fn an_unknown_package_is_package_0() {
    let root = fake::small_vm();
    root.core(0, "-1", "0").core(1, "-1", "1");
    let machine = read(&root);
    assert_eq!((machine.warnings().len(), machine.count(Level::Package)), (0, 1));
}

#[test]
fn older_kernels_name_the_siblings_otherwise() {
    let root = fake::small_vm();
    for cpu in 0..2 {
        root.remove(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"));
        root.cpu(cpu, "topology/thread_siblings_list", "0-1")
            .remove(&format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    }
    let machine = read(&root);
    assert_eq!((machine.warnings().len(), machine.count(Level::Core)), (0, 1));
}

#[test]
fn without_any_file_the_tree_is_flat_and_says_so() {
    let root = Root::new();
    let machine = read(&root);
    assert_flat(&machine, 0..=machine.count(Level::Pu) - 1);
    assert!(only_warning(&machine).contains("describes no CPU"));
}

#[test]
fn a_broken_core_or_package_makes_a_flat_tree_and_names_the_file() {
    type Break = fn(&Root) -> &Root;
    let breaks: [(Break, &str); 7] = [
        (
            |root| root.remove("sys/devices/system/cpu/cpu1/topology"),
            "cpu1/topology/thread_siblings_list",
        ),
        (
            |root| root.cpu(0, "topology/core_cpus_list", "garbage"),
            "cpu0/topology/thread_siblings_list",
        ),
        (
            |root| root.cpu(1, "topology/physical_package_id", "zero"),
            "`zero` is not a package number",
        ),
        (
            |root| root.cpu(1, "topology/physical_package_id", "4294967296"),
            "`4294967296` is not a package",
        ),
        (
            |root| root.cpu(1, "topology/physical_package_id", "\u{fffd}\0"),
            "is not a package number",
        ),
        (|root| root.core(0, "0", "0-1"), "list different siblings"),
        (|root| root.core(0, "0", "0-1").core(1, "1", "0-1"), "this core is in two packages"),
    ];
    for (break_it, names) in breaks {
        let root = fake::small_vm();
        break_it(&root);
        let machine = read(&root);
        assert_flat(&machine, 0..=1);
        let warning = only_warning(&machine);
        assert!(
            warning.contains(names) && warning.ends_with("; all CPUs are taken to be equal"),
            "{warning}"
        );
    }
}

#[test]
fn a_broken_list_of_cpus_falls_back_to_the_folders() {
    for text in ["nonsense", "", "1-0", "7", "0-4294967295"] {
        let root = fake::small_vm();
        root.online(text);
        let machine = read(&root);
        assert_eq!(counts(&machine), [1, 1, 1, 2, 2, 2]);
        assert!(
            only_warning(&machine).ends_with("every CPU with a folder is taken to be on"),
            "{text}"
        );
    }
}

#[test]
fn a_list_that_names_more_cpus_than_there_are_folders_is_cut() {
    let root = fake::small_vm();
    root.online("0-1000000");
    assert_eq!(read(&root).count(Level::Pu), 2);
}

#[test]
fn broken_caches_are_left_out_and_the_rest_stays() {
    let root = fake::small_vm();
    root.cache(0, 3, 3, "Unified", "32768K", "0");
    let machine = read(&root);
    assert_eq!(counts(&machine), [1, 1, 0, 2, 2, 2]);
    assert!(
        only_warning(&machine)
            .contains("L3: its CPUs list different sets of sharers; all L3 caches are left out")
    );

    let root = fake::small_vm();
    root.cpu(0, "cache/index0/level", "one").cpu(1, "cache/index2/size", "big");
    let machine = read(&root);
    assert_eq!(counts(&machine), [1, 1, 1, 2, 2, 2]);
    assert!(only_warning(&machine).contains("`one` is not a cache level"));
    assert_eq!(machine.objects_at(Level::L2).nth(1).unwrap().cache_bytes, None);
}

#[test]
fn groups_that_split_a_core_are_left_out() {
    let root = fake::small_vm();
    root.core(0, "0", "0-1").core(1, "0", "0-1");
    let machine = read(&root);
    assert_eq!(counts(&machine), [1, 1, 1, 0, 1, 2]);
    assert!(only_warning(&machine).contains("L2: only part of a core has it"));

    let root = fake::numa_server();
    root.node(0, "0-3", &["10"; 8].join(" "), 1);
    let machine = read(&root);
    assert_eq!(machine.count(Level::Node), 0);
    assert!(only_warning(&machine).contains("a core belongs to two nodes"));
}

#[test]
fn broken_nodes_or_distances_are_left_out_and_the_rest_stays() {
    let root = fake::numa_server();
    root.write("sys/devices/system/node/node3/cpulist", "0-3");
    let machine = read(&root);
    assert_eq!(counts(&machine), [4, 0, 8, 32, 32, 64]);
    assert!(only_warning(&machine).contains("a CPU belongs to two nodes; NUMA nodes are left out"));

    for distances in
        ["10 20", "10 x 12 12 12 12 12 12", "0 0 0 0 0 0 0 0", "10 10 10 5 10 10 10 10"]
    {
        let root = fake::numa_server();
        root.write("sys/devices/system/node/node0/distance", distances);
        let machine = read(&root);
        assert_eq!(counts(&machine), [4, 8, 8, 32, 32, 64]);
        assert!(only_warning(&machine).contains("equally far"), "{distances}");
        assert_eq!(distance(&machine, 0, 8), distance(&machine, 0, 16));
    }
}

/// Files of a small machine, and random contents for them.
fn corruption() -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    let number = "(0|1|2|-1|0-1|0,1|1-0|4294967295|99999999999999999999|max|10 20|K|\u{221e})?\n?";
    let text = prop_oneof![
        number.prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..30)
    ];
    proptest::collection::vec((any::<proptest::sample::Index>(), text), 1..8).prop_map(|all| {
        all.into_iter().map(|(index, text)| (index.index(FILES.len()), text)).collect()
    })
}

const FILES: [&str; 22] = [
    "online",
    "cpu0/topology/physical_package_id",
    "cpu1/topology/physical_package_id",
    "cpu0/topology/core_cpus_list",
    "cpu1/topology/core_cpus_list",
    "cpu1/topology/thread_siblings_list",
    "cpu0/cpu_capacity",
    "cpu1/cpu_capacity",
    "cpu0/cpufreq/cpuinfo_max_freq",
    "cpu0/cache/index0/level",
    "cpu0/cache/index2/type",
    "cpu0/cache/index2/size",
    "cpu0/cache/index2/level",
    "cpu0/cache/index2/shared_cpu_list",
    "cpu1/cache/index3/shared_cpu_list",
    "cpu0/cache/index3",
    "cpu7/topology/physical_package_id",
    "cpu8",
    "../node/node0/cpulist",
    "../node/node1/cpulist",
    "../node/node1/distance",
    "../../cpu_core/cpus",
];

proptest! {
    // Each case writes some fifty files.
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_contents_of_the_files_give_a_sound_tree(corruption in corruption()) {
        let root = fake::small_vm();
        for (file, text) in corruption {
            let path = format!("sys/devices/system/cpu/{}", FILES[file]);
            if root.at(&path).is_dir() {
                root.remove(&path);
            }
            // A file may already have the name of the folder that this one needs.
            if root.at(&path).parent().is_none_or(|folder| !folder.is_file()) {
                root.write(&path, text);
            }
        }
        let machine = Machine::from_sysfs(root.path());
        prop_assert_eq!(machine.check(), Ok(()));
        prop_assert!(machine.warnings().iter().all(|warning| !warning.to_string().contains('\n')));
        for a in machine.pu_ids() {
            for b in machine.pu_ids() {
                prop_assert_eq!(machine.distance(a, b), machine.distance(b, a));
                prop_assert_eq!(machine.distance(a, b) == 0, a == b);
                prop_assert!(machine.distance(a, b) <= machine.distance_levels());
            }
        }
        prop_assert!(machine.pus().iter().all(|pu| pu.kind < machine.kinds().len()));
        prop_assert!(
            machine.pus().iter().all(|pu| pu.node.is_none_or(|node| node < machine.nodes().len()))
        );
    }
}

/// Package, node, L3 and L2 of a CPU.
type Groups = (usize, usize, usize, usize);

proptest! {
    // Each case writes some hundred files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Levels that cross each other in any way: the result must still be a tree.
    #[test]
    fn any_grouping_of_cpus_gives_a_sound_tree(
        groups in proptest::collection::vec(
            (0_usize..3, 0_usize..3, 0_usize..4, 0_usize..4),
            1..12,
        ),
    ) {
        let root = Root::new();
        let of = |pick: fn(&Groups) -> usize, value: usize| {
            let members = groups.iter().enumerate().filter(|(_, group)| pick(group) == value);
            members.map(|(cpu, _)| cpu.to_string()).collect::<Vec<_>>().join(",")
        };
        root.online(&format!("0-{}", groups.len() - 1));
        for (cpu, &(package, node, l3, l2)) in groups.iter().enumerate() {
            root.core(cpu, &package.to_string(), &cpu.to_string());
            root.node(node, &of(|g| g.1, node), "10", 1);
            // The last group contains the CPUs without such a cache.
            if l3 < 3 {
                root.cache(cpu, 0, 3, "Unified", "1M", &of(|g| g.2, l3));
            }
            if l2 < 3 {
                root.cache(cpu, 1, 2, "Unified", "1M", &of(|g| g.3, l2));
            }
        }
        let machine = Machine::from_sysfs(root.path());
        prop_assert_eq!(machine.check(), Ok(()));
        prop_assert_eq!(machine.cpus().len(), groups.len());
        for a in machine.pu_ids() {
            for b in machine.pu_ids() {
                prop_assert!(machine.distance(a, b) <= machine.distance_levels());
            }
        }
    }
}
