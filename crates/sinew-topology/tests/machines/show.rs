//! The output for people and for programs, word for word.
//!
//! Blind to: whether it is pleasant to read.

use serde_json::json;
use sinew_topology::{CpuSet, Limits, Machine, Quota, render, to_json};

use crate::fake;

#[test]
fn the_tree_of_a_small_virtual_machine() {
    let root = fake::small_vm();
    let machine = Machine::from_sysfs(root.path());
    let shown = render(&machine, &Limits::from_cgroups(root.path(), CpuSet::first(2)));
    let from = root.at("sys");
    let expected = format!(
        "machine: 1 package, 1 node, 2 cores, 2 PUs (from {})\n\
        \x20 package 0, node 0 (4.1 GiB), L3 32 MiB\n\
        \x20   L2 1 MiB, core 0 (L1 48 KiB): PU 0\n\
        \x20   L2 1 MiB, core 1 (L1 48 KiB): PU 1\n\
         distances: 1 same L3\n\
         may use: CPU 0-1 (affinity 0-1, cpuset 0-1), quota none, so 2 threads\n",
        from.display()
    );
    assert_eq!(shown, expected);
}

#[test]
fn the_tree_in_the_documentation() {
    let machine: Machine = "package:1 l3:1 core:2 pu:2".parse().unwrap();
    let expected = "machine: 1 package, 2 cores, 4 PUs \
        (described as `package:1 l3:1 core:2 pu:2`)\n\
        \x20 package 0, L3\n\
        \x20   core 0: PU 0-1\n\
        \x20   core 1: PU 2-3\n\
        distances: 1 same core, 2 same L3\n\
        may use: CPU 0-3 (affinity 0-3, cpuset not limited), quota none, so 4 threads\n";
    assert_eq!(render(&machine, &Limits::unlimited(&machine)), expected);
    assert_eq!(machine.to_string(), expected.lines().take(5).collect::<Vec<_>>().join("\n"));
}

#[test]
fn kinds_forbidden_pus_quota_and_warnings_are_marked() {
    let root = fake::hybrid_laptop();
    root.cpu(20, "cache/index0/level", "one");
    let machine = Machine::from_sysfs(root.path());
    let limits = Limits::new("0,2-21".parse().unwrap(), None, Quota::new(150_000, 100_000));
    let shown = render(&machine, &limits);
    for line in [
        "      L2 2 MiB, core 0 (L1 48 KiB, cpu_core): PU 0,[1]\n",
        "        core 6 (L1 48 KiB, cpu_atom): PU 12\n",
        "distances: 1 same core, 2 same L2, 3 same L3, 4 same node\n",
        "may use: CPU 0,2-21 (affinity 0,2-21, cpuset not limited), quota 1.5 CPUs (150000 µs in \
         100000 µs), so 2 threads\n",
        "warning: ",
    ] {
        assert!(shown.contains(line), "no `{line}` in\n{shown}");
    }
}

#[test]
fn node_distances_are_named() {
    let machine = Machine::from_sysfs(fake::numa_server().path());
    let names = machine.distance_names();
    assert_eq!(names[..3], ["same core", "same L3", "same package (node distance 12)"]);
    assert_eq!(names[3..], ["same machine (node distance 16)", "same machine (node distance 22)"]);
}

#[test]
fn the_json_of_a_small_virtual_machine() {
    let root = fake::small_vm();
    let machine = Machine::from_sysfs(root.path());
    let limits = Limits::new(CpuSet::first(1), None, Quota::new(150_000, 100_000));
    let mut shown = to_json(&machine, &limits);
    let core = |i: usize| {
        let pus = json!([{ "cpu": i, "allowed": i == 0 }]);
        let core = json!({
            "level": "core", "number": i, "cache_bytes": 49152, "kind": "core", "pus": pus,
        });
        json!({ "level": "l2", "number": i, "cache_bytes": 1_048_576, "children": [core] })
    };
    let cores = [core(0), core(1)];
    let l3 = json!({ "level": "l3", "number": 0, "cache_bytes": 33_554_432, "children": cores });
    let node = json!({ "level": "node", "number": 0, "cache_bytes": null, "children": [l3] });
    let package =
        json!({ "level": "package", "number": 0, "cache_bytes": null, "children": [node] });
    let tree =
        json!({ "level": "machine", "number": 0, "cache_bytes": null, "children": [package] });
    assert_eq!(shown["tree"].take(), tree);
    assert_eq!(shown["source"].take(), json!({ "sysfs": root.path() }));
    assert_eq!(
        shown["limits"].take(),
        json!({
            "affinity": "0", "cpuset": null, "allowed": "0", "quota_from": null,
            "warnings": [], "effective_threads": 1,
            "quota": { "cpus": 1.5, "quota_us": 150_000, "period_us": 100_000 },
        })
    );
    assert_eq!(
        shown["nodes"].take(),
        json!([{ "number": 0, "memory_bytes": 4_286_676_u64 * 1024, "cpus": "0-1" }])
    );
    assert_eq!(shown["levels"].take(), json!(["package", "node", "l3", "l2", "core"]));
    let rest = json!({
        "source": null, "tree": null, "limits": null, "nodes": null, "levels": null, "warnings": [],
        "kinds": [{ "name": "core" }], "distance_levels": ["same L3"], "node_distances": [[10]],
    });
    assert_eq!(shown, rest);
}
