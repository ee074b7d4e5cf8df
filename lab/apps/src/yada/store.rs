//! Storage of a mesh's triangles while it changes, with which one algorithm serves vectors and
//! transactions; and the vectors.

use std::convert::Infallible;

use super::domain::Domain;
use super::triangle::{Bad, Triangle, Vertex};

/// Places for a vertex and the triangles that become more by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct New {
    pub(super) vertex: u32,
    /// The first `many` of them.
    pub(super) slots: [u32; 2],
}

/// A mesh that is changed.
pub(super) trait Store {
    /// Why a change may have to be given up.
    type Stop;

    /// The triangle in a slot.
    fn triangle(&mut self, slot: u32) -> Result<Triangle, Self::Stop>;

    /// Puts a triangle into a slot.
    fn set(&mut self, slot: u32, triangle: Triangle) -> Result<(), Self::Stop>;

    /// A vertex that a triangle names.
    fn vertex(&self, number: u32) -> Vertex;

    /// Adds a vertex and one or two slots; nothing if the mesh has `limit` vertices.
    fn add(&mut self, vertex: Vertex, slots: usize, limit: u32) -> Option<New>;

    /// The vertices of a triangle.
    fn corners(&self, triangle: &Triangle) -> [Vertex; 3] {
        triangle.corners.map(|number| self.vertex(number))
    }
}

/// A mesh in vectors, for one thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Mesh {
    pub(super) vertices: Vec<Vertex>,
    pub(super) triangles: Vec<Triangle>,
}

impl Mesh {
    /// Everything about it that is to be made better.
    pub(super) fn bad(&self, domain: &Domain) -> Vec<Bad> {
        let numbered = (0..).zip(&self.triangles);
        numbered.filter_map(|(slot, triangle)| bad_triangle(self, domain, slot, triangle)).collect()
    }
}

/// The triangle in a slot as a unit of work, if it is bad.
pub(super) fn bad_triangle<S: Store>(
    store: &S,
    domain: &Domain,
    slot: u32,
    triangle: &Triangle,
) -> Option<Bad> {
    let corners = store.corners(triangle);
    let urgent = domain.encroached(triangle, &corners).is_some();
    (urgent || domain.is_skinny(triangle, &corners)).then(|| Bad::new(urgent, slot, triangle))
}

impl Store for Mesh {
    type Stop = Infallible;

    fn triangle(&mut self, slot: u32) -> Result<Triangle, Infallible> {
        Ok(self.triangles[slot as usize])
    }

    fn set(&mut self, slot: u32, triangle: Triangle) -> Result<(), Infallible> {
        self.triangles[slot as usize] = triangle;
        Ok(())
    }

    fn vertex(&self, number: u32) -> Vertex {
        self.vertices[number as usize]
    }

    fn add(&mut self, vertex: Vertex, slots: usize, limit: u32) -> Option<New> {
        let number = self.vertices.len() as u32;
        let slot = self.triangles.len() as u32;
        (number < limit).then(|| {
            self.vertices.push(vertex);
            self.triangles.resize(self.triangles.len() + slots, Triangle::NEVER);
            New { vertex: number, slots: [slot, slot + 1] }
        })
    }
}
