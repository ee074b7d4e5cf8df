//! Pages lie where a placement says: asked of the kernel by `page_nodes`, and beside it of
//! `/proc/self/numa_maps`.

use std::fs;

use memmap2::{Advice, MmapMut};
use numa_protocol::{Outcome, Shape};
use sinew_topology::{CpuSet, Placement, memory_nodes, page_nodes, place_pages_of_current_thread};

use crate::check::{Check, Verdict, ensure, same};
use crate::limits::Group;
use crate::tree::expected_distance;
use crate::workers::restricted;

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "pages/nodes-with-memory-are-known", run: known_nodes },
    Check { name: "pages/nobody-has-touched-lie-nowhere", run: untouched },
    Check { name: "pages/of-the-first-touch-lie-near-the-cpu-that-touched-them", run: first_touch },
    Check { name: "pages/bound-to-a-node-lie-there-whoever-touches-them", run: bound },
    Check { name: "pages/bound-locally-lie-where-the-placement-was-asked-for", run: bound_locally },
    Check { name: "pages/of-the-cyclic-placement-lie-on-all-nodes", run: cyclic },
    Check { name: "pages/on-one-node-lie-on-the-first", run: one_node },
    Check { name: "pages/a-node-without-memory-is-refused-by-name", run: refused },
    Check { name: "pages/a-threads-placement-ends-with-it", run: for_a_time },
    Check { name: "pages/a-cpuset-bounds-the-nodes", run: cpuset },
];

const PAGE: usize = 4096;
pub(crate) const PAGES: usize = 60;

/// Fresh memory. The kernel's large pages would come to lie as a whole, and are not what is asked
/// about.
pub(crate) fn fresh(pages: usize) -> Result<MmapMut, String> {
    let memory =
        MmapMut::map_anon(pages * PAGE).map_err(|error| format!("{pages} pages: {error}"))?;
    memory.advise(Advice::NoHugePage).map_err(|error| format!("large pages: {error}"))?;
    // The kernel tells of a neighbour with the same properties, such as a task stack, as one with
    // it.
    memory.advise(Advice::DontFork).map_err(|error| format!("a map of its own: {error}"))?;
    Ok(memory)
}

/// Touches all of it, and tells the node of each page: the kernel in two ways, which must agree.
pub(crate) fn touch(memory: &mut MmapMut) -> Result<Vec<usize>, String> {
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    let found = page_nodes(memory).map_err(|error| error.to_string())?;
    let nodes: Option<Vec<usize>> = found.iter().copied().collect();
    let nodes = nodes.ok_or_else(|| format!("a touched page is nowhere: {found:?}"))?;
    let counts = counts(&nodes);
    same("numa_maps", &numa_map(memory)?, &counts)?;
    Ok(nodes)
}

/// The number of pages on each node that has some.
pub(crate) fn counts(nodes: &[usize]) -> Vec<(usize, usize)> {
    let present: CpuSet = nodes.iter().copied().collect();
    present
        .iter()
        .map(|node| (node, nodes.iter().filter(|&&other| other == node).count()))
        .collect()
}

/// The same from a line like `7f2c54a00000 default anon=60 dirty=60 N0=15 N1=45
/// kernelpagesize_kB=4`.
fn numa_map(memory: &MmapMut) -> Result<Vec<(usize, usize)>, String> {
    let maps = fs::read_to_string("/proc/self/numa_maps")
        .map_err(|error| format!("numa_maps: {error}"))?;
    let start = format!("{:08x} ", memory.as_ptr().addr());
    let line = maps.lines().find(|line| line.starts_with(&start));
    let line = line.ok_or_else(|| format!("no {start}in numa_maps"))?;
    let count = |word: &str| -> Option<(usize, usize)> {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((node.parse().ok()?, pages.parse().ok()?))
    };
    Ok(line.split(' ').filter_map(count).collect())
}

/// Touches fresh pages on `cpu` under a placement, and tells where they are.
fn placed_from(cpu: usize, placement: Placement) -> Result<Vec<usize>, String> {
    restricted(&[cpu].into_iter().collect(), || {
        let _placed =
            place_pages_of_current_thread(placement).map_err(|error| error.to_string())?;
        touch(&mut fresh(PAGES)?)
    })
}

/// Fails unless all of [`PAGES`] pages lie on `node`.
fn all_on(what: &str, nodes: &[usize], node: usize) -> Result<(), String> {
    same(&format!("{what}: nodes with their pages"), &counts(nodes), &vec![(node, PAGES)])
}

pub(crate) fn with_memory(shape: &Shape) -> impl Iterator<Item = usize> {
    (0..shape.nodes.len()).filter(|&node| shape.nodes[node].memory_mib > 0)
}

/// The node that the kernel serves a CPU from: its own, or the nearest with memory.
pub(crate) fn nearest_memory(shape: &Shape, cpu: usize) -> Result<usize, String> {
    let own = shape.node_of(cpu).ok_or_else(|| format!("CPU {cpu} has no node"))?;
    let nearest = with_memory(shape).min_by_key(|&node| expected_distance(shape, own, node));
    nearest.ok_or_else(|| "no node has memory".into())
}

fn known_nodes(shape: &Shape) -> Verdict {
    same("nodes with memory", &memory_nodes(), &with_memory(shape).collect())?;
    Ok(Outcome::Passed)
}

