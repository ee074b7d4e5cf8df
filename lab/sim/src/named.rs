//! Programs by name, as they are written on a command line.

use std::fmt;
use std::str::FromStr;

use sinew_policy::split::Splitter;

use crate::engine::{Progress, Simulation};
use crate::random::Duration;
use crate::report::{Report, Violation};
use crate::setup::{Setup, SetupError};
use crate::workload::{
    Chains, Children, Fib, IterationCosts, RandomTree, Series, Shape, Splits, Tree, Uts,
};

/// A program by name, for every kind of tasks.
///
/// | text | program |
/// |---|---|
/// | `tree:12` | [`Tree`] of 2¹² leaves |
/// | `stress:10,16` | the tree of 2¹⁰ leaves 16 times, one after the other |
/// | `series:8,10,5000` | the tree of 2⁸ leaves 10 times, each after a serial part of 5,000 ns |
/// | `fib:20` | [`Fib`] |
/// | `random:1000` | [`RandomTree`] of so many tasks |
/// | `geometric:3,8` | [`Uts`]: mean number of children, depth |
/// | `binomial:2000,4,0.24` | [`Uts`]: children of the root, children of others, how probable |
/// | `chains:2,100` | [`Chains`]: how many, how long |
/// | `loop:10000`, `loop:10000,biased`, `loop:10000,decreasing`, `loop:10000,heavy` | [`Splits`] by the adaptive rule over this many iterations |
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Program {
    /// See the table.
    Tree(u32),
    /// See the table.
    Stress(u32, usize),
    /// See the table.
    Series(u32, usize, Duration),
    /// See the table.
    Fib(u32),
    /// See the table.
    Random(u64),
    /// See the table.
    Uts(Children),
    /// See the table.
    Chains(u32, u64),
    /// See the table.
    Loop(usize, Shape),
}

/// Running a program by name failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// An impossible setup.
    Setup(SetupError),
    /// An error of the simulator.
    Violation(Violation),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(error) => error.fmt(f),
            Self::Violation(violation) => violation.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl Program {
    /// Runs the program until `goes_on` returns false; each leaf, task or iteration takes `leaf`.
    ///
    /// # Errors
    ///
    /// An impossible setup, or an error of the simulator.
    pub fn run(
        self,
        leaf: Duration,
        setup: Setup,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Report, RunError> {
        let seed = setup.seed;
        match self {
            Self::Tree(depth) => run(&Tree::new(depth, leaf, seed), setup, goes_on),
            Self::Stress(depth, times) => run(
                &Series::new(Tree::new(depth, leaf, seed), times, Duration::ZERO),
                setup,
                goes_on,
            ),
            Self::Series(depth, times, serial) => {
                run(&Series::new(Tree::new(depth, leaf, seed), times, serial), setup, goes_on)
            }
            Self::Fib(n) => run(&Fib::new(n, leaf), setup, goes_on),
            Self::Random(tasks) => run(&RandomTree::new(tasks, leaf, seed), setup, goes_on),
            Self::Uts(children) => run(&Uts::new(children, leaf, seed), setup, goes_on),
            Self::Chains(chains, length) => {
                run(&Chains::new(chains, length, leaf, seed), setup, goes_on)
            }
            Self::Loop(n, shape) => {
                let costs = IterationCosts::new(n, shape, leaf, seed);
                run(&Splits::new(costs, Splitter::adaptive(setup.workers), 1), setup, goes_on)
            }
        }
    }
}

fn run<W: crate::workload::Workload>(
    workload: &W,
    setup: Setup,
    goes_on: impl FnMut(&Progress) -> bool,
) -> Result<Report, RunError> {
    let simulation = Simulation::new(setup, workload).map_err(RunError::Setup)?;
    simulation.run_while(goes_on).map_err(RunError::Violation)
}

/// A text that names no program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramError(String);

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a program: write tree:12, stress:10,16, series:8,10,5000, fib:20, \
             random:1000, geometric:3,8, binomial:2000,4,0.24, chains:2,100 or \
             loop:10000,decreasing, within what can be simulated",
            self.0
        )
    }
}

