//! Temporal blocking: several time steps while the data is in a cache, and no barrier.
//!
//! The cube is cut into *strips* of rows, each strip into *slices*, one a layer. A task moves a
//! wave front by one layer through a strip: it makes the first time step of slice `w`, the second
//! of slice `w - 1`, and so on for `depth` steps. So only `depth + 2` layers of the strip need stay
//! in the cache, and each slice is read from memory once and written once for all steps. Two fields
//! take turns, as without blocking.
//!
//! A front may move once the fronts of its own strip and its neighbours have made the move before.
//! A counter for each move counts them down. The task that brings it to zero spawns the move into
//! the queue of the strip's domain, which is chosen for a shared cache. There is no global barrier:
//! distant strips may be many moves apart.
//!
//! Source: the outlook of M. Wittmann and G. Hager, "A Proof of Concept for Optimizing Task
//! Parallelism by Locality Queues" (2009).
//!
//! # Invariants
//!
//! - W1: move `m` of a strip follows move `m - 1` of that strip and of its neighbours. Step `t` of
//!   slice `w` lies in move `w + t - 1`. It reads step `t - 1` of slices `w - 1` to `w + 1` of its
//!   strip and of slice `w` beside it, which lie in earlier moves. The last reads of the values
//!   that it overwrites lie in earlier moves as well.
//!
//! The slices are behind locks that are only tried: a mistake in the order is a panic, not a wrong
//! result.

use std::sync::{RwLock, RwLockReadGuard};

use sinew::locality::{Distribution, DomainOrder};
use sinew::{DomainScope, Domains, ScopeBuilder, wide};
use sinew_sync::atomic::{AtomicU32, Ordering};

use super::kernel::{Wave, relax};

/// The blocks of the cube for several time steps at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fronts {
    /// Sites along an edge, faces included; at least 3.
    pub side: usize,
    /// Rows of a strip.
    pub rows: usize,
    /// Time steps between a slice's coming into the cache and its leaving it.
    pub depth: usize,
}

/// A row of slices of both fields: by parity of the time step, layer by layer.
type Strip = [Vec<RwLock<Vec<f64>>>; 2];

/// The cube in strips.
#[derive(Debug)]
pub struct Strips {
    fronts: Fronts,
    strips: Vec<Strip>,
    steps: usize,
}

/// A run under way.
struct Run<'a> {
    strips: &'a Strips,
    domains: &'a Domains,
    /// For each strip and move what it still waits for.
    waits: Vec<Vec<AtomicU32>>,
    moves: usize,
    steps: usize,
}

impl Strips {
    /// The field that the stencil only scales.
    ///
    /// # Panics
    ///
    /// If the side is below 3, a strip has no rows, or a front no depth.
    pub fn new(fronts: Fronts) -> Self {
        let Fronts { side, rows, depth } = fronts;
        assert!(
            side >= 3 && rows > 0 && depth > 0,
            "no strips of {rows} rows, {depth} deep, in a cube of {side}"
        );
        let wave = Wave::new(side);
        let slice = |strip: usize, layer: usize| {
            let first = (layer * side + strip * rows) * side;
            let count = rows.min(side - strip * rows) * side;
            RwLock::new((first..first + count).map(|at| wave.site(at)).collect())
        };
        let strip = |strip| [(); 2].map(|()| (0..side).map(|layer| slice(strip, layer)).collect());
        Self { fronts, strips: (0..side.div_ceil(rows)).map(strip).collect(), steps: 0 }
    }

    /// Makes `steps` time steps in the current pool, whose domains are given: strips are assigned
    /// to them, neighbours together.
    ///
    /// # Panics
    ///
    /// If the domains are another pool's.
    pub fn run(&mut self, domains: &Domains, steps: usize) {
        let rounds = steps.div_ceil(self.fronts.depth);
        let moves = rounds * self.moves_a_round();
        let run = Run { waits: self.waits(moves), strips: self, domains, moves, steps };
        if moves > 0 {
            ScopeBuilder::new().queues(domains.queues(DomainOrder::Nearest)).run(|s| {
                (0..run.strips.strips.len()).for_each(|strip| run.spawn(s, strip, 0));
            });
        }
        self.steps += steps;
    }

    /// The last slices of a round are reached by its last time step.
    fn moves_a_round(&self) -> usize {
        self.fronts.side + self.fronts.depth - 1
    }

    /// One for each strip whose move before has to be made.
    fn waits(&self, moves: usize) -> Vec<Vec<AtomicU32>> {
        let strips = self.strips.len();
        let wait = |strip| {
            (0..moves).map(|_| AtomicU32::new(around(strip, strips).count() as u32)).collect()
        };
        (0..strips).map(wait).collect()
    }

    /// The field, in the order of the plain form.
    pub fn sites(&self) -> Vec<f64> {
        let parity = self.steps % 2;
        let layers = (0..self.fronts.side).flat_map(|layer| {
            self.strips.iter().flat_map(move |strip| read(&strip[parity][layer]).to_vec())
        });
        layers.collect()
    }

