//! Options of an experiment.

use std::fmt;

use serde::Deserialize;

use crate::worklists::Worklists;

/// The size of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Everything once round in some seconds: shows that it works, its figures mean little.
    Quick,
    /// A few minutes on two cores.
    #[default]
    Default,
    /// The published sizes, which may take hours.
    Full,
}

impl Scale {
    /// The value for this scale.
    pub fn pick<T>(self, quick: T, default: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Default => default,
            Self::Full => full,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("quick", "default", "full"))
    }
}

/// The conditions of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The size of the problems.
    pub scale: Scale,
    /// The numbers of workers, rising, at least one.
    pub threads: Vec<usize>,
    /// Number of repetitions; figures are medians.
    pub repeat: usize,
    /// Decides the order of the runs.
    pub seed: u64,
    /// The conditions of experiments with worklists.
    pub worklists: Worklists,
}

impl Setting {
    /// Everything at its default, on a machine on which this process may use `processors`.
    pub fn new(scale: Scale, processors: usize) -> Self {
        Self {
            scale,
            threads: worker_counts(processors),
            repeat: scale.pick(1, 5, 5),
            seed: 1,
            worklists: Worklists::default(),
        }
    }

    /// The same with these numbers of workers and 1, if there are any.
    #[must_use]
    pub fn workers(self, counts: &[usize]) -> Self {
        if counts.is_empty() {
            return self;
        }
        let mut threads = [counts, &[1]].concat();
        threads.sort_unstable();
        threads.dedup();
        Self { threads, ..self }
    }

    /// The largest number of workers.
    pub fn most_workers(&self) -> usize {
        self.threads.iter().copied().max().unwrap_or(1)
    }

    /// The numbers of workers above one: those with victims.
    pub fn parallel_counts(&self) -> Vec<usize> {
        self.threads.iter().copied().filter(|&workers| workers > 1).collect()
    }
}

/// The powers of two below the number of processors, and that number.
fn worker_counts(processors: usize) -> Vec<usize> {
    let most = processors.max(1);
    let powers = std::iter::successors(Some(1), |&workers: &usize| workers.checked_mul(2));
    powers.take_while(|&workers| workers < most).chain([most]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a machine whose size is no power of two, or that has one processor.
    #[test]
    fn worker_counts_double_up_to_the_machine() {
        assert_eq!(worker_counts(1), [1]);
        assert_eq!(worker_counts(2), [1, 2]);
        assert_eq!(worker_counts(6), [1, 2, 4, 6]);
        assert_eq!(worker_counts(8), [1, 2, 4, 8]);
        assert_eq!(Setting::new(Scale::Quick, 6).parallel_counts(), [2, 4, 6]);
    }
}