impl std::error::Error for ProgramError {}

/// Parses a number between `least` and `most`.
fn within<T: FromStr + PartialOrd>(text: Option<&str>, least: T, most: T) -> Option<T> {
    let number = text?.trim().parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}

fn parse(text: &str) -> Option<Program> {
    let (name, numbers) = text.split_once(':')?;
    let mut numbers = numbers.split(',');
    let program = match name.trim().to_ascii_lowercase().as_str() {
        "tree" => Program::Tree(within(numbers.next(), 0, 40)?),
        "stress" => Program::Stress(
            within(numbers.next(), 0, 40)?,
            within(numbers.next(), 1, 1_000_000_000)?,
        ),
        "series" => Program::Series(
            within(numbers.next(), 0, 40)?,
            within(numbers.next(), 1, 1_000_000_000)?,
            numbers.next()?.parse().ok()?,
        ),
        "fib" => Program::Fib(within(numbers.next(), 0, 60)?),
        "random" => Program::Random(within(numbers.next(), 1, 1_000_000_000_000)?),
        "geometric" => Program::Uts(Children::Geometric {
            mean: within(numbers.next(), 0.001, 1000.0)?,
            depth: within(numbers.next(), 0, 1000)?,
        }),
        "binomial" => Program::Uts(Children::Binomial {
            root: within(numbers.next(), 0, 1_000_000)?,
            many: within(numbers.next(), 1, 1_000)?,
            probability: within(numbers.next(), 0.0, 1.0)?,
        }),
        "chains" => Program::Chains(
            within(numbers.next(), 1, 1_000_000)?,
            within(numbers.next(), 1, 1_000_000_000)?,
        ),
        "loop" => Program::Loop(within(numbers.next(), 1, 100_000_000)?, shape(numbers.next())?),
        _ => return None,
    };
    // A tree whose nodes have on average one child or more has no end.
    let endless = match program {
        Program::Uts(Children::Binomial { many, probability, .. }) => {
            f64::from(many) * probability >= 1.0
        }
        _ => false,
    };
    (numbers.next().is_none() && !endless).then_some(program)
}

fn shape(name: Option<&str>) -> Option<Shape> {
    match name.map(str::trim) {
        None | Some("uniform") => Some(Shape::Uniform),
        Some("biased") => Some(Shape::Biased),
        Some("decreasing") => Some(Shape::Decreasing),
        Some("heavy") => Some(Shape::Heavy),
        Some(_) => None,
    }
}

impl FromStr for Program {
    type Err = ProgramError;

    /// Reads the texts in the table at [`Program`].
    ///
    /// # Errors
    ///
    /// Names the text: an unknown name, a missing number, a number out of range, or an infinite
    /// tree.
    fn from_str(text: &str) -> Result<Self, ProgramError> {
        parse(text.trim()).ok_or_else(|| ProgramError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a documented program that cannot run.
    #[test]
    fn every_named_program_runs() {
        for text in [
            "tree:5",
            "stress:3,4",
            "series:3,4,500",
            "loop:99,heavy",
            "fib:8",
            "random:100",
            "geometric:2,4",
            "binomial:20,4,0.2",
            "chains:2,9",
            "loop:99,biased",
        ] {
            let program: Program = text.parse().expect(text);
            let report = program.run(Duration::ns(100), Setup::new(4), |_| true).expect(text);
            assert!(report.is_whole && report.work > 0, "{text}");
        }
    }

    /// Catches: an infinite program, or a number that is silently ignored.
    #[test]
    fn what_is_no_program_is_refused_by_name() {
        for text in [
            "",
            "tree",
            "tree:-1",
            "tree:3,4",
            "tree:99",
            "fib:x",
            "binomial:1,4,0.25",
            "loop:9,odd",
            "quicksort:9",
        ] {
            let error = text.parse::<Program>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("`{text}` is not a program")), "{error}");
        }
    }
}
