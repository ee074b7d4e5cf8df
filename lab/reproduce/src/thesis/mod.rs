//! The thesis on stealing by topology and load in TBB's task scheduler: its profiles, and its
//! policies on its applications.
//!
//! | file | contents |
//! |---|---|
//! | `profiles` | the time in each of the scheduler's functions |
//! | `matrix` | every policy on every application it was measured with |

mod matrix;
mod profiles;

pub(crate) use matrix::Matrix;
pub(crate) use profiles::Profiles;

/// The chapter with the profiles of the scheduler.
const PROFILING: &str = "Athanasios-Akanthos Chasapis, \"Optimization Techniques for Task-based \
    Parallel Programming Models\" (diploma thesis, NTUA, \
2014), section 2.4 and appendix A";

/// The chapter that evaluates the policies.
const EVALUATION: &str = "Athanasios-Akanthos Chasapis, \"Optimization Techniques for Task-based \
    Parallel Programming Models\" (diploma thesis, NTUA, \
2014), chapter 4 and appendix B";
