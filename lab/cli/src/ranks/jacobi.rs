//! Jacobi's method on a plate with a hot edge: a grid over ranks, equal to one thread's bit by bit.

use std::fmt;
use std::time::Instant;

use sinew::{Edge, Neighbourhood};
use sinew_console::Failure;
use sinew_dist::World;
use sinew_dist::bag::BagCounts;

use super::program::{Program, SHOWN_EVERY};

const SWEEPS: usize = 100;

/// Sweeps between two looks at the clock.
const PART: usize = 10;

struct Jacobi {
    side: usize,
}

/// Tiny, small, full, or the side.
pub(super) fn program(size: &str) -> Result<impl Program<Answer = Plate>, Failure> {
    let side = match size {
        "tiny" => Some(30),
        "small" => Some(300),
        "full" => Some(2_000),
        other => other.parse().ok().filter(|side| (3..=20_000).contains(side)),
    };
    let wanted =
        || format!("jacobi over ranks has no size `{size}`: use tiny, small, full or 3 to 20000");
    side.map(|side| Jacobi { side }).ok_or_else(|| Failure::Usage(wanted()))
}

#[derive(PartialEq)]
pub(super) struct Plate(Vec<f64>);

impl fmt::Display for Plate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.0.iter().sum::<f64>() / self.0.len() as f64;
        write!(f, "a plate with a mean of {mean:.6}")
    }
}

fn start(row: usize) -> f64 {
    if row == 0 { 100.0 } else { 0.0 }
}

fn mean(around: Neighbourhood<'_, f64, 2, 1>) -> f64 {
    0.25 * (around[[-1, 0]] + around[[1, 0]] + around[[0, -1]] + around[[0, 1]])
}

impl Program for Jacobi {
    type Answer = Plate;

    fn size(&self) -> String {
        format!("{0} x {0}, {SWEEPS} sweeps", self.side)
    }

    fn serial(&self) -> Plate {
        let side = self.side;
        let mut now: Vec<f64> = (0..side * side).map(|at| start(at / side)).collect();
        let mut next = now.clone();
        for _ in 0..SWEEPS {
            for row in 1..side - 1 {
                for at in row * side + 1..(row + 1) * side - 1 {
                    next[at] = 0.25 * (now[at - side] + now[at + side] + now[at - 1] + now[at + 1]);
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        Plate(now)
    }

    fn over(&self, world: &World, see: &dyn Fn(&str)) -> (Plate, Vec<BagCounts>) {
        let mut plate = world.grid([self.side, self.side]).init(|[row, _]| start(row));
        plate.edges([Edge::Keep; 2]);
        let mut shown = Instant::now();
        for done in (0..SWEEPS).step_by(PART) {
            plate.sweeps(PART, mean);
            if shown.elapsed() > SHOWN_EVERY {
                shown = Instant::now();
                see(&format!("{} sweeps on {} ranks", done + PART, world.size()));
            }
        }
        (Plate(plate.gather()), Vec::new())
    }
}
