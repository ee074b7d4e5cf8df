//! Locality domains of a machine that has some: the members of each, and the queue that each worker
//! serves first.

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};

use numa_protocol::{Outcome, Shape};
use sinew_core::{Mapping, Pool, ScopeBuilder, Worker};
use sinew_locality::{DomainKind, DomainOrder, Domains};

use crate::check::{Check, Verdict, ensure, same};
use crate::tree::expected_distance;
use crate::workers::{Gate, here, pool, survey};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "locality/domains-are-what-the-shape-has", run: domains_of_the_shape },
    Check { name: "locality/an-unpinned-pool-has-no-domains", run: unpinned },
    Check { name: "locality/a-node-without-workers-is-served-from-the-nearest", run: bare_nodes },
    Check {
        name: "locality/a-queue-is-served-by-its-own-node-first-then-around-the-ring",
        run: ring,
    },
    Check {
        name: "locality/a-queue-is-served-by-its-own-node-first-then-by-the-nearest",
        run: nearest,
    },
    Check { name: "locality/a-strict-queue-is-served-by-its-own-node-only", run: strict },
];

fn domains(pool: &Pool, kind: DomainKind) -> Result<Domains, String> {
    Domains::new(pool, kind).map_err(|error| error.to_string())
}

/// The node of each domain; every domain has one here.
fn nodes(domains: &Domains) -> Result<Vec<usize>, String> {
    let node = |domain| domains.node(domain).ok_or_else(|| format!("domain {domain} has no node"));
    (0..domains.len()).map(node).collect()
}

fn domains_of_the_shape(shape: &Shape) -> Verdict {
    for mapping in [Mapping::Compact, Mapping::Scatter] {
        let pool = pool(shape.cpus(), &mapping)?;
        let cpus: Vec<usize> = survey(&pool).iter().flat_map(|worker| worker.mask.iter()).collect();
        same("workers that are pinned", &cpus.len(), &shape.cpus())?;
        let check =
            |kind: DomainKind, group: &dyn Fn(usize) -> Option<usize>| -> Result<(), String> {
                let domains = domains(&pool, kind)?;
                let groups: BTreeSet<_> = cpus.iter().map(|&cpu| group(cpu)).collect();
                same(&format!("domains by {kind}"), &domains.len(), &groups.len())?;
                for (a, b) in (0..cpus.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    let together = domains.of_slot(a) == domains.of_slot(b);
                    same(
                        &format!("CPUs {} and {} in one domain by {kind}", cpus[a], cpus[b]),
                        &together,
                        &(group(cpus[a]) == group(cpus[b])),
                    )?;
                }
                Ok(())
            };
        check(DomainKind::Node, &|cpu| shape.node_of(cpu))?;
        check(DomainKind::Package, &|cpu| Some(shape.package_of(cpu)))?;
        check(DomainKind::Cache, &|cpu| Some(shape.package_of(cpu)))?;
        let by_node = domains(&pool, DomainKind::Node)?;
        for (slot, &cpu) in cpus.iter().enumerate() {
            same("node of a domain", &by_node.node(by_node.of_slot(slot)), &shape.node_of(cpu))?;
        }
    }
    Ok(Outcome::Passed)
}

fn unpinned(shape: &Shape) -> Verdict {
    let pool = pool(shape.cpus(), &Mapping::None)?;
    for kind in [DomainKind::Node, DomainKind::Package, DomainKind::Cache] {
        let refusal = Domains::new(&pool, kind).err().map(|error| error.to_string());
        ensure(refusal.as_ref().is_some_and(|why| why.contains("with a mapping")), || {
            format!("domains by {kind} of a pool without a mapping: {refusal:?}")
        })?;
    }
    Ok(Outcome::Passed)
}

/// All nodes that have CPUs but no worker, and those without CPUs.
fn bare_nodes(shape: &Shape) -> Verdict {
    let first: Vec<usize> = shape.package(0).collect();
    let pool = pool(first.len(), &Mapping::Explicit(first))?;
    let domains = domains(&pool, DomainKind::Node)?;
    let manned = nodes(&domains)?;
    for node in 0..shape.nodes.len() {
        let domain = domains.on_node(node).ok_or_else(|| format!("no domain for node {node}"))?;
        let distance =
            |&other: &usize| if other == node { 0 } else { expected_distance(shape, node, other) };
        let nearest = manned.iter().map(distance).min();
        same(
            &format!("distance from node {node} to its domain"),
            &Some(distance(&manned[domain])),
            &nearest,
        )?;
    }
    Ok(Outcome::Passed)
}

/// A task that has run: its worker and CPU, its domain, and its place in that domain's row.
#[derive(Debug, Clone, Copy)]
struct Ran {
    slot: usize,
    cpu: usize,
    domain: usize,
    place: usize,
}

/// Tasks in each domain.
const TASKS: usize = 6;

