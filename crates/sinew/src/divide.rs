//! Divide and conquer.

use sinew_core::{Cancelled, Control, Course, Worker};

/// What becomes of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<P, R> {
    /// It was small enough to be solved at once.
    Solved(R),
    /// It falls into two.
    Split(P, P),
}

/// Solves `problem` by splitting it as long as `step` says, and combines the solutions of both
/// parts, the first on the left.
///
/// The tree of calls is the same however many workers there are, so `combine` need not be
/// associative.
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
        Step::Solved(solution) => {
            w.serve_calls();
            solution
        }
        Step::Split(left, right) => {
            let (left, right) =
                w.join(|w| solve(w, left, step, combine), |w| solve(w, right, step, combine));
            combine(left, right)
        }
    }
}

/// The whole problem, as a [`Snapshot`](crate::Snapshot) counts it: each split gives both parts
/// half of what there is, and what is solved is done.
const WHOLE: u32 = 1 << 20;

/// [`divide_and_conquer`] that ends early when `control` is cancelled, and says how far it is.
///
/// How large a part is nobody knows before it is solved. So a [`Snapshot`](crate::Snapshot) counts
/// the problem as 2^20 items, of which each split gives both parts half. The number of threads and
/// the mapping are looked at between two steps: no more workers than wished take up parts. One that
/// is too many goes on with the part that it has.
///
/// # Errors
///
/// [`Cancelled`] if the control was cancelled before all was solved. Steps under way are ended, no
/// others are taken, and solutions that exist by then are dropped.
///
/// # Panics
///
/// If `step` or `combine` does.
///
/// # Cost
///
/// Some nanoseconds for each step, besides those of a join.
///
/// ```
/// use sinew::{Cancelled, Control, Step, divide_and_conquer_under};
///
/// let control = Control::new();
/// let step = |n: u64| if n < 2 { Step::Solved(n) } else { Step::Split(n - 1, n - 2) };
/// assert_eq!(divide_and_conquer_under(&control, 20, step, |a, b| a + b), Ok(6765));
/// assert_eq!(control.snapshot().fraction(), 1.0);
///
/// // Would take for ever.
/// let step = |n: u64| {
///     if n == 100 {
///         control.cancel();
///     }
///     Step::Split(n + 1, n + 1)
/// };
/// assert_eq!(divide_and_conquer_under(&control, 0, step, |(), ()| ()), Err(Cancelled));
/// ```
pub fn divide_and_conquer_under<P, R, S, C>(
    control: &Control,
    problem: P,
    step: S,
    combine: C,
) -> Result<R, Cancelled>
where
    P: Send,
    R: Send,
    S: Fn(P) -> Step<P, R> + Sync,
    C: Fn(R, R) -> R + Sync,
{
    crate::run(|w| {
        let course = Course::begin(control, u64::from(WHOLE))?;
        let under = Under { course, step: &step, combine: &combine };
        let participant = under.course.take_part(w);
        let solution = under.solve(w, problem, WHOLE);
        drop(participant);
        under.course.end();
        solution
    })
}

/// How to solve problems, and until when.
struct Under<'c, S, C> {
    course: Course<'c>,
    step: S,
    combine: C,
}

impl<S, C> Under<'_, S, C> {
    /// Solves a part that counts as so many items.
    fn solve<P, R>(&self, w: &Worker, problem: P, items: u32) -> Result<R, Cancelled>
    where
        P: Send,
        R: Send,
        S: Fn(P) -> Step<P, R> + Sync,
        C: Fn(R, R) -> R + Sync,
    {
        if self.course.is_cancelled() {
            return Err(Cancelled);
        }
        match (self.step)(problem) {
            Step::Solved(solution) => {
                if items > 0 {
                    self.course.done(w, items as usize);
                }
                Ok(solution)
            }
            Step::Split(left, right) => {
                let half = items / 2;
                let solve_left = |w: &Worker| self.solve(w, left, half);
                let (left, right) =
                    self.course.join(w, solve_left, |w| self.solve(w, right, items - half));
                Ok((self.combine)(left?, right?))
            }
        }
    }
}
