//! The lengths of the shortest paths between all pairs of vertices of a graph (Floyd and Warshall's
//! algorithm).
//!
//! The vertices are allowed as stations one block after the other. The rows of a block are updated
//! first, among themselves. A loop over all rows then tries the stations of the block for every
//! pair, in any order, because the block's own rows are final. So all of the table goes through
//! memory once a block instead of once a vertex. Source: Floyd, *Algorithm 97*, 1962; blocks after
//! Venkataraman et al., *A blocked all-pairs shortest-paths algorithm*, 2003.
//!
//! Lengths are whole numbers in `f32`, exact far beyond any path here: for those every processor
//! has an instruction that takes minima of four.
//!
//! # Cost
//!
//! n³ comparisons, of which a share of [`BLOCK`] / n is serial.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use sinew::prelude::*;

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

/// Stations that are tried together, as many rows as fit into a second-level cache.
const BLOCK: usize = 32;

/// Stations that are tried while a distance is in a register.
const GROUP: usize = 4;

/// Edges that leave a vertex, and the length of the longest.
const EDGES: usize = 8;
const LONGEST: u32 = 100;

/// The most vertices from which the paths are looked up again.
const SOURCES: usize = 256;

const SIZES: &str = "1 to 16384 vertices";

const NUMBERS: Numbers = Numbers {
    app: "floyd-warshall",
    sizes: SIZES,
    tiny: 70,
    small: 300,
    full: 4096,
    range: 1..=16_384,
};

pub(crate) const APP: App = App {
    name: "floyd-warshall",
    about: "shortest paths between all pairs: a loop over the rows of a table, again and again",
    sizes: SIZES,
    demo: "1200",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let vertices = NUMBERS.pick(&options.size)?;
    memory::room(APP.name, 2 * vertices * vertices * size_of::<f32>() as u64)?;
    let schedule = options.schedule_or(Schedule::Static);
    Ok(problem(Floyd { graph: Graph::random(vertices as usize), schedule }))
}

struct Floyd {
    graph: Graph,
    schedule: LoopSchedule,
}

/// The edges of each vertex: target and length.
#[derive(Debug)]
struct Graph(Vec<Vec<(usize, u32)>>);

impl Graph {
    fn random(vertices: usize) -> Self {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut edges =
            || (0..EDGES).map(|_| (rng.usize(..vertices), rng.u32(1..=LONGEST))).collect();
        Self((0..vertices).map(|_| edges()).collect())
    }

    /// The distances from one vertex, by Dijkstra's algorithm.
    fn distances(&self, source: usize) -> Vec<f32> {
        let mut distances = vec![f32::INFINITY; self.0.len()];
        let mut reached = BinaryHeap::from([Reverse((0, source))]);
        while let Some(Reverse((distance, vertex))) = reached.pop() {
            if distances[vertex].is_infinite() {
                distances[vertex] = distance as f32;
                reached.extend(
                    self.0[vertex].iter().map(|&(to, length)| Reverse((distance + length, to))),
                );
            }
        }
        distances
    }
}

/// The distance from row to column; infinite without a path.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    vertices: usize,
    distances: Vec<f32>,
}

impl Table {
    /// Paths without any station.
    fn new(Graph(edges): &Graph) -> Self {
        let vertices = edges.len();
        let mut distances = vec![f32::INFINITY; vertices * vertices];
        for (from, (edges, row)) in edges.iter().zip(distances.chunks_mut(vertices)).enumerate() {
            for &(to, length) in edges {
                row[to] = row[to].min(length as f32);
            }
            row[from] = 0.0;
        }
        Self { vertices, distances }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut pairs, mut sum) = (0_u64, 0.0);
        for &distance in self.distances.iter().filter(|distance| distance.is_finite()) {
            pairs += 1;
            sum += f64::from(distance);
        }
        write!(f, "{pairs} pairs, {:.4} apart on average", sum / pairs as f64)
    }
}

/// The rows of a block of stations, one after the other; beyond the last vertex, unreachable
/// stations.
struct Stations {
    first: usize,
    vertices: usize,
    rows: Vec<f32>,
}

impl Stations {
    fn new(vertices: usize) -> Self {
        Self { first: 0, vertices, rows: vec![0.0; BLOCK * vertices] }
    }

    /// Takes the rows from vertex `first` on, and makes them final as far as only these stations
    /// are allowed.
    fn take(&mut self, table: &Table, first: usize) {
        let rest = &table.distances[first * self.vertices..];
        let (taken, beyond) = self.rows.split_at_mut(rest.len().min(BLOCK * self.vertices));
        taken.copy_from_slice(&rest[..taken.len()]);
        beyond.fill(f32::INFINITY);
        self.first = first;
        for station in 0..taken.len() / self.vertices {
            let stop = self.rows[station * self.vertices..][..self.vertices].to_vec();
            for row in self.rows.chunks_mut(self.vertices) {
                improve(row, row[first + station], &stop);
            }
        }
    }

