//! The CPUs that programs share, and their cores, caches and packages.

use sinew_cpus::CpuSet;

use super::MAX_CORES;

/// A CPU, its core, cache and package. Only the equality of numbers matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The operating system's number.
    pub cpu: usize,
    /// The physical core.
    pub core: usize,
    /// The last-level cache.
    pub cache: usize,
    /// The package.
    pub package: usize,
}

/// The CPUs that programs share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    places: Vec<Place>,
}

impl Layout {
    /// A machine of these CPUs. Skips CPUs that cannot be shared, and repeated ones.
    pub fn new(places: impl IntoIterator<Item = Place>) -> Self {
        let mut seen = CpuSet::new();
        let mut is_new = |cpu: usize| {
            let is_new = cpu < MAX_CORES && !seen.contains(cpu);
            if is_new {
                seen.insert(cpu);
            }
            is_new
        };
        Self { places: places.into_iter().filter(|place| is_new(place.cpu)).collect() }
    }

    /// `cpus` CPUs that share one cache.
    pub fn flat(cpus: usize) -> Self {
        Self::new((0..cpus).map(|cpu| Place { cpu, core: cpu, cache: 0, package: 0 }))
    }

    /// The CPUs.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no CPUs.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The CPUs as a set.
    pub fn cores(&self) -> CpuSet {
        self.places.iter().map(|place| place.cpu).collect()
    }

    /// The number of last-level caches.
    pub fn caches(&self) -> usize {
        let mut caches: Vec<usize> = self.places.iter().map(|place| place.cache).collect();
        caches.sort_unstable();
        caches.dedup();
        caches.len()
    }
}