    /// Makes time step `to` of a slice.
    fn step(&self, strip: usize, layer: usize, to: usize) {
        let Fronts { side, rows, .. } = self.fronts;
        if layer == 0 || layer == side - 1 {
            return;
        }
        let (from, parity) = ((to - 1) % 2, to % 2);
        let slices = &self.strips[strip][from];
        let [below, here, above] = [layer - 1, layer, layer + 1].map(|layer| read(&slices[layer]));
        let beside = |strip: Option<usize>| Some(read(&self.strips.get(strip?)?[from][layer]));
        let (before, behind) = (beside(strip.checked_sub(1)), beside(strip.checked_add(1)));
        let mut slice = self.strips[strip][parity][layer]
            .try_write()
            .expect("W1: nobody uses what a step overwrites");
        let count = slice.len() / side;
        wide(|| {
            for (row, out) in slice.chunks_mut(side).enumerate() {
                let outside = [0, side - 1].contains(&(strip * rows + row));
                if outside {
                    continue;
                }
                let of =
                    |slice: &'_ [f64], row: usize| row * side..(row * side + side).min(slice.len());
                let up = match (row, &before) {
                    (0, Some(before)) => &before[before.len() - side..],
                    _ => &here[of(&here, row - 1)],
                };
                let down = match &behind {
                    Some(behind) if row + 1 == count => &behind[..side],
                    _ => &here[of(&here, row + 1)],
                };
                relax(
                    out,
                    0,
                    &[
                        &here[of(&here, row)],
                        up,
                        down,
                        &below[of(&below, row)],
                        &above[of(&above, row)],
                    ],
                );
            }
        });
    }
}

/// A strip and its neighbours.
fn around(strip: usize, strips: usize) -> impl Iterator<Item = usize> {
    strip.saturating_sub(1)..(strip + 2).min(strips)
}

fn read(slice: &RwLock<Vec<f64>>) -> RwLockReadGuard<'_, Vec<f64>> {
    slice.try_read().expect("W1: nobody writes what a step reads")
}

impl Run<'_> {
    fn spawn<'scope>(
        &'scope self,
        s: &'scope DomainScope<'scope, '_>,
        strip: usize,
        number: usize,
    ) {
        let domain =
            Distribution::Static.domain(strip, self.strips.strips.len(), self.domains.len());
        s.spawn_into(domain, move |_| self.go_on(s, strip, number));
    }

    /// Makes a move, and what follows at once from it in the same strip, which is in the cache.
    fn go_on<'scope>(&'scope self, s: &'scope DomainScope<'scope, '_>, strip: usize, first: usize) {
        let mut number = first;
        loop {
            self.make(strip, number);
            number += 1;
            if number == self.moves {
                return;
            }
            let mut goes_on = false;
            for next in around(strip, self.strips.strips.len()) {
                // AcqRel: the writes of earlier moves are visible to the thread that makes this
                // one.
                if self.waits[next][number].fetch_sub(1, Ordering::AcqRel) == 1 {
                    if next == strip { goes_on = true } else { self.spawn(s, next, number) }
                }
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Move `number` of a strip: a step each of up to `depth` slices.
    fn make(&self, strip: usize, number: usize) {
        let Fronts { side, depth, .. } = self.strips.fronts;
        let a_round = self.strips.moves_a_round();
        let (round, place) = (number / a_round, number % a_round);
        for step in 1..=depth.min(self.steps - round * depth) {
            let layer = (place + 1).checked_sub(step).filter(|layer| *layer < side);
            if let Some(layer) = layer {
                self.strips.step(strip, layer, self.strips.steps + round * depth + step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, Plan};
    use super::*;
    use sinew::{DomainKind, Mapping, Pool};

    /// The plain form, serially.
    fn plain(side: usize, steps: usize) -> Vec<f64> {
        let pool = Pool::builder().threads(1).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Parts(1)).unwrap();
        pool.run(|_| {
            let lattice = super::super::Lattice::new(
                Plan::published(side),
                &domains,
                Distribution::Static,
                sinew::Placement::FirstTouch,
            );
            let mut lattice = lattice.unwrap();
            lattice.run(Form::Serial, steps);
            lattice.sites().to_vec()
        })
    }

    /// Catches: a step that reads what is of another time, at any depth, with strips that do not
    /// divide the cube, and rounds that do not divide the steps.
    #[test]
    fn fronts_compute_what_the_plain_form_does() {
        let pool = Pool::builder().threads(3).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Parts(2)).unwrap();
        for (side, rows, depth, steps) in [
            (3, 1, 1, 1),
            (3, 5, 4, 7),
            (10, 3, 2, 5),
            (16, 4, 5, 10),
            (17, 1, 3, 6),
            (12, 12, 20, 8),
            (9, 2, 2, 0),
        ] {
            let mut strips = Strips::new(Fronts { side, rows, depth });
            pool.run(|_| strips.run(&domains, steps));
            assert!(
                strips.sites() == plain(side, steps),
                "{side}, {rows} rows, {depth} deep, {steps} steps"
            );
        }
    }

    /// Catches: a second run that does not go on where the first has ended.
    #[test]
    fn runs_go_on_from_each_other() {
        // If there are several caches, the pool has to know which workers share them.
        let pool = Pool::builder().threads(2).mapping(Mapping::Compact).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Cache).unwrap();
        let mut strips = Strips::new(Fronts { side: 12, rows: 4, depth: 3 });
        pool.run(|_| [2, 5, 1].into_iter().for_each(|steps| strips.run(&domains, steps)));
        assert!(strips.sites() == plain(12, 8));
    }
}
