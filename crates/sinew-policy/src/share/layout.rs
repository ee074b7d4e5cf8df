//! The CPUs to be shared, and what each of them shares with others.

use super::cores::CoreSet;

/// A CPU and what it is part of. The numbers only say what is the same and what is not.
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

/// The machine as far as sharing it goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    places: Vec<Place>,
}

impl Layout {
    /// A machine of these CPUs. Those that no [`CoreSet`] can hold, and those named before, are
    /// left out.
    pub fn new(places: impl IntoIterator<Item = Place>) -> Self {
        let mut seen = CoreSet::EMPTY;
        let mut is_new = |cpu: usize| {
            let new = !seen.contains(cpu);
            seen.insert(cpu);
            new && seen.contains(cpu)
        };
        Self { places: places.into_iter().filter(|place| is_new(place.cpu)).collect() }
    }

    /// So many CPUs that share one cache.
    pub fn flat(cpus: usize) -> Self {
        Self::new((0..cpus).map(|cpu| Place { cpu, core: cpu, cache: 0, package: 0 }))
    }

    /// The CPUs.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// How many CPUs there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The CPUs as a set.
    pub fn cores(&self) -> CoreSet {
        self.places.iter().map(|place| place.cpu).collect()
    }

    /// How many of a machine's last-level caches there are.
    pub fn caches(&self) -> usize {
        let mut caches: Vec<usize> = self.places.iter().map(|place| place.cache).collect();
        caches.sort_unstable();
        caches.dedup();
        caches.len()
    }
}
