//! Putting a vertex into a mesh: the triangles whose circles it lies in are taken out, and the hole
//! is filled with triangles around it.
//!
//! In a Delaunay triangulation these triangles are connected, have no vertex inside, and every
//! corner of the hole is seen from the new vertex. So a walk that takes sides in their order finds
//! the rim in its order, and neighbours in the rim are neighbours in the new star: nothing is
//! searched for. Sources: Bowyer, "Computing Dirichlet Tessellations" (1981), and Watson's paper of
//! the same year. Differences: the walk does not cross segments. New triangles take the slots of
//! those old ones that had the same side on the rim, so the triangle beyond it does not change. The
//! vertex is rounded, so the exact predicate checks every new triangle before anything is written.
//!
//! # Cost
//!
//! For a hole of k triangles, typically 4 to 10: reads of these and of up to k + 2 around them,
//! writes of k + 2 and some of those around. No allocation once the vectors have grown.

use super::domain::Domain;
use super::geometry::{is_in_circle, is_left};
use super::store::{Store, bad_triangle};
use super::triangle::{Bad, NONE, Point, Side, Triangle, Vertex, next};

/// A triangle that is taken out.
#[derive(Debug)]
struct Old {
    slot: u32,
    triangle: Triangle,
    /// Whether its slot has been given to a new one.
    reused: bool,
}

/// A side of the hole, and of the new triangle there.
#[derive(Debug)]
struct Rim {
    ends: [u32; 2],
    beyond: Side,
    /// The triangle that had this side, as a place in the list of old ones.
    of: usize,
    /// The slot of the new triangle.
    slot: u32,
    /// Whether that slot is still the old triangle's.
    kept: bool,
}

/// A side of a triangle that is a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wall {
    pub(super) slot: u32,
    pub(super) triangle: Triangle,
    pub(super) side: usize,
}

/// The result of an attempt to dig a hole for a vertex.
#[derive(Debug)]
pub(super) enum Dug {
    /// It is there.
    Whole,
    /// A segment lies between the start and the vertex, or the vertex would encroach upon it.
    Blocked(Wall),
    /// The vertex is not in the first triangle's circle: rounding has moved it too far.
    Astray,
}

/// A hole, and what is needed to dig it. Used again and again.
#[derive(Debug, Default)]
pub(super) struct Cavity {
    old: Vec<Old>,
    rim: Vec<Rim>,
    /// Sides to look beyond, the next one last: a place in `old`, and the side.
    ahead: Vec<(usize, usize)>,
    /// The ends of the segment that is cut in two.
    cut: Option<[u32; 2]>,
    /// Whether there is nothing on the other side of that segment.
    open: bool,
}

impl Cavity {
    fn clear(&mut self) {
        self.old.clear();
        self.rim.clear();
        self.ahead.clear();
        (self.cut, self.open) = (None, false);
    }

    /// Takes out a triangle, and looks beyond its sides from `first` on, `count` of them.
    fn take(&mut self, slot: u32, triangle: Triangle, first: usize, count: usize) {
        let place = self.old.len();
        self.old.push(Old { slot, triangle, reused: false });
        self.ahead.extend((0..count).rev().map(|step| (place, (first + step) % 3)));
    }

    /// Digs for a vertex at `at`, which lies in the circle of the triangle in `slot`, until a
    /// segment with certain ends is `blocked`.
    pub(super) fn dig<S: Store>(
        &mut self,
        store: &mut S,
        (slot, triangle): (u32, Triangle),
        at: Point,
        blocked: impl Fn([Point; 2]) -> bool,
    ) -> Result<Dug, S::Stop> {
        self.clear();
        if !is_in_circle(store.corners(&triangle).map(|corner| corner.at), at) {
            return Ok(Dug::Astray);
        }
        self.take(slot, triangle, 0, 3);
        let blocked = self.explore(store, at, blocked)?;
        Ok(blocked.map_or(Dug::Whole, Dug::Blocked))
    }

    /// Digs for a vertex at `at`, which cuts a segment in two, on both sides of it.
    pub(super) fn dig_across<S: Store>(
        &mut self,
        store: &mut S,
        wall: &Wall,
        at: Point,
    ) -> Result<(), S::Stop> {
        self.clear();
        let ends = wall.triangle.ends(wall.side);
        self.cut = Some(ends);
        self.take(wall.slot, wall.triangle, next(wall.side), 2);
        self.explore(store, at, |_| false)?;
        match wall.triangle.sides[wall.side].beyond() {
            None => self.open = true,
            Some(slot) => {
                let triangle = store.triangle(slot)?;
                let [from, to] = ends;
                let side = triangle.side([to, from]).expect("neighbours name each other (T1)");
                self.take(slot, triangle, next(side), 2);
                self.explore(store, at, |_| false)?;
            }
        }
        Ok(())
    }

