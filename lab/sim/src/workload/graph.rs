//! Recorded task graphs of real runs.

use sinew_policy::graph::{Call, Graph, Token};

use super::Workload;
use crate::queue::Time;

/// No node.
const NONE: u32 = u32::MAX;

/// A task from its beginning, or from one of its joins, to the next join.
#[derive(Debug, Clone, Copy)]
struct Part {
    work: Time,
    /// Index of its first child in the list of all children.
    first: u32,
    count: u32,
    /// The part after the join.
    sequel: u32,
    /// The part that begins the loop of which this part is a piece or an offer.
    of_loop: u32,
}

/// A recorded task graph as a program.
///
/// Tasks are spawned in the recorded order, and the first one is called. Pieces of a loop are
/// leaves of a binary tree without work of its own. A join of a loop with an almost empty task is
/// the runtime's offer to helpers: a thief of that task takes part in the loop, as does a thief of
/// a piece. Time spent outside the pool before a call is work of the call's root. So a program with
/// short calls and long gaps gains as little here as in reality.
///
/// # Cost
///
/// 24 bytes per part and four per task.
#[derive(Debug, Clone)]
pub struct Recorded {
    parts: Vec<Part>,
    children: Vec<u32>,
    roots: Vec<u32>,
}

/// An open bracket.
struct Open {
    /// The part that the bracket ends.
    part: u32,
    is_loop: bool,
    /// The first part of each task so far.
    tasks: Vec<u32>,
}

impl Recorded {
    /// The program of a recording.
    ///
    /// # Panics
    ///
    /// If it has 2³² parts or more.
    pub fn new(graph: &Graph) -> Self {
        let mut recorded = Self { parts: Vec::new(), children: Vec::new(), roots: Vec::new() };
        for call in graph.calls() {
            let root = recorded.add_call(call);
            recorded.roots.push(root);
        }
        if recorded.roots.is_empty() {
            let root = recorded.part(0);
            recorded.roots.push(root);
        }
        recorded
    }

    fn part(&mut self, work: Time) -> u32 {
        let number = u32::try_from(self.parts.len()).expect("fewer parts than numbers");
        self.parts.push(Part { work, first: 0, count: 0, sequel: NONE, of_loop: NONE });
        number
    }

    fn add_call(&mut self, call: &Call) -> u32 {
        let root = self.part(call.gap);
        let mut present = root;
        let mut open: Vec<Open> = Vec::new();
        for token in call.tokens() {
            match token {
                Token::Work(work) => self.parts[present as usize].work += work,
                Token::Fork | Token::Loop => {
                    let first = self.part(0);
                    open.push(Open {
                        part: present,
                        is_loop: *token == Token::Loop,
                        tasks: vec![first],
                    });
                    present = first;
                }
                // A valid graph has brackets around these.
                Token::Next => {
                    present = self.part(0);
                    if let Some(open) = open.last_mut() {
                        open.tasks.push(present);
                    }
                }
                Token::Join => {
                    if let Some(closed) = open.pop() {
                        present = self.close(closed);
                    }
                }
            }
        }
        root
    }

    /// Closes a bracket whose tasks are all known. Returns the part after it.
    fn close(&mut self, Open { part, is_loop, tasks }: Open) -> u32 {
        let children =
            if is_loop { self.halve(&tasks, part) } else { tasks.iter().rev().copied().collect() };
        if let (false, &[caller, helper]) = (is_loop, &tasks[..]) {
            self.offer(caller, helper);
        }
        self.set_children(part, &children);
        let sequel = self.part(0);
        self.parts[part as usize].sequel = sequel;
        sequel
    }

    fn set_children(&mut self, part: u32, children: &[u32]) {
        let first = u32::try_from(self.children.len()).expect("fewer tasks than numbers");
        let part = &mut self.parts[part as usize];
        (part.first, part.count) = (first, children.len() as u32);
        self.children.extend_from_slice(children);
    }

