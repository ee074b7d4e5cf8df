//! The naive Fibonacci function, with very small tasks.

use super::Workload;
use crate::queue::Time;
use crate::random::{Duration, mix};

/// `fib(n)`: spawns `fib(n - 2)`, calls `fib(n - 1)`. Every task works, leaves included.
#[derive(Debug, Clone, Copy)]
pub struct Fib {
    n: u32,
    task: Duration,
}

impl Fib {
    /// `fib(n)`, where each call takes `task` in addition to its spawn and its join.
    pub fn new(n: u32, task: Duration) -> Self {
        Self { n, task }
    }
}

impl Workload for Fib {
    type Node = (u32, u64);

    fn root(&self, _: usize) -> Self::Node {
        (self.n, mix(1))
    }

    fn tasks(&self) -> Option<u64> {
        // There is one call fewer than there are leaves.
        let leaves = (0..self.n).fold((1, 1), |(a, b), _| (b, a + b)).0;
        Some(2 * leaves - 1)
    }

    #[inline]
    fn work(&self, &(_, seed): &Self::Node) -> Time {
        self.task.draw(seed)
    }

    #[inline]
    fn children(&self, &(n, _): &Self::Node) -> u32 {
        if n < 2 { 0 } else { 2 }
    }

    #[inline]
    fn child(&self, &(n, seed): &Self::Node, number: u32) -> Self::Node {
        (n - 2 + number, mix(seed.wrapping_add(u64::from(number))))
    }
}
