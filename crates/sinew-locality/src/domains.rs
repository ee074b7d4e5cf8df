//! Locality domains: the domains of each worker, and the order in which the worker serves them.
//!
//! # Invariants
//!
//! - A1: each worker has at least one own domain, and each domain is an own domain of at least one
//!   worker: a worker adopts a domain in which no worker lies.
//! - A2: each order of a worker contains every domain once, its own first.
//!
//! # Tests
//!
//! Below, for any number of workers and parts; `tests/locality.rs` on real pools; the machine with
//! four nodes of `xtask/numa-guest`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sinew_core::{MAX_THREADS, Pool, Worker};
use sinew_topology::{CpuAssignment, Level, Machine};

/// The kind of parts, of the machine or of the pool, that are locality domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DomainKind {
    /// A NUMA node.
    Node,
    /// The outermost cache that the machine has.
    Cache,
    /// A package.
    Package,
    /// Any level of the machine.
    Level(Level),
    /// This number of equal parts of the pool, on any machine: for experiments.
    Parts(usize),
}

impl DomainKind {
    /// The level of the machine's objects; the whole machine for equal parts of the pool.
    fn level(self, machine: &Machine) -> Level {
        match self {
            Self::Node => Level::Node,
            Self::Cache => machine.last_level_cache().unwrap_or(Level::Machine),
            Self::Package => Level::Package,
            Self::Level(level) => level,
            Self::Parts(_) => Level::Machine,
        }
    }
}

impl fmt::Display for DomainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("node"),
            Self::Cache => f.write_str("cache"),
            Self::Package => f.write_str("package"),
            Self::Level(level) => f.write_str(&level.name().to_lowercase()),
            Self::Parts(parts) => write!(f, "{parts}"),
        }
    }
}

impl FromStr for DomainKind {
    type Err = ParseDomainKindError;

    /// Reads `node`, `cache`, `package`, `machine`, `l3`, `l2`, `core`, `pu`, or a number of parts.
    fn from_str(text: &str) -> Result<Self, ParseDomainKindError> {
        Ok(match text {
            "node" => Self::Node,
            "cache" => Self::Cache,
            "package" => Self::Package,
            "machine" => Self::Level(Level::Machine),
            "l3" => Self::Level(Level::L3),
            "l2" => Self::Level(Level::L2),
            "core" => Self::Level(Level::Core),
            "pu" => Self::Level(Level::Pu),
            number => match number.parse() {
                Ok(parts) if parts > 0 => Self::Parts(parts),
                _ => return Err(ParseDomainKindError(text.to_owned())),
            },
        })
    }
}

/// A text that names no kind of domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDomainKindError(String);

impl fmt::Display for ParseDomainKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "no kind of locality domain `{text}`: choose node, cache, package, machine, l3, l2, \
             core, pu or a number of parts"
        )
    }
}

impl std::error::Error for ParseDomainKindError {}

/// Why a pool cannot be divided into domains.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DomainsError {
    /// The machine has several objects of the kind, and the pool's workers are not pinned.
    NotPlaced(DomainKind),
    /// 0 parts, or more than a pool may have workers.
    Parts(usize),
}

/// The maximum number of parts: that of a pool's workers.
const MOST_PARTS: usize = MAX_THREADS;

impl fmt::Display for DomainsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPlaced(kind) => write!(
                f,
                "no locality domains by `{kind}`: the pool's workers are not pinned; build it with \
                 a mapping, or ask for a number of parts"
            ),
            Self::Parts(parts) => {
                write!(f, "no {parts} locality domains: choose 1 to {MOST_PARTS}")
            }
        }
    }
}

impl std::error::Error for DomainsError {}

/// The domains of a pool; a clone is a reference.
///
/// ```
/// use sinew_core::Pool;
/// use sinew_locality::{DomainKind, Domains};
///
/// let pool = Pool::builder().threads(4).build()?;
/// let domains = Domains::new(&pool, DomainKind::Parts(2))?;
/// assert_eq!((domains.len(), domains.of_slot(1), domains.of_slot(2)), (2, 0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Domains(Arc<Table>);

#[derive(Debug)]
struct Table {
    kind: DomainKind,
    /// For each worker its own domains; the first contains it.
    own: Vec<Vec<usize>>,
    /// For each domain the workers that have it as their own.
    slots: Vec<Vec<usize>>,
    /// For each worker all domains in cyclic order from its own.
    ring: Vec<Vec<usize>>,
    /// For each worker all domains by distance.
    near: Vec<Vec<usize>>,
    /// For each domain its NUMA node, by the system's number.
    nodes: Vec<Option<usize>>,
}

