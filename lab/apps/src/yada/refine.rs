//! Making one bad triangle better: one vertex is put into the mesh.
//!
//! A triangle with too small an angle goes when a vertex is put at the centre of its circle. If
//! that would encroach upon a segment, or lies beyond one, the segment is cut in two instead, and
//! the triangle is retried. The same holds for triangles whose segment is encroached upon by their
//! own corner. New vertices are never nearer to others than the geometry of the input demands, so
//! all this ends. Source: Ruppert, "A Delaunay Refinement Algorithm for Quality 2-Dimensional Mesh
//! Generation" (1995), in the form of the program yada of the STAMP suite (Cao Minh et al., "STAMP:
//! Stanford Transactional Applications for Multi-Processing", 2008). Differences: a centre beyond a
//! segment is noticed while the hole is dug, so there is no separate point location. Segments are
//! cut one at a time, each as a unit of its own.

use super::cavity::{Cavity, Dug, Wall};
use super::domain::Domain;
use super::geometry::{circumcentre, encroaches, is_left};
use super::store::{Mesh, Store};
use super::triangle::{Bad, NONE, Point, Triangle, Vertex};

/// The result for a bad triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Others had changed it already.
    Gone,
    /// There is one vertex more.
    Better,
    /// It has to stay: a vertex would be too near to another, or one too many.
    Refused,
}

/// The vertex to insert, and its position.
enum Remedy {
    Centre(Vertex),
    Cut(Wall),
    None,
}

/// Makes `bad` better, and hands all that is bad now to `more`.
pub(super) fn refine<S: Store>(
    store: &mut S,
    domain: &Domain,
    cavity: &mut Cavity,
    bad: Bad,
    mut more: impl FnMut(Bad),
) -> Result<Outcome, S::Stop> {
    let triangle = store.triangle(bad.slot())?;
    if triangle.corners != bad.corners {
        return Ok(Outcome::Gone);
    }
    let vertex = match remedy(store, domain, cavity, bad.slot(), triangle)? {
        Remedy::Centre(vertex) => Some(vertex),
        Remedy::Cut(wall) => cut(store, domain, cavity, &wall)?,
        Remedy::None => None,
    };
    let Some(vertex) = vertex else { return Ok(Outcome::Refused) };
    if !cavity.fill(store, domain, vertex, &mut more)? {
        return Ok(Outcome::Refused);
    }
    if !cavity.takes(bad.slot()) {
        more(bad);
    }
    Ok(Outcome::Better)
}

/// The step for a triangle; for a centre, the hole is dug already.
fn remedy<S: Store>(
    store: &mut S,
    domain: &Domain,
    cavity: &mut Cavity,
    slot: u32,
    triangle: Triangle,
) -> Result<Remedy, S::Stop> {
    let corners = store.corners(&triangle);
    if let Some(side) = domain.encroached(&triangle, &corners) {
        return Ok(Remedy::Cut(Wall { slot, triangle, side }));
    }
    let Some(at) = circumcentre(corners.map(|corner| corner.at)) else { return Ok(Remedy::None) };
    let blocked = |ends: [Point; 2]| encroaches(ends, at) || !is_left(ends[0], ends[1], at);
    Ok(match cavity.dig(store, (slot, triangle), at, blocked)? {
        Dug::Whole => Remedy::Centre(Vertex { at, on: NONE }),
        Dug::Blocked(wall) => Remedy::Cut(wall),
        Dug::Astray => Remedy::None,
    })
}

/// Digs where a segment is to be cut; returns the vertex that cuts it.
fn cut<S: Store>(
    store: &mut S,
    domain: &Domain,
    cavity: &mut Cavity,
    wall: &Wall,
) -> Result<Option<Vertex>, S::Stop> {
    let numbers = wall.triangle.ends(wall.side);
    let [from, to] = numbers.map(|number| store.vertex(number));
    let Some(on) = domain.segment(numbers, [&from, &to]) else { return Ok(None) };
    let vertex = Vertex { at: domain.cut(numbers, [from.at, to.at]), on };
    cavity.dig_across(store, wall, vertex.at)?;
    Ok(Some(vertex))
}

/// Makes all of a mesh better, what is urgent first; returns how many triangles were refused.
pub(super) fn refine_all(mesh: &mut Mesh, domain: &Domain, bad: Vec<Bad>) -> u64 {
    let (mut urgent, mut others): (Vec<Bad>, Vec<Bad>) = bad.into_iter().partition(Bad::is_urgent);
    let (mut cavity, mut refused) = (Cavity::default(), 0);
    while let Some(bad) = urgent.pop().or_else(|| others.pop()) {
        let more = |bad: Bad| if bad.is_urgent() { urgent.push(bad) } else { others.push(bad) };
        let Ok(outcome) = refine(mesh, domain, &mut cavity, bad, more);
        refused += u64::from(outcome == Outcome::Refused);
    }
    refused
}
