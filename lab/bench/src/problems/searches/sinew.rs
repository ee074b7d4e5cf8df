//! The searches on Sinew: worklists in two orders, and loops by levels.

use sinew_apps::{bfs, sssp};

use super::graphs::graph;
use crate::problem::Form;
use crate::runtimes::sinew;

pub(super) fn bfs() -> [Form; 3] {
    [
        sinew::form("sinew", |pool, case| pool.run(|_| bfs::fifo(graph(case))).sum()),
        sinew::form("sinew priority", |pool, case| pool.run(|_| bfs::priority(graph(case))).sum()),
        sinew::form("sinew by levels", |pool, case| {
            pool.run(|_| bfs::by_levels(graph(case))).sum()
        }),
    ]
}

pub(super) fn sssp() -> [Form; 3] {
    [
        sinew::form("sinew", |pool, case| pool.run(|_| sssp::priority(graph(case))).sum()),
        sinew::form("sinew fifo", |pool, case| pool.run(|_| sssp::fifo(graph(case))).sum()),
        sinew::form("sinew by levels", |pool, case| {
            pool.run(|_| sssp::by_levels(graph(case))).sum()
        }),
    ]
}
