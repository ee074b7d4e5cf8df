//! Smoothed particle hydrodynamics: density, pressure and viscosity of a fluid from the particles
//! near each place.
//!
//! Every particle looks at those within reach and adds up their effects on itself, always in the
//! same order. So each value has one writer, and the result does not depend on how loops run. A
//! pair is looked at from both ends for that. The effects of two particles on each other are equal
//! and opposite, so only gravity and walls change the momentum. Source: Müller, Charypar and Gross,
//! "Particle-Based Fluid Simulation for Interactive Applications". Differences: the form of the
//! forces that is symmetric in both particles, and no negative pressure.

use std::f64::consts::PI;

use super::grid::Grid;
use super::vector::{Vector, minus, plus, square, sum, times};
use crate::loops::Loops;

/// The container in metres: width, height, depth.
pub(super) const CONTAINER: Vector = [1.0, 1.0, 0.5];

/// The column of water at the start.
const COLUMN: Vector = [0.5, 0.6, 0.5];

/// Kilogrammes a cubic metre.
const REST_DENSITY: f64 = 1000.0;

/// Metres a second, ten times what falling water reaches here: it is compressed by about a
/// hundredth.
const SOUND: f64 = 30.0;

/// Pascal seconds.
const VISCOSITY: f64 = 0.4;

/// Metres a second, each second.
pub(super) const GRAVITY: Vector = [0.0, -9.8, 0.0];

/// The fraction of the velocity that remains after hitting a wall.
const BOUNCE: f64 = 0.5;

/// The reach of a particle, in distances between particles at rest.
const REACH: f64 = 1.7;

/// The distance that sound travels in a time step, in reaches.
const COURANT: f64 = 0.2;

/// The properties of a particle other than its position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Motion {
    pub(super) id: u32,
    pub(super) velocity: Vector,
    /// The momentum received from walls so far, per mass.
    pub(super) bounced: Vector,
}

/// Particles: their positions and, in the same order, everything else.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Particles {
    pub(super) positions: Vec<Vector>,
    pub(super) motions: Vec<Motion>,
}

/// Values that are constant while the fluid moves.
#[derive(Debug, Clone)]
pub(super) struct Fluid {
    /// Mass of a particle, in kilogrammes.
    mass: f64,
    /// The distance of particles at rest, in metres.
    spacing: f64,
    reach: f64,
    /// In seconds.
    pub(super) step: f64,
}

impl Fluid {
    /// A column of this many particles.
    pub(super) fn new(count: usize) -> Self {
        let volume = COLUMN.iter().product::<f64>() / count as f64;
        let spacing = volume.cbrt();
        let reach = REACH * spacing;
        Self { mass: REST_DENSITY * volume, spacing, reach, step: COURANT * reach / SOUND }
    }

    /// The column at rest, its particles slightly out of line, the same way each time.
    pub(super) fn column(&self, count: usize) -> Particles {
        let mut rng = fastrand::Rng::with_seed(42);
        let [along, deep] =
            [0, 2].map(|axis| (COLUMN[axis] / self.spacing).round().max(1.0) as usize);
        let mut place = |at: usize| {
            let lattice = [at % along, at / (along * deep), at / along % deep];
            let jitter = |rng: &mut fastrand::Rng| 0.45 + 0.1 * rng.f64();
            let position = lattice.map(|at| self.spacing * (at as f64 + jitter(&mut rng)));
            std::array::from_fn(|axis| position[axis].min(CONTAINER[axis]))
        };
        let still = |id| Motion { id, velocity: [0.0; 3], bounced: [0.0; 3] };
        Particles {
            positions: (0..count).map(&mut place).collect(),
            motions: (0..count as u32).map(still).collect(),
        }
    }

    pub(super) fn grid(&self) -> Grid {
        Grid::new(CONTAINER, self.reach)
    }

    /// Moves all particles by one time step. They come out in the order of their cells.
    pub(super) fn advance(
        &self,
        loops: impl Loops,
        grid: &mut Grid,
        particles: &Particles,
    ) -> Particles {
        let count = particles.positions.len();
        let cells = loops.map(count, |at| grid.cell(particles.positions[at]));
        let order = grid.sort(&cells);
        let positions = loops.map(count, |at| particles.positions[order[at] as usize]);
        let motions = loops.map(count, |at| particles.motions[order[at] as usize]);
        let densities = loops.map(count, |at| self.density(grid, &positions, at));
        let scene = Scene { grid, positions: &positions, motions: &motions, densities: &densities };
        let motions = loops
            .map(count, |at| self.push(scene.motions[at], positions[at], self.pull(&scene, at)));
        let positions = loops.map(count, |at| self.drift(positions[at], motions[at].velocity));
        Particles { positions, motions }
    }

    fn density(&self, grid: &Grid, positions: &[Vector], at: usize) -> f64 {
        let (here, reach) = (positions[at], self.reach * self.reach);
        let near = grid.near(here).flat_map(|range| &positions[range]);
        let weight = near
            .map(|&there| (reach - square(minus(here, there))).max(0.0))
            .map(|gap| gap * gap * gap);
        self.mass * 315.0 / (64.0 * PI * self.reach.powi(9)) * weight.sum::<f64>()
    }

