//! A mesh that many threads refine at a time: each triangle is a transactional variable.
//!
//! Triangles and vertices have numbers, and lie in chunks that never move. A vertex does not
//! change, so it needs no variable. It is written before the triangles that name it are committed,
//! and readers of those triangles find it. Slots and vertices are allocated outside of the
//! transaction, without conflicts; an aborted attempt returns them.
//!
//! # Orderings
//!
//! Vertices are written and read `Relaxed`. A reader of a vertex is its writer, or has its number
//! from a triangle that the writer committed; a committed value makes all earlier writes visible. A
//! writer of a vertex has its number from the lock, where the last attempt that wrote it has left
//! it.

use std::sync::OnceLock;

use sinew_stm::{TVar, Tx, TxError, TxResult};
use sinew_sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use sinew_sync::lock::Mutex;

use super::store::{Mesh, New, Store};
use super::triangle::{NONE, Point, Triangle, Vertex};

/// Chunks for all numbers of 31 bits, even if the first has one place.
const CHUNKS: usize = 32;

/// Things by number. Each chunk has twice as many as the one before.
struct Chunks<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
    /// The logarithm of the first one's length.
    first: u32,
}

impl<T> Chunks<T> {
    /// Room for `length` things in the first chunk.
    fn new(length: usize) -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            first: length.max(1).next_power_of_two().ilog2(),
        }
    }

    /// The chunk and the place in it.
    fn place(&self, number: u32) -> (usize, usize) {
        let shifted = u64::from(number) + (1 << self.first);
        let chunk = shifted.ilog2() - self.first;
        (chunk as usize, (shifted - (1 << (chunk + self.first))) as usize)
    }

    fn get(&self, number: u32) -> &T {
        let (chunk, place) = self.place(number);
        &self.chunks[chunk].get().expect("numbers are dealt out with their chunk")[place]
    }

    /// Makes sure that there is a thing with this number.
    fn reach(&self, number: u32, mut make: impl FnMut(u32) -> T) {
        let (chunk, place) = self.place(number);
        let begin = number - place as u32;
        let length = 1_u32 << (chunk as u32 + self.first);
        self.chunks[chunk].get_or_init(|| (begin..begin + length).map(&mut make).collect());
    }
}

/// A vertex that is written once it is known.
#[derive(Default)]
struct Place {
    x: AtomicU64,
    y: AtomicU64,
    on: AtomicU32,
}

impl Place {
    fn store(&self, vertex: Vertex) {
        // Relaxed: see the orderings above. The same for all.
        self.x.store(vertex.at.x.to_bits(), Relaxed);
        self.y.store(vertex.at.y.to_bits(), Relaxed);
        self.on.store(vertex.on, Relaxed);
    }

    fn load(&self) -> Vertex {
        let [x, y] = [&self.x, &self.y].map(|bits| f64::from_bits(bits.load(Relaxed)));
        Vertex { at: Point { x, y }, on: self.on.load(Relaxed) }
    }
}

/// Numbers that are free.
#[derive(Debug, Default)]
struct Free {
    vertices: Vec<u32>,
    slots: Vec<u32>,
    next_vertex: u32,
    next_slot: u32,
}

impl Free {
    fn vertex(&mut self, limit: u32) -> Option<u32> {
        self.vertices.pop().or_else(|| {
            let fresh = self.next_vertex;
            (fresh < limit).then(|| self.next_vertex += 1)?;
            Some(fresh)
        })
    }

    fn slot(&mut self) -> u32 {
        self.slots.pop().unwrap_or_else(|| {
            self.next_slot += 1;
            self.next_slot - 1
        })
    }
}

/// A mesh for transactions.
pub(super) struct Shared {
    triangles: Chunks<TVar<Triangle>>,
    vertices: Chunks<Place>,
    free: Mutex<Free>,
}

impl Shared {
    /// A copy of a mesh, with the same space again before it has to grow.
    pub(super) fn new(mesh: &Mesh) -> Self {
        let (vertices, triangles) = (mesh.vertices.len(), mesh.triangles.len());
        let (next_vertex, next_slot) = (vertices as u32, triangles as u32);
        let free = Free { next_vertex, next_slot, ..Free::default() };
        let shared = Self {
            triangles: Chunks::new(2 * triangles),
            vertices: Chunks::new(2 * vertices),
            free: Mutex::new(free),
        };
        let triangle =
            |slot: u32| mesh.triangles.get(slot as usize).copied().unwrap_or(Triangle::NEVER);
        shared.triangles.reach(0, |slot| TVar::new(triangle(slot)));
        shared.vertices.reach(0, |_| Place::default());
        (0..)
            .zip(&mesh.vertices)
            .for_each(|(number, vertex)| shared.vertices.get(number).store(*vertex));
        shared
    }

