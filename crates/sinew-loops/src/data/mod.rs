//! The data of loops: disjoint items, and outputs that are not yet there.
//!
//! The crates above forbid unsafe code. The primitives that they need for it are here, and cannot
//! be misused from safe code. A loop takes its [`Items`] by value and asks for each index once,
//! because a chunk source hands each out once.
//!
//! | file | contents |
//! |---|---|
//! | `items` | [`Items`]: slices, mutable slices and ranges, by piece |
//! | `adapt` | chunks, zips and numbering of them |
//! | `tiles` | the tiles of a grid that lies row by row in a slice |
//! | `edge`, `neighbourhood`, `band` | what stencils find around an element, beyond the edges of a grid as well |
//! | `rows` | three-dimensional arrays in tiles of whole rows |
//! | `output` | a vector that is filled in any order and drops exactly what was filled |
//! | `prefetch`, `stream` | loads ahead of time, stores past the caches |
//! | `wide` | code for the vector units there are |

mod adapt;
mod band;
mod edge;
mod items;
mod neighbourhood;
mod output;
mod prefetch;
mod rows;
mod stream;
mod tiles;
mod wide;

pub use adapt::{Chunk, Chunks, ChunksMut, Enumerate, RangeChunks, RangeChunksPiece, Zip};
pub(crate) use band::{Band, Field, Scratch, middle};
pub use edge::Edge;
pub use items::{Index, IntoItems, Items, ReadItems, SliceMut};
pub use neighbourhood::Neighbourhood;
pub(crate) use output::{Output, Writer};
pub use prefetch::{Intent, prefetch};
pub use rows::{Row, Shape, Tile, TileOrder, tiles};
pub use stream::{Streams, streaming};
pub use tiles::{TileMut, TilesMut, TilesPiece};
pub use wide::wide;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
