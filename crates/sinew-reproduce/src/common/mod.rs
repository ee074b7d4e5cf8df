//! What the experiments of all publications share.
//!
//! | file | what lives there |
//! |---|---|
//! | `subject` | an application, prepared, run in a pool and judged |
//! | `conditions` | the pool that a case runs in |

mod conditions;
mod subject;

pub(crate) use conditions::Conditions;
pub(crate) use subject::Subject;
