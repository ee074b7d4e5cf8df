//! The programs, their sizes, and their numbers of repetitions.
//!
//! A workload is a line of the publication's Table 1: an application and its parameter. Small
//! kernels are repeated, as there; at the default size so often that one processor takes some
//! tenths of a second, and the longest are left out.

use sinew::Schedule;

use crate::common::Subject;
use crate::experiment::{Block, Case};
use crate::failure::Failure;
use crate::paper::wool::{TABLE_1, Workload as Published};
use crate::setting::{Scale, Setting};

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) app: &'static str,
    /// In the publication's notation.
    pub(crate) parameter: &'static str,
    /// As the application takes it.
    pub(crate) size: String,
    /// Number of repetitions of its kernel.
    pub(crate) repetitions: u32,
    /// Whether all stretches of work are simulated as equally long.
    pub(crate) is_even: bool,
}

/// At the default size, the approximate work on the publication's processor, in thousands of
/// cycles; ours takes fewer.
const ENOUGH: u32 = 1_500_000;

/// At the default size, one repetition of more than that is too much.
const TOO_MUCH: u32 = 50_000_000;

/// At the default size. In profiled runs, the clock is read in every one of its 15 million joins.
const SHORT_FIB: &str = "35";

/// One of these repetitions suffices to measure work and span.
const BRIEFLY: u32 = 64;

/// Sizes that take milliseconds, with the publication's smallest parameters if those do.
const QUICK: [(&str, &str, u32); 7] = [
    ("cholesky", "125", 1),
    ("ssf", "12", 2),
    ("stress", "10", 4),
    ("multisort", "16K", 2),
    ("fib", "22", 1),
    ("uts", "tiny", 1),
    ("nqueens", "8", 1),
];

impl Workload {
    fn new(app: &'static str, parameter: &'static str, repetitions: u32) -> Self {
        let number = in_full(parameter);
        let repeated = matches!(app, "cholesky" | "ssf" | "stress" | "multisort");
        let size = match app {
            // A task of every call, as there.
            "fib" => format!("{number},all"),
            _ if repeated => format!("{number}x{repetitions}"),
            _ => number,
        };
        Self { app, parameter, size, repetitions, is_even: false }
    }

    /// `stress 10`.
    pub(crate) fn name(&self) -> String {
        let stretches = if self.is_even { " even" } else { "" };
        format!("{} {}{stretches}", self.app, self.parameter)
    }

    /// The same as a part of a file's name.
    pub(crate) fn file(&self) -> String {
        self.name().replace(' ', "-")
    }

    /// Makes its input.
    ///
    /// # Errors
    ///
    /// As [`Subject::prepare`].
    pub(crate) fn prepare(&self) -> Result<Subject, Failure> {
        self.prepare_size(&self.size)
    }

    /// The same with a few repetitions only, for recordings: each is as long as the others.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare).
    pub(crate) fn prepare_briefly(&self) -> Result<Subject, Failure> {
        let repetitions = self.repetitions.div_ceil(BRIEFLY);
        self.prepare_size(&Self::new(self.app, self.parameter, repetitions).size)
    }

    fn prepare_size(&self, size: &str) -> Result<Subject, Failure> {
        // Halves of halves down to a position, each offered as a task, as there.
        let schedule = self.is_loop().then_some(Schedule::Simple { grain: 1 });
        Subject::prepare(self.app, size, schedule)
    }

    fn is_loop(&self) -> bool {
        self.app == "ssf"
    }

    /// The publication's values.
    pub(crate) fn published(&self) -> Option<&'static Published> {
        crate::paper::wool::find(self.app, self.parameter)
    }
}

/// A block for each workload of the scale.
pub(crate) fn blocks(
    cases: fn(&Workload, &Setting) -> Result<Vec<Case>, Failure>,
) -> impl Fn(&Setting) -> Vec<Block> {
    move |setting| {
        let block = |workload: Workload| {
            let setting = setting.clone();
            Block::new(workload.name(), move || cases(&workload, &setting))
        };
        workloads(setting.scale).into_iter().map(block).collect()
    }
}

