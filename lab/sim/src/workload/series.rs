//! Repeated fork and join with serial parts between.

use super::Workload;
use crate::queue::Time;
use crate::random::Duration;

/// A program that runs `times` times, each time after a serial part.
///
/// The serial fraction bounds the speed-up by Amdahl's law.
#[derive(Debug, Clone)]
pub struct Series<W> {
    program: W,
    times: usize,
    serial: Duration,
}

impl<W: Workload> Series<W> {
    /// `times` (at least 1) repetitions of `serial` and `program`.
    pub fn new(program: W, times: usize, serial: Duration) -> Self {
        Self { program, times: times.max(1), serial }
    }
}

/// A serial part, whose only child is the program, or a task of the program.
#[derive(Debug, Clone, Copy)]
pub enum Step<N> {
    /// The serial part before this repetition.
    Serial(usize),
    /// A task of the program.
    Task(N),
}

impl<W: Workload> Workload for Series<W> {
    type Node = Step<W::Node>;

    fn roots(&self) -> usize {
        self.times * self.program.roots()
    }

    fn root(&self, number: usize) -> Self::Node {
        match number % self.program.roots() {
            0 => Step::Serial(number),
            part => Step::Task(self.program.root(part)),
        }
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.times as u64 * (1 + self.program.tasks()?))
    }

    fn work(&self, node: &Self::Node) -> Time {
        match node {
            Step::Serial(number) => self.serial.draw(crate::random::mix(*number as u64)),
            Step::Task(node) => self.program.work(node),
        }
    }

    fn children(&self, node: &Self::Node) -> u32 {
        match node {
            Step::Serial(_) => 1,
            Step::Task(node) => self.program.children(node),
        }
    }

    fn child(&self, node: &Self::Node, number: u32) -> Self::Node {
        match node {
            Step::Serial(_) => Step::Task(self.program.root(0)),
            Step::Task(node) => Step::Task(self.program.child(node, number)),
        }
    }

    fn stolen(&self, node: &Self::Node) -> Self::Node {
        match node {
            Step::Serial(_) => *node,
            Step::Task(node) => Step::Task(self.program.stolen(node)),
        }
    }
}