fn untouched(_: &Shape) -> Verdict {
    let memory = fresh(PAGES)?;
    let nodes = page_nodes(&memory).map_err(|error| error.to_string())?;
    same("pages before they are touched", &nodes, &vec![None; PAGES])?;
    Ok(Outcome::Passed)
}

fn first_touch(shape: &Shape) -> Verdict {
    for cpu in 0..shape.cpus() {
        let nodes = placed_from(cpu, Placement::FirstTouch)?;
        all_on(&format!("touched on CPU {cpu}"), &nodes, nearest_memory(shape, cpu)?)?;
    }
    Ok(Outcome::Passed)
}

fn bound(shape: &Shape) -> Verdict {
    for node in with_memory(shape) {
        for cpu in [0, shape.cpus() / 2, shape.cpus() - 1] {
            let nodes = placed_from(cpu, Placement::Bind(node))?;
            all_on(&format!("bound to node {node}, touched on CPU {cpu}"), &nodes, node)?;
        }
    }
    Ok(Outcome::Passed)
}

/// The thread moves on before it touches anything.
fn bound_locally(shape: &Shape) -> Verdict {
    let (from, to) = (0, shape.cpus() - 1);
    let own = shape.node_of(from).ok_or("CPU 0 has no node")?;
    let nodes = restricted(&[from].into_iter().collect(), || {
        let _placed = place_pages_of_current_thread(Placement::BindLocal)
            .map_err(|error| error.to_string())?;
        crate::workers::set_mask(&[to].into_iter().collect())?;
        touch(&mut fresh(PAGES)?)
    })?;
    all_on("bound on CPU 0 and touched on the last", &nodes, own)?;
    Ok(Outcome::Passed)
}

/// The kernel deals a thread's other allocations in the same round, so that two neighbours may lie
/// together.
fn cyclic(shape: &Shape) -> Verdict {
    let counts = counts(&placed_from(0, Placement::Cyclic)?);
    let nodes: Vec<usize> = with_memory(shape).collect();
    let dealt: Vec<usize> = counts.iter().map(|(node, _)| *node).collect();
    same("nodes", &dealt, &nodes)?;
    let fair = PAGES / nodes.len();
    ensure(counts.iter().all(|&(_, pages)| pages.abs_diff(fair) <= fair / 5), || {
        format!("{PAGES} pages dealt unevenly: {counts:?}")
    })?;
    Ok(Outcome::Passed)
}

fn one_node(shape: &Shape) -> Verdict {
    let first = with_memory(shape).next().ok_or("no node has memory")?;
    let nodes = placed_from(shape.cpus() - 1, Placement::OneNode)?;
    all_on("on one node", &nodes, first)?;
    Ok(Outcome::Passed)
}

fn refused(shape: &Shape) -> Verdict {
    let bare = (0..shape.nodes.len()).filter(|&node| shape.nodes[node].memory_mib == 0);
    for node in bare.chain([shape.nodes.len(), 4711]) {
        let refusal = Placement::Bind(node).check().err().map(|error| error.to_string());
        let named = |why: &String| {
            why.contains(&format!("bind:{node}"))
                && why.contains(&format!("only on {}", memory_nodes()))
        };
        ensure(refusal.as_ref().is_some_and(named), || {
            format!("bound to node {node}: {refusal:?}")
        })?;
    }
    for (node, told) in shape.nodes.iter().enumerate() {
        let (Some(&cpu), 0) = (told.cpus.first(), told.memory_mib) else { continue };
        let refusal = placed_from(cpu, Placement::BindLocal).err();
        let named =
            |why: &String| why.contains("bind-local") && why.contains(&format!("node {node}"));
        ensure(refusal.as_ref().is_some_and(named), || {
            format!("bound locally to node {node}: {refusal:?}")
        })?;
    }
    Ok(Outcome::Passed)
}

fn for_a_time(shape: &Shape) -> Verdict {
    let last = with_memory(shape).last().ok_or("no node has memory")?;
    let own = nearest_memory(shape, 0)?;
    restricted(&[0].into_iter().collect(), || {
        let told = |error: sinew_topology::PlacementError| error.to_string();
        let placed = place_pages_of_current_thread(Placement::Bind(last)).map_err(told)?;
        let inner = place_pages_of_current_thread(Placement::Cyclic).map_err(told)?;
        drop(inner);
        all_on("after the inner one", &touch(&mut fresh(PAGES)?)?, last)?;
        drop(placed);
        all_on("after both", &touch(&mut fresh(PAGES)?)?, own)
    })?;
    Ok(Outcome::Passed)
}

fn cpuset(shape: &Shape) -> Verdict {
    let last = with_memory(shape).last().ok_or("no node has memory")?;
    let group = Group::new("mems", &[("cpuset.mems", &last.to_string())])?;
    group.with(|| {
        same("nodes", &memory_nodes(), &[last].into_iter().collect())?;
        all_on("one node", &placed_from(0, Placement::OneNode)?, last)?;
        all_on("cyclic", &placed_from(0, Placement::Cyclic)?, last)?;
        let refusal = Placement::Bind(0).check().err().map(|error| error.to_string());
        ensure(
            refusal.as_ref().is_some_and(|why| why.ends_with(&format!("only on {last}"))),
            || format!("bound to node 0, outside the cpuset: {refusal:?}"),
        )
    })?;
    drop(group);
    same("nodes afterwards", &memory_nodes(), &with_memory(shape).collect())?;
    Ok(Outcome::Passed)
}
