//! What idle workers share and learn: no file here knows a worker.
//!
//! | file | what lives there |
//! |---|---|
//! | `sleep` | the register of searching and sleeping workers, and its protocol |
//! | `backoff` | how long a worker looks, and when it offers its core |
//! | `wake_up_cost` | whether wake-ups for pushes pay |
//! | `wake_placement` | waking a worker on another core than its waker's |

pub(crate) mod backoff;
pub(crate) mod sleep;
pub(crate) mod wake_placement;
pub(crate) mod wake_up_cost;
