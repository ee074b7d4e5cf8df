//! What the publications say: numbers that stand in their text and tables, each with the place it
//! is from.
//!
//! Values that only a picture shows are not here: nobody can read them off exactly.

pub mod openskel;
pub mod plastic;
pub mod queues;
pub mod thesis;
pub mod wool;