    /// The back half and the front half of these pieces of the loop of `head`, as tasks; a single
    /// piece is returned unchanged.
    fn halve(&mut self, pieces: &[u32], head: u32) -> Vec<u32> {
        let halves = match pieces {
            [] | [_] | [_, _] => pieces.iter().rev().copied().collect(),
            _ => {
                let (front, back) = pieces.split_at(pieces.len() / 2);
                [back, front].map(|half| self.inner(half, head)).to_vec()
            }
        };
        halves.iter().for_each(|&half| self.parts[half as usize].of_loop = head);
        halves
    }

    fn inner(&mut self, pieces: &[u32], head: u32) -> u32 {
        if let [piece] = pieces {
            return *piece;
        }
        let children = self.halve(pieces, head);
        let inner = self.part(0);
        self.set_children(inner, &children);
        inner
    }

    /// If the first arm of a join is a loop and the second arm is only a part of it, the second arm
    /// becomes the offer to take part.
    fn offer(&mut self, caller: u32, helper: u32) {
        let is_helper = self.is_loop(helper) || self.is_single(helper);
        if !(self.is_loop(caller) && is_helper) {
            return;
        }
        // The helper's parts come after it.
        for part in &mut self.parts[helper as usize..] {
            if part.of_loop == helper {
                part.of_loop = caller;
            }
        }
        self.parts[helper as usize].of_loop = caller;
    }

    /// Whether a task consists of a loop only.
    fn is_loop(&self, task: u32) -> bool {
        let Part { first, count, sequel, .. } = self.parts[task as usize];
        let piece = self.children.get(first as usize).filter(|_| count > 0);
        let hangs_here = piece.is_some_and(|&piece| self.parts[piece as usize].of_loop == task);
        hangs_here && self.is_single(sequel)
    }

    /// Whether a part only works and has no successor.
    fn is_single(&self, part: u32) -> bool {
        let Part { count, sequel, .. } = self.parts[part as usize];
        count == 0 && sequel == NONE
    }
}

impl Workload for Recorded {
    type Node = u32;

    fn roots(&self) -> usize {
        self.roots.len()
    }

    fn root(&self, number: usize) -> u32 {
        self.roots[number]
    }

    fn tasks(&self) -> Option<u64> {
        Some((self.roots.len() + self.children.len()) as u64)
    }

    #[inline]
    fn work(&self, node: &u32) -> Time {
        self.parts[*node as usize].work
    }

    #[inline]
    fn children(&self, node: &u32) -> u32 {
        self.parts[*node as usize].count
    }

    #[inline]
    fn child(&self, node: &u32, number: u32) -> u32 {
        self.children[(self.parts[*node as usize].first + number) as usize]
    }

    fn sequel(&self, node: &u32) -> Option<u32> {
        let sequel = self.parts[*node as usize].sequel;
        (sequel != NONE).then_some(sequel)
    }

    fn has_sequels(&self) -> bool {
        true
    }

