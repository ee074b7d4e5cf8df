//! Arrays whose blocks know their domain: their pages lie where the distribution and the placement
//! say.

use numa_protocol::{Outcome, Shape};
use sinew_core::{Mapping, Pool};
use sinew_locality::{Distribution, DomainKind, Domains, Placed};
use sinew_topology::{Placement, memory_nodes, page_nodes};

use crate::check::{Check, Verdict, ensure, same};
use crate::pages::nearest_memory;
use crate::workers::pool;

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "placed/blocks-first-touched-lie-on-their-domains-nodes", run: first_touch },
    Check { name: "placed/blocks-bound-locally-lie-on-their-domains-nodes", run: bound_locally },
    Check { name: "placed/pages-assigned-cyclically-lie-on-all-nodes-in-turn", run: cyclic },
    Check { name: "placed/pages-bound-or-on-one-node-lie-there", run: bound },
    Check { name: "placed/blocks-belong-to-where-the-kernel-says-they-lie", run: asked },
];

/// Values in a page, of eight bytes each.
const PAGE: usize = 4096 / size_of::<u64>();
/// Values in a block of two pages.
const BLOCK: usize = 2 * PAGE;
/// Blocks in all: 4 MiB, enough for the kernel to try its large pages.
const BLOCKS: usize = 512;

/// A pool that has all CPUs, with a domain per node.
fn by_node(shape: &Shape) -> Result<(Pool, Domains), String> {
    let pool = pool(shape.cpus(), &Mapping::Compact)?;
    let domains = Domains::new(&pool, DomainKind::Node).map_err(|error| error.to_string())?;
    Ok((pool, domains))
}

/// An array of blocks that has been filled, with right values.
fn filled(
    pool: &Pool,
    domains: &Domains,
    distribution: Distribution,
    placement: Placement,
) -> Result<Placed<u64>, String> {
    let options = Placed::options(domains).distribution(distribution).placement(placement);
    let array = pool.install(|_| options.fill(BLOCKS * BLOCK, BLOCK, |i| i as u64));
    let array = array.map_err(|error| error.to_string())?;
    ensure(array.iter().zip(0..).all(|(value, i)| *value == i), || "wrong values".into())?;
    Ok(array)
}

/// The node of every page of some values.
fn nodes_of(values: &[u64]) -> Result<Vec<usize>, String> {
    let nodes = page_nodes(values).map_err(|error| error.to_string())?;
    nodes.into_iter().map(|node| node.ok_or_else(|| "a filled page is nowhere".into())).collect()
}

/// The node from which a domain's workers get their memory.
fn memory_of(shape: &Shape, domains: &Domains, domain: usize) -> Result<usize, String> {
    let cpu = domains.node(domain).and_then(|node| shape.nodes[node].cpus.first().copied());
    nearest_memory(shape, cpu.ok_or_else(|| format!("domain {domain} has no CPU"))?)
}

/// Every block belongs to the domain that it was assigned to, and lies where that domain's memory
/// is.
fn blocks_in_place(
    shape: &Shape,
    distribution: Distribution,
    placement: Placement,
) -> Result<(), String> {
    let (pool, domains) = by_node(shape)?;
    let array = filled(&pool, &domains, distribution, placement)?;
    for block in 0..BLOCKS {
        let domain = distribution.domain(block, BLOCKS, domains.len());
        same(&format!("domain of block {block}"), &array.domain_of(block), &domain)?;
        let node = memory_of(shape, &domains, domain)?;
        let nodes = nodes_of(&array[array.range_of(block)])?;
        same(
            &format!("{distribution:?}, {placement}: nodes of block {block}"),
            &nodes,
            &vec![node; 2],
        )?;
    }
    Ok(())
}

fn first_touch(shape: &Shape) -> Verdict {
    for distribution in [Distribution::Static, Distribution::Cyclic, Distribution::One(0)] {
        blocks_in_place(shape, distribution, Placement::FirstTouch)?;
    }
    Ok(Outcome::Passed)
}

fn bound_locally(shape: &Shape) -> Verdict {
    let bare = shape.nodes.iter().position(|node| node.memory_mib == 0 && !node.cpus.is_empty());
    let Some(bare) = bare else {
        blocks_in_place(shape, Distribution::Cyclic, Placement::BindLocal)?;
        return Ok(Outcome::Passed);
    };
    // Its workers have no memory of their own to bind to, and must say so.
    let (pool, domains) = by_node(shape)?;
    let options = Placed::options(&domains)
        .distribution(Distribution::Cyclic)
        .placement(Placement::BindLocal);
    let value = |_| -> u64 { unreachable!("a value was computed before the refusal") };
    let array = pool.install(|_| options.fill(BLOCKS * BLOCK, BLOCK, value));
    let refusal = array.err().map(|error| error.to_string());
    let named = |why: &String| why.contains("bind-local") && why.contains(&format!("node {bare}"));
    ensure(refusal.as_ref().is_some_and(named), || format!("bound to node {bare}: {refusal:?}"))?;
    Ok(Outcome::Passed)
}

fn cyclic(shape: &Shape) -> Verdict {
    let (pool, domains) = by_node(shape)?;
    let nodes = nodes_of(&filled(&pool, &domains, Distribution::Static, Placement::Cyclic)?)?;
    let count = memory_nodes().len();
    for turn in nodes.chunks_exact(count) {
        same("nodes of a turn", &turn.iter().copied().collect(), &memory_nodes())?;
    }
    same("turns", &nodes.len(), &(2 * BLOCKS))?;
    Ok(Outcome::Passed)
}

fn bound(shape: &Shape) -> Verdict {
    let (pool, domains) = by_node(shape)?;
    let bind = memory_nodes();
    let placements = bind.iter().map(|node| (Placement::Bind(node), Some(node)));
    for (placement, node) in placements.chain([(Placement::OneNode, bind.lowest())]) {
        let nodes = nodes_of(&filled(&pool, &domains, Distribution::Static, placement)?)?;
        let wrong = nodes.iter().find(|&&other| Some(other) != node);
        ensure(wrong.is_none(), || format!("{placement}: a page on node {wrong:?}"))?;
    }
    Ok(Outcome::Passed)
}

/// Blocks that all lie on one node belong to the domain nearest to it, however they were assigned.
fn asked(shape: &Shape) -> Verdict {
    let (pool, domains) = by_node(shape)?;
    for node in memory_nodes().iter() {
        let mut array = filled(&pool, &domains, Distribution::Cyclic, Placement::Bind(node))?;
        array.follow_pages().map_err(|error| error.to_string())?;
        let owners = (0..BLOCKS).map(|block| array.domain_of(block));
        let expected = domains.on_node(node);
        for (block, owner) in owners.enumerate() {
            same(&format!("domain of block {block} on node {node}"), &Some(owner), &expected)?;
        }
    }
    Ok(Outcome::Passed)
}
