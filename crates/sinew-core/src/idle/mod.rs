//! State that idle workers share, and their measurements. No file here imports `Worker`.
//!
//! | file | contents |
//! |---|---|
//! | `sleep` | the counts and lists of searching and sleeping workers, and their protocol |
//! | `backoff` | the end of a spin window, and when a worker yields its core |
//! | `wake_up_cost` | whether wake-ups for pushes pay |
//! | `wake_placement` | waking a worker on another core than its waker's |

pub(crate) mod backoff;
pub(crate) mod sleep;
pub(crate) mod wake_placement;
pub(crate) mod wake_up_cost;
