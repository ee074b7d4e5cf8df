//! The programs: a file for each, or for each small family.
//!
//! All of them are called from the main thread, as programs that use rayon do. [`inside`] marks the
//! exceptions: programs that measure a primitive by itself run on a thread of the pool.

mod bfs;
mod bursts;
mod chains;
mod collects;
mod grids;
mod histogram;
mod iterators;
mod joins;
mod life;
mod matmul;
mod mergesort;
mod nbody;
mod pools;
mod queens;
mod quicksort;
mod sampling;
mod scopes;
mod search;
mod sieve;
mod sorts;
mod tsp;

use crate::inputs::numbers;
use crate::work::{Scale, Work};

/// Makes the input of the program called `name`; `None` if there is no such program.
pub(crate) fn prepare(name: &str, scale: Scale) -> Option<Box<dyn Work>> {
    let make: fn(Scale) -> Box<dyn Work> = match name {
        "matmul-join" => matmul::by_quadrants,
        "matmul-rows" => matmul::by_rows,
        "mergesort" => mergesort::program,
        "quicksort" => quicksort::program,
        "sort-stable" => sorts::stable,
        "sort-unstable" => sorts::unstable,
        "sort-strings" => sorts::strings,
        "sort-by-key" => sorts::by_key,
        "nbody-rows" => nbody::by_rows,
        "nbody-pairs" => nbody::by_pairs,
        "sieve" => sieve::program,
        "tsp" => tsp::program,
        "queens" => queens::program,
        "life-rows" => life::by_rows,
        "life-bridge" => life::by_bridge,
        "stencil" => grids::stencil,
        "mandelbrot" => grids::mandelbrot,
        "pi" => sampling::pi,
        "bfs" => bfs::program,
        "histogram" => histogram::bytes,
        "prefix-sum" => histogram::prefix_sum,
        "words" => histogram::words,
        "search-first" => search::first,
        "search-any" => search::any,
        "search-lines" => search::lines,
        "join-fib" => joins::fib,
        "join-empty" => joins::empty,
        "join-deep" => joins::deep,
        "join-sum" => joins::sum,
        "scope-spawn" => scopes::spawn,
        "scope-fifo" => scopes::fifo,
        "scope-tree" => scopes::tree,
        "scope-nested" => scopes::nested,
        "scope-in-place" => scopes::in_place,
        "spawn" => scopes::detached,
        "broadcast" => pools::broadcast,
        "install" => pools::install,
        "join-outside" => pools::join_outside,
        "pool-start" => pools::start,
        "iter-sum" => iterators::sum,
        "iter-collect" => collects::indexed,
        "iter-filter" => collects::filtered,
        "iter-flat-map" => iterators::flat_map,
        "iter-zip" => iterators::zip,
        "iter-fold" => iterators::fold,
        "iter-extend" => collects::extend,
        "iter-chunks" => iterators::chunks,
        "iter-bridge" => iterators::bridge,
        "iter-find" => iterators::find,
        "iter-list" => collects::list,
        "iter-map" => collects::map,
        "iter-chars" => iterators::chars,
        "iter-unzip" => collects::unzip,
        "iter-tiny" => iterators::tiny,
        "bursts-scope" => bursts::scope,
        "bursts-iter" => bursts::iter,
        "bursts-inside" => bursts::inside_the_pool,
        "bursts-sleep" => bursts::sleep,
        "bursts-many" => bursts::many,
        "idle" => bursts::idle,
        _ => chains::maker(name)?,
    };
    Some(make(scale))
}

/// Runs `body` on a thread of the global pool.
fn inside<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| body())
}
