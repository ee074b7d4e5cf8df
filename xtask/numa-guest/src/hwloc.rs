//! The same machine as hwloc sees it, where the host could lend its `lstopo-no-graphics`.
//!
//! Compared are the sets of CPUs at each level, the sizes of caches, the memory of nodes and the
//! table of distances. Two of hwloc's rules are not ours, and not compared: it leaves out nodes
//! without memory, and gives nodes without CPUs those of a near node.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use numa_protocol::{LSTOPO_PATH, Outcome, Shape};
use roxmltree::{Document, Node};
use sinew_topology::{CpuSet, Level, Machine};

use crate::check::{Check, Verdict, same};
use crate::tree::sets_at;

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "hwloc/sees-the-same-packages-nodes-caches-and-cores", run: same_tree },
    Check { name: "hwloc/sees-the-same-distances", run: same_distances },
];

/// The XML output of `lstopo`; `None` if it is not installed.
fn lstopo() -> Result<Option<String>, String> {
    if !Path::new(LSTOPO_PATH).exists() {
        return Ok(None);
    }
    let mut command = Command::new(LSTOPO_PATH);
    command.args(["--no-io", "--of", "xml", "-"]);
    let output =
        command.output().map_err(|error| format!("cannot start {LSTOPO_PATH}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() && !text.is_empty() {
        Ok(Some(text))
    } else {
        let message = String::from_utf8_lossy(&output.stderr);
        Err(format!("{LSTOPO_PATH} ended with {}: {message}", output.status))
    }
}

fn with_hwloc(check: impl FnOnce(&Document) -> Result<(), String>) -> Verdict {
    let Some(text) = lstopo()? else {
        return Ok(Outcome::Skipped(
            "the host has no lstopo-no-graphics (apt-get install hwloc)".into(),
        ));
    };
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = Document::parse_with_options(&text, options);
    check(&document.map_err(|error| format!("hwloc's XML: {error}"))?)?;
    Ok(Outcome::Passed)
}

/// hwloc's name for a level of ours.
const NAMES: [(Level, &str); 4] = [
    (Level::Package, "Package"),
    (Level::L3, "L3Cache"),
    (Level::L2, "L2Cache"),
    (Level::Core, "Core"),
];

fn same_tree(_: &Shape) -> Verdict {
    compare(Machine::host())
}

/// Compares a tree with the one that hwloc finds now.
pub(crate) fn compare(machine: &Machine) -> Verdict {
    with_hwloc(|document| {
        for (level, name) in NAMES {
            let sets: Result<BTreeSet<String>, String> =
                objects(document, name).map(|object| Ok(cpus(&object)?.to_string())).collect();
            same(name, &sets_at(machine, level), &sets?)?;
        }
        for (level, name) in [(Level::L3, "L3Cache"), (Level::L2, "L2Cache")] {
            let theirs: Vec<Option<u64>> =
                objects(document, name).map(|object| number(&object, "cache_size")).collect();
            let ours: Vec<Option<u64>> =
                machine.objects_at(level).map(|object| object.cache_bytes).collect();
            same(&format!("sizes of {name}s"), &ours, &theirs)?;
        }
        let (ours, mut theirs) = (our_nodes(machine), their_nodes(document)?);
        let without_cpus = ours.iter().filter(|(_, (cpus, _))| cpus.is_empty());
        for (number, _) in without_cpus {
            theirs.entry(*number).and_modify(|(cpus, _)| *cpus = CpuSet::new());
        }
        same("nodes with memory", &ours, &theirs)
    })
}

/// Objects by number: CPUs and bytes of memory.
type Nodes = BTreeMap<Option<u64>, (CpuSet, Option<u64>)>;

fn our_nodes(machine: &Machine) -> Nodes {
    let nodes = machine.nodes().iter().filter(|node| node.memory_bytes != Some(0));
    nodes.map(|node| (Some(node.number as u64), (node.cpus.clone(), node.memory_bytes))).collect()
}

fn their_nodes(document: &Document) -> Result<Nodes, String> {
    let node =
        |node: Node| Ok((number(&node, "os_index"), (cpus(&node)?, number(&node, "local_memory"))));
    objects(document, "NUMANode").map(node).collect()
}

/// hwloc reports the table row by row.
fn same_distances(shape: &Shape) -> Verdict {
    with_hwloc(|document| {
        let table = document.descendants().find(|node| {
            node.has_tag_name("distances2") && node.attribute("type") == Some("NUMANode")
        });
        let table = table.ok_or("hwloc has no distances of nodes")?;
        let numbers = |tag: &str| -> Vec<usize> {
            let lists = table.children().filter(|child| child.has_tag_name(tag));
            let words = lists.flat_map(|list| list.text().unwrap_or_default().split_whitespace());
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let (nodes, values) = (numbers("indexes"), numbers("u64values"));
        let with_memory = (0..shape.nodes.len()).filter(|&node| shape.nodes[node].memory_mib > 0);
        same("nodes in hwloc's table", &nodes, &with_memory.collect())?;
        same("values in hwloc's table", &values.len(), &(nodes.len() * nodes.len()))?;
        let theirs = |a: usize, b: usize| values[a * nodes.len() + b] as u32;
        for (i, &a) in nodes.iter().enumerate() {
            for (k, &b) in nodes.iter().enumerate() {
                let ours = Machine::host().node_distance(a, b);
                same(
                    &format!("distance of nodes {a} and {b}"),
                    &ours,
                    &theirs(i, k).max(theirs(k, i)),
                )?;
            }
        }
        Ok(())
    })
}

fn objects<'d>(document: &'d Document, kind: &str) -> impl Iterator<Item = Node<'d, 'd>> {
    document
        .descendants()
        .filter(move |node| node.has_tag_name("object") && node.attribute("type") == Some(kind))
}

fn number(object: &Node, attribute: &str) -> Option<u64> {
    object.attribute(attribute)?.parse().ok()
}

/// The object's CPUs, which hwloc writes as words of 32 bits, the highest first, with commas
/// between: `0x1,,0xf`.
fn cpus(object: &Node) -> Result<CpuSet, String> {
    let text = object.attribute("cpuset").ok_or("an object of hwloc's has no cpuset")?;
    let mut cpus = CpuSet::new();
    for (i, word) in text.split(',').rev().enumerate() {
        let digits = word.trim_start_matches("0x");
        let bits = if digits.is_empty() { Ok(0) } else { u32::from_str_radix(digits, 16) };
        let bits =
            bits.map_err(|_| format!("`{text}` is not a set of CPUs as hwloc writes them"))?;
        (0..32).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| cpus.insert(32 * i + bit));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    //! Blind to: words of another length, which later versions may write.

    use super::*;

    #[test]
    fn sets_are_read_as_hwloc_writes_them() {
        for (text, list) in [("0x000000ff", "0-7"), ("0x0", ""), ("0x3,,0x80000001", "0,31,64-65")]
        {
            let xml = format!("<object cpuset=\"{text}\"/>");
            let document = Document::parse(&xml).expect("XML");
            assert_eq!(cpus(&document.root_element()).expect("a set").to_string(), list);
        }
        let document = Document::parse("<object cpuset=\"0xyz\"/>").expect("XML");
        assert!(cpus(&document.root_element()).is_err());
    }
}
