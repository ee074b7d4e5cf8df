//! Searches whose edges have lengths, by a worklist and by levels.

use sinew::iter::IntoParallelRefIterator;
use sinew::iter::ParIter;
use sinew::worklist::{Order, Worklist};
use sinew_sync::atomic::{AtomicU32, Ordering};

use super::{Distances, Graph, UNREACHED};

/// A node, and a distance at which it was reached.
type Reached = (u32, u32);

/// The shortest known distances; each only falls.
struct Shortest(Vec<AtomicU32>);

impl Shortest {
    fn new(graph: &Graph) -> Self {
        let shortest: Vec<_> = (0..graph.nodes()).map(|_| AtomicU32::new(UNREACHED)).collect();
        shortest[Graph::SOURCE as usize].store(0, Ordering::Relaxed);
        Self(shortest)
    }

    /// The distance of `node` so far.
    #[inline]
    fn of(&self, node: u32) -> u32 {
        // Relaxed, here and below: a distance publishes nothing. A unit that reads an old one does
        // work that is not needed; the end of the run orders all changes before the result.
        self.0[node as usize].load(Ordering::Relaxed)
    }

    /// Records a path of this length to `node`. Whether it is shorter than all before.
    #[inline]
    fn shorten(&self, node: u32, distance: u32) -> bool {
        distance < self.of(node)
            && distance < self.0[node as usize].fetch_min(distance, Ordering::Relaxed)
    }

    fn into_distances(self) -> Distances {
        Distances(self.0.into_iter().map(AtomicU32::into_inner).collect())
    }
}

/// A search in the current pool, with a worklist in this order: a unit is a node that was reached
/// on a shorter path than before.
pub(crate) fn worklist<E: Iterator<Item = (u32, u32)>>(
    graph: &Graph,
    order: Order<Reached>,
    edges: impl Fn(u32) -> E + Sync,
) -> Distances {
    let shortest = Shortest::new(graph);
    let mut list = Worklist::from(vec![(Graph::SOURCE, 0)]).order(order);
    let report = list.run_plain(|&(node, distance), more| {
        if shortest.of(node) < distance {
            return;
        }
        for (target, length) in edges(node) {
            let through = distance + length;
            if shortest.shorten(target, through) {
                more.push((target, through));
            }
        }
    });
    report.unwrap_or_else(|error| panic!("{error}"));
    shortest.into_distances()
}

/// The same by levels: one loop over all nodes that the loop before has reached on shorter paths.
pub(crate) fn by_levels<E: Iterator<Item = (u32, u32)> + Send>(
    graph: &Graph,
    edges: impl Fn(u32) -> E + Sync,
) -> Distances {
    let shortest = Shortest::new(graph);
    let mut level = vec![(Graph::SOURCE, 0)];
    while !level.is_empty() {
        let next = level.par_iter().flat_map_iter(|&(node, distance)| {
            let is_shortest = shortest.of(node) == distance;
            let edges = is_shortest.then(|| edges(node)).into_iter().flatten();
            let shortest = &shortest;
            edges
                .map(move |(target, length)| (target, distance + length))
                .filter(move |&(target, through)| shortest.shorten(target, through))
        });
        level = next.collect();
    }
    shortest.into_distances()
}