/// All workloads of a scale.
pub(crate) fn workloads(scale: Scale) -> Vec<Workload> {
    let in_full = |line: &Published| Workload::new(line.app, line.parameter, line.repetitions);
    match scale {
        Scale::Quick => {
            QUICK.map(|(app, parameter, times)| Workload::new(app, parameter, times)).to_vec()
        }
        Scale::Default => {
            TABLE_1.iter().filter(|line| line.kilocycles <= TOO_MUCH).map(shortened).collect()
        }
        Scale::Full => TABLE_1.iter().map(in_full).collect(),
    }
}

/// Thousands of cycles of the publication's processor that a simulated workload takes, roughly, and
/// at most: idle thieves poll without a pause, and every attempt is an event.
const SIMULATED: u32 = 20_000;
const SIMULATED_MOST: u32 = 100_000;

/// The workloads that are recorded and simulated: the quick ones and, unless the scale is quick,
/// those of the table that are short enough, repeated less often.
pub(crate) fn simulated(scale: Scale) -> Vec<Workload> {
    let quick = workloads(Scale::Quick).into_iter();
    if scale == Scale::Quick {
        return quick.flat_map(with_even).collect();
    }
    let short = TABLE_1.iter().filter(|line| line.kilocycles <= SIMULATED_MOST);
    let fewer = |line: &Published| {
        let repetitions = (SIMULATED / line.kilocycles).clamp(1, line.repetitions);
        Workload::new(line.app, line.parameter, repetitions)
    };
    let others = quick.filter(|workload| workload.published().is_none());
    short.map(fewer).chain(others).flat_map(with_even).collect()
}

/// Of cholesky also a version with equal stretches: here a product of blocks takes a third of the
/// time of a solution, on a processor with vectors.
fn with_even(workload: Workload) -> impl Iterator<Item = Workload> {
    let even = (workload.app == "cholesky").then(|| Workload { is_even: true, ..workload.clone() });
    std::iter::once(workload).chain(even)
}

fn shortened(line: &Published) -> Workload {
    if line.app == "fib" {
        return Workload::new("fib", SHORT_FIB, 1);
    }
    let repetitions = (ENOUGH / line.kilocycles).clamp(1, line.repetitions);
    Workload::new(line.app, line.parameter, repetitions)
}

/// `1k` is 1000, `16K` is 16384, and `4M` is 4 times 1024 times 1024.
fn in_full(parameter: &str) -> String {
    let units = [("k", 1000), ("K", 1024), ("M", 1024 * 1024)];
    let number = |(unit, factor): (&str, u32)| {
        Some(parameter.strip_suffix(unit)?.parse::<u32>().ok()? * factor)
    };
    units
        .into_iter()
        .find_map(number)
        .map_or_else(|| parameter.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a thousand taken for 1024.
    #[test]
    fn parameters_are_written_out_for_the_applications() {
        for (parameter, number) in
            [("2k", "2000"), ("16K", "16384"), ("4M", "4194304"), ("43", "43"), ("T3L", "T3L")]
        {
            assert_eq!(in_full(parameter), number);
        }
        assert_eq!(Workload::new("stress", "10", 4).size, "10x4");
        assert_eq!(Workload::new("fib", "43", 1).size, "43,all");
    }

    /// Catches: a size that its application refuses.
    #[test]
    fn every_quick_workload_can_be_prepared() {
        for workload in workloads(Scale::Quick) {
            workload.prepare().unwrap();
            workload.prepare_briefly().unwrap();
        }
    }

    /// Catches: a published line that is lost on the way, or a default run that takes an hour.
    #[test]
    fn the_full_size_is_the_whole_table_and_the_default_one_is_shorter() {
        let full = workloads(Scale::Full);
        assert!(
            full.iter()
                .all(|workload| workload.published().unwrap().repetitions == workload.repetitions)
        );
        let default = workloads(Scale::Default);
        assert!(default.len() < full.len());
        let mut published = default.iter().filter_map(Workload::published);
        assert!(published.all(|line| line.kilocycles <= TOO_MUCH));
        let others: Vec<String> = default
            .iter()
            .filter(|workload| workload.published().is_none())
            .map(Workload::name)
            .collect();
        assert_eq!(others, ["fib 35"]);
    }
}
