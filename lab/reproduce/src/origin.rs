//! The origin of a measurement: machine, program, and the command that repeats it.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sinew_topology::{Level, Limits, Machine};

/// The machine, the program, and how it was called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Origin {
    /// The model of the processor.
    pub processor: String,
    /// Number of processing units that this process may use.
    pub processors: usize,
    /// Number of packages of the machine.
    pub packages: usize,
    /// Number of NUMA nodes of the machine.
    pub nodes: usize,
    /// The operating system.
    pub system: String,
    /// The compiler of the program.
    pub compiler: String,
    /// The level of optimisation.
    pub optimisation: String,
    /// The commit of the sources, if it was known when the program was built.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// When the run began, in seconds since 1970.
    pub began_s: u64,
}

impl Origin {
    /// Looks around; what cannot be found out is called unknown. `command` is how the program was
    /// called.
    #[allow(clippy::disallowed_methods, reason = "a date for readers, by which nothing decides")]
    pub fn here(command: String) -> Self {
        let machine = Machine::host();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            processor: processor()
                .unwrap_or_else(|| format!("unknown ({})", std::env::consts::ARCH)),
            processors: Limits::read().effective_threads(),
            packages: machine.count(Level::Package).max(1),
            nodes: machine.nodes().len().max(1),
            system: system(),
            compiler: env!("REPRODUCE_COMPILER").to_owned(),
            optimisation: env!("REPRODUCE_OPT_LEVEL").to_owned(),
            commit: env!("REPRODUCE_COMMIT").to_owned(),
            command,
            began_s: since_1970.map_or(0, |time| time.as_secs()),
        }
    }

    /// Whether the program was compiled to be fast.
    pub fn optimised(&self) -> bool {
        matches!(self.optimisation.as_str(), "2" | "3" | "s" | "z")
    }

    /// As text, one fact per line.
    pub fn lines(&self) -> Vec<String> {
        let Self { processor, processors, packages, nodes, system, .. } = self;
        vec![
            format!(
                "{processor}; processors to use: {processors}, packages: {packages}, NUMA nodes: \
                 {nodes}; {system}"
            ),
            format!(
                "commit {}, {}, optimisation {}",
                self.commit, self.compiler, self.optimisation
            ),
            format!("`{}`", self.command),
        ]
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self {
            processor: "Abacus".into(),
            processors: 2,
            packages: 1,
            nodes: 1,
            system: "none".into(),
            compiler: "by hand".into(),
            optimisation: "3".into(),
            commit: "0123".into(),
            command: "sinew-lab reproduce".into(),
            began_s: 0,
        }
    }
}

fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn system() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, kernel.trim()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    //! Blind to: a wrong fact; it only looks whether there is one.
    use super::*;

    #[test]
    fn the_origin_names_everything_that_a_reader_needs() {
        let origin = Origin::here("sinew-lab reproduce fib".into());
        assert!(origin.processors > 0 && origin.packages > 0 && origin.nodes > 0, "{origin:?}");
        assert!(origin.compiler.starts_with("rustc"), "{origin:?}");
        let lines = origin.lines().join("\n");
        for part in [&origin.processor, &origin.commit, &origin.command] {
            assert!(!part.is_empty() && lines.contains(part.as_str()), "{lines}");
        }
    }
}
