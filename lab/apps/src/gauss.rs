//! A system of linear equations by Gauss' elimination: one loop over the remaining rows for each
//! unknown.
//!
//! Of each column the largest element becomes the pivot (partial pivoting). The rows shrink and
//! become fewer from loop to loop, and each loop finds most of what the one before has written: it
//! pays if a row stays with its worker.

use std::fmt;

use sinew::prelude::*;

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

const SIZES: &str = "1 to 16384 unknowns";

const NUMBERS: Numbers =
    Numbers { app: "gauss", sizes: SIZES, tiny: 40, small: 300, full: 1024, range: 1..=16_384 };

pub(crate) const APP: App = App {
    name: "gauss",
    about: "a system of linear equations by elimination: one shrinking loop an unknown",
    sizes: SIZES,
    demo: "full",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let unknowns = NUMBERS.pick(&options.size)?;
    memory::room(APP.name, 2 * unknowns * (unknowns + 1) * size_of::<f64>() as u64)?;
    let schedule = options.schedule_or(Schedule::Static);
    Ok(problem(Gauss { system: System::random(unknowns as usize), schedule }))
}

struct Gauss {
    system: System,
    schedule: LoopSchedule,
}

/// Equations A x = b, a row each: its elements of A, and its b at the end.
#[derive(Debug, Clone)]
struct System {
    unknowns: usize,
    elements: Vec<f64>,
}

impl System {
    fn random(unknowns: usize) -> Self {
        let mut rng = fastrand::Rng::with_seed(4);
        let elements = (0..unknowns * (unknowns + 1)).map(|_| 2.0 * rng.f64() - 1.0).collect();
        Self { unknowns, elements }
    }

    fn width(&self) -> usize {
        self.unknowns + 1
    }

    /// Exchanges rows so that row `column` has the largest element of those below it; returns that
    /// row from there on, and all rows below.
    fn pivot(&mut self, column: usize) -> (&[f64], &mut [f64]) {
        let width = self.width();
        let size = |row: &usize| self.elements[row * width + column].abs();
        let largest = (column..self.unknowns).max_by(|a, b| size(a).total_cmp(&size(b)));
        let (above, below) = self.elements.split_at_mut((column + 1) * width);
        let row = &mut above[column * width..];
        if let Some(largest) = largest.filter(|&largest| largest != column) {
            row.swap_with_slice(&mut below[(largest - column - 1) * width..][..width]);
        }
        (&row[column..], below)
    }

    /// The unknowns, from the last to the first, of a system whose lower triangle has been
    /// eliminated.
    fn substitute(&self) -> Solution {
        let mut x = vec![0.0; self.unknowns];
        for (at, row) in self.elements.chunks(self.width()).enumerate().rev() {
            let known: f64 =
                row[at + 1..self.unknowns].iter().zip(&x[at + 1..]).map(|(a, x)| a * x).sum();
            x[at] = (row[self.unknowns] - known) / row[at];
        }
        Solution(x)
    }

    /// The largest |A x − b| of all rows in units of rounding errors, n ε (‖A‖ ‖x‖ + ‖b‖) in the
    /// maximum norm.
    fn residual(&self, x: &[f64]) -> f64 {
        let (mut worst, mut norm, mut right) = (0.0, 0.0_f64, 0.0_f64);
        for row in self.elements.chunks(self.width()) {
            let (a, b) = (&row[..self.unknowns], row[self.unknowns]);
            let difference = (a.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() - b).abs();
            // Unlike `max`, keeps what is not a number.
            worst = if difference <= worst { worst } else { difference };
            norm = norm.max(a.iter().map(|a| a.abs()).sum());
            right = right.max(b.abs());
        }
        let longest = x.iter().fold(0.0_f64, |longest, x| longest.max(x.abs()));
        worst / (f64::EPSILON * self.unknowns as f64 * (norm * longest + right))
    }
}

/// Subtracts the multiple of the pivot's row that makes the first element vanish.
fn eliminate(pivot: &[f64], row: &mut [f64]) {
    let factor = row[0] / pivot[0];
    for (element, pivot) in row.iter_mut().zip(pivot) {
        *element -= factor * pivot;
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Solution(Vec<f64>);

impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} unknowns, {:.6} in all", self.0.len(), self.0.iter().sum::<f64>())
    }
}

/// The bound that the LINPACK benchmark accepts.
const ACCEPTED: f64 = 16.0;

impl Solve for Gauss {
    type Input = System;
    type Answer = Solution;

    fn size(&self) -> String {
        format!("{} unknowns", self.system.unknowns)
    }

    fn input(&self) -> System {
        self.system.clone()
    }

    fn serial(&self, mut system: System) -> Solution {
        let width = system.width();
        for column in 0..system.unknowns {
            let (pivot, rows) = system.pivot(column);
            for row in rows.chunks_mut(width) {
                eliminate(pivot, &mut row[column..]);
            }
        }
        system.substitute()
    }

    fn parallel(&self, _: &Worker, mut system: System) -> Solution {
        let width = system.width();
        for column in 0..system.unknowns {
            let (pivot, rows) = system.pivot(column);
            rows.par_chunks_mut(width)
                .scheduled(self.schedule)
                .for_each(|row| eliminate(pivot, &mut row[column..]));
        }
        system.substitute()
    }

    /// By the residual, which has to be within some rounding errors.
    fn check(&self, answer: &Solution) -> Result<(), Wrong> {
        let (found, unknowns) = (answer.0.len(), self.system.unknowns);
        Wrong::unless(found == unknowns, || format!("there are {unknowns} unknowns, not {found}"))?;
        let residual = self.system.residual(&answer.0);
        Wrong::unless(residual <= ACCEPTED, || {
            format!("the residual is {residual:.1} rounding errors, more than {ACCEPTED}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauss(unknowns: usize, elements: Vec<f64>) -> Gauss {
        Gauss { system: System { unknowns, elements }, schedule: Schedule::Static.into() }
    }

    /// Catches: a division by a zero on the diagonal, which another row could have avoided.
    #[test]
    fn systems_by_hand() {
        // 2 y = 4, 3 x + y = 5
        let gauss = gauss(2, vec![0.0, 2.0, 4.0, 3.0, 1.0, 5.0]);
        let answer = gauss.serial(gauss.input());
        assert_eq!(answer.0, [1.0, 2.0]);
        gauss.check(&answer).unwrap();
    }

    /// Catches: a system without a unique solution that passes for solved.
    #[test]
    fn equations_that_contradict_each_other_have_no_right_answer() {
        let gauss = gauss(2, vec![1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        assert!(gauss.check(&gauss.serial(gauss.input())).is_err());
    }

    /// Catches: a check that accepts anything.
    #[test]
    fn a_wrong_unknown_is_noticed_whichever_it_is() {
        let gauss = gauss(30, System::random(30).elements);
        let right = gauss.serial(gauss.input());
        gauss.check(&right).unwrap();
        for at in 0..30 {
            for error in [1e-6, f64::NAN, f64::INFINITY] {
                let mut wrong = right.clone();
                wrong.0[at] += error;
                assert!(gauss.check(&wrong).is_err(), "{error} at {at}");
            }
        }
        assert!(gauss.check(&Solution(right.0[1..].to_vec())).is_err());
    }
}
