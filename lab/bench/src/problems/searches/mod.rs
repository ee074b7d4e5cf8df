//! Two problems: breadth-first search, and shortest paths, in graphs of three shapes.
//!
//! An operation is a node of the graph. Graphs are made before the first run; a result is the sum
//! of all distances. The rows of ours are worklists in FIFO order and with priorities, of which
//! `sinew` is the one of the application, and loops by levels. `serial` is a queue, or Dijkstra's
//! algorithm with a heap.

mod graphs;
mod petgraph;
mod sinew;

use sinew_apps::{bfs, sssp};

use crate::problem::{Bar, Case, Form, Limit, Measure, Problem, Row, Scale, Team};
use graphs::graph;

pub(crate) const BFS: Problem = Problem {
    name: "bfs",
    about: "breadth-first search by worklists and by levels",
    unit: "node",
    serial: |case| bfs::serial(graph(case)).sum(),
    forms: || with_petgraph(sinew::bfs(), petgraph::bfs()),
    cases: |scale| cases(scale, 1_000_000),
    warm,
    counted: None,
    in_processes: false,
    bars: &BARS,
};

pub(crate) const SSSP: Problem = Problem {
    name: "sssp",
    about: "shortest paths by worklists and by levels",
    unit: "node",
    serial: |case| sssp::serial(graph(case)).sum(),
    forms: || with_petgraph(sinew::sssp(), petgraph::sssp()),
    cases: |scale| cases(scale, 400_000),
    warm,
    counted: None,
    in_processes: false,
    bars: &BARS,
};

const BARS: [Bar; 2] = [
    Bar {
        case: "",
        what: "a worklist at least as fast as by levels",
        measure: Measure::Ratio(Row("sinew", Team::All), Row("sinew by levels", Team::All)),
        limit: Limit::AtMost(1.0),
    },
    Bar {
        case: "",
        what: "a worklist not slower than petgraph",
        measure: Measure::Ratio(Row("sinew", Team::All), Row("petgraph", Team::One)),
        limit: Limit::AtMost(1.0),
    },
];

fn with_petgraph(ours: [Form; 3], petgraph: Form) -> Vec<Form> {
    ours.into_iter().chain([petgraph]).collect()
}

/// A case for each shape; its kind is the number of the shape, its size the number of nodes.
fn cases(scale: Scale, full: u64) -> Vec<Case> {
    let size = scale.pick(full, 900);
    let case = |(kind, label)| Case { label, size, kind, repeats: 1, operations: size };
    (0..).zip(["random", "grid", "power"]).map(case).collect()
}

fn warm(case: &Case) -> Case {
    Case { label: "warm", size: 400, operations: 400, ..*case }
}
