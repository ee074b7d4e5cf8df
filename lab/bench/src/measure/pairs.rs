//! Two ways to do the same, in turn: the time of the second as a share of the first's.
//!
//! Each round runs both, and the first once more; a bar close to 1 grows by how far two runs of the
//! same thing are apart.

use super::line::{Line, Unit};
use crate::statistics::median;
use sinew_sync::clock::now_ns;

/// The time of `second` over that of `first`, round by round.
pub(super) fn compare(
    what: String,
    rounds: usize,
    mut first: impl FnMut(),
    mut second: impl FnMut(),
    (limit, bar): (f64, &'static str),
) -> Option<Line> {
    let (ratios, noise): (Vec<f64>, Vec<f64>) = (0..rounds)
        .map(|_| {
            let (first_ns, second_ns, again_ns) =
                (timed(&mut first), timed(&mut second), timed(&mut first));
            (2.0 * second_ns / (first_ns + again_ns), again_ns / first_ns)
        })
        .unzip();
    let (ratio, same) = (median(&ratios)?, median(&noise)?);
    let line = Line::pair(what, ("ratio", ratio), ("twice the same", same), Unit::Number);
    Some(line.at_most("ratio", limit.max(1.0 + (same - 1.0).abs()), bar))
}

fn timed(run: &mut impl FnMut()) -> f64 {
    let start = now_ns();
    run();
    (now_ns() - start) as f64
}
