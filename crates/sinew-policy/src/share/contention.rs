//! Programs that slow each other down in a shared cache, and programs that profit from it.
//!
//! The effect of a neighbour in the same cache is a number: the relative change of throughput, −0.2
//! for a fifth less. The caller measures it (`meter`). Placement then searches for the grouping by
//! caches with the least harm, and keeps the present one unless the gain is worth the move.
//!
//! Source: contention-aware scheduling by pairwise co-run measurements; the observation that some
//! pairs gain from a shared socket is from the plastic skeletons.

use sinew_cpus::CpuSet;

use super::place::{View, place as place_by_number};

/// A new placement must promise this gain in throughput, as a fraction of one program's.
const LEAST_GAIN: f64 = 0.05;

/// For each pair of programs the effect of the second one in the same cache on the first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Effects {
    size: usize,
    change: Vec<f64>,
}

impl Effects {
    /// No known effects.
    pub fn none() -> Self {
        Self::default()
    }

    /// Effects among `size` programs, none of them known.
    pub fn among(size: usize) -> Self {
        Self { size, change: vec![0.0; size * size] }
    }

    /// Sets the change of `program`'s throughput with `neighbour` in the same cache, as a fraction.
    ///
    /// # Panics
    ///
    /// If either is not among the programs.
    #[track_caller]
    pub fn set(&mut self, program: usize, neighbour: usize, change: f64) {
        assert!(
            program < self.size && neighbour < self.size,
            "no programs {program} and {neighbour}"
        );
        self.change[program * self.size + neighbour] =
            if change.is_finite() { change.clamp(-1.0, 1.0) } else { 0.0 };
    }

    fn get(&self, program: usize, neighbour: usize) -> f64 {
        self.change.get(program * self.size + neighbour).copied().unwrap_or(0.0)
    }

    /// The effects among some of the programs.
    pub(super) fn of(&self, programs: &[usize]) -> Self {
        let mut chosen = Self::among(programs.len());
        for (a, &program) in programs.iter().enumerate() {
            for (b, &neighbour) in programs.iter().enumerate() {
                if program < self.size && neighbour < self.size {
                    chosen.set(a, b, self.get(program, neighbour));
                }
            }
        }
        chosen
    }

    /// The sum of two programs' effects on each other.
    fn between(&self, a: usize, b: usize) -> f64 {
        self.get(a, b) + self.get(b, a)
    }
}

/// As [`place_by_number`], with the best grouping by caches that the search finds.
pub(super) fn place(
    view: &View<'_>,
    counts: &[u32],
    held: &[CpuSet],
    effects: &Effects,
) -> Vec<CpuSet> {
    let present = place_by_number(view, counts, held);
    if effects.change.iter().all(|&change| change == 0.0) || view.layout.caches() < 2 {
        return present;
    }
    // If masks leave a program fewer cores than its number, the fewer count.
    let counts: Vec<u32> = present.iter().map(|cores| cores.len() as u32).collect();
    let (mut best, mut best_gain) = (present.clone(), gain(view, &present, effects) + LEAST_GAIN);
    for start in [grouped(view, &counts, effects), present.clone()] {
        let candidate = improved(view, start, effects);
        let candidate_gain = gain(view, &candidate, effects);
        if candidate_gain > best_gain
            && candidate.iter().zip(&present).all(|(a, b)| a.len() == b.len())
        {
            (best, best_gain) = (candidate, candidate_gain);
        }
    }
    best
}

/// The changes of throughput by a placement, each weighted by the fraction of a program's cores
/// that it affects.
fn gain(view: &View<'_>, placed: &[CpuSet], effects: &Effects) -> f64 {
    caches(view).map(|cache| gain_in(&cache, placed, effects)).sum()
}

fn gain_in(cache: &CpuSet, placed: &[CpuSet], effects: &Effects) -> f64 {
    let part =
        |i: usize| placed[i].intersection(cache).len() as f64 / placed[i].len().max(1) as f64;
    let inside: Vec<(usize, f64)> =
        (0..placed.len()).map(|i| (i, part(i))).filter(|(_, part)| *part > 0.0).collect();
    let pair = |(a, part_a): (usize, f64), (b, part_b): (usize, f64)| {
        if a == b { 0.0 } else { part_a * part_b.ceil() * effects.get(a, b) }
    };
    inside.iter().flat_map(|&a| inside.iter().map(move |&b| (a, b))).map(|(a, b)| pair(a, b)).sum()
}

fn caches<'v>(view: &'v View<'_>) -> impl Iterator<Item = CpuSet> + 'v {
    let places = view.layout.places();
    let mut seen: Vec<usize> = places.iter().map(|place| place.cache).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.into_iter().map(move |cache| {
        places.iter().filter(|place| place.cache == cache).map(|place| place.cpu).collect()
    })
}

/// A placement from scratch: the most affected programs first, each into the cache with the largest
/// gain or least loss, preferably one with room for all of it.
fn grouped(view: &View<'_>, counts: &[u32], effects: &Effects) -> Vec<CpuSet> {
    let strength = |i: usize| (0..counts.len()).map(|j| effects.between(i, j).abs()).sum::<f64>();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|&a, &b| strength(b).total_cmp(&strength(a)).then(counts[b].cmp(&counts[a])));
    let mut placed = vec![CpuSet::new(); counts.len()];
    let mut free = view.layout.cores();
    for program in order {
        let mut lacking = counts[program] as usize;
        while lacking > 0 {
            let open = |cache: &CpuSet| {
                !cache.intersection(&free).intersection(&view.masks[program]).is_empty()
            };
            let effect = |cache: &CpuSet| effect_in(program, cache, &placed, effects);
            let room = |cache: &CpuSet| {
                cache.intersection(&free).intersection(&view.masks[program]).len().min(lacking)
            };
            let best = caches(view)
                .filter(open)
                .max_by(|a, b| room(a).cmp(&room(b)).then(effect(a).total_cmp(&effect(b))));
            let Some(cache) = best else { break };
            let taken: CpuSet = cache
                .intersection(&free)
                .intersection(&view.masks[program])
                .iter()
                .take(lacking)
                .collect();
            lacking -= taken.len();
            free = free.difference(&taken);
            placed[program] = placed[program].union(&taken);
        }
    }
    placed
}

/// The effects between a program and those in a cache.
fn effect_in(program: usize, cache: &CpuSet, placed: &[CpuSet], effects: &Effects) -> f64 {
    let there =
        (0..placed.len()).filter(|&i| i != program && !placed[i].intersection(cache).is_empty());
    there.map(|i| effects.between(program, i)).sum()
}

/// Improves a placement: as long as possible, the two programs of the same size with the largest
/// gain swap their places.
fn improved(view: &View<'_>, mut placed: Vec<CpuSet>, effects: &Effects) -> Vec<CpuSet> {
    for _ in 0..4 * placed.len() {
        let now = gain(view, &placed, effects);
        let mut best = (now + 1e-9, None);
        for a in 0..placed.len() {
            for b in 0..a {
                if may_swap(view, &placed, a, b) {
                    placed.swap(a, b);
                    let then = gain(view, &placed, effects);
                    placed.swap(a, b);
                    if then > best.0 {
                        best = (then, Some((a, b)));
                    }
                }
            }
        }
        let Some((a, b)) = best.1 else { break };
        placed.swap(a, b);
    }
    placed
}

fn may_swap(view: &View<'_>, placed: &[CpuSet], a: usize, b: usize) -> bool {
    placed[a].len() == placed[b].len()
        && placed[a].is_subset(&view.masks[b])
        && placed[b].is_subset(&view.masks[a])
}
