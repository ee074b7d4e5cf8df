//! Loops: costs of iterations, and loops whose ranges are halved.

use std::ops::Range;

use sinew_policy::split::{Block, Splitter, halves};

use super::Workload;
use crate::queue::Time;
use crate::random::{Duration, mix};

/// The distribution of costs along a loop. All shapes have the same mean in expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The same for all iterations.
    Uniform,
    /// The first eighth costs as much as all the rest.
    Biased,
    /// From twice the mean down to nothing.
    Decreasing,
    /// Most iterations cost a third of the mean, a few very much more: Pareto with exponent 1.5,
    /// whose variance is infinite.
    Heavy,
}

/// Durations of a loop's iterations, as prefix sums.
#[derive(Debug, Clone)]
pub struct IterationCosts {
    sums: Vec<Time>,
    longest: Time,
}

impl IterationCosts {
    /// `n` iterations of mean `iteration` and this shape.
    ///
    /// # Cost
    ///
    /// Eight bytes per iteration.
    pub fn new(n: usize, shape: Shape, iteration: Duration, seed: u64) -> Self {
        let mut sums = Vec::with_capacity(n + 1);
        let (mut sum, mut longest) = (0, 0);
        sums.push(0);
        for at in 0..n {
            let bits = mix(mix(seed) ^ at as u64);
            let cost = shaped(shape, iteration.draw(bits), at, n, bits);
            longest = longest.max(cost);
            sum += cost;
            sums.push(sum);
        }
        Self { sums, longest }
    }

    /// Number of iterations.
    pub fn len(&self) -> usize {
        self.sums.len() - 1
    }

    /// Whether there are no iterations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Duration of a range of iterations.
    #[inline]
    pub fn of(&self, range: &Range<usize>) -> Time {
        self.sums[range.end] - self.sums[range.start]
    }

    /// Duration of all iterations.
    pub fn total(&self) -> Time {
        self.sums[self.len()]
    }

    /// Duration of the longest iteration.
    pub fn longest(&self) -> Time {
        self.longest
    }
}

/// The cost of iteration `at` of `n` with mean `mean`; `bits` are its random bits.
fn shaped(shape: Shape, mean: Time, at: usize, n: usize, bits: u64) -> Time {
    let part = |numerator: usize, denominator: usize| {
        (u128::from(mean) * numerator as u128 / denominator.max(1) as u128) as Time
    };
    match shape {
        Shape::Uniform => mean,
        Shape::Biased if at < n / 8 => 4 * mean,
        Shape::Biased => part(4, 7),
        Shape::Heavy => Duration::Pareto(mean / 3, 1.5).draw(mix(bits)),
        Shape::Decreasing => part(2 * (n - 1 - at), (n - 1).max(1)),
    }
}

/// A loop as a tree: ranges are halved by the code that the runtime uses for the schedules `simple`
/// and `adaptive`.
#[derive(Debug, Clone)]
pub struct Splits {
    costs: IterationCosts,
    splitter: Splitter,
    grain: usize,
}

impl Splits {
    /// A loop over iterations of these costs.
    pub fn new(costs: IterationCosts, splitter: Splitter, grain: usize) -> Self {
        Self { costs, splitter, grain }
    }

    /// The spawned right half and the called left half.
    fn cut(&self, node: &Piece) -> Option<[Piece; 2]> {
        let splitter = node.splitter.halved()?;
        let block: Block<1> = std::array::from_fn(|_| node.first..node.end);
        let ([left], [right]) = halves(&block, &[self.grain])?;
        Some([right, left].map(|half| Piece { first: half.start, end: half.end, splitter }))
    }
}

/// A range and its splitter.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    first: usize,
    end: usize,
    splitter: Splitter,
}

impl Workload for Splits {
    type Node = Piece;

    fn root(&self, _: usize) -> Piece {
        Piece { first: 0, end: self.costs.len(), splitter: self.splitter }
    }

    fn total_work(&self) -> Option<Time> {
        Some(self.costs.total())
    }

    fn work(&self, node: &Piece) -> Time {
        if self.cut(node).is_some() { 0 } else { self.costs.of(&(node.first..node.end)) }
    }

    fn children(&self, node: &Piece) -> u32 {
        if self.cut(node).is_some() { 2 } else { 0 }
    }

    fn child(&self, node: &Piece, number: u32) -> Piece {
        self.cut(node).map_or(*node, |halves| halves[number as usize])
    }

    fn stolen(&self, node: &Piece) -> Piece {
        Piece { splitter: node.splitter.stolen(), ..*node }
    }
}
