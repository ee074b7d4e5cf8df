//! Atomics of the standard library in every build: for statics, which outlive the executions of a model, and for what a model
//! keeps beside itself.

pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};
