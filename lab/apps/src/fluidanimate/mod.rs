//! A column of water that collapses, made of particles, after the program fluidanimate of the
//! PARSEC suite.
//!
//! A time step sorts the particles into cells and is a sequence of loops over them; nearly all of
//! the time goes into two: densities, and forces. Only the sorting is serial. Differences from
//! PARSEC: a generated column instead of a file, and what is said in `fluid`.

mod fluid;
mod grid;
mod vector;

use std::fmt;

use sinew::{Schedule, Worker};

use crate::app::App;
use crate::loops::{LoopSchedule, Loops, Serial};
use crate::memory::room;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use fluid::{CONTAINER, Fluid, GRAVITY, Motion, Particles};
use vector::{Vector, minus, plus, square, sum, times};

const SIZES: &str = "1 to 4000000000 particles";

const NUMBERS: Numbers = Numbers {
    app: "fluidanimate",
    sizes: SIZES,
    tiny: 500,
    small: 20_000,
    full: 500_000,
    range: 1..=4_000_000_000,
};

pub(crate) const APP: App = App {
    name: "fluidanimate",
    about: "water made of particles: loops over those in neighbouring cells",
    sizes: SIZES,
    demo: "50_000",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// Time steps.
const FRAMES: usize = 5;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let count = NUMBERS.pick(&options.size)?;
    // Particles three times, and cells: those of the column have five particles each, and half of
    // them are empty.
    let particle = size_of::<Motion>() + size_of::<Vector>();
    room(APP.name, count.saturating_mul(4 * particle as u64))?;
    let schedule = options.schedule_or(Schedule::Stealing);
    Ok(problem(FluidAnimate { count: count as usize, schedule }))
}

struct FluidAnimate {
    count: usize,
    schedule: LoopSchedule,
}

/// The particles after the last frame.
#[derive(Debug, Clone, PartialEq)]
struct Scene(Particles);

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Particles { positions, motions } = &self.0;
        let height =
            positions.iter().map(|position| position[1]).sum::<f64>() / positions.len() as f64;
        let fastest =
            motions.iter().map(|motion| square(motion.velocity)).fold(0.0, f64::max).sqrt();
        write!(
            f,
            "{} particles, {height:.6} m high on average, at most {fastest:.4} m/s",
            positions.len()
        )
    }
}

/// The fraction of the exchanged momentum that rounding may lose.
const ROUNDING: f64 = 1e-9;

impl FluidAnimate {
    fn solve(&self, loops: impl Loops, mut particles: Particles) -> Scene {
        let fluid = Fluid::new(self.count);
        let mut grid = fluid.grid();
        for _ in 0..FRAMES {
            particles = fluid.advance(loops, &mut grid, &particles);
        }
        Scene(particles)
    }

    /// Each particle exists once.
    fn check_mass(&self, motions: &[Motion]) -> Result<(), Wrong> {
        let mut seen = vec![false; self.count];
        let mut new = |motion: &Motion| {
            seen.get_mut(motion.id as usize).is_some_and(|seen| !std::mem::replace(seen, true))
        };
        let once = motions.len() == self.count && motions.iter().all(&mut new);
        Wrong::unless(once, || format!("there should be {} particles, each once", self.count))
    }

    /// The particles' gain equals the momentum from gravity and walls.
    fn check_momentum(&self, motions: &[Motion]) -> Result<(), Wrong> {
        let time = FRAMES as f64 * Fluid::new(self.count).step;
        let fallen = times(self.count as f64 * time, GRAVITY);
        let gained = sum(motions.iter().map(|motion| motion.velocity));
        let given = plus(fallen, sum(motions.iter().map(|motion| motion.bounced)));
        let exchanged: f64 = motions.iter().map(|motion| square(motion.velocity).sqrt()).sum();
        let scale = exchanged + square(fallen).sqrt();
        let balanced = square(minus(gained, given)).sqrt() <= ROUNDING * scale;
        Wrong::unless(balanced, || {
            format!("particles got the momentum {given:?}, but have {gained:?}")
        })
    }
}

impl Solve for FluidAnimate {
    type Input = Particles;
    type Answer = Scene;

    fn size(&self) -> String {
        format!("{} particles, {FRAMES} frames", self.count)
    }

    fn input(&self) -> Particles {
        Fluid::new(self.count).column(self.count)
    }

    fn serial(&self, particles: Particles) -> Scene {
        self.solve(Serial, particles)
    }

    fn parallel(&self, _: &Worker, particles: Particles) -> Scene {
        self.solve(self.schedule, particles)
    }

    /// No mass and no momentum has been lost, and nothing has left the container.
    fn check(&self, Scene(particles): &Scene) -> Result<(), Wrong> {
        let Particles { positions, motions } = particles;
        self.check_mass(motions)?;
        Wrong::unless(positions.len() == self.count, || "a particle is nowhere".to_owned())?;
        let inside = |at: &Vector| (0..3).all(|axis| (0.0..=CONTAINER[axis]).contains(&at[axis]));
        let lost = positions.iter().find(|position| !inside(position));
        Wrong::unless(lost.is_none(), || {
            format!("a particle is outside the container, at {lost:?}")
        })?;
        self.check_momentum(motions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blind to: particles that have exchanged their places, or all that have moved on; `agree`
    /// compares exactly.
    #[test]
    fn lost_mass_and_lost_momentum_are_noticed() {
        let problem = FluidAnimate { count: 300, schedule: Schedule::Static.into() };
        let right = problem.serial(problem.input());
        problem.check(&right).unwrap();
        let wrong = |tamper: fn(&mut Particles)| {
            let mut scene = right.clone();
            tamper(&mut scene.0);
            problem.check(&scene).unwrap_err().to_string()
        };
        assert!(wrong(|p| _ = p.motions.pop()).contains("each once"));
        assert!(wrong(|p| p.motions[1].id = p.motions[2].id).contains("each once"));
        assert!(wrong(|p| p.motions[1].id = 300).contains("each once"));
        assert!(wrong(|p| _ = p.positions.pop()).contains("nowhere"));
        assert!(wrong(|p| p.positions[7][1] = -1e-9).contains("outside"));
        assert!(wrong(|p| p.positions[7][2] = f64::NAN).contains("outside"));
        assert!(wrong(|p| p.motions[9].velocity[0] += 1e-3).contains("momentum"));
        assert!(wrong(|p| p.motions[9].bounced[1] = f64::NAN).contains("momentum"));
    }

    /// Blind to: a wall that takes momentum while nothing touches it.
    #[test]
    fn whoever_hits_a_wall_is_seen_to() {
        let problem = FluidAnimate { count: 300, schedule: Schedule::Static.into() };
        let mut column = problem.input();
        column.motions.iter_mut().for_each(|motion| motion.velocity = [-12.0, -12.0, 2.0]);
        let Scene(particles) = problem.solve(Serial, column);
        assert!(particles.motions.iter().any(|motion| motion.bounced[0] > 0.0));
        assert!(
            particles.positions.iter().all(|position| position[0] >= 0.0 && position[1] >= 0.0)
        );
    }

    /// Blind to: how far it falls; the balance of momentum, which is checked, sees that.
    #[test]
    fn a_single_particle_falls() {
        let problem = FluidAnimate { count: 1, schedule: Schedule::Static.into() };
        let scene = problem.serial(problem.input());
        problem.check(&scene).unwrap();
        assert!(scene.0.motions[0].velocity[1] < 0.0);
    }
}
