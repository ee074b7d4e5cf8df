//! Atomics of the standard library in every build. Statics use them, since they outlive the
//! executions of a model; so do models for their own records, and memory that other processes
//! share.

pub use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
