//! The graphs of the cases. They are made once and kept, so that no run is timed with it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use sinew_apps::graph::{Graph, Shape};

use crate::problem::Case;

/// Values that are made once for each key and kept as long as the program runs.
pub(super) struct Kept<V: 'static>(LazyLock<Mutex<HashMap<(u64, u64), &'static V>>>);

impl<V: Sync> Kept<V> {
    pub(super) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The value of this case.
    pub(super) fn get(&self, case: &Case, make: impl FnOnce() -> V) -> &'static V {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry((case.kind, case.size)).or_insert_with(|| Box::leak(Box::new(make())))
    }
}

static GRAPHS: Kept<Graph> = Kept::new();

/// The graph of a case.
pub(super) fn graph(case: &Case) -> &'static Graph {
    GRAPHS.get(case, || Shape::ALL[case.kind as usize].generate(case.size as usize))
}