impl Domains {
    /// Divides `pool`.
    ///
    /// Domains are the objects of the kind in which at least one worker slot lies, in the order of
    /// the machine's tree. On a machine with at most one such object there is one domain. The
    /// pool's mapping determines the place of a worker slot; also of the external slot, though its
    /// threads are not pinned.
    ///
    /// # Errors
    ///
    /// [`DomainsError::NotPlaced`] if the pool has no mapping and the machine more than one object
    /// of the kind; [`DomainsError::Parts`] for 0 parts, or more than a pool may have workers.
    pub fn new(pool: &Pool, kind: DomainKind) -> Result<Self, DomainsError> {
        Self::among(pool.cpu_assignment(), kind)
    }

    /// Divides the pool of a worker.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn around(worker: &Worker, kind: DomainKind) -> Result<Self, DomainsError> {
        Self::among(worker.cpu_assignment(), kind)
    }

    fn among(cpu_assignment: &CpuAssignment, kind: DomainKind) -> Result<Self, DomainsError> {
        if let DomainKind::Parts(parts) = kind {
            if parts == 0 || parts > MOST_PARTS {
                return Err(DomainsError::Parts(parts));
            }
            let own = in_parts(cpu_assignment.workers(), parts);
            return Ok(Self::divide(kind, own, vec![None; parts], cpu_assignment));
        }
        let machine = Machine::host();
        let level = kind.level(machine);
        let objects = objects_of_slots(cpu_assignment, machine, level)
            .ok_or(DomainsError::NotPlaced(kind))?;
        let mut present = objects.clone();
        present.sort_unstable();
        present.dedup();
        let own = objects
            .iter()
            .map(|object| vec![present.partition_point(|other| other < object)])
            .collect();
        let nodes = present
            .iter()
            .map(|object| node_of(cpu_assignment, machine, &objects, *object))
            .collect();
        Ok(Self::divide(kind, own, nodes, cpu_assignment))
    }

    fn divide(
        kind: DomainKind,
        own: Vec<Vec<usize>>,
        nodes: Vec<Option<usize>>,
        cpu_assignment: &CpuAssignment,
    ) -> Self {
        Self(Arc::new(Table::new(kind, own, nodes, |a, b| cpu_assignment.distance(a, b))))
    }

    /// The kind of the domains.
    pub fn kind(&self) -> DomainKind {
        self.0.kind
    }

    /// The number of domains, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.0.slots.len()
    }

    /// The number of worker slots of the pool.
    pub fn slots(&self) -> usize {
        self.0.own.len()
    }

    /// The domain in which a worker slot lies.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    #[track_caller]
    pub fn of_slot(&self, slot: usize) -> usize {
        self.0.own[slot][0]
    }

    /// The domain of `worker`.
    ///
    /// # Panics
    ///
    /// If the worker's number is not below [`slots`](Self::slots): its pool is another one.
    #[track_caller]
    pub fn of(&self, worker: &Worker) -> usize {
        self.of_slot(worker.index())
    }

    /// The worker slots that serve `domain` first: those that lie in it, or, without such a slot,
    /// those that have adopted it.
    ///
    /// # Panics
    ///
    /// If there is no such domain.
    #[track_caller]
    pub fn slots_of(&self, domain: usize) -> &[usize] {
        &self.0.slots[domain]
    }

    /// The NUMA node of a domain, by the system's number. `None` for equal parts of the pool, and
    /// on systems without nodes.
    ///
    /// # Panics
    ///
    /// If there is no such domain.
    #[track_caller]
    pub fn node(&self, domain: usize) -> Option<usize> {
        self.0.nodes[domain]
    }

    /// The first domain on a NUMA node, or, if no worker is there, on the nearest one. `None` if
    /// these domains have no nodes.
    pub fn on_node(&self, node: usize) -> Option<usize> {
        let machine = Machine::host();
        let index = |number| machine.nodes().iter().position(|known| known.number == number);
        let distance = |other: usize| match (index(node), index(other)) {
            (Some(a), Some(b)) => machine.node_distance(a, b),
            _ => u32::from(node != other),
        };
        let placed =
            self.0.nodes.iter().enumerate().filter_map(|(domain, node)| Some((domain, (*node)?)));
        placed.min_by_key(|&(_, other)| (node != other, distance(other))).map(|(domain, _)| domain)
    }

    /// The order in which a worker serves the domains, its own first.
    pub(crate) fn order(&self, slot: usize, by_distance: bool) -> &[usize] {
        if by_distance { &self.0.near[slot] } else { &self.0.ring[slot] }
    }

    /// The number of domains in that order that are the worker's own.
    pub(crate) fn own(&self, slot: usize) -> usize {
        self.0.own[slot].len()
    }
}

impl fmt::Debug for Domains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domains").field("kind", &self.0.kind).field("slots", &self.0.slots).finish()
    }
}

