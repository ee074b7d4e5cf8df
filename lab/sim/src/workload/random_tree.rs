//! Trees of any shape, for tests and as a model of unknown programs.

use super::Workload;
use crate::queue::Time;
use crate::random::{Duration, mix};

/// Greatest number of children.
const MOST: u64 = 4;

/// A tree of a given number of tasks. Each task works and has up to four children, among which the
/// remaining tasks are divided at random.
#[derive(Debug, Clone, Copy)]
pub struct RandomTree {
    tasks: u64,
    task: Duration,
    seed: u64,
}

impl RandomTree {
    /// A tree of `tasks` tasks (0 counts as 1).
    pub fn new(tasks: u64, task: Duration, seed: u64) -> Self {
        Self { tasks: tasks.max(1), task, seed }
    }

    /// The first of child `number`'s tasks among the `rest` tasks below a node: random cuts, moved
    /// so that no child is empty.
    fn cut(node: &Subtree, children: u64, number: u64) -> u64 {
        if number == 0 || number == children {
            return if number == 0 { 0 } else { node.tasks - 1 };
        }
        // Cut i lies in the i-th of equal parts of the range. So the cuts are in order, and they
        // vary within their parts.
        let spare = node.tasks - 1 - children;
        let part = spare / children + 1;
        let at = mix(node.seed ^ number) % part;
        number + (number - 1) * (spare / children) + at
    }
}

/// A task, with the number of tasks of its subtree.
#[derive(Debug, Clone, Copy)]
pub struct Subtree {
    tasks: u64,
    seed: u64,
}

impl Workload for RandomTree {
    type Node = Subtree;

    fn root(&self, _: usize) -> Subtree {
        Subtree { tasks: self.tasks, seed: mix(self.seed) }
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.tasks)
    }

    fn work(&self, node: &Subtree) -> Time {
        self.task.draw(mix(node.seed ^ MOST))
    }

    fn children(&self, node: &Subtree) -> u32 {
        let most = MOST.min(node.tasks - 1);
        if most == 0 { 0 } else { 1 + (mix(!node.seed) % most) as u32 }
    }

    fn child(&self, node: &Subtree, number: u32) -> Subtree {
        let (children, number) = (u64::from(self.children(node)), u64::from(number));
        let first = Self::cut(node, children, number);
        let end = Self::cut(node, children, number + 1);
        Subtree { tasks: end - first, seed: mix(node.seed.wrapping_add(number)) }
    }
}
