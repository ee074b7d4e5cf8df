//! Divide and conquer.

use sinew_core::{Cancelled, Worker};
use sinew_loops::iter::{Controlled, Mode, Uncontrolled};
use sinew_loops::{Control, Operation};
use std::marker::PhantomData;

/// The next step of a problem: its solution, or two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<P, R> {
    /// The solution of a small problem.
    Solved(R),
    /// Two parts of the problem.
    Split(P, P),
}

/// Begins to divide and conquer `problem`; nothing runs until [`run`](DivideAndConquer::run).
///
/// ```
/// use sinew::{Step, divide_and_conquer};
///
/// let step = |range: std::ops::Range<u64>| match range.end - range.start {
///     1 => Step::Solved(range.start),
///     n => Step::Split(range.start..range.start + n / 2, range.start + n / 2..range.end),
/// };
/// assert_eq!(divide_and_conquer(0..1_000).run(step, |a, b| a + b), 499_500);
/// ```
pub fn divide_and_conquer<P: Send>(problem: P) -> DivideAndConquer<'static, P> {
    DivideAndConquer { problem, control: None, mode: PhantomData }
}

/// A problem that is divided and conquered, before its last call. `C` says whether it follows a
/// control: see [`Mode`].
#[derive(Debug, Clone)]
#[must_use = "nothing runs until `run`"]
pub struct DivideAndConquer<'c, P, C = Uncontrolled> {
    problem: P,
    control: Option<&'c Control>,
    mode: PhantomData<C>,
}

impl<P: Send> DivideAndConquer<'static, P> {
    /// Lets `control` change the number of threads and the mapping while it runs, and cancel it.
    ///
    /// The size of a part is not known before it is solved. So a [`Snapshot`](crate::Snapshot)
    /// counts the problem as 2^20 items, of which each split gives both parts half. Workers read
    /// the number of threads and the mapping between two steps; a surplus worker finishes its
    /// present part, and takes no other. After a cancellation the running steps end and no others
    /// begin; solutions that exist by then are dropped.
    ///
    /// # Cost
    ///
    /// Some nanoseconds for each step, besides those of a join.
    ///
    /// ```
    /// use sinew::{Cancelled, Control, Step, divide_and_conquer};
    ///
    /// let control = Control::new();
    /// let step = |n: u64| if n < 2 { Step::Solved(n) } else { Step::Split(n - 1, n - 2) };
    /// assert_eq!(divide_and_conquer(20).control(&control).run(step, |a, b| a + b), Ok(6765));
    /// assert_eq!(control.snapshot().fraction(), 1.0);
    ///
    /// // Without a control it would run for ever.
    /// let step = |n: u64| {
    ///     if n == 100 {
    ///         control.cancel();
    ///     }
    ///     Step::Split(n + 1, n + 1)
    /// };
    /// let ended = divide_and_conquer(0).control(&control).run(step, |(), ()| ());
    /// assert_eq!(ended, Err(Cancelled));
    /// ```
    pub fn control(self, control: &Control) -> DivideAndConquer<'_, P, Controlled> {
        DivideAndConquer { problem: self.problem, control: Some(control), mode: PhantomData }
    }
}

impl<P: Send, C: Mode> DivideAndConquer<'_, P, C> {
    /// Solves the problem: splits it as long as `step` returns parts, and combines the solutions of
    /// both parts, the first on the left.
    ///
    /// The tree of calls does not depend on the number of workers, so `combine` need not be
    /// associative.
    ///
    /// # Panics
    ///
    /// If `step` or `combine` does.
    ///
    /// # Cost
    ///
    /// One [`Worker::join`] a split: about 2 ns. So `step` need not stop splitting early.
    ///
    /// # Blocking
    ///
    /// Until all is solved. Depth uses the thread's stack, as any recursion does.
    pub fn run<R, S, F>(self, step: S, combine: F) -> C::Output<R>
    where
        R: Send,
        S: Fn(P) -> Step<P, R> + Sync,
        F: Fn(R, R) -> R + Sync,
    {
        let Self { problem, control, .. } = self;
        C::output(sinew_core::run(|w| match control {
            Some(control) => solve_under(w, control, problem, &step, &combine),
            None => Ok(solve(w, problem, &step, &combine)),
        }))
    }
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

/// The items of the whole problem in a [`Snapshot`](crate::Snapshot). A split gives each part half
/// of the problem's items.
const WHOLE: u32 = 1 << 20;

fn solve_under<P, R, S, C>(
    w: &Worker,
    control: &Control,
    problem: P,
    step: &S,
    combine: &C,
) -> Result<R, Cancelled>
where
    P: Send,
    R: Send,
    S: Fn(P) -> Step<P, R> + Sync,
    C: Fn(R, R) -> R + Sync,
{
    let operation = Operation::begin(control, u64::from(WHOLE))?;
    let solver = ControlledSolver { operation, step, combine };
    let participant = solver.operation.register(w);
    let solution = solver.solve(w, problem, WHOLE);
    drop(participant);
    solver.operation.end();
    solution
}

/// A problem that is solved under a control.
struct ControlledSolver<'c, S, C> {
    operation: Operation<'c>,
    step: &'c S,
    combine: &'c C,
}

impl<S, C> ControlledSolver<'_, S, C> {
    /// Solves a part that counts as `items` items.
    fn solve<P, R>(&self, w: &Worker, problem: P, items: u32) -> Result<R, Cancelled>
    where
        P: Send,
        R: Send,
        S: Fn(P) -> Step<P, R> + Sync,
        C: Fn(R, R) -> R + Sync,
    {
        if self.operation.is_cancelled() {
            return Err(Cancelled);
        }
        match (self.step)(problem) {
            Step::Solved(solution) => {
                if items > 0 {
                    self.operation.done(w, items as usize);
                }
                Ok(solution)
            }
            Step::Split(left, right) => {
                let half = items / 2;
                let solve_left = |w: &Worker| self.solve(w, left, half);
                let (left, right) =
                    self.operation.join(w, solve_left, |w| self.solve(w, right, items - half));
                Ok((self.combine)(left?, right?))
            }
        }
    }
}
