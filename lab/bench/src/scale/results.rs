//! Everything that a run has found out so far, as it is written after each block.

use crate::statistics::{Summary, median};
use serde::Serialize;

/// A run.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    /// The machine and the program, a fact a line.
    pub(super) machine: Vec<String>,
    pub(super) threads: Vec<usize>,
    pub(super) budget_s: f64,
    pub(super) elapsed_s: f64,
    /// Whether the run came to its end.
    pub(super) is_complete: bool,
    /// Contenders and parts that did not take part, each with the reason.
    pub(super) left_out: Vec<String>,
    pub(super) bars: Vec<Verdict>,
    pub(super) subjects: Vec<Measured>,
}

/// A subject.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Measured {
    pub(super) group: &'static str,
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) operations: u64,
    pub(super) rounds: u32,
    pub(super) cells: Vec<Cell>,
}

/// A contender with a number of threads.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Cell {
    pub(super) contender: &'static str,
    pub(super) threads: usize,
    pub(super) samples: Vec<Taken>,
    /// The error, if there was one; it is not asked again then.
    pub(super) fault: Option<String>,
}

/// A time, with the round in which it was taken.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Taken {
    pub(super) round: u32,
    pub(super) ns: u64,
}

/// A demand, and what was measured.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Verdict {
    pub(super) what: &'static str,
    pub(super) threads: usize,
    /// The bound: at least or at most this.
    pub(super) bound: &'static str,
    pub(super) limit: f64,
    pub(super) measured: Option<Summary>,
    /// `met`, `missed` or `not measured`.
    pub(super) verdict: &'static str,
    /// On all threads, where those are not sixteen.
    pub(super) on_all: Option<Summary>,
}

/// The name of a cell: subject, contender, threads.
pub(super) type Name<'n> = (&'n str, &'n str, usize);

impl Results {
    pub(super) fn find(&self, (subject, contender, threads): Name<'_>) -> Option<&Cell> {
        self.subjects.iter().find(|known| known.name == subject)?.find(contender, threads)
    }

    /// Time of the first divided by time of the second, round by round.
    pub(super) fn ratio(&self, of: Name<'_>, by: Name<'_>) -> Option<Summary> {
        ratio(self.find(of)?, self.find(by)?)
    }

    /// Nanoseconds of an operation.
    pub(super) fn per_operation(&self, cell: Name<'_>) -> Option<Summary> {
        let subject = self.subjects.iter().find(|known| known.name == cell.0)?;
        subject.per_operation(subject.find(cell.1, cell.2)?)
    }

    /// A line for each wrong answer.
    pub(super) fn wrong(&self) -> Vec<String> {
        let cells = self
            .subjects
            .iter()
            .flat_map(|subject| subject.cells.iter().map(move |cell| (&subject.name, cell)));
        let line = |(name, cell): (&String, &Cell)| {
            let fault = cell.fault.as_ref()?;
            let is_wrong = fault.to_lowercase().contains("wrong answer");
            let Cell { contender, threads, .. } = cell;
            is_wrong.then(|| format!("{name} by {contender} on {threads} threads: {fault}"))
        };
        cells.filter_map(line).collect()
    }
}

/// See [`Results::ratio`].
pub(super) fn ratio(of: &Cell, by: &Cell) -> Option<Summary> {
    let same = |taken: &Taken| by.samples.iter().find(|other| other.round == taken.round);
    Summary::of(
        of.samples
            .iter()
            .filter_map(|taken| same(taken).map(|by| taken.ns as f64 / by.ns.max(1) as f64)),
    )
}

impl Measured {
    pub(super) fn find(&self, contender: &str, threads: usize) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.contender == contender && cell.threads == threads)
            .filter(|cell| cell.fault.is_none() && !cell.samples.is_empty())
    }

    /// The cell to which speed-ups refer: the serial one, or the first contender on one thread.
    pub(super) fn baseline(&self) -> Option<&Cell> {
        self.find("serial", 1).or_else(|| self.find(self.cells.first()?.contender, 1))
    }

    pub(super) fn per_operation(&self, cell: &Cell) -> Option<Summary> {
        let operations = self.operations.max(1) as f64;
        Summary::of(cell.samples.iter().map(|taken| taken.ns as f64 / operations))
    }

    /// The contenders, each once.
    pub(super) fn contenders(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for cell in &self.cells {
            if !names.contains(&cell.contender) {
                names.push(cell.contender);
            }
        }
        names
    }
}

impl Cell {
    /// The middle of its times, in nanoseconds.
    pub(super) fn median_ns(&self) -> Option<f64> {
        median(&self.samples.iter().map(|taken| taken.ns as f64).collect::<Vec<_>>())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run on 1 and 16 threads in which `contender` needs this part of the serial 1,000 ns.
    pub(crate) fn run(subject: &str, contender: &'static str, parts: [f64; 2]) -> Results {
        let cell = |contender, threads, ns: [u64; 2]| Cell {
            contender,
            threads,
            samples: (0..).zip(ns).map(|(round, ns)| Taken { round, ns }).collect(),
            fault: None,
        };
        let times = |part: f64| [(1_000.0 * part) as u64, (3_000.0 * part) as u64];
        let cells = vec![
            cell("serial", 1, times(1.0)),
            cell(contender, 1, times(parts[0])),
            cell(contender, 16, times(parts[1])),
        ];
        let measured = Measured {
            group: "tasks",
            name: subject.to_owned(),
            unit: "task",
            operations: 10,
            rounds: 2,
            cells,
        };
        Results {
            machine: vec!["Abacus & co".to_owned()],
            threads: vec![1, 16],
            budget_s: 10.0,
            elapsed_s: 1.0,
            is_complete: true,
            left_out: Vec::new(),
            bars: Vec::new(),
            subjects: vec![measured],
        }
    }

    /// Catches: ratios of medians, and samples of different rounds.
    #[test]
    fn ratios_are_taken_within_rounds_and_missing_rounds_are_left_out() {
        let mut run = run("fib", "sinew", [1.0, 0.1]);
        let speed_up =
            |run: &Results| run.ratio(("fib", "serial", 1), ("fib", "sinew", 16)).unwrap();
        assert_eq!(speed_up(&run).median, 10.0);
        run.subjects[0].cells[2].samples.remove(0);
        assert_eq!(speed_up(&run).median, 10.0);
        assert_eq!(run.per_operation(("fib", "serial", 1)).unwrap().median, 200.0);
    }
}