    #[inline]
    fn of_loop(&self, node: &u32) -> Option<u32> {
        let of_loop = self.parts[*node as usize].of_loop;
        (of_loop != NONE).then_some(of_loop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Serial;
    use super::*;
    use crate::{Costs, Setup, Simulation, Waiting};
    use sinew_policy::Wait;

    fn recorded(calls: &str) -> Recorded {
        let text = format!("sinew graph 1\n{calls}end {}\n", calls.lines().count());
        Recorded::new(&text.parse().expect("a graph"))
    }

    /// Catches: work that is lost, done twice, or parallel to work that it depends on.
    #[test]
    fn work_and_span_are_those_that_can_be_computed_by_hand() {
        for (calls, tasks, work, span) in [
            ("", 1, 0, 0),
            ("7: 5\n", 1, 12, 12),
            ("0: 5(10|20)3\n", 3, 38, 28),
            ("0: 1(10(2|3)4|6(5|5)7|8)9\n", 8, 60, 28),
            ("0: {5|6|7|8|9}2\n", 9, 37, 11),
            ("1: 2(3|4)\n5: (6|7)\n", 6, 28, 19),
        ] {
            assert_eq!(Serial::of(&recorded(calls)), Serial { tasks, work, span }, "{calls}");
        }
    }

    /// Catches: a sequel that begins before the join, runs twice, or never; a span without the
    /// thief's part.
    #[test]
    fn a_recording_takes_its_span_where_nothing_costs_anything_and_there_are_enough_workers() {
        let graph = recorded(
            "3: 1000(4000(200|300)400|600(500|500)7000|8000)900{40|50|60}1\n10: (5000|5000|1|2)3\n",
        );
        let serial = Serial::of(&graph);
        for wait in [Wait::Block, Wait::Descendants, Wait::Leapfrog, Wait::Any]
            .map(Waiting::Runtime)
            .into_iter()
            .chain([Waiting::Thief])
        {
            for workers in [1, 2, 3, 16] {
                let setup = Setup {
                    wait,
                    stack: crate::Stack::Open,
                    costs: Costs::ZERO,
                    ..Setup::new(workers)
                };
                let report =
                    Simulation::new(setup, &graph).expect("a setup").run().expect("no violation");
                assert_eq!(
                    (report.work, report.span),
                    (serial.work, serial.span),
                    "{wait:?} {workers}"
                );
                if workers == 16 && wait == Waiting::Runtime(Wait::Any) {
                    assert_eq!(report.time, serial.span);
                }
            }
        }
    }

    /// Catches: a helper of a loop that counts as an independent task, or a task that counts as a
    /// helper.
    #[test]
    fn a_thief_of_the_second_arm_beside_a_loop_takes_part_in_it() {
        for (calls, pieces) in [
            ("0: 5{1|2|3|4}\n", 6),
            ("0: 5(2{1|2|3|4}1|3)\n", 7),
            ("0: 5(2{1|2|3|4}1|3{5|6}1)\n", 9),
            ("0: ({1|2}|(3|4))\n", 2),
            ("0: ({1|2}(3|4)|5)\n", 2),
            ("0: (({1|2}|0)|7)\n", 3),
            ("0: (1|2)(3|4|5)\n", 0),
        ] {
            let graph = recorded(calls);
            let loops: Vec<u32> =
                graph.parts.iter().map(|part| part.of_loop).filter(|&of| of != NONE).collect();
            assert_eq!(loops.len(), pieces, "{calls}");
            assert!(loops.windows(2).all(|pair| pair[0] == pair[1]), "{calls}: {loops:?}");
        }
    }

    /// Catches: a loop whose helper steals piece by piece, waiting for a silence each time.
    #[test]
    fn a_helper_comes_to_a_loop_once() {
        let pieces: Vec<String> =
            (0..64).map(|piece| format!("{}", 9_000_000 + piece * 50_000)).collect();
        let pieces = pieces.join("|");
        for text in [format!("0: ({{{pieces}}}|0)\n"), format!("0: {{{pieces}}}\n")] {
            let graph = recorded(&text);
            let report = Simulation::new(Setup::new(2), &graph)
                .expect("a setup")
                .run()
                .expect("no violation");
            assert_eq!(report.counts.steals, 1, "{:?}", report.counts);
            assert!(report.counts.pieces > 0, "{:?}", report.counts);
            let half = report.work / 2;
            assert!(report.time < half + half / 20 + 60_000_000, "{} of {half}", report.time);
        }
        // A task for each half, each with tasks of its own: no thief sees into these.
        let tasks = recorded("0: ((9000000|9000000)|(9000000|9000000))\n");
        let report =
            Simulation::new(Setup::new(2), &tasks).expect("a setup").run().expect("no violation");
        assert_eq!(report.counts.pieces, 0);
    }

    /// Catches: a way of waiting that ignores sequels.
    #[test]
    fn tasks_with_sequels_cannot_leave_their_joins() {
        let setup = Setup::greedy(2);
        let error = Simulation::new(setup, &recorded("")).expect_err("leaves").to_string();
        assert!(error.contains("leave"), "{error}");
    }
}
