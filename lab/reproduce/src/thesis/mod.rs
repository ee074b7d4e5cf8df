//! The thesis on stealing by topology and load in TBB's task scheduler: its profiles, and its
//! policies on its applications.
//!
//! | file | contents |
//! |---|---|
//! | `loops` | how the applications' loops are divided |
//! | `profiles` | the time in each of the scheduler's functions |
//! | `matrix` | every policy on every application it was measured with |
//! | `simulated` | the same on the thesis' machines, simulated |
//! | `exhibits` | all figures, and what they are held against |

mod exhibits;
mod loops;
mod matrix;
mod profiles;
mod simulated;

pub(crate) use exhibits::exhibits;

use crate::experiment::Experiment;

const PUBLICATION: &str = "Athanasios-Akanthos Chasapis, \"Optimization Techniques for Task-based \
    Parallel Programming Models\" (diploma thesis, NTUA, 2014)";

/// All experiments of the publication, in its order.
pub(crate) fn experiments() -> Vec<Experiment> {
    vec![profiles::experiment(), matrix::experiment(), simulated::experiment()]
}
