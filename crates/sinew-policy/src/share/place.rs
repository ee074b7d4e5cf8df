//! The cores of each program, given their number (`count`).
//!
//! Programs keep the cores that they hold, down to their new number, and get the rest from free
//! cores: first near their own (siblings, cache, package), then far from other programs. If masks
//! overlap partly, the free core may be outside the mask of a program that needs one. Then cores
//! move along a chain of programs (an augmenting path), so that as few programs as possible have
//! none.
//!
//! # Invariants
//!
//! - L1: a core has at most one owner, and is in the owner's mask.
//! - L2: no program has more than its number; a program with none gets one before any gets a
//!   second.

use sinew_cpus::CpuSet;

use super::MAX_CORES;
use super::layout::{Layout, Place};

const NONE: usize = usize::MAX;

/// The input of the placement.
pub(super) struct View<'a> {
    pub(super) layout: &'a Layout,
    pub(super) masks: &'a [CpuSet],
    /// The requested cores of each program.
    pub(super) requested: &'a [CpuSet],
}

/// The cores of each program: as many as `counts` says, fewer if masks do not permit them.
pub(super) fn place(view: &View<'_>, counts: &[u32], held: &[CpuSet]) -> Vec<CpuSet> {
    let mut placement = Placement::new(view, counts);
    placement.take_requested(held);
    placement.keep(held);
    placement.fill();
    placement.owned
}

/// The owners so far.
struct Placement<'a> {
    view: &'a View<'a>,
    counts: Vec<usize>,
    owned: Vec<CpuSet>,
    owner: Vec<usize>,
}

impl<'a> Placement<'a> {
    fn new(view: &'a View<'a>, counts: &[u32]) -> Self {
        Self {
            view,
            counts: counts.iter().map(|&count| count as usize).collect(),
            owned: vec![CpuSet::new(); counts.len()],
            owner: vec![NONE; MAX_CORES],
        }
    }

    fn give(&mut self, program: usize, cpu: usize) {
        let before = std::mem::replace(&mut self.owner[cpu], program);
        if before != NONE {
            self.owned[before].remove(cpu);
        }
        self.owned[program].insert(cpu);
    }

    fn lacks(&self, program: usize) -> usize {
        self.counts[program].saturating_sub(self.owned[program].len())
    }

    /// Takes requested cores. A requested core that is held comes first; of two programs that
    /// request one core, the first gets it.
    fn take_requested(&mut self, held: &[CpuSet]) {
        for kept in [true, false] {
            for (program, held) in held.iter().enumerate() {
                let requested =
                    self.view.requested[program].intersection(&self.view.masks[program]);
                let wanted = if kept { requested.intersection(held) } else { requested };
                for cpu in wanted.iter() {
                    if self.lacks(program) > 0 && self.owner[cpu] == NONE {
                        self.give(program, cpu);
                    }
                }
            }
        }
    }

    /// Keeps held cores. If two programs hold the same core (a stale or forged table), the first
    /// keeps it.
    fn keep(&mut self, held: &[CpuSet]) {
        for (program, held) in held.iter().enumerate() {
            let free: CpuSet = held.iter().filter(|&cpu| self.owner[cpu] == NONE).collect();
            let kept = self.trim(free.intersection(&self.view.masks[program]), self.lacks(program));
            kept.iter().for_each(|cpu| self.give(program, cpu));
        }
    }

    /// `count` of the cores; drops first those with the fewest others near them.
    fn trim(&self, mut cores: CpuSet, count: usize) -> CpuSet {
        while cores.len() > count {
            let places =
                || self.view.layout.places().iter().filter(|place| cores.contains(place.cpu));
            let near = |place: &Place| Near::to(place, places());
            let Some(dropped) = places().rev().min_by_key(|place| near(place)) else { break };
            cores.remove(dropped.cpu);
        }
        cores
    }

