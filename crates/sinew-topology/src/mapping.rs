//! A PU for each worker.
//!
//! Both rules assign the first PU of each core before the second PU of any, and fast kinds of cores
//! before slow ones. PUs come in rounds, one for each sibling and kind; the rules differ only
//! within a round. So the order for more workers begins with the order for fewer, and a pool
//! can grow without moving a thread.
//!
//! Source: the thread mappings of the skeleton literature. Difference: there, compact fills the
//! siblings of a core first. Two workers on one core each run at little more than half speed, so
//! here siblings always come last.
//!
//! # Tests
//!
//! `tests/machines/mapping.rs`: permutation, cores first, evenness of scatter, fewest packages of
//! compact; on random machines and masks.

use std::fmt;
use std::str::FromStr;

use crate::collections::sorted_indices;
use crate::machine::{Level, Machine, PuId};
use sinew_cpus::{CpuSet, ListError, parse_list, write_list};

/// How workers are placed on PUs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Mapping {
    /// Spread over packages, nodes and caches, so that workers share as little as possible. For
    /// memory bandwidth.
    Scatter,
    /// Fill one package, node or cache before the next, so that workers share as much as possible.
    /// For communication.
    Compact,
    /// No placement: the operating system decides.
    #[default]
    None,
    /// Worker i on the i-th of these CPUs, by the operating system's numbers.
    Explicit(Vec<usize>),
}

/// A mapping that cannot be read or carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappingError {
    /// Neither a name nor a list of CPUs.
    Unknown(String),
    /// A list with an entry that is not a CPU.
    List(ListError),
    /// An explicit mapping without a CPU.
    Empty,
    /// An explicit mapping names a CPU that is outside the affinity mask or cpuset, or not on this
    /// machine.
    NotAllowed {
        /// The first such CPU.
        cpu: usize,
        /// The allowed CPUs.
        allowed: CpuSet,
    },
    /// None of the allowed CPUs is on this machine.
    NoCpu,
}

const EXPECTED: &str = "write scatter, compact, none, or a list of CPUs such as 0,2,4-7";

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => write!(f, "`{text}` is not a mapping: {EXPECTED}"),
            Self::List(error) => write!(f, "{error}: {EXPECTED}"),
            Self::Empty => write!(f, "an empty mapping: {EXPECTED}"),
            Self::NotAllowed { cpu, allowed } => {
                write!(
                    f,
                    "CPU {cpu} of the mapping is not one this process may use: choose from \
                     {allowed}"
                )
            }
            Self::NoCpu => f.write_str("no allowed CPU is on this machine: use the mapping `none`"),
        }
    }
}

impl std::error::Error for MappingError {}

impl FromStr for Mapping {
    type Err = MappingError;

    /// Reads `scatter`, `compact`, `none`, or a list of CPUs such as `0,2,4-7`, which keeps its
    /// order.
    fn from_str(text: &str) -> Result<Self, MappingError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "" => Err(MappingError::Empty),
            "scatter" => Ok(Self::Scatter),
            "compact" => Ok(Self::Compact),
            "none" => Ok(Self::None),
            list if list.starts_with(|first: char| first.is_ascii_digit()) => {
                parse_list(list).map(Self::Explicit).map_err(MappingError::List)
            }
            _ => Err(MappingError::Unknown(sinew_cpus::shorten(text.trim()))),
        }
    }
}

impl fmt::Display for Mapping {
    /// Writes the form that [`str::parse`] reads. An explicit mapping without CPUs is empty and
    /// cannot be read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scatter => f.write_str("scatter"),
            Self::Compact => f.write_str("compact"),
            Self::None => f.write_str("none"),
            Self::Explicit(cpus) => write_list(cpus.iter().copied(), f),
        }
    }
}

/// A PU of `allowed` for each of `workers` workers; `None` for all with [`Mapping::None`]. If there
/// are more workers than PUs, the order repeats.
///
/// # Errors
///
/// [`MappingError::NotAllowed`] and [`MappingError::Empty`] for explicit mappings;
/// [`MappingError::NoCpu`] if none of the allowed CPUs is on this machine.
///
/// # Cost
///
/// A few passes over the machine's PUs.
pub fn place(
    machine: &Machine,
    allowed: &CpuSet,
    mapping: &Mapping,
    workers: usize,
) -> Result<Vec<Option<PuId>>, MappingError> {
    let order = match mapping {
        Mapping::None => return Ok(vec![None; workers]),
        Mapping::Scatter => in_rounds(machine, allowed, scatter),
        Mapping::Compact => in_rounds(machine, allowed, compact),
        Mapping::Explicit(cpus) => listed(machine, allowed, cpus)?,
    };
    if order.is_empty() {
        return Err(MappingError::NoCpu);
    }
    let mut places = Vec::with_capacity(workers);
    for worker in 0..workers {
        places.push(Some(order[worker % order.len()]));
    }
    Ok(places)
}