    /// Looks beyond the sides ahead until the rim is whole, or a segment on it is `blocked`.
    fn explore<S: Store>(
        &mut self,
        store: &mut S,
        at: Point,
        blocked: impl Fn([Point; 2]) -> bool,
    ) -> Result<Option<Wall>, S::Stop> {
        while let Some((of, side)) = self.ahead.pop() {
            let Old { slot, triangle, .. } = self.old[of];
            let (ends, beyond) = (triangle.ends(side), triangle.sides[side]);
            if beyond.is_segment() {
                if blocked(ends.map(|end| store.vertex(end).at)) {
                    return Ok(Some(Wall { slot, triangle, side }));
                }
            } else if self.cross(store, ends, beyond, at)? {
                continue;
            }
            self.rim.push(Rim { ends, beyond, of, slot: NONE, kept: false });
        }
        Ok(None)
    }

    /// Takes out the triangle beyond a side if `at` is in its circle.
    fn cross<S: Store>(
        &mut self,
        store: &mut S,
        [from, to]: [u32; 2],
        beyond: Side,
        at: Point,
    ) -> Result<bool, S::Stop> {
        let Some(slot) = beyond.beyond() else { return Ok(false) };
        let triangle = store.triangle(slot)?;
        let inside = is_in_circle(store.corners(&triangle).map(|corner| corner.at), at);
        // Once only: with a vertex inside the hole the walk would go around it for ever. Such a
        // hole does not fit.
        if !inside || self.takes(slot) {
            return Ok(false);
        }
        let side = triangle.side([to, from]).expect("neighbours name each other (T1)");
        self.take(slot, triangle, next(side), 2);
        Ok(true)
    }

    /// Whether the triangle in a slot is taken out.
    pub(super) fn takes(&self, slot: u32) -> bool {
        self.old.iter().any(|old| old.slot == slot)
    }

    /// Fills the hole with triangles around `vertex`, and hands those that are bad to `more`.
    /// Returns false, without a change, if they would be too small or inverted, or the mesh is
    /// full.
    pub(super) fn fill<S: Store>(
        &mut self,
        store: &mut S,
        domain: &Domain,
        vertex: Vertex,
        mut more: impl FnMut(Bad),
    ) -> Result<bool, S::Stop> {
        let slots = self.rim.len().wrapping_sub(self.old.len());
        if !(1..=2).contains(&slots) || !self.fits(store, domain, vertex.at) {
            return Ok(false);
        }
        let Some(new) = store.add(vertex, slots, domain.limit) else { return Ok(false) };
        self.deal_slots(new.slots);
        for place in 0..self.rim.len() {
            let (slot, triangle) = (self.rim[place].slot, self.new_triangle(place, new.vertex));
            store.set(slot, triangle)?;
            self.tell_beyond(store, place)?;
            bad_triangle(store, domain, slot, &triangle).into_iter().for_each(&mut more);
        }
        Ok(true)
    }

    /// Whether all sides of the hole are seen from `at`, and no corner is too near.
    fn fits<S: Store>(&self, store: &S, domain: &Domain, at: Point) -> bool {
        self.rim.iter().all(|rim| {
            let [from, to] = rim.ends.map(|end| store.vertex(end).at);
            is_left(from, to, at) && !domain.are_too_near(from, at) && !domain.are_too_near(to, at)
        })
    }

    /// Slots for the new triangles: where it can be, that of the old one at the same side of the
    /// hole.
    fn deal_slots(&mut self, new: [u32; 2]) {
        for rim in &mut self.rim {
            let old = &mut self.old[rim.of];
            rim.kept = !std::mem::replace(&mut old.reused, true);
            rim.slot = old.slot;
        }
        let unused = self.old.iter().filter(|old| !old.reused).map(|old| old.slot);
        let others = self.rim.iter_mut().filter(|rim| !rim.kept);
        others.zip(unused.chain(new)).for_each(|(rim, slot)| rim.slot = slot);
    }

    fn new_triangle(&self, place: usize, vertex: u32) -> Triangle {
        let rim = &self.rim[place];
        let [from, to] = rim.ends;
        let last = self.rim.len() - 1;
        let before = if place == 0 { last } else { place - 1 };
        let after = if place == last { 0 } else { place + 1 };
        let sides = [
            self.spoke(from, before, place == 0),
            rim.beyond,
            self.spoke(to, after, place == last),
        ];
        Triangle { corners: [vertex, from, to], sides }
    }

    /// The side between the new vertex and a corner of the hole, beyond which is the new triangle
    /// at another place.
    fn spoke(&self, corner: u32, place: usize, at_an_end: bool) -> Side {
        if self.open && at_an_end {
            return Side::OUTSIDE;
        }
        let is_cut = self.cut.is_some_and(|ends| ends.contains(&corner));
        Side::towards(self.rim[place].slot).segment(is_cut)
    }

    /// Sets the neighbour of the triangle beyond a side of the hole.
    fn tell_beyond<S: Store>(&self, store: &mut S, place: usize) -> Result<(), S::Stop> {
        let rim = &self.rim[place];
        let Some(slot) = rim.beyond.beyond().filter(|_| !rim.kept) else { return Ok(()) };
        let mut triangle = store.triangle(slot)?;
        let [from, to] = rim.ends;
        let side = triangle.side([to, from]).expect("neighbours name each other (T1)");
        triangle.sides[side] = Side::towards(rim.slot).segment(rim.beyond.is_segment());
        store.set(slot, triangle)
    }

    /// A slot of one of the new triangles.
    pub(super) fn a_slot(&self) -> u32 {
        self.rim[0].slot
    }
}
