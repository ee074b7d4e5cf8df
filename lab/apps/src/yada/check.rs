//! Whether a mesh is what it should be: a Delaunay triangulation that conforms to its domain,
//! without small angles.
//!
//! Everything is looked at, not a sample. Exact predicates decide about the shape; angles, areas,
//! and distances of vertices from their segments are compared up to rounding.
//!
//! # Not handled
//!
//! Triangles of the input that lie on top of each other without sharing a side: the result covers
//! what the input covers.

use std::fmt;

use rustc_hash::FxHashSet;

use super::domain::{Domain, extent, rounding};
use super::geometry::{angle, distance, dot, is_in_circle, minus, shortest_side, twice_area};
use super::store::{Mesh, Store};
use super::triangle::{Point, Side, Triangle, next};
use crate::problem::Wrong;

/// Areas may differ by that part, and vertices be beside their segments by that part of the
/// domain's extent; and by what coordinates cannot tell.
const ROUNDING: f64 = 1e-10;

/// Tolerance of angles in degrees.
const DEGREES: f64 = 1e-6;

/// Judges a mesh that was made of `input`.
pub(super) fn check(input: &Mesh, domain: &Domain, mesh: &Mesh) -> Result<(), Wrong> {
    shape(mesh, domain)?;
    same_extent(input, mesh)?;
    quality(mesh, domain)
}

/// A conforming Delaunay triangulation with the domain's vertices and segments.
pub(super) fn shape(mesh: &Mesh, domain: &Domain) -> Result<(), Wrong> {
    vertices_are_kept(mesh, domain)?;
    for (slot, triangle) in triangles(mesh) {
        Wrong::unless(is_sound(mesh, triangle), || {
            format!("the triangle in slot {slot} is turned around")
        })?;
    }
    let mut seen = FxHashSet::default();
    for (slot, triangle) in triangles(mesh) {
        for side in 0..3 {
            let ends = triangle.ends(side);
            let once = seen.insert(ends) && is_mutual(mesh, slot, triangle, side);
            Wrong::unless(once, || {
                format!("{} and its neighbours disagree", show(mesh, triangle))
            })?;
            let right = is_delaunay(mesh, triangle, side);
            Wrong::unless(right, || {
                format!("the circle of {} is not empty", show(mesh, triangle))
            })?;
        }
    }
    segments_are_kept(mesh, domain)
}

/// All triangles, with their slots.
pub(super) fn triangles(mesh: &Mesh) -> impl Iterator<Item = (u32, &Triangle)> {
    (0..).zip(&mesh.triangles).filter(|(_, triangle)| **triangle != Triangle::NEVER)
}

fn points(mesh: &Mesh, triangle: &Triangle) -> [Point; 3] {
    mesh.corners(triangle).map(|corner| corner.at)
}

fn show(mesh: &Mesh, triangle: &Triangle) -> String {
    let corners = points(mesh, triangle).map(|at| format!("({}, {})", at.x, at.y));
    format!("the triangle {}", corners.join(" "))
}

fn vertices_are_kept(mesh: &Mesh, domain: &Domain) -> Result<(), Wrong> {
    let kept = mesh.vertices.len() >= domain.inputs.len()
        && domain.inputs.iter().zip(&mesh.vertices).all(|(input, vertex)| *input == vertex.at);
    Wrong::unless(kept, || "a vertex of the input has moved or is gone".to_owned())
}

/// Whether corners are vertices, and counter-clockwise.
fn is_sound(mesh: &Mesh, triangle: &Triangle) -> bool {
    let known = triangle.corners.iter().all(|&corner| (corner as usize) < mesh.vertices.len());
    known && twice_area(points(mesh, triangle)) > 0.0
}

/// Whether what is beyond a side says the same about it.
fn is_mutual(mesh: &Mesh, slot: u32, triangle: &Triangle, side: usize) -> bool {
    let [from, to] = triangle.ends(side);
    let here = triangle.sides[side];
    let Some(beyond) = here.beyond() else { return here == Side::OUTSIDE };
    let other = mesh.triangles.get(beyond as usize);
    let there = other.and_then(|other| other.side([to, from]).map(|side| other.sides[side]));
    there == Some(Side::towards(slot).segment(here.is_segment()))
}

/// Whether the corner beyond a side is outside of the circle, or cannot be seen. The neighbours
/// must agree.
fn is_delaunay(mesh: &Mesh, triangle: &Triangle, side: usize) -> bool {
    let [from, to] = triangle.ends(side);
    let beyond = triangle.sides[side].beyond().filter(|_| !triangle.sides[side].is_segment());
    let Some(other) = beyond.map(|slot| mesh.triangles[slot as usize]) else { return true };
    let corner = other.side([to, from]).map(|side| mesh.vertex(other.opposite(side)).at);
    corner.is_some_and(|corner| !is_in_circle(points(mesh, triangle), corner))
}

