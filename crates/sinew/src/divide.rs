//! Divide and conquer.

use sinew_core::Worker;

/// What becomes of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<P, R> {
    /// It was small enough to be solved at once.
    Solved(R),
    /// It falls into two.
    Split(P, P),
}

/// Solves `problem` by splitting it as long as `step` says, and combines the solutions of both parts, the first on the left.
///
/// The tree of calls is the same however many workers there are, so `combine` need not be associative.
///
/// # Panics
///
/// If `step` or `combine` does.
///
/// # Cost
///
/// One [`Worker::join`] a split: about 3 ns. So `step` need not stop splitting early.
///
/// # Blocking
///
/// Until all is solved. Depth uses the thread's stack, as any recursion does.
///
/// ```
/// use sinew::{Step, divide_and_conquer};
///
/// let step = |range: std::ops::Range<u64>| match range.end - range.start {
///     1 => Step::Solved(range.start),
///     n => Step::Split(range.start..range.start + n / 2, range.start + n / 2..range.end),
/// };
/// assert_eq!(divide_and_conquer(0..1_000, step, |a, b| a + b), 499_500);
/// ```
pub fn divide_and_conquer<P, R, S, C>(problem: P, step: S, combine: C) -> R
where
    P: Send,
    R: Send,
    S: Fn(P) -> Step<P, R> + Sync,
    C: Fn(R, R) -> R + Sync,
{
    crate::run(|w| solve(w, problem, &step, &combine))
}

fn solve<P, R, S, C>(w: &Worker, problem: P, step: &S, combine: &C) -> R
where
    P: Send,
    R: Send,
    S: Fn(P) -> Step<P, R> + Sync,
    C: Fn(R, R) -> R + Sync,
{
    match step(problem) {
        Step::Solved(solution) => solution,
        Step::Split(left, right) => {
            let (left, right) = w.join(|w| solve(w, left, step, combine), |w| solve(w, right, step, combine));
            combine(left, right)
        }
    }
}
