//! The requests that this crate sets in a worker's poll word, beside the steal request.
//!
//! A worker compares its poll word at every push and safe point, and handles the requests in
//! [`Worker::look_up`](crate::Worker).

use sinew_deque::stack::reason;

/// The pool's mapping has changed: pin the thread anew.
pub(crate) const MOVE: usize = reason::own(0);

/// A call from outside waits: serve it between two pieces of work.
pub(crate) const CALLED: usize = reason::own(1);
