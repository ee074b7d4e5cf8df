//! Starting threads, and yielding the processor.

#[cfg(shuttle)]
pub use shuttle::thread::{Builder, JoinHandle, yield_now};

#[cfg(not(any(loom, shuttle)))]
pub use std::thread::{Builder, JoinHandle, yield_now};

#[cfg(loom)]
pub use loom::thread::{Builder, JoinHandle, yield_now};
