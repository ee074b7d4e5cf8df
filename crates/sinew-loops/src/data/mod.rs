//! The data of loops: items that participants visit, and outputs that they fill.
//!
//! The crates above forbid unsafe code. This module has the primitives that need it, with
//! interfaces that are sound for safe code. A loop takes its [`Items`] by value, and requests each
//! index once, because each index is claimed once from a chunk source.
//!
//! | file | contents |
//! |---|---|
//! | `items` | [`Items`]: slices and mutable slices, in pieces |
//! | `ranges` | ranges of integers and characters |
//! | `adapt` | chunks, pairs and numbers of items |
//! | `slices`, `cuts` | windows and chunks of slices; items whose borders are found by a search |
//! | `repeat` | clones of a value |
//! | `text`, `bytes` | the characters and parts of a text; searches of bytes |
//! | `owned`, `drain` | the elements of a vector, or of a part of one, by value |
//! | `tiles` | the tiles of a grid that is stored row by row in a slice |
//! | `edge`, `neighbourhood`, `band` | stencils: the elements around an element |
//! | `rows` | three-dimensional arrays in tiles of whole rows |
//! | `output` | a vector that is filled in any order and drops exactly what was filled |
//! | `prefetch`, `stream` | prefetches, and non-temporal stores |
//! | `wide` | code for the widest vector units of the processor |

mod adapt;
mod band;
mod bytes;
mod cuts;
mod drain;
mod edge;
mod items;
mod neighbourhood;
mod output;
mod owned;
mod prefetch;
mod ranges;
mod repeat;
mod rows;
mod slices;
mod stream;
mod text;
mod tiles;
mod wide;

pub(crate) use adapt::Enumerate;
pub use adapt::{Chain, Chunks, ChunksMut};
pub(crate) use band::{Band, Field, Scratch, interior};
pub use cuts::{Cut, Cuts, CutsPiece, PartsMut, PartsMutPiece, SliceRuns, SplitSlice};
pub use drain::Drain;
pub use edge::Edge;
pub use items::{IntoItems, Items, ReadItems, SliceMut};
pub use neighbourhood::Neighbourhood;
pub(crate) use output::{Output, Writer};
pub use owned::{Owned, OwnedPiece};
pub use prefetch::{Intent, prefetch};
pub use ranges::Index;
pub use repeat::RepeatN;
pub use rows::{Row, Shape, Tile, TileOrder, tiles};
pub use slices::{
    ArrayWindows, ChunksExact, ChunksExactMut, RChunks, RChunksExact, RChunksExactMut, RChunksMut,
    Windows,
};
pub use stream::{Streams, streaming};
pub use text::{
    AsciiWhitespace, Before, Between, Bytes, CharIndices, CharIndicesPiece, Chars, EncodeUtf16,
    Lines, MatchIndices, Matches, Pattern, SplitText, TextParts, Whitespace, WithMatch, Words,
};
pub use tiles::{TileMut, TilesMut, TilesPiece};
pub use wide::wide;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
