//! Heat spreading over a square plate whose upper edge is kept hot: each step, a point becomes the
//! mean of its four neighbours (Jacobi's method on a 5-point stencil).
//!
//! Two grids take turns. Every step is one loop over the inner rows. So this measures the cost of a
//! loop that is entered repeatedly over the same data, in addition to the memory.

use std::fmt;
use std::mem;

use sinew::prelude::*;

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

/// The temperature of the upper edge; the other edges, and everything at the start, are at 0.
const HOT: f64 = 100.0;

const SIZES: &str = "a side of 3 to 20000 points";

const NUMBERS: Numbers =
    Numbers { app: "heat", sizes: SIZES, tiny: 64, small: 512, full: 2048, range: 3..=20_000 };

pub(crate) const APP: App = App {
    name: "heat",
    about: "a 5-point stencil on a square plate: one loop a time step",
    sizes: SIZES,
    demo: "1024",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// Time steps; fewer where the time is not of interest.
const STEPS: usize = 100;
const TINY_STEPS: usize = 10;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let side = NUMBERS.pick(&options.size)?;
    let steps = if side <= NUMBERS.tiny { TINY_STEPS } else { STEPS };
    // Two grids at a time, and the results of both versions.
    memory::room(APP.name, 3 * side * side * size_of::<f64>() as u64)?;
    let schedule = options.schedule_or(Schedule::Static);
    Ok(problem(Heat { side: side as usize, steps, schedule }))
}

struct Heat {
    side: usize,
    steps: usize,
    schedule: LoopSchedule,
}

/// A square grid, row by row from the top.
#[derive(Debug, Clone, PartialEq)]
struct Plate {
    side: usize,
    points: Vec<f64>,
}

impl Plate {
    fn new(side: usize) -> Self {
        let mut points = vec![0.0; side * side];
        points[..side].fill(HOT);
        Self { side, points }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.points[row * self.side..][..self.side]
    }

    /// All rows but the first and the last, one behind the other.
    fn inner_mut(&mut self) -> &mut [f64] {
        let side = self.side;
        &mut self.points[side..(side - 1) * side]
    }

    /// Makes `next` an inner row of the next step: the one below row `above` of this plate.
    fn relax(&self, above: usize, next: &mut [f64]) {
        let [above, row, below] = [0, 1, 2].map(|down| self.row(above + down));
        let neighbours = row.windows(3).zip(&above[1..]).zip(&below[1..]);
        for (point, ((beside, up), down)) in next[1..].iter_mut().zip(neighbours) {
            *point = 0.25 * ((beside[0] + beside[2]) + (up + down));
        }
    }
}

impl fmt::Display for Plate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.points.iter().sum::<f64>() / self.points.len() as f64;
        write!(f, "{mean:.6} degrees on average")
    }
}

impl Solve for Heat {
    type Input = [Plate; 2];
    type Answer = Plate;

    fn size(&self) -> String {
        format!("{0} x {0}, {1} steps", self.side, self.steps)
    }

    fn input(&self) -> [Plate; 2] {
        [Plate::new(self.side), Plate::new(self.side)]
    }

    fn serial(&self, [mut now, mut next]: [Plate; 2]) -> Plate {
        for _ in 0..self.steps {
            for (above, row) in next.inner_mut().chunks_mut(self.side).enumerate() {
                now.relax(above, row);
            }
            mem::swap(&mut now, &mut next);
        }
        now
    }

    fn parallel(&self, _: &Worker, [mut now, mut next]: [Plate; 2]) -> Plate {
        // Each grid is written in every other step, but read where it is written: one memory serves
        // both.
        let memory = LoopMemory::new();
        for _ in 0..self.steps {
            next.inner_mut()
                .par_chunks_mut(self.side)
                .memory(&memory)
                .enumerate()
                .scheduled(self.schedule)
                .for_each(|(above, row)| now.relax(above, row));
            mem::swap(&mut now, &mut next);
        }
        now
    }

    /// No point is colder or hotter than the edges, and the left half is exactly the mirror image
    /// of the right one.
    fn check(&self, plate: &Plate) -> Result<(), Wrong> {
        if plate.side != self.side || plate.points.len() != self.side * self.side {
            return Err(Wrong("the plate has another size".to_owned()));
        }
        for at in 0..self.side {
            let row = plate.row(at);
            Wrong::unless(row.iter().all(|point| (0.0..=HOT).contains(point)), || {
                format!("row {at} is colder or hotter than the edges")
            })?;
            Wrong::unless(row.iter().eq(row.iter().rev()), || {
                format!("row {at} is not symmetric")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(side: usize, steps: usize) -> (Heat, Plate) {
        let heat = Heat { side, steps, schedule: Schedule::Static.into() };
        let plate = heat.serial(heat.input());
        (heat, plate)
    }

    #[test]
    fn a_plate_of_three_has_one_point_that_moves() {
        let (_, plate) = heat(3, 1);
        assert_eq!(plate.points, [HOT, HOT, HOT, 0.0, 25.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn two_steps_by_hand() {
        let (_, plate) = heat(4, 2);
        assert_eq!(plate.row(1), [0.0, 31.25, 31.25, 0.0]);
        assert_eq!(plate.row(2), [0.0, 6.25, 6.25, 0.0]);
    }

    #[test]
    fn far_in_time_the_middle_has_the_mean_of_the_edges() {
        let (_, plate) = heat(9, 2000);
        assert!((plate.row(4)[4] - HOT / 4.0).abs() < 1e-9, "{}", plate.row(4)[4]);
    }

    #[test]
    fn a_lopsided_or_overheated_plate_is_noticed() {
        let (heat, right) = heat(16, 10);
        heat.check(&right).unwrap();
        for (point, value) in [(20, 1.0), (24, HOT + 1.0), (24, f64::NAN)] {
            let mut wrong = right.clone();
            wrong.points[point] = value;
            assert!(heat.check(&wrong).is_err(), "{value} at {point}");
        }
    }
}
