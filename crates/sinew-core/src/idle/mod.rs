//! What idle workers share and learn: no file here knows a worker.
//!
//! | file | what lives there |
//! |---|---|
//! | `sleep` | the register of searching and sleeping workers, and its protocol |
//! | `patience` | how long a worker looks, and when it offers its core |
//! | `payoff` | whether wake-ups for pushes pay |
//! | `steer` | waking a worker on another core than its waker's |

pub(crate) mod patience;
pub(crate) mod payoff;
pub(crate) mod sleep;
pub(crate) mod steer;
