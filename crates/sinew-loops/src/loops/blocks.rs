//! Loops over the blocks of a space of two or more dimensions.
//!
//! Schedules that halve a range halve a block across its longest side. For other schedules the
//! space is a grid of blocks, whose numbers, row by row, are the iterations.

use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::{Mechanism, SplitRule};
use sinew_policy::split::{Block, Grid, Splitter, halves, volume};
use sinew_sync::lock::Mutex;

use super::driver::drive;
use super::options::Options;
use super::split::split;
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// Calls `f` with disjoint blocks that cover `space`, in no particular order. No block has a side
/// longer than its `grain` (0 counts as 1), except with [`Schedule::Adaptive`], which only cuts no
/// side below its grain.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; not every block has been visited then.
///
/// # Panics
///
/// If `f` does, after every participant has left; or if there are more than `usize::MAX` blocks.
///
/// # Cost
///
/// A join for each cut with [`Schedule::Simple`] and [`Schedule::Adaptive`]; a claim and some
/// arithmetic for each block with the others.
#[inline]
#[track_caller]
pub fn for_each_block<const N: usize>(
    w: &Worker,
    space: Block<N>,
    grain: [usize; N],
    options: &Options,
    f: impl Fn(Block<N>) + Sync,
) -> Result<(), Cancelled> {
    let piece = |(): &mut (), block| {
        f(block);
        ControlFlow::Continue(())
    };
    drive_blocks(w, space, grain, options, || (), piece)
}

/// Folds disjoint blocks that cover `space` into one value.
///
/// `identity()` begins each partial result, `fold` adds a block to one, `combine` joins two, in any
/// order: it must be associative and commutative.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; partial results are dropped.
///
/// # Panics
///
/// As [`for_each_block`].
///
/// # Cost
///
/// As [`for_each_block`], and an entry of a vector for each participant, or for each block if joins
/// cut the space.
#[inline]
#[track_caller]
pub fn fold_blocks<const N: usize, A: Send>(
    w: &Worker,
    space: Block<N>,
    grain: [usize; N],
    options: &Options,
    identity: impl Fn() -> A + Sync,
    fold: impl Fn(A, Block<N>) -> A + Sync,
    combine: impl Fn(A, A) -> A,
) -> Result<A, Cancelled> {
    let partials = Mutex::new(Vec::new());
    let enter = || Partial { value: None, all: &partials };
    let piece = |partial: &mut Partial<'_, A>, block| {
        let value = partial.value.take().unwrap_or_else(&identity);
        partial.value = Some(fold(value, block));
        ControlFlow::Continue(())
    };
    drive_blocks(w, space, grain, options, enter, piece)?;
    Ok(partials.into_inner().into_iter().reduce(combine).unwrap_or_else(identity))
}

/// A participant's partial result.
struct Partial<'p, A> {
    value: Option<A>,
    all: &'p Mutex<Vec<A>>,
}

impl<A> Drop for Partial<'_, A> {
    fn drop(&mut self) {
        self.all.lock().extend(self.value.take());
    }
}

#[inline]
#[track_caller]
fn drive_blocks<const N: usize, L, E, P>(
    w: &Worker,
    space: Block<N>,
    grain: [usize; N],
    options: &Options,
    enter: E,
    piece: P,
) -> Result<(), Cancelled>
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Block<N>) -> ControlFlow<()> + Sync,
{
    // Without a grain, `Auto` would time single points. Adaptive cuts make blocks of them.
    let options = &match options.schedule {
        Schedule::Auto if grain.iter().all(|side| *side <= 1) => {
            Options { schedule: Schedule::Adaptive { grain: 1 }, ..*options }
        }
        _ => *options,
    };
    if let Some((splitter, _)) = options.splitter(w) {
        // The pool's schedule does not apply to cuts, but the call records which schedule ran.
        w.limit().schedule().of_loop(options.schedule, false);
        let body: &(dyn Fn(_) -> _ + Sync) = &|block| piece(&mut enter(), block);
        split(w, space, splitter, grain, body);
        return Ok(());
    }
    if let Mechanism::Joins { rule: SplitRule::Adaptive, .. } = Mechanism::of(options.schedule) {
        // Any worker could steal an arm of a join. So the same blocks are cut beforehand.
        let blocks = cut(space, &grain, Splitter::adaptive(options.threads.min(w.max_threads())));
        let options = Options { schedule: Schedule::Dynamic { chunk: 1 }, ..*options };
        return numbered(w, blocks.len(), &options, enter, piece, |number| blocks[number].clone());
    }
    let Some(grid) = Grid::new(space.clone(), grain) else { too_many(&space, &grain) };
    numbered(w, grid.len(), options, enter, piece, |number| grid.block(number))
}

/// A loop over the numbers of blocks.
#[inline]
fn numbered<const N: usize, L, E, P>(
    w: &Worker,
    blocks: usize,
    options: &Options,
    enter: E,
    piece: P,
    block: impl Fn(usize) -> Block<N> + Sync,
) -> Result<(), Cancelled>
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Block<N>) -> ControlFlow<()> + Sync,
{
    // The grain is in the blocks already.
    let schedule = match Mechanism::of(options.schedule) {
        Mechanism::Joins { .. } => options.schedule.with_number(1),
        _ => options.schedule,
    };
    let piece = |local: &mut L, mut numbers: Range<usize>| {
        numbers.try_for_each(|number| piece(local, block(number)))
    };
    drive(w, blocks, &Options { schedule, ..*options }, enter, piece)
}

/// The blocks into which `splitter` cuts `space` if none is stolen.
fn cut<const N: usize>(space: Block<N>, grain: &[usize; N], splitter: Splitter) -> Vec<Block<N>> {
    let mut pieces = Vec::new();
    let mut rest: Vec<_> =
        (volume(&space) != Some(0)).then_some((space, splitter)).into_iter().collect();
    while let Some((block, splitter)) = rest.pop() {
        match splitter.halved().zip(halves(&block, grain)) {
            None => pieces.push(block),
            Some((splitter, (left, right))) => rest.extend([(right, splitter), (left, splitter)]),
        }
    }
    pieces
}

#[cold]
#[track_caller]
fn too_many<const N: usize>(space: &Block<N>, grain: &[usize; N]) -> ! {
    panic!("{space:?} has more than usize::MAX blocks of {grain:?}: give a larger grain")
}