/// Whether the sides that are segments make up the domain's segments, and nothing else.
fn segments_are_kept(mesh: &Mesh, domain: &Domain) -> Result<(), Wrong> {
    let mut parts = vec![Vec::new(); domain.segments.len()];
    for (_, triangle) in triangles(mesh) {
        for side in (0..3).filter(|&side| triangle.sides[side].is_segment()) {
            let [from, to] = triangle.ends(side);
            // Inside the domain there are two such sides: the one that goes upwards is taken.
            if from < to || triangle.sides[side].beyond().is_none() {
                let of =
                    domain.segment([from, to], [from, to].map(|end| &mesh.vertices[end as usize]));
                let of = of.ok_or_else(|| {
                    Wrong(format!("{} has a false segment", show(mesh, triangle)))
                })?;
                parts[of as usize].push([from, to]);
            }
        }
    }
    let tolerance = ROUNDING * extent(&domain.inputs) + rounding(&domain.inputs);
    for (&ends, parts) in domain.segments.iter().zip(&mut parts) {
        let whole = is_chain(mesh, ends, parts, tolerance);
        let [a, b] = ends.map(|end| mesh.vertex(end).at);
        Wrong::unless(whole, || {
            format!("the segment ({}, {}) ({}, {}) is not a line of sides", a.x, a.y, b.x, b.y)
        })?;
    }
    Ok(())
}

/// Whether parts lead from one end to the other, straight ahead.
fn is_chain(mesh: &Mesh, [first, last]: [u32; 2], parts: &mut [[u32; 2]], tolerance: f64) -> bool {
    let [a, b] = [first, last].map(|end| mesh.vertex(end).at);
    let along = |end: u32| dot(minus(mesh.vertex(end).at, a), minus(b, a));
    parts.iter_mut().for_each(|part| part.sort_by(|x, y| along(*x).total_cmp(&along(*y))));
    parts.sort_by(|x, y| along(x[0]).total_cmp(&along(y[0])));
    let joined = parts.windows(2).all(|pair| pair[0][1] == pair[1][0]);
    let is_near = |part: &[u32; 2]| is_beside([a, b], mesh.vertex(part[1]).at) <= tolerance;
    let ends = parts.first().map(|part| part[0]).zip(parts.last().map(|part| part[1]));
    joined && ends == Some((first, last)) && parts.iter().all(is_near)
}

/// Distance of a point from a line.
fn is_beside([a, b]: [Point; 2], point: Point) -> f64 {
    let (way, to) = (minus(b, a), minus(point, a));
    (way.x * to.y - way.y * to.x).abs() / distance(a, b)
}

/// Whether two meshes cover the same: as large, as many holes, and all vertices of the one in the
/// other.
fn same_extent(input: &Mesh, mesh: &Mesh) -> Result<(), Wrong> {
    let (before, after) = (Extent::of(input), Extent::of(mesh));
    Wrong::unless(before.is_same(&after), || {
        format!("the domain was {before:?}, and is {after:?}")
    })?;
    let lost = (0..).zip(&mesh.vertices).find(|(number, vertex)| {
        let counts = before.used.contains(number) || *number >= input.vertices.len() as u32;
        counts && vertex.at.x.is_finite() && !after.used.contains(number)
    });
    Wrong::unless(lost.is_none(), || {
        format!("vertex {} has no triangle", lost.map_or(0, |(number, _)| number))
    })
}

/// The area that a mesh covers.
#[derive(Default)]
pub(super) struct Extent {
    area: f64,
    /// The tolerance of the area, caused by rounding at the border.
    slack: f64,
    /// Vertices and triangles less edges: parts less holes.
    euler: i64,
    used: FxHashSet<u32>,
}

impl fmt::Debug for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of area {} with {} parts less holes", self.area, self.euler)
    }
}

impl Extent {
    pub(super) fn of(mesh: &Mesh) -> Self {
        let mut extent = Self::default();
        let (mut border, mut largest) = (0.0, Point { x: 0.0, y: 0.0 });
        for (slot, triangle) in triangles(mesh) {
            let places = points(mesh, triangle);
            extent.area += twice_area(places) / 2.0;
            extent.euler += 1;
            extent.used.extend(triangle.corners);
            for (side, beyond) in triangle.sides.map(Side::beyond).into_iter().enumerate() {
                extent.euler -= i64::from(beyond.is_none_or(|beyond| beyond > slot));
                border +=
                    if beyond.is_none() { distance(places[side], places[next(side)]) } else { 0.0 };
                largest.x = places[side].x.abs().max(places[side].y.abs()).max(largest.x);
            }
        }
        extent.euler += extent.used.len() as i64;
        extent.slack = border * rounding(&[largest]);
        extent
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.euler == other.euler
            && (self.area - other.area).abs() <= ROUNDING * self.area + self.slack
    }
}

/// No angle below the bound, except where it is [exempt](Domain::is_exempt), and no segment
/// encroached upon.
fn quality(mesh: &Mesh, domain: &Domain) -> Result<(), Wrong> {
    for (_, triangle) in triangles(mesh) {
        let smallest = smallest_angle(mesh, domain, triangle);
        let right = smallest.is_none_or(|angle| angle >= domain.angle - DEGREES);
        Wrong::unless(right, || {
            format!(
                "{} has an angle of {} degrees",
                show(mesh, triangle),
                smallest.unwrap_or_default()
            )
        })?;
        let free = domain.encroached(triangle, &mesh.corners(triangle)).is_none();
        Wrong::unless(free, || format!("{} encroaches upon its segment", show(mesh, triangle)))?;
    }
    Ok(())
}

/// The smallest angle of a triangle, unless it is exempt.
pub(super) fn smallest_angle(mesh: &Mesh, domain: &Domain, triangle: &Triangle) -> Option<f64> {
    let corners = mesh.corners(triangle);
    let places = corners.map(|corner| corner.at);
    let shortest = shortest_side(places);
    (!domain.is_exempt(triangle, &corners, shortest)).then(|| angle(places, shortest))
}
