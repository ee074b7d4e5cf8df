//! Points, and which centre each belongs to: the state of the local search, in blocks that loops go
//! over.

use std::array;

/// Coordinates of a point.
pub(super) const DIMENSIONS: usize = 128;

pub(super) type Point = [f32; DIMENSIONS];

/// Random points in the unit cube, the same ones each time.
pub(super) fn random(length: usize) -> Vec<Point> {
    let mut rng = fastrand::Rng::with_seed(42);
    let mut points = Vec::with_capacity(length);
    points.extend((0..length).map(|_| array::from_fn::<f32, DIMENSIONS, _>(|_| rng.f32())));
    points
}

/// The squared distance, added up in a fixed order that suits vector units.
pub(super) fn distance(a: &Point, b: &Point) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (a, _) = a.as_chunks::<LANES>();
    let (b, _) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += (a - b) * (a - b);
        }
    }
    sums.iter().sum()
}

/// A point's place in the clustering.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Member {
    /// Its centre, as a place in the list of centres.
    pub(super) center: u32,
    /// The distance to that.
    pub(super) cost: f32,
    /// The distance to the candidate under consideration.
    candidate: f32,
}

/// Some adjacent points.
#[derive(Debug)]
pub(super) struct Block<'p> {
    points: &'p [Point],
    pub(super) members: Vec<Member>,
    /// The savings of members that are nearer to the candidate.
    pub(super) saved: f64,
    /// For each centre, what its other members would pay on top if they had to go to the candidate.
    pub(super) extra: Vec<f64>,
}

impl<'p> Block<'p> {
    /// The points of a block.
    pub(super) const SIZE: usize = 128;

    pub(super) fn of(points: &'p [Point]) -> Self {
        Self {
            points,
            members: vec![Member::default(); points.len()],
            saved: 0.0,
            extra: Vec::new(),
        }
    }

    fn pairs(&mut self) -> impl Iterator<Item = (&Point, &mut Member)> {
        self.points.iter().zip(&mut self.members)
    }

    pub(super) fn cost(&self) -> f64 {
        self.members.iter().map(|member| f64::from(member.cost)).sum()
    }

    /// Everybody goes to the only centre.
    pub(super) fn gather(&mut self, at: &Point) {
        for (point, member) in self.pairs() {
            *member = Member { center: 0, cost: distance(point, at), candidate: 0.0 };
        }
    }

    /// Members that are nearer move to a new centre.
    pub(super) fn open(&mut self, center: u32, at: &Point) {
        for (point, member) in self.pairs() {
            let cost = distance(point, at);
            if cost < member.cost {
                *member = Member { center, cost, ..*member };
            }
        }
    }

    /// Finds out what a new centre would save, and what closing each of the `centers` present would
    /// cost.
    pub(super) fn consider(&mut self, at: &Point, centers: usize) {
        self.extra.clear();
        self.extra.resize(centers, 0.0);
        self.saved = 0.0;
        for (point, member) in self.points.iter().zip(&mut self.members) {
            member.candidate = distance(point, at);
            let more = f64::from(member.candidate) - f64::from(member.cost);
            if more < 0.0 {
                self.saved -= more;
            } else {
                self.extra[member.center as usize] += more;
            }
        }
    }

    /// The candidate becomes the centre called `center`; others keep the place `kept` says, or are
    /// closed.
    pub(super) fn adopt(&mut self, center: u32, kept: &[Option<u32>]) {
        for member in &mut self.members {
            *member = match kept[member.center as usize] {
                Some(place) if member.candidate >= member.cost => {
                    Member { center: place, ..*member }
                }
                _ => Member { center, cost: member.candidate, ..*member },
            };
        }
    }

    /// Everybody goes to the nearest centre.
    pub(super) fn settle(&mut self, centers: &[&Point]) {
        for (point, member) in self.pairs() {
            (member.center, member.cost) = nearest(point, centers);
        }
    }
}

/// The first of the nearest of some centres, and how far it is.
pub(super) fn nearest(point: &Point, centers: &[&Point]) -> (u32, f32) {
    let mut best = (0, f32::INFINITY);
    for (place, center) in (0..).zip(centers) {
        let cost = distance(point, center);
        if cost < best.1 {
            best = (place, cost);
        }
    }
    best
}
