//! The code that the experiments of all publications share.
//!
//! | file | contents |
//! |---|---|
//! | `subject` | an application, prepared, run in a pool and checked |
//! | `conditions` | the pool that a case runs in |
//! | `profile` | a run whose time is accounted for |
//! | `recorded` | the task graph of a run, simulated on another machine |

mod conditions;
mod profile;
mod recorded;
mod subject;

pub(crate) use conditions::Conditions;
pub(crate) use profile::profiled;
pub(crate) use recorded::{record, scaled, simulate};
pub(crate) use subject::Subject;
