//! The code that the experiments of all publications share.
//!
//! | file | contents |
//! |---|---|
//! | `subject` | an application, prepared, run in a pool and checked |
//! | `conditions` | the pool that a case runs in |
//! | `profile` | a run whose time is accounted for |

mod conditions;
mod profile;
mod subject;

pub(crate) use conditions::Conditions;
pub(crate) use profile::profiled;
pub(crate) use subject::Subject;
