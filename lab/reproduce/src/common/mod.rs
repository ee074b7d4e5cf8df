//! The code that the experiments of all publications share.
//!
//! | file | contents |
//! |---|---|
//! | `subject` | an application, prepared, run in a pool and checked |
//! | `conditions` | the pool that a case runs in |
//! | `place` | the mapping that the user has requested |
//! | `profile` | a run whose time is accounted for |
//! | `character` | work and span of a program, without disturbances |
//! | `machines` | versions of applications on simulated machines |
//! | `recorded` | the task graph of a run, simulated on another machine |

mod character;
mod conditions;
pub(crate) mod machines;
pub(crate) mod place;
mod profile;
mod recorded;
mod subject;

pub(crate) use character::Characters;
pub(crate) use conditions::Conditions;
pub(crate) use profile::profiled;
pub(crate) use recorded::{even, record, scaled, simulate};
pub(crate) use subject::Subject;
