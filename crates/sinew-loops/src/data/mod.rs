//! The data of loops: items that participants visit, and outputs that they fill.
//!
//! The crates above forbid unsafe code. This module has the primitives that need it, with
//! interfaces that are sound for safe code. A loop takes its [`Items`] by value, and requests each
//! index once, because each index is claimed once from a chunk source.
//!
//! | file | contents |
//! |---|---|
//! | `items` | [`Items`]: slices, mutable slices and ranges, in pieces |
//! | `adapt` | chunks, pairs and numbers of items |
//! | `tiles` | the tiles of a grid that is stored row by row in a slice |
//! | `edge`, `neighbourhood`, `band` | stencils: the elements around an element |
//! | `rows` | three-dimensional arrays in tiles of whole rows |
//! | `output` | a vector that is filled in any order and drops exactly what was filled |
//! | `prefetch`, `stream` | prefetches, and non-temporal stores |
//! | `wide` | code for the widest vector units of the processor |

mod adapt;
mod band;
mod edge;
mod items;
mod neighbourhood;
mod output;
mod owned;
mod prefetch;
mod rows;
mod stream;
mod tiles;
mod wide;

pub use adapt::{Chunk, Chunks, ChunksMut, Enumerate, RangeChunks, RangeChunksPiece, Zip};
pub(crate) use band::{Band, Field, Scratch, interior};
pub use edge::Edge;
pub use items::{Index, IntoItems, Items, ReadItems, SliceMut};
pub use neighbourhood::Neighbourhood;
pub(crate) use output::{Output, Writer};
pub use owned::{Owned, OwnedPiece};
pub use prefetch::{Intent, prefetch};
pub use rows::{Row, Shape, Tile, TileOrder, tiles};
pub use stream::{Streams, streaming};
pub use tiles::{TileMut, TilesMut, TilesPiece};
pub use wide::wide;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
