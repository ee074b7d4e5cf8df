//! The names of the programs, with a line about each.
//!
//! Pure data and nothing else: the driver (`bench programs`) includes this file, so that it knows
//! the names before it has built anything.

/// A condition on a program besides not being slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An application or a chain of iterators; without rayon it is a loop.
    Plain,
    /// A primitive by itself; without rayon nothing is left but its result.
    Primitive,
    /// A small everyday chain, measured with `--chains` or by name.
    Chain,
    /// Joins and next to nothing else.
    Join,
    /// Short parallel work between serial stretches: its processor time counts.
    Burst,
    /// Nothing to do: its processor time is all there is.
    Idle,
}

/// A program.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) kind: Kind,
}

const fn plain(name: &'static str, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Plain }
}

const fn primitive(name: &'static str, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Primitive }
}

const fn chain(name: &'static str, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Chain }
}

const fn join(name: &'static str, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Join }
}

const fn burst(name: &'static str, about: &'static str) -> Entry {
    Entry { name, about, kind: Kind::Burst }
}

/// Items of a full run and of a tiny run of every program of [`Kind::Chain`].
pub(crate) const CHAIN_ITEMS: [usize; 2] = [1_000_000, 20_000];

/// All programs, in the order of the tables.
pub(crate) const ALL: [Entry; 91] = [
    // Applications, called from the main thread.
    plain("matmul-join", "matrix product by quadrants, with join"),
    plain("matmul-rows", "matrix product by rows, with par_chunks_mut"),
    plain("mergesort", "merge sort and parallel merge, with join"),
    plain("quicksort", "quicksort, with join"),
    plain("sort-stable", "par_sort of integers"),
    plain("sort-unstable", "par_sort_unstable of integers"),
    plain("sort-strings", "par_sort_unstable of strings"),
    plain("sort-by-key", "par_sort_by_key of pairs, many keys equal"),
    plain("nbody-rows", "attraction of bodies, a body an item"),
    plain("nbody-pairs", "attraction of pairs, with fold and reduce"),
    plain("sieve", "primes by segments, with par_chunks_mut"),
    plain("tsp", "shortest round trip: branch and bound, with scope"),
    plain("queens", "queens on a board, with nested par_iter"),
    plain("life-rows", "the game of life by rows, with par_chunks_mut"),
    plain("life-bridge", "the game of life by rows, with par_bridge"),
    plain("stencil", "heat on a plate: many short sweeps"),
    plain("mandelbrot", "rows of very different cost"),
    plain("pi", "points in a circle, with filter and count"),
    plain("bfs", "distances in a graph, level by level, with flat_map_iter"),
    plain("histogram", "bytes counted, with fold and reduce"),
    plain("prefix-sum", "running sums in two passes over chunks"),
    plain("words", "words counted in maps, with fold and reduce"),
    plain("search-first", "first place of a word, with position_first"),
    plain("search-any", "the line that holds a word, with find_any"),
    plain("search-lines", "lines that hold a word, with filter and count"),
    // The primitives by themselves.
    join("join-fib", "Fibonacci numbers, a join a call"),
    join("join-empty", "joins of nothing with nothing"),
    join("join-deep", "joins nested in first arms"),
    primitive("join-sum", "a sum by halves, 64 numbers a leaf"),
    primitive("scope-spawn", "a scope with thousands of small tasks"),
    primitive("scope-fifo", "the same, first in, first out"),
    primitive("scope-tree", "tasks that spawn two tasks each, in one scope"),
    primitive("scope-nested", "scopes in tasks of scopes"),
    primitive("scope-in-place", "scopes whose body stays outside of the pool"),
    primitive("spawn", "detached tasks from outside"),
    primitive("broadcast", "a call on every thread"),
    primitive("install", "small calls from outside into a pool of its own"),
    primitive("join-outside", "joins from outside of the pool"),
    primitive("pool-start", "pools built, used once and stopped"),
    // Iterators.
    plain("iter-sum", "map and sum of a range"),
    plain("iter-collect", "map and collect, length known"),
    plain("iter-filter", "filter and collect, length unknown"),
    plain("iter-flat-map", "flat_map of ranges, and sum"),
    plain("iter-zip", "for_each over three slices"),
    plain("iter-fold", "fold and reduce of a minimum and a maximum"),
    plain("iter-extend", "par_extend of a vector"),
    plain("iter-chunks", "sums of chunks"),
    plain("iter-bridge", "par_bridge of a serial iterator"),
    plain("iter-find", "find_first behind three quarters of the items"),
    plain("iter-list", "filter and collect into a linked list"),
    plain("iter-map", "collect into a hash map"),
    plain("iter-chars", "characters of a string counted"),
    plain("iter-unzip", "unzip into two vectors"),
    plain("iter-tiny", "a hundred items at a time, inside of the pool"),
    // Everyday chains.
    chain("chain-sum", "map, filter, map and sum"),
    chain("chain-dot", "zip, map and sum of floating-point numbers"),
    chain("chain-flat-map", "flat_map_iter and sum, 20 items each"),
    chain("chain-rev-step", "skip, rev, step_by, enumerate and sum"),
    chain("chain-fold", "fold and reduce of a sum and a count"),
    chain("chain-min-by", "min_by of floating-point numbers"),
    chain("chain-max-key", "max_by_key"),
    chain("chain-min-len", "with_min_len, map and sum"),
    chain("chain-owned", "into_par_iter of a vector, map and sum"),
    chain("chain-first", "find_first behind two thirds of the items"),
    chain("chain-position", "position_any behind two thirds of the items"),
    chain("chain-any", "any, which finds nothing"),
    chain("chain-all", "all, which finds nothing"),
    chain("chain-filter", "filter_map and collect"),
    chain("chain-enumerate", "zip, enumerate, map and collect"),
    chain("chain-mutate", "par_iter_mut, enumerate and for_each"),
    chain("chain-unzip", "filter, map and unzip"),
    chain("chain-partition", "partition"),
    chain("chain-extend", "par_extend of a vector that is not empty"),
    chain("chain-sort", "filter, collect and par_sort_unstable"),
    chain("chain-result", "collect into a Result of a vector"),
    chain("chain-strings", "map to strings and collect"),
    chain("chain-map-out", "filter and collect into a hash map"),
    chain("chain-map-in", "par_iter of a hash map, map and sum"),
    chain("chain-chunks", "par_chunks, map and collect"),
    chain("chain-groups", "chunks of a chain, map and collect"),
    chain("chain-windows", "par_windows, filter and count"),
    chain("chain-words", "par_split_whitespace, map and sum"),
    chain("chain-bridge", "par_bridge of lines, map and sum"),
    chain("chain-small", "map and sum of 100 items, called from outside of the pool"),
    chain("chain-nested", "map of chains of 100 items each, and max"),
    // Work that comes in bursts, and no work.
    burst("bursts-scope", "8 jobs of 1 µs in a scope, 100 µs of serial work"),
    burst("bursts-iter", "8 jobs of 1 µs by par_iter, 100 µs of serial work"),
    burst("bursts-inside", "the same, the serial work on a thread of the pool"),
    burst("bursts-sleep", "8 jobs of 1 µs in a scope, 200 µs of sleep"),
    burst("bursts-many", "64 jobs of 5 µs by par_iter, 50 µs of serial work"),
    Entry { name: "idle", about: "a pool that has nothing to do", kind: Kind::Idle },
];