    /// The current mesh, while no thread changes it. It includes numbers that attempts have
    /// returned and no attempt took; these have no triangle and no position.
    pub(super) fn to_mesh(&self) -> Mesh {
        let free = self.free.lock();
        let mut vertices: Vec<Vertex> =
            (0..free.next_vertex).map(|number| self.vertices.get(number).load()).collect();
        free.vertices.iter().for_each(|&number| vertices[number as usize] = Vertex::NOWHERE);
        let triangles = (0..free.next_slot).map(|slot| self.triangles.get(slot).load()).collect();
        Mesh { vertices, triangles }
    }

    fn take(&self, slots: usize, limit: u32) -> Option<New> {
        let mut free = self.free.lock();
        let vertex = free.vertex(limit)?;
        let mut new = New { vertex, slots: [NONE; 2] };
        new.slots[..slots].fill_with(|| free.slot());
        Some(new)
    }

    fn give_back(&self, new: New, slots: usize) {
        let mut free = self.free.lock();
        free.vertices.push(new.vertex);
        free.slots.extend(&new.slots[..slots]);
    }
}

/// A shared mesh inside a transaction.
pub(super) struct Inside<'a, 'tx, 'env> {
    pub(super) tx: &'a mut Tx<'tx, 'env>,
    pub(super) mesh: &'tx Shared,
}

impl Store for Inside<'_, '_, '_> {
    type Stop = TxError;

    fn triangle(&mut self, slot: u32) -> TxResult<Triangle> {
        self.mesh.triangles.get(slot).get(self.tx)
    }

    fn set(&mut self, slot: u32, triangle: Triangle) -> TxResult<()> {
        self.mesh.triangles.get(slot).set(self.tx, triangle)
    }

    fn vertex(&self, number: u32) -> Vertex {
        self.mesh.vertices.get(number).load()
    }

    fn add(&mut self, vertex: Vertex, slots: usize, limit: u32) -> Option<New> {
        let mesh = self.mesh;
        let new = mesh.take(slots, limit)?;
        self.tx.on_abort(move || mesh.give_back(new, slots));
        mesh.vertices.reach(new.vertex, |_| Place::default());
        mesh.vertices.get(new.vertex).store(vertex);
        new.slots[..slots]
            .iter()
            .for_each(|&slot| mesh.triangles.reach(slot, |_| TVar::new(Triangle::NEVER)));
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_stm::Transaction;

    /// Catches: two numbers with one place, and places beyond the end of a chunk.
    #[test]
    fn chunks_keep_numbers_apart() {
        for first in [1, 3, 64] {
            let chunks: Chunks<u32> = Chunks::new(first);
            for number in 0..1000 {
                chunks.reach(number, |number| number);
            }
            assert!((0..1000).all(|number| *chunks.get(number) == number));
        }
    }

    /// Catches: numbers that are lost with an attempt, or dealt out twice.
    #[test]
    fn an_attempt_that_is_given_up_gives_its_numbers_back() {
        let mesh = Mesh {
            vertices: vec![Vertex { at: Point { x: 1.0, y: 2.0 }, on: NONE }; 3],
            triangles: vec![Triangle::NEVER],
        };
        let shared = Shared::new(&mesh);
        let vertex = Vertex { at: Point { x: 3.0, y: 4.0 }, on: 7 };
        let mut numbers = Vec::new();
        for last in [false, false, true] {
            let _ = Transaction::new().attempt(|tx| {
                numbers.push(Inside { tx: &mut *tx, mesh: &shared }.add(vertex, 2, 100).unwrap());
                if last { Ok(()) } else { tx.retry() }
            });
        }
        assert!(numbers.iter().all(|new| new.vertex == 3 && new.slots.iter().sum::<u32>() == 3));
        assert_eq!(shared.to_mesh().vertices[3], vertex);
        assert!(
            Transaction::new()
                .attempt(|tx| Ok(Inside { tx, mesh: &shared }.add(vertex, 1, 4).is_none()))
                .unwrap()
        );
    }
}