/// Fills all queues while every worker is held up, lets `first` go alone until it has run `quota`
/// tasks, then all others, and tells in which order tasks were begun.
fn run(pool: &Pool, domains: &Domains, order: DomainOrder, first: usize, quota: usize) -> Vec<Ran> {
    let workers = pool.max_threads();
    let all_held = Barrier::new(workers);
    let (filled, others) = (Gate::default(), Gate::default());
    let ran = Mutex::new(Vec::new());
    let hold = |slot: usize| if slot == first { filled.wait() } else { others.wait() };
    pool.install(|body| {
        ScopeBuilder::new().queues(domains.queues(order)).run_on(body, |scope| {
            let (all_held, hold, others, ran) = (&all_held, &hold, &others, &ran);
            // Each is held up in its own domain, as a strict scope wants it; this one is held up in
            // the body.
            for slot in (0..workers).filter(|&slot| slot != body.index()) {
                scope.spawn_into(domains.of_slot(slot), move |worker: &Worker| {
                    all_held.wait();
                    hold(worker.index());
                });
            }
            all_held.wait();
            for (place, domain) in
                (0..TASKS).flat_map(|place| (0..domains.len()).map(move |d| (place, d)))
            {
                scope.spawn_into(domain, move |worker: &Worker| {
                    let mut ran = ran.lock().expect("no task panics");
                    ran.push(Ran { slot: worker.index(), cpu: here(), domain, place });
                    if ran.len() == quota {
                        others.open();
                    }
                });
            }
            filled.open();
            hold(body.index());
        });
    });
    ran.into_inner().expect("no task panics")
}

/// A pool with a domain per node, or why there is nothing to see.
fn by_node(shape: &Shape) -> Result<Option<(Pool, Domains)>, String> {
    let pool = pool(shape.cpus(), &Mapping::Compact)?;
    let domains = domains(&pool, DomainKind::Node)?;
    Ok((domains.len() > 1).then_some((pool, domains)))
}

/// Every task ran once, on a CPU of its worker's domain.
fn all_in_place(shape: &Shape, domains: &Domains, ran: &[Ran]) -> Result<(), String> {
    let tasks: BTreeSet<(usize, usize)> = ran.iter().map(|ran| (ran.domain, ran.place)).collect();
    same("tasks", &(ran.len(), tasks.len()), &(TASKS * domains.len(), TASKS * domains.len()))?;
    for Ran { slot, cpu, .. } in ran {
        let expected = domains.node(domains.of_slot(*slot));
        same(&format!("node on which slot {slot} ran a task"), &shape.node_of(*cpu), &expected)?;
    }
    Ok(())
}

/// Each worker in turn is alone with all queues, and must empty its own first and the others in the
/// order of `key`, every row from its oldest task on.
fn alone(
    shape: &Shape,
    order: DomainOrder,
    key: impl Fn(&Domains, usize, usize) -> Result<usize, String>,
) -> Verdict {
    let Some((pool, domains)) = by_node(shape)? else {
        return Ok(Outcome::Skipped("one node has all CPUs".into()));
    };
    for slot in 0..domains.slots() {
        let ran = run(&pool, &domains, order, slot, TASKS * domains.len());
        all_in_place(shape, &domains, &ran)?;
        let own = domains.of_slot(slot);
        let mut rows = Vec::new();
        for domain in 0..domains.len() {
            rows.push((key(&domains, own, domain)?, domain));
        }
        rows.sort_unstable();
        let expected =
            rows.iter().flat_map(|&(_, domain)| (0..TASKS).map(move |place| (slot, domain, place)));
        let found = ran.iter().map(|ran| (ran.slot, ran.domain, ran.place));
        same(
            "slot, domain and place of each task",
            &found.collect::<Vec<_>>(),
            &expected.collect(),
        )?;
    }
    Ok(Outcome::Passed)
}

fn ring(shape: &Shape) -> Verdict {
    alone(shape, DomainOrder::Ring, |domains, own, domain| {
        Ok((domain + domains.len() - own) % domains.len())
    })
}

fn nearest(shape: &Shape) -> Verdict {
    alone(shape, DomainOrder::Nearest, |domains, own, domain| {
        let nodes = nodes(domains)?;
        Ok(expected_distance(shape, nodes[own], nodes[domain]) as usize)
    })
}

/// The first worker is alone only as long as there is something for its own domain.
fn strict(shape: &Shape) -> Verdict {
    let Some((pool, domains)) = by_node(shape)? else {
        return Ok(Outcome::Skipped("one node has all CPUs".into()));
    };
    for slot in 0..domains.slots() {
        let ran = run(&pool, &domains, DomainOrder::Strict, slot, TASKS);
        all_in_place(shape, &domains, &ran)?;
        ensure(ran[..TASKS].iter().all(|ran| ran.slot == slot), || {
            format!("slot {slot} was not alone with its domain: {ran:?}")
        })?;
        let astray = ran.iter().find(|ran| domains.of_slot(ran.slot) != ran.domain);
        ensure(astray.is_none(), || format!("a task outside of its domain: {astray:?}"))?;
    }
    Ok(Outcome::Passed)
}