fn listed(machine: &Machine, allowed: &CpuSet, cpus: &[usize]) -> Result<Vec<PuId>, MappingError> {
    if cpus.is_empty() {
        return Err(MappingError::Empty);
    }
    let mut by_cpu = Vec::new();
    for id in machine.pu_ids() {
        let cpu = machine.pu(id).cpu;
        by_cpu.resize(by_cpu.len().max(cpu + 1), None);
        by_cpu[cpu] = Some(id);
    }
    let mut order = Vec::with_capacity(cpus.len());
    for &cpu in cpus {
        match by_cpu.get(cpu) {
            Some(&Some(id)) if allowed.contains(cpu) => order.push(id),
            _ => {
                let allowed = allowed.intersection(&machine.cpus());
                return Err(MappingError::NotAllowed { cpu, allowed });
            }
        }
    }
    Ok(order)
}

/// One of the rules: returns the chosen PUs inside an object, in order.
type Rule = fn(&Machine, usize, &[bool]) -> Vec<PuId>;

/// All allowed PUs, round by round.
fn in_rounds(machine: &Machine, allowed: &CpuSet, rule: Rule) -> Vec<PuId> {
    // In ascending order of their keys; there are few.
    let mut rounds: Vec<((usize, usize), Vec<bool>)> = Vec::new();
    for core in machine.objects_at(Level::Core) {
        let free = core.pus.clone().filter(|&pu| allowed.contains(machine.pus()[pu].cpu));
        // Counts allowed siblings only: a core whose first PU is forbidden is still a whole core.
        for (sibling, pu) in free.enumerate() {
            let key = (sibling, machine.pus()[pu].kind);
            let place = rounds.partition_point(|(other, _)| *other < key);
            if rounds.get(place).is_none_or(|(other, _)| *other != key) {
                rounds.insert(place, (key, vec![false; machine.pus().len()]));
            }
            rounds[place].1[pu] = true;
        }
    }
    let mut order = Vec::new();
    for (_, chosen) in &rounds {
        order.append(&mut rule(machine, 0, chosen));
    }
    order
}

/// One PU from each child in turn.
fn scatter(machine: &Machine, object: usize, chosen: &[bool]) -> Vec<PuId> {
    let mut parts: Vec<_> =
        parts(machine, object, chosen, scatter).into_iter().map(Vec::into_iter).collect();
    let mut order = Vec::new();
    while !parts.is_empty() {
        parts.retain_mut(|part| part.next().map(|pu| order.push(pu)).is_some());
    }
    order
}

/// All PUs of a child before the next one; the child with most chosen PUs comes first, so that few
/// children are used.
fn compact(machine: &Machine, object: usize, chosen: &[bool]) -> Vec<PuId> {
    let parts = parts(machine, object, chosen, compact);
    let mut order = Vec::new();
    for place in sorted_indices(parts.len(), &|a, b| parts[b].len().cmp(&parts[a].len())) {
        order.extend_from_slice(&parts[place]);
    }
    order
}

fn parts(machine: &Machine, object: usize, chosen: &[bool], rule: Rule) -> Vec<Vec<PuId>> {
    let object = &machine.objects()[object];
    let mut parts = Vec::new();
    for &child in &object.children {
        parts.push(rule(machine, child, chosen));
    }
    if object.children.is_empty() {
        for pu in object.pus.clone().filter(|&pu| chosen[pu]) {
            parts.push(vec![PuId(pu as u32)]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    //! Blind to: orders; `tests/machines/mapping.rs` checks those.

    use super::*;

    #[test]
    fn a_mapping_is_read_back_from_what_it_prints() {
        for text in ["scatter", "compact", "none", "0,2,4-7", "3,1", "0,0"] {
            assert_eq!(text.parse::<Mapping>().unwrap().to_string(), text);
        }
        assert_eq!(" Scatter ".parse(), Ok(Mapping::Scatter));
    }

    #[test]
    fn a_mapping_that_is_wrong_is_refused_with_the_way_out() {
        for (text, start) in [
            ("spread", "`spread` is not a mapping: write scatter,"),
            ("", "an empty mapping: write scatter,"),
            ("-1", "`-1` is not a mapping: write scatter,"),
            ("0,x", "`x` is not a CPU number"),
            ("4-2", "`4-2` is not a CPU number"),
        ] {
            let error = text.parse::<Mapping>().unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
            assert!(error.ends_with("4-7"), "{text}: {error}");
        }
    }
}
