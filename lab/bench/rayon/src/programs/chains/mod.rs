//! Small everyday chains, each on [`CHAIN_ITEMS`] items, with little work for an item: what remains
//! is the cost of the iterators.
//!
//! | file | contents |
//! |---|---|
//! | [`numbers`] | chains that end in a number |
//! | [`searches`] | chains that look for an item |
//! | [`collections`] | chains that end in a collection |
//! | [`sources`] | chains over texts, maps, chunks and serial iterators, and chains in chains |

mod collections;
mod numbers;
mod searches;
mod sources;

use crate::catalogue::CHAIN_ITEMS;
use crate::inputs;
use crate::work::{Scale, Work};

/// The function that makes the input of a program; `None` if there is no such program.
pub(super) fn maker(name: &str) -> Option<fn(Scale) -> Box<dyn Work>> {
    Some(match name {
        "chain-sum" => numbers::sum,
        "chain-dot" => numbers::dot,
        "chain-flat-map" => numbers::flat_map,
        "chain-rev-step" => numbers::rev_step,
        "chain-fold" => numbers::fold,
        "chain-min-by" => numbers::min_by,
        "chain-max-key" => numbers::max_by_key,
        "chain-min-len" => numbers::min_len,
        "chain-owned" => numbers::owned,
        "chain-first" => searches::find_first,
        "chain-position" => searches::position_any,
        "chain-any" => searches::any,
        "chain-all" => searches::all,
        "chain-filter" => collections::filter_map,
        "chain-enumerate" => collections::enumerate,
        "chain-mutate" => collections::mutate,
        "chain-unzip" => collections::unzip,
        "chain-partition" => collections::partition,
        "chain-extend" => collections::extend,
        "chain-sort" => collections::sort,
        "chain-result" => collections::result,
        "chain-strings" => collections::strings,
        "chain-map-out" => collections::map_out,
        "chain-map-in" => sources::map_in,
        "chain-chunks" => sources::chunks,
        "chain-groups" => sources::groups,
        "chain-windows" => sources::windows,
        "chain-words" => sources::words,
        "chain-bridge" => sources::bridge,
        "chain-small" => sources::small,
        "chain-nested" => sources::nested,
        _ => return None,
    })
}

/// The number of items of a chain.
fn count(scale: Scale) -> usize {
    let [full, tiny] = CHAIN_ITEMS;
    scale.pick(full, tiny)
}

/// As many numbers.
fn items(scale: Scale) -> Vec<u32> {
    inputs::numbers(count(scale))
}
