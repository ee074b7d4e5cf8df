//! The settings of a running worklist.

use std::fmt;

/// How a worklist runs its units.
///
/// As text, for tables: `4 threads, stealing, helpers 100, coalescing, swap 2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Settings {
    /// Workers that run units, at least 1, without helpers.
    pub threads: usize,
    /// Whether each worker has a list, with stealing; otherwise one list for all.
    pub stealing: bool,
    /// Words that a helper thread reads ahead for one unit; 0 for no helpers.
    pub lifespan: u32,
    /// Whether a transaction runs two units.
    pub coalescing: bool,
    /// Retries of a unit before it is swapped for another; `None` for no swaps.
    pub swap_after: Option<u32>,
}

impl Settings {
    /// The baseline: `threads` workers, one list for all of them, nothing else. A worklist refuses
    /// 0 workers.
    pub const fn baseline(threads: usize) -> Self {
        Self { threads, stealing: false, lifespan: 0, coalescing: false, swap_after: None }
    }

    /// The same with stealing on or off.
    #[must_use]
    pub const fn stealing(self, stealing: bool) -> Self {
        Self { stealing, ..self }
    }

    /// The same with helpers that read `lifespan` words ahead; 0 for no helpers.
    #[must_use]
    pub const fn lifespan(self, lifespan: u32) -> Self {
        Self { lifespan, ..self }
    }

    /// The same with coalescing on or off.
    #[must_use]
    pub const fn coalescing(self, coalescing: bool) -> Self {
        Self { coalescing, ..self }
    }

    /// The same with units swapped after this many retries, or never.
    #[must_use]
    pub const fn swap_after(self, swap_after: Option<u32>) -> Self {
        Self { swap_after, ..self }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread{}", self.threads, if self.threads == 1 { "" } else { "s" })?;
        if self.stealing {
            f.write_str(", stealing")?;
        }
        if self.lifespan > 0 {
            write!(f, ", helpers {}", self.lifespan)?;
        }
        if self.coalescing {
            f.write_str(", coalescing")?;
        }
        self.swap_after.map_or(Ok(()), |retries| write!(f, ", swap {retries}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an optimisation that the text leaves out, and a wrong number of threads.
    #[test]
    fn a_setting_names_what_is_on() {
        assert_eq!(
            [0, 1].map(|threads| Settings::baseline(threads).to_string()),
            ["0 threads", "1 thread"]
        );
        let all =
            Settings::baseline(4).stealing(true).lifespan(100).coalescing(true).swap_after(Some(2));
        assert_eq!(all.to_string(), "4 threads, stealing, helpers 100, coalescing, swap 2");
    }
}
