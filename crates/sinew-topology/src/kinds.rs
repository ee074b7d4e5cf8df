//! Hybrid machines: the kinds of their cores, by speed.
//!
//! Three sources are tried in this order, and the first with a value for each CPU is used: the
//! lists of the performance counters' drivers (`cpu_core`, `cpu_atom`, `cpu_lowpower`; exact), the
//! scheduler's `cpu_capacity`, the highest clock rate.
//!
//! The last two are measures, not kinds: favoured cores of the same kind differ by some percent. So
//! a core counts as another kind only if it has less than 80 % of the fastest core of the kind
//! before. Known hybrid chips differ by a third or more.

use std::path::Path;

use crate::assemble::CpuFacts;
use crate::files::{not_a, read_if_exists};
use crate::machine::CoreKind;
use crate::warning::Warning;
use sinew_cpus::CpuSet;

/// From fast to slow.
const DRIVERS: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

/// A number that the kernel keeps for each CPU, and its unit.
struct Measure {
    file: &'static str,
    name: fn(u64) -> String,
}

const MEASURES: [Measure; 2] = [
    Measure { file: "cpu_capacity", name: |capacity| format!("capacity {capacity}") },
    Measure { file: "cpufreq/cpuinfo_max_freq", name: |khz| format!("{} MHz", khz / 1000) },
];

/// Sets each CPU's kind and returns the kinds, the fastest first; one kind if no source is usable.
pub(crate) fn core_kinds(
    devices: &Path,
    cpus: &mut [CpuFacts],
    warnings: &mut Vec<Warning>,
) -> Vec<CoreKind> {
    let mut attempt = |found: Result<Option<Vec<CoreKind>>, Warning>| match found {
        Ok(kinds) => kinds,
        Err(warning) => {
            warnings.push(warning.then("not used to tell cores apart"));
            None
        }
    };
    if let Some(kinds) = attempt(by_driver(devices, cpus)) {
        return kinds;
    }
    for measure in &MEASURES {
        if let Some(kinds) = attempt(by_measure(devices, measure, cpus)) {
            return kinds;
        }
    }
    vec![CoreKind { name: "core".into() }]
}

fn by_driver(devices: &Path, cpus: &mut [CpuFacts]) -> Result<Option<Vec<CoreKind>>, Warning> {
    let mut lists: Vec<(&str, CpuSet)> = Vec::new();
    for name in DRIVERS {
        let path = devices.join(name).join("cpus");
        if let Some(text) = read_if_exists(&path)? {
            lists.push((name, text.parse().map_err(|error| Warning::at(&path, error))?));
        }
    }
    lists.retain(|(_, list)| cpus.iter().any(|cpu| list.contains(cpu.cpu)));
    if lists.is_empty() {
        return Ok(None);
    }
    let mut kinds = Vec::new();
    for cpu in cpus.iter() {
        let (mut holders, mut holder) = (0, 0);
        for (kind, (_, list)) in lists.iter().enumerate() {
            if list.contains(cpu.cpu) {
                (holders, holder) = (holders + 1, kind);
            }
        }
        if holders != 1 {
            let what = format_args!("CPU {} is not in exactly one of {DRIVERS:?}", cpu.cpu);
            return Err(Warning::at(devices, what));
        }
        kinds.extend([holder]);
    }
    for (cpu, kind) in cpus.iter_mut().zip(kinds) {
        cpu.kind = kind;
    }
    let mut names = Vec::new();
    for (name, _) in &lists {
        names.push(CoreKind { name: (*name).to_owned() });
    }
    Ok(Some(names))
}

fn by_measure(
    devices: &Path,
    measure: &Measure,
    cpus: &mut [CpuFacts],
) -> Result<Option<Vec<CoreKind>>, Warning> {
    let mut values = Vec::new();
    for cpu in cpus.iter() {
        let path = devices.join(format!("system/cpu/cpu{}", cpu.cpu)).join(measure.file);
        let Some(text) = read_if_exists(&path)? else { return Ok(None) };
        let value: u64 = text.parse().map_err(|_| Warning::at(&path, not_a("number", &text)))?;
        values.extend([value]);
    }
    let tops = tops(&values);
    for (cpu, value) in cpus.iter_mut().zip(&values) {
        // The lowest top that is not below the value.
        cpu.kind = tops.iter().rposition(|top| top >= value).unwrap_or(0);
    }
    if tops.len() == 1 {
        return Ok(Some(vec![CoreKind { name: "core".into() }]));
    }
    let mut names = Vec::new();
    for &top in &tops {
        names.push(CoreKind { name: (measure.name)(top) });
    }
    Ok(Some(names))
}

/// The highest value of each kind, the highest kind first.
fn tops(values: &[u64]) -> Vec<u64> {
    let mut tops: Vec<u64> = Vec::new();
    loop {
        let mut next = None;
        for &value in values {
            let is_below =
                tops.last().is_none_or(|&top| u128::from(value) * 5 < u128::from(top) * 4);
            if is_below && next.is_none_or(|next| next < value) {
                next = Some(value);
            }
        }
        let Some(top) = next else { return tops };
        tops.extend([top]);
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: chips whose kinds differ by less than a fifth.

    use super::*;

    #[test]
    fn favoured_cores_are_no_kind_of_their_own() {
        assert_eq!(tops(&[4900, 5100, 4900, 3800, 3800]), [5100, 3800]);
        assert_eq!(tops(&[1024, 1009, 1009]), [1024]);
        assert_eq!(tops(&[1024, 870, 446, 446]), [1024, 446]);
        assert_eq!(tops(&[1024, 700, 300]), [1024, 700, 300]);
        assert_eq!(tops(&[0, 0]), [0]);
    }
}