    /// Tries all stations on the way from one vertex.
    fn relax(&self, row: &mut [f32]) {
        let mut ways = [f32::INFINITY; BLOCK];
        for (way, distance) in ways.iter_mut().zip(&row[self.first..]) {
            *way = *distance;
        }
        for (ways, rows) in ways.chunks(GROUP).zip(self.rows.chunks(GROUP * self.vertices)) {
            improve_by_group(row, ways, rows);
        }
    }
}

/// A comparison and a move are one instruction for four numbers; `f32::min` handles NaN as well.
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn improve(row: &mut [f32], way: f32, station: &[f32]) {
    for (distance, rest) in row.iter_mut().zip(station) {
        *distance = smaller(way + rest, *distance);
    }
}

fn improve_by_group(row: &mut [f32], ways: &[f32], rows: &[f32]) {
    let vertices = row.len();
    let [a, b, c, d] =
        [0, 1, 2, 3].map(|station| (ways[station], &rows[station * vertices..][..vertices]));
    for ((((distance, x), y), z), w) in row.iter_mut().zip(a.1).zip(b.1).zip(c.1).zip(d.1) {
        let (first, second) = (smaller(a.0 + x, b.0 + y), smaller(c.0 + z, d.0 + w));
        *distance = smaller(smaller(first, second), *distance);
    }
}

impl Solve for Floyd {
    type Input = (Table, Stations);
    type Answer = Table;

    fn size(&self) -> String {
        format!("{} vertices", self.graph.0.len())
    }

    fn input(&self) -> (Table, Stations) {
        (Table::new(&self.graph), Stations::new(self.graph.0.len()))
    }

    fn serial(&self, (mut table, mut stations): (Table, Stations)) -> Table {
        for first in (0..table.vertices).step_by(BLOCK) {
            stations.take(&table, first);
            for row in table.distances.chunks_mut(table.vertices) {
                stations.relax(row);
            }
        }
        table
    }

    fn parallel(&self, _: &Worker, (mut table, mut stations): (Table, Stations)) -> Table {
        for first in (0..table.vertices).step_by(BLOCK) {
            stations.take(&table, first);
            table
                .distances
                .par_chunks_mut(table.vertices)
                .scheduled(self.schedule)
                .for_each(|row| stations.relax(row));
        }
        table
    }

    /// Against Dijkstra's algorithm, from all vertices of a small graph, and from some of a large
    /// one.
    fn check(&self, answer: &Table) -> Result<(), Wrong> {
        let vertices = self.graph.0.len();
        Wrong::unless(answer.distances.len() == vertices * vertices, || {
            format!(
                "the table has {} distances, not {}",
                answer.distances.len(),
                vertices * vertices
            )
        })?;
        for source in (0..vertices).step_by(vertices.div_ceil(SOURCES)) {
            let known = self.graph.distances(source);
            let found = &answer.distances[source * vertices..][..vertices];
            if let Some(to) = known.iter().zip(found).position(|(known, found)| known != found) {
                return Err(Wrong(format!(
                    "{source} to {to} is {} far, not {}",
                    known[to], found[to]
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floyd(graph: Graph) -> Floyd {
        Floyd { graph, schedule: Schedule::Static.into() }
    }

    /// Catches: edges taken in the wrong direction, a detour preferred, a distance where there
    /// is no path.
    #[test]
    fn paths_by_hand() {
        // 0 → 1 → 2 is shorter than 0 → 2; nothing leads back to 0, or to 3.
        let graph =
            Graph(vec![vec![(1, 2), (2, 9)], vec![(2, 3)], vec![(1, 1), (2, 7)], vec![(0, 4)]]);
        let inf = f32::INFINITY;
        let known =
            [0.0, 2.0, 5.0, inf, inf, 0.0, 3.0, inf, inf, 1.0, 0.0, inf, 4.0, 6.0, 9.0, 0.0];
        let floyd = floyd(graph);
        let answer = floyd.serial(floyd.input());
        assert_eq!(answer.distances, known);
        floyd.check(&answer).unwrap();
    }

    /// Catches: stations lost if the last block is only partly filled; rings are paths of stations
    /// only.
    #[test]
    fn rings_of_any_length_are_gone_round() {
        for vertices in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5] {
            let ring = Graph((0..vertices).map(|at| vec![((at + 1) % vertices, 1)]).collect());
            let floyd = floyd(ring);
            let answer = floyd.serial(floyd.input());
            for (at, &distance) in answer.distances.iter().enumerate() {
                let (from, to) = (at / vertices, at % vertices);
                assert_eq!(
                    distance,
                    ((to + vertices - from) % vertices) as f32,
                    "{from} to {to} of {vertices}"
                );
            }
            floyd.check(&answer).unwrap();
        }
    }

    /// Catches: a check that accepts anything.
    #[test]
    fn a_wrong_distance_is_noticed_wherever_it_is() {
        let floyd = floyd(Graph::random(20));
        let right = floyd.serial(floyd.input());
        floyd.check(&right).unwrap();
        for at in 0..right.distances.len() {
            for wrong in [right.distances[at] + 1.0, f32::INFINITY, f32::NAN] {
                let mut answer = right.clone();
                answer.distances[at] = wrong;
                assert!(floyd.check(&answer).is_err(), "{wrong} at {at}");
            }
        }
    }
}
