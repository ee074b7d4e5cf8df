//! The machine as the share policies see it, and the part of it that this process may use.

use sinew_cpus::CpuSet;
use sinew_policy::share::{Layout, Place};
use sinew_topology::{Level, Limits, Machine};

/// This machine.
pub fn layout() -> Layout {
    layout_of(Machine::host())
}

/// A machine as the share policies see it.
pub fn layout_of(machine: &Machine) -> Layout {
    let cache_level = machine.last_level_cache();
    let places = machine.pu_ids().map(|id| {
        let package = machine.ancestor(id, Level::Package).unwrap_or(0);
        let cache = cache_level.and_then(|level| machine.ancestor(id, level)).unwrap_or(package);
        Place { cpu: machine.pu(id).cpu, core: machine.pu(id).core, cache, package }
    });
    Layout::new(places)
}

/// The cores this process may run on, and the threads that its quota allows.
pub(crate) fn limits() -> (CpuSet, u32) {
    let limits = Limits::read();
    let threads = u32::try_from(limits.effective_threads()).unwrap_or(u32::MAX);
    (limits.allowed().clone(), threads)
}
