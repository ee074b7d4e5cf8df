//! The values of the publications: numbers from their text and tables, each with its place.
//!
//! Values that only a picture shows are omitted, because they cannot be read off exactly.

pub mod openskel;
pub mod plastic;
pub mod queues;
pub mod thesis;
pub mod wool;
