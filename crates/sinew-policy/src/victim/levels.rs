//! The other workers by distance, each level in a private random order.
//!
//! All but the largest pools keep lists. In the largest, a list per thief would take quadratic
//! memory, so a level is kept as runs of consecutive numbers, and walked in steps that have no
//! common divisor with its length. If workers are numbered by place, a level is two runs.

use super::circle::{LONGEST_LIST, shuffled};
use super::stride::coprime_step;
use super::{Neighbours, View, below, is_near};

/// The workers of one level, in the thief's own order.
#[derive(Debug, Clone)]
pub(super) enum Members {
    Listed(Vec<usize>),
    Runs {
        /// For each run its first worker, and the number of workers before it.
        runs: Vec<(usize, usize)>,
        len: usize,
        step: usize,
        start: usize,
    },
}

impl Members {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Listed(members) => members.len(),
            Self::Runs { len, .. } => *len,
        }
    }

    /// The worker at position `place`, which must be below the length.
    pub(super) fn at(&self, place: usize) -> usize {
        match self {
            Self::Listed(members) => members[place],
            Self::Runs { runs, len, step, start } => {
                let rank =
                    ((place as u128 * *step as u128 + *start as u128) % *len as u128) as usize;
                let run = runs.partition_point(|&(_, before)| before <= rank) - 1;
                runs[run].0 + (rank - runs[run].1)
            }
        }
    }
}

/// A level: whether it is in the thief's package, its distance, and its workers.
#[derive(Debug, Clone)]
pub(super) struct Level {
    pub(super) near: bool,
    pub(super) distance: u8,
    pub(super) members: Members,
}

/// The order of levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelOrder {
    /// The thief's package first, and by distance within each part.
    PackageFirst,
    /// By distance alone; `near` has no meaning then.
    #[cfg(feature = "experiments")]
    Distance,
}

impl LevelOrder {
    fn key(self, near: bool, distance: u8) -> (bool, u8) {
        (self == Self::PackageFirst && !near, distance)
    }
}

/// All others, nearer levels first.
pub(super) fn levels(
    view: &dyn View,
    random: &mut dyn FnMut() -> u64,
    order: LevelOrder,
) -> Vec<Level> {
    if view.workers() <= LONGEST_LIST {
        listed(view, random, order)
    } else {
        in_runs(view, random, order)
    }
}

fn listed(view: &dyn View, random: &mut dyn FnMut() -> u64, order: LevelOrder) -> Vec<Level> {
    let place = |worker: usize| order.key(is_near(view, worker), view.distance(worker));
    let others = shuffled(view, random, |_| true);
    let mut levels: Vec<((bool, u8), Vec<usize>)> = Vec::new();
    for worker in others {
        let level = level_at(&mut levels, place(worker));
        levels[level].1.extend([worker]);
    }
    let level = |((far, distance), members): ((bool, u8), _)| Level {
        near: !far,
        distance,
        members: Members::Listed(members),
    };
    levels.into_iter().map(level).collect()
}

fn in_runs(view: &dyn View, random: &mut dyn FnMut() -> u64, order: LevelOrder) -> Vec<Level> {
    let place = |run: &Neighbours| order.key(run.near, run.distance);
    let mut levels: Vec<((bool, u8), Vec<Neighbours>)> = Vec::new();
    for run in view.neighbours() {
        let level = level_at(&mut levels, place(&run));
        levels[level].1.extend([run]);
    }
    let level = |((far, distance), runs): ((bool, u8), Vec<Neighbours>)| Level {
        near: !far,
        distance,
        members: walk(&runs, random),
    };
    levels.into_iter().map(level).collect()
}

/// The index of the level at `place`, which is added if it is new. There are few, and workers stay
/// in their order within each.
fn level_at<M>(levels: &mut Vec<((bool, u8), Vec<M>)>, place: (bool, u8)) -> usize {
    let index = levels.partition_point(|(other, _)| *other < place);
    if levels.get(index).is_none_or(|(other, _)| *other != place) {
        levels.insert(index, (place, Vec::new()));
    }
    index
}

fn walk(level: &[Neighbours], random: &mut dyn FnMut() -> u64) -> Members {
    let mut len = 0;
    let mut run = |run: &Neighbours| {
        let before = len;
        len += run.end - run.first;
        (run.first, before)
    };
    let runs = level.iter().map(&mut run).collect();
    Members::Runs { runs, len, step: coprime_step(len, random), start: below(len, random) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source};
    use super::*;

    fn members(level: &Level) -> Vec<usize> {
        let mut members: Vec<usize> =
            (0..level.members.len()).map(|place| level.members.at(place)).collect();
        members.sort_unstable();
        members
    }

    /// Catches: a worker that the runs leave out, visit twice, or have on another level than the
    /// list.
    #[test]
    fn runs_and_lists_have_the_same_levels_with_the_same_members() {
        for me in 0..24 {
            let (pool, mut source) = (Pool::dunnington(me), Source::new(me as u64));
            for order in [LevelOrder::PackageFirst, LevelOrder::Distance] {
                let lists = listed(&pool, &mut source.numbers(), order);
                let runs = in_runs(&pool, &mut source.numbers(), order);
                let facts = |levels: &[Level]| -> Vec<_> {
                    levels
                        .iter()
                        .map(|level| (level.near, level.distance, members(level)))
                        .collect()
                };
                assert_eq!(facts(&lists), facts(&runs));
            }
        }
    }
}
