//! Bodies that attract each other, by Barnes and Hut: distant groups count as one body.
//!
//! Shows: a tree that is built by nested `join`s and read by a chain; sums that are the same for
//! any number of threads, so that energies of two runs can be compared bit by bit.

use sinew::prelude::*;

const STEP: f64 = 0.01;
/// A cell counts as one body from this ratio of its width to its distance on.
const ANGLE: f64 = 0.5;
/// Distances are softened by this, so that close bodies do not fly apart.
const SOFTENING: f64 = 0.05;
/// Bodies of a leaf of the tree.
const LEAF: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Body {
    place: [f64; 2],
    speed: [f64; 2],
    mass: f64,
}

enum Tree<'b> {
    Leaf(&'b [Body]),
    Cell { mass: f64, centre: [f64; 2], width: f64, parts: Box<[Tree<'b>; 2]> },
}

fn span(bodies: &[Body], axis: usize) -> f64 {
    let places = || bodies.iter().map(|body| body.place[axis]);
    places().fold(f64::MIN, f64::max) - places().fold(f64::MAX, f64::min)
}

impl<'b> Tree<'b> {
    /// Halves the bodies along the longer side, again and again. Changes their order.
    fn new(w: &Worker, bodies: &'b mut [Body]) -> Self {
        if bodies.len() <= LEAF {
            return Self::Leaf(bodies);
        }
        let spans = [span(bodies, 0), span(bodies, 1)];
        let axis = usize::from(spans[1] > spans[0]);
        let middle = bodies.len() / 2;
        bodies.select_nth_unstable_by(middle, |a, b| a.place[axis].total_cmp(&b.place[axis]));
        let mass: f64 = bodies.iter().map(|body| body.mass).sum();
        let centre = [0, 1]
            .map(|axis| bodies.iter().map(|body| body.mass * body.place[axis]).sum::<f64>() / mass);
        let (left, right) = bodies.split_at_mut(middle);
        let (left, right) = w.join(|w| Self::new(w, left), |w| Self::new(w, right));
        Self::Cell { mass, centre, width: spans[axis], parts: Box::new([left, right]) }
    }

    fn pull(&self, at: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Leaf(bodies) => {
                bodies.iter().map(|body| attraction(at, body.place, body.mass)).fold([0.0; 2], add)
            }
            Self::Cell { mass, centre, width, parts } => {
                if *width < ANGLE * distance(at, *centre) {
                    attraction(at, *centre, *mass)
                } else {
                    add(parts[0].pull(at), parts[1].pull(at))
                }
            }
        }
    }
}

fn add(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

fn attraction(at: [f64; 2], from: [f64; 2], mass: f64) -> [f64; 2] {
    let squared = distance(at, from).powi(2) + SOFTENING * SOFTENING;
    let factor = mass / (squared * squared.sqrt());
    [(from[0] - at[0]) * factor, (from[1] - at[1]) * factor]
}

/// One step of all bodies.
fn step(bodies: &mut [Body]) {
    let mut copy = bodies.to_vec();
    let tree = sinew::run(|w| Tree::new(w, &mut copy));
    bodies.par_iter_mut().for_each(|body| {
        let pull = tree.pull(body.place);
        body.speed = add(body.speed, pull.map(|part| part * STEP));
        body.place = add(body.place, body.speed.map(|part| part * STEP));
    });
}

/// Kinetic and potential energy.
fn energy(bodies: &[Body]) -> f64 {
    let kinetic = |body: &Body| 0.5 * body.mass * distance(body.speed, [0.0; 2]).powi(2);
    let potential = |(i, body): (usize, &Body)| {
        let others = bodies[i + 1..].iter();
        -others
            .map(|o| body.mass * o.mass / distance(body.place, o.place).hypot(SOFTENING))
            .sum::<f64>()
    };
    bodies.par_iter().reproducible().map(kinetic).sum::<f64>()
        + bodies.par_iter().enumerate().reproducible().map(potential).sum::<f64>()
}

/// A disk of `n` bodies around a heavy one.
fn disk(n: usize) -> Vec<Body> {
    let body = |i: usize| {
        let (angle, radius) = (i as f64 * 2.399_963, 0.5 + 2.0 * (i as f64 / n as f64).sqrt());
        let speed = radius.powf(-0.5);
        let place = [radius * angle.cos(), radius * angle.sin()];
        Body { place, speed: [-speed * angle.sin(), speed * angle.cos()], mass: 1e-5 }
    };
    let heavy = Body { place: [0.0; 2], speed: [0.0; 2], mass: 1.0 };
    std::iter::once(heavy).chain((0..n).map(body)).collect()
}

fn main() -> Result<(), sinew::BuildError> {
    let simulate = || {
        let mut bodies = disk(2_000);
        let before = energy(&bodies);
        (0..20).for_each(|_| step(&mut bodies));
        (before, energy(&bodies), bodies)
    };
    let (before, after, bodies) = simulate();
    println!("energy {before:.6} before and {after:.6} after 20 steps of {} bodies", bodies.len());
    assert!(((after - before) / before).abs() < 0.01);

    // The same bits on one thread.
    let alone = Pool::builder().threads(1).build()?.install(|_| simulate());
    assert!(alone.1.to_bits() == after.to_bits() && alone.2 == bodies);
    Ok(())
}
