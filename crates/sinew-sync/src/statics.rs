//! Atomics of the standard library in every build: for statics, which outlive the executions of a
//! model, for what a model keeps beside itself, and for memory that other processes share.

pub use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, fence,
};
