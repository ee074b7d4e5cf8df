//! Chunk sizes of loops.