impl Table {
    fn new(
        kind: DomainKind,
        own: Vec<Vec<usize>>,
        nodes: Vec<Option<usize>>,
        distance: impl Fn(usize, usize) -> u8,
    ) -> Self {
        let count = nodes.len();
        let mut slots = vec![Vec::new(); count];
        for (slot, own) in own.iter().enumerate() {
            own.iter().for_each(|&domain| slots[domain].extend([slot]));
        }
        let ring: Vec<Vec<usize>> = own
            .iter()
            .map(|own| (0..count).map(|step| (own[0] + step) % count).collect())
            .collect();
        let from_to = |slot: usize, domain: usize| {
            let nearest = slots[domain].iter().map(|&other| distance(slot, other)).min();
            if own[slot].contains(&domain) { 0 } else { nearest.unwrap_or(u8::MAX).max(1) }
        };
        let near = ring.iter().enumerate().map(|(slot, ring)| {
            let mut near = ring.clone();
            near.sort_by_key(|&domain| from_to(slot, domain));
            near
        });
        let near = near.collect();
        Self { kind, own, slots, ring, near, nodes }
    }
}

/// The own parts of each worker: neighbours share a part, or a worker has several adjacent parts
/// (A1).
fn in_parts(slots: usize, parts: usize) -> Vec<Vec<usize>> {
    if parts <= slots {
        return (0..slots).map(|slot| vec![slot * parts / slots]).collect();
    }
    (0..slots)
        .map(|slot| (0..parts).filter(|part| part * slots / parts == slot).collect())
        .collect()
}

/// The object in which each worker slot lies; `None` if one is unknown.
fn objects_of_slots(
    cpu_assignment: &CpuAssignment,
    machine: &Machine,
    level: Level,
) -> Option<Vec<usize>> {
    if machine.count(level) <= 1 {
        return Some(vec![0; cpu_assignment.workers()]);
    }
    if level == Level::Pu {
        return cpu_assignment.pus().iter().map(|pu| pu.map(|pu| pu.index())).collect();
    }
    // A PU without such an object belongs to the machine as a whole.
    let placed = cpu_assignment.pus().iter().all(Option::is_some);
    let objects = cpu_assignment.objects(machine, level);
    placed.then(|| objects.into_iter().map(|object| object.unwrap_or(0)).collect())
}

/// The node of the first worker slot that lies in `object`.
fn node_of(
    cpu_assignment: &CpuAssignment,
    machine: &Machine,
    objects: &[usize],
    object: usize,
) -> Option<usize> {
    let slot = objects.iter().position(|&other| other == object)?;
    let node = match cpu_assignment.pus()[slot] {
        Some(pu) => machine.pu(pu).node?,
        None if machine.nodes().len() == 1 => 0,
        None => return None,
    };
    Some(machine.nodes()[node].number)
}

#[cfg(test)]
mod tests {
    //! Blind to: wrong domains of real machines; `xtask/numa-guest` looks for them.
    use super::*;

    fn table(slots: usize, parts: usize) -> Table {
        let distance = |a: usize, b: usize| a.abs_diff(b) as u8;
        Table::new(DomainKind::Parts(parts), in_parts(slots, parts), vec![None; parts], distance)
    }

    /// Catches: a domain that no worker serves, a worker that serves none (A1), and a domain that
    /// an order leaves out (A2).
    #[test]
    fn every_domain_is_some_workers_own_and_each_worker_serves_all() {
        for slots in 1..10 {
            for parts in 1..12 {
                let table = table(slots, parts);
                assert!(table.slots.iter().all(|slots| !slots.is_empty()), "{parts} of {slots}");
                for slot in 0..slots {
                    let own = &table.own[slot];
                    for order in [&table.ring[slot], &table.near[slot]] {
                        assert_eq!(order[..own.len()], own[..], "{parts} of {slots}");
                        let mut all = order.clone();
                        all.sort_unstable();
                        assert!(all.into_iter().eq(0..parts));
                    }
                }
            }
        }
    }

    /// Catches: a ring that always begins at 0, and an order that does not follow the distances.
    #[test]
    fn the_ring_goes_around_and_the_other_order_by_distance() {
        let table = table(8, 4);
        assert_eq!(table.ring[2], [1, 2, 3, 0]);
        assert_eq!(table.near[2], [1, 0, 2, 3]);
        assert_eq!(table.near[7], [3, 2, 1, 0]);
    }

    /// Catches: a kind whose text cannot be parsed.
    #[test]
    fn a_kind_is_parsed_from_its_text() {
        for text in ["node", "cache", "package", "machine", "l3", "l2", "core", "pu", "4"] {
            assert_eq!(text.parse::<DomainKind>().unwrap().to_string(), text);
        }
        for text in ["", "0", "-1", "socket", "4.0"] {
            let error = text.parse::<DomainKind>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("package"), "{error}");
        }
    }
}