    /// The acceleration of a particle by all that are near.
    fn pull(&self, scene: &Scene, at: usize) -> Vector {
        let near = scene.grid.near(scene.positions[at]).flatten();
        let pulls = near.map(|other| self.pull_of(scene, at, other));
        let factor = self.mass * 45.0 / (PI * self.reach.powi(6));
        plus(GRAVITY, times(factor, sum(pulls)))
    }

    /// Pressure and viscosity between two particles, without factors that all pairs have.
    fn pull_of(&self, scene: &Scene, at: usize, other: usize) -> Vector {
        let apart = minus(scene.positions[at], scene.positions[other]);
        let square = square(apart);
        if square >= self.reach * self.reach || square == 0.0 {
            return [0.0; 3];
        }
        let distance = square.sqrt();
        let gap = self.reach - distance;
        let (here, there) = (scene.densities[at], scene.densities[other]);
        let pressure = 0.5 * (pressure(here) + pressure(there)) * gap / distance;
        let faster = minus(scene.motions[other].velocity, scene.motions[at].velocity);
        times(gap / (here * there), plus(times(pressure, apart), times(VISCOSITY, faster)))
    }

    /// The motion after a time step; walls that would be passed throw it back.
    fn push(&self, motion: Motion, position: Vector, acceleration: Vector) -> Motion {
        let velocity = plus(motion.velocity, times(self.step, acceleration));
        let ahead = plus(position, times(self.step, velocity));
        let thrown = std::array::from_fn(|axis| {
            let inside = (0.0..=CONTAINER[axis]).contains(&ahead[axis]);
            if inside { velocity[axis] } else { -BOUNCE * velocity[axis] }
        });
        let bounced = plus(motion.bounced, minus(thrown, velocity));
        Motion { velocity: thrown, bounced, ..motion }
    }

    fn drift(&self, position: Vector, velocity: Vector) -> Vector {
        let ahead = plus(position, times(self.step, velocity));
        std::array::from_fn(|axis| ahead[axis].clamp(0.0, CONTAINER[axis]))
    }
}

/// The surroundings of a particle that is pushed.
struct Scene<'s> {
    grid: &'s Grid,
    positions: &'s [Vector],
    motions: &'s [Motion],
    densities: &'s [f64],
}

fn pressure(density: f64) -> f64 {
    (SOUND * SOUND * (density - REST_DENSITY)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::Serial;

    fn flow(count: usize, steps: usize) -> (Fluid, Particles) {
        let fluid = Fluid::new(count);
        let (mut grid, mut particles) = (fluid.grid(), fluid.column(count));
        for _ in 0..steps {
            particles = fluid.advance(Serial, &mut grid, &particles);
        }
        (fluid, particles)
    }

    /// Blind to: a density that is wrong near the surface.
    #[test]
    fn inside_the_column_the_density_is_that_of_water() {
        let fluid = Fluid::new(4000);
        let (mut grid, column) = (fluid.grid(), fluid.column(4000));
        let cells: Vec<u32> =
            column.positions.iter().map(|&position| grid.cell(position)).collect();
        let order = grid.sort(&cells);
        let positions: Vec<Vector> =
            order.iter().map(|&at| column.positions[at as usize]).collect();
        let inner = |at: &usize| {
            let distant = |axis: usize| {
                positions[*at][axis].min(COLUMN[axis] - positions[*at][axis]) > fluid.reach
            };
            (0..3).all(distant)
        };
        let densities: Vec<f64> =
            (0..4000).filter(inner).map(|at| fluid.density(&grid, &positions, at)).collect();
        let mean = densities.iter().sum::<f64>() / densities.len() as f64;
        assert!(densities.len() > 500 && (mean / REST_DENSITY - 1.0).abs() < 0.05, "{mean}");
        let far = densities.iter().find(|&density| (density / mean - 1.0).abs() > 0.1);
        assert_eq!(far, None, "some are far from the mean, {mean}");
    }

    /// Blind to: forces that are wrong by a factor.
    #[test]
    fn two_particles_push_each_other_equally_hard() {
        let fluid = Fluid::new(1000);
        let mut grid = fluid.grid();
        let positions = [[0.31, 0.32, 0.33], [0.33, 0.31, 0.34]];
        let motion = |id, velocity| Motion { id, velocity, bounced: [0.0; 3] };
        let motions = [motion(0, [1.0, 2.0, 3.0]), motion(1, [0.0, -1.0, 0.5])];
        let order = grid.sort(&positions.map(|position| grid.cell(position)));
        assert_eq!(order, [0, 1]);
        let scene = Scene {
            grid: &grid,
            positions: &positions,
            motions: &motions,
            densities: &[1100.0, 1200.0],
        };
        let [one, other] = [0, 1].map(|at| minus(fluid.pull(&scene, at), GRAVITY));
        assert!(square(one) > 0.0);
        assert!(square(plus(one, other)) <= 1e-24 * square(one), "{one:?} {other:?}");
    }

    /// Blind to: water that flows too fast or too slowly.
    #[test]
    fn the_column_collapses_and_spreads_along_the_floor() {
        let (_, particles) = flow(500, 400);
        let farthest = particles.positions.iter().map(|position| position[0]).fold(0.0, f64::max);
        assert!(farthest > 1.2 * COLUMN[0], "{farthest}");
        let fastest =
            particles.motions.iter().map(|motion| square(motion.velocity)).fold(0.0, f64::max);
        assert!(fastest.sqrt() < 0.5 * SOUND, "{fastest}");
    }
}