    /// Gives every program its missing cores; the program with the least in proportion comes first.
    fn fill(&mut self) {
        let mut stuck = vec![false; self.counts.len()];
        loop {
            let waiting = (0..self.counts.len()).filter(|&i| self.lacks(i) > 0 && !stuck[i]);
            let part = |i: usize| self.owned[i].len() * 1000 / self.counts[i];
            let Some(next) = waiting.min_by_key(|&i| (part(i), usize::MAX - self.counts[i])) else {
                break;
            };
            stuck[next] =
                !(self.take_free(next) || self.pass_on(next, false) || self.pass_on(next, true));
        }
    }

    /// Takes the best free core.
    fn take_free(&mut self, program: usize) -> bool {
        let free = |place: &&Place| {
            self.owner[place.cpu] == NONE && self.view.masks[program].contains(place.cpu)
        };
        let best = self
            .view
            .layout
            .places()
            .iter()
            .filter(free)
            .rev()
            .max_by_key(|place| self.value(program, place));
        let Some(cpu) = best.map(|place| place.cpu) else { return false };
        self.give(program, cpu);
        true
    }

    /// The value of a free core: near to its own cores, far from others', with room to grow. Cores
    /// that few programs can use are left to those.
    fn value(&self, program: usize, place: &Place) -> impl Ord + use<> {
        let places = self.view.layout.places();
        let mine =
            Near::to(place, places.iter().filter(|other| self.owned[program].contains(other.cpu)));
        let theirs = |other: &&Place| {
            !matches!(self.owner[other.cpu], NONE) && self.owner[other.cpu] != program
        };
        let others = Near::to(place, places.iter().filter(theirs));
        let free = Near::to(place, places.iter().filter(|other| self.owner[other.cpu] == NONE));
        let wanted = self.view.masks.iter().filter(|mask| mask.contains(place.cpu)).count();
        let others = std::cmp::Reverse((others.core, others.cache, others.package));
        (mine, others, std::cmp::Reverse(wanted), (free.cache, free.package, free.core))
    }

    /// Finds a chain of programs along which each takes a core of the next one, and moves the
    /// cores. The last one takes a free core. With `or_take`, which is for a program without a
    /// core, the last one may also be a program with several. Returns whether there is such a
    /// chain.
    fn pass_on(&mut self, program: usize, or_take: bool) -> bool {
        if or_take && !self.owned[program].is_empty() {
            return false;
        }
        let mut came_by: Vec<Option<(usize, usize)>> = vec![None; self.counts.len()];
        let mut queue = vec![program];
        let mut at = 0;
        while at < queue.len() {
            let taker = queue[at];
            at += 1;
            for cpu in self.view.masks[taker].iter() {
                let owner = self.owner[cpu];
                if owner == NONE || (or_take && owner != program && self.owned[owner].len() > 1) {
                    self.shift(program, taker, cpu, &came_by);
                    return true;
                }
                if owner != program && came_by[owner].is_none() {
                    came_by[owner] = Some((taker, cpu));
                    queue.extend([owner]);
                }
            }
        }
        false
    }

    /// Gives `cpu` to `taker`, then to each program before it on the chain the core that the next
    /// one left.
    fn shift(
        &mut self,
        first: usize,
        mut taker: usize,
        mut cpu: usize,
        came_by: &[Option<(usize, usize)>],
    ) {
        loop {
            self.give(taker, cpu);
            if taker == first {
                return;
            }
            let Some((before, left)) = came_by[taker] else { return };
            (taker, cpu) = (before, left);
        }
    }
}

/// How many of some cores share a core, a cache or a package with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Near {
    core: usize,
    cache: usize,
    package: usize,
}

impl Near {
    fn to<'p>(place: &Place, others: impl Iterator<Item = &'p Place>) -> Self {
        let mut near = Self::default();
        for other in others {
            near.package += usize::from(other.package == place.package);
            near.cache += usize::from(other.cache == place.cache && other.package == place.package);
            near.core += usize::from(other.core == place.core);
        }
        near
    }
}
