//! The tasks of a workload, and the table that each may read anywhere.

use std::fmt;

use super::kernel::{Kind, Task, apply, expected, table};
use crate::problem::Wrong;

/// Tasks and a table: the two inputs of a map-array.
///
/// ```
/// use sinew::iter::ParIter;
/// use sinew_apps::collatz::{Workload, apply};
///
/// let workload = Workload::biased(1_000, 500, 5, 4);
/// let answers = sinew::over(workload.tasks()).map_array(workload.table(), apply);
/// let answers: Vec<u64> = answers.collect();
/// workload.check(&answers)?;
/// assert_eq!(answers, workload.serial());
/// # Ok::<(), sinew_apps::Wrong>(())
/// ```
#[derive(Debug, Clone)]
pub struct Workload {
    tasks: Vec<Task>,
    table: Vec<u32>,
    kind: Kind,
    heavy: u32,
    others: Others,
}

/// The tasks that are not the heaviest ones.
#[derive(Debug, Clone, Copy)]
enum Others {
    /// None: all tasks are alike.
    None,
    /// All after the first of some parts, with a grain.
    Light { repeats: u32, parts: usize },
    /// All before the last, each less than the next one.
    Rising,
}

impl Workload {
    /// `tasks` tasks that all repeat the sequence equally often.
    pub fn uniform(tasks: usize, repeats: u32) -> Self {
        Self::new(tasks, repeats, Others::None)
    }

    /// The first of `parts` parts of the tasks repeats it `heavy` times, the others `light` times.
    pub fn biased(tasks: usize, heavy: u32, light: u32, parts: usize) -> Self {
        Self::new(tasks, heavy, Others::Light { repeats: light, parts })
    }

    /// Tasks that repeat the sequence more and more often: the last one `heavy` times, and the one
    /// in the middle half as often.
    pub fn rising(tasks: usize, heavy: u32) -> Self {
        Self::new(tasks, heavy, Others::Rising)
    }

    fn new(tasks: usize, heavy: u32, others: Others) -> Self {
        let repeats = |number: usize| match others {
            Others::Light { repeats, parts } if number >= tasks / parts.max(1) => repeats,
            Others::Rising => (u64::from(heavy) * (number + 1) as u64 / tasks as u64) as u32,
            _ => heavy,
        };
        let task = |number| Task { kind: Kind::Compute, start: 0, repeats: repeats(number) };
        let tasks = (0..tasks).map(task).collect();
        Self { tasks, table: table(Kind::Compute, 1), kind: Kind::Compute, heavy, others }
    }

    /// The same number of tasks and repetitions with another kind of work, on a table of `entries`
    /// entries of four bytes, rounded up to a power of two. Tasks that stream begin one behind the
    /// other.
    #[must_use]
    pub fn kind(mut self, kind: Kind, entries: usize) -> Self {
        self.table = table(kind, entries.next_power_of_two());
        self.kind = kind;
        let length = self.table.len() as u64;
        let mut begin = 0_u64;
        for (number, task) in self.tasks.iter_mut().enumerate() {
            let start = if kind == Kind::Stream { begin } else { number as u64 };
            begin += u64::from(task.repeats);
            *task = Task { kind, start: (start % length) as u32, ..*task };
        }
        self
    }

    /// The input that tasks are made of.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The input that all of them read.
    pub fn table(&self) -> &[u32] {
        &self.table
    }

    /// One task after the other.
    pub fn serial(&self) -> Vec<u64> {
        self.tasks.iter().map(|task| apply(task, &self.table)).collect()
    }

    /// Compares results with their expected values, by closed forms.
    ///
    /// # Errors
    ///
    /// The first task with a wrong result.
    pub fn check(&self, answers: &[u64]) -> Result<(), Wrong> {
        let (tasks, entries) = (self.tasks.len(), self.table.len());
        Wrong::unless(answers.len() == tasks, || {
            format!("{} answers of {tasks} tasks", answers.len())
        })?;
        let mut pairs = self.tasks.iter().zip(answers).enumerate();
        pairs.try_for_each(|(number, (task, &answer))| {
            let right = expected(task, entries);
            Wrong::unless(answer == right, || {
                format!("task {number} answers {answer} instead of {right}")
            })
        })
    }

    /// The sum of all results, modulo 2⁶⁴.
    pub fn sum(&self) -> u64 {
        self.tasks.iter().fold(0, |sum, task| sum.wrapping_add(expected(task, self.table.len())))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tasks, table, kind, heavy, others } = self;
        write!(f, "{} tasks of ", tasks.len())?;
        match others {
            Others::None => write!(f, "{heavy}")?,
            Others::Light { repeats, parts } => {
                write!(f, "{heavy} (the first of {parts} parts) and {repeats}")?;
            }
            Others::Rising => write!(f, "up to {heavy}")?,
        }
        match kind {
            Kind::Compute => f.write_str(" repeats"),
            Kind::Stream => write!(f, " neighbours of {} entries", table.len()),
            Kind::Irregular => write!(f, " steps through {} entries", table.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::iter::ParIter;

    /// Catches: heavy tasks that are not the first ones, or not 1/N of all.
    #[test]
    fn heavy_tasks_come_first_and_are_one_of_n_parts_or_come_last() {
        let grains = |workload: &Workload| {
            workload.tasks.iter().map(|task| task.repeats).collect::<Vec<_>>()
        };
        assert_eq!(grains(&Workload::biased(8, 9, 1, 4)), [9, 9, 1, 1, 1, 1, 1, 1]);
        assert_eq!(grains(&Workload::uniform(3, 7)), [7; 3]);
        assert_eq!(
            Workload::biased(8, 9, 1, 4).to_string(),
            "8 tasks of 9 (the first of 4 parts) and 1 repeats"
        );
        assert_eq!(grains(&Workload::rising(4, 8)), [2, 4, 6, 8]);
        assert_eq!(Workload::rising(4, 8).to_string(), "4 tasks of up to 8 repeats");
    }

    /// Catches: a kind whose tasks leave the table or read the same part of it.
    #[test]
    fn every_kind_is_right_serially_and_in_a_pool() {
        for kind in [Kind::Compute, Kind::Stream, Kind::Irregular] {
            let workload = Workload::biased(100, 300, 30, 4).kind(kind, 1_000);
            let answers = sinew::over(workload.tasks()).map_array(workload.table(), apply);
            let answers: Vec<_> = answers.collect();
            workload.check(&answers).unwrap();
            assert_eq!(answers, workload.serial());
            assert_eq!(answers.iter().sum::<u64>(), workload.sum(), "{workload}");
        }
    }

    /// Catches: a check that does not look.
    #[test]
    fn wrong_and_missing_answers_are_noticed() {
        let workload = Workload::uniform(10, 3);
        let mut answers = workload.serial();
        answers[4] += 1;
        assert_eq!(
            workload.check(&answers).unwrap_err().to_string(),
            "task 4 answers 25 instead of 24"
        );
        assert!(workload.check(&answers[..9]).unwrap_err().to_string().contains("9 answers"));
    }
}
