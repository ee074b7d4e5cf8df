//! Loops whose range is halved recursively, by joins, as rayon's `bridge` does.
//!
//! There is no chunk source: the task stacks hold the halves that no worker has begun. A thief
//! finds the largest half first, and the pool's victim policy chooses the victim. A worker that
//! waits for a stolen half helps its thief. The [`Splitter`] decides how deep to cut.
//!
//! Invariants: D1 to D3 of the [`driver`](super::driver) hold; the blocks that bodies get are those
//! of B1 in [`sinew_policy::split`].
//!
//! # Cost
//!
//! A join for each cut, and no allocation; an indirect call and a local state for each block.

use sinew_policy::split::{Block, Splitter, halves, volume};

use super::ending::Ending;
use sinew_core::Worker;
use std::ops::ControlFlow;

/// Calls `body` with disjoint blocks that cover `space`, on several workers at once, until a call
/// returns `Break`.
///
/// This is compiled for each type of `body`, which loops share because it has a pointer to theirs.
///
/// # Panics
///
/// With the payload of the first body that panicked, after all participants have left.
pub(super) fn split<const N: usize>(
    w: &Worker,
    space: Block<N>,
    splitter: Splitter,
    grain: [usize; N],
    body: impl Fn(Block<N>) -> ControlFlow<()> + Sync,
) {
    if volume(&space) != Some(0) {
        let cuts = Cuts { grain, ending: Ending::default(), body };
        cuts.cut(w, space, splitter);
        cuts.ending.rethrow();
    }
}

struct Cuts<F, const N: usize> {
    grain: [usize; N],
    ending: Ending,
    body: F,
}

impl<F, const N: usize> Cuts<F, N>
where
    F: Fn(Block<N>) -> ControlFlow<()> + Sync,
{
    fn cut(&self, w: &Worker, block: Block<N>, splitter: Splitter) {
        if self.ending.is_stopped() {
            return;
        }
        match splitter.halved().zip(halves(&block, &self.grain)) {
            None => self.ending.guard(|| self.work(w, block)),
            Some((splitter, (left, right))) => {
                let right = |w: &Worker, stolen: bool| {
                    self.cut(w, right, if stolen { splitter.stolen() } else { splitter });
                };
                w.join_context(|w| self.cut(w, left, splitter), right);
            }
        }
    }

    fn work(&self, w: &Worker, block: Block<N>) {
        w.count_chunk();
        let pieces = w.pieces(true);
        if (self.body)(block).is_break() {
            self.ending.stop();
        }
        pieces.ended();
        w.safe_point();
        w.serve_calls();
    }
}
