//! What the experiments of all publications share.
//!
//! | file | what lives there |
//! |---|---|
//! | `subject` | an application, prepared, run in a pool and judged |
//! | `conditions` | the pool that a case runs in |
//! | `profile` | a run whose time is accounted for |

mod conditions;
mod profile;
mod subject;

pub(crate) use conditions::Conditions;
pub(crate) use profile::profiled;
pub(crate) use subject::Subject;
