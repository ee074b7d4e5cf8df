//! The thesis on stealing by topology and load in TBB's task scheduler: its profiles, and its
//! policies on its applications.
//!
//! | file | what lives there |
//! |---|---|
//! | `profiles` | the time in each of the scheduler's functions |
//! | `matrix` | every policy on every application it was measured with |

mod matrix;
mod profiles;

pub(crate) use matrix::Matrix;
pub(crate) use profiles::Profiles;

/// Where the scheduler is profiled.
const PROFILING: &str = "Athanasios-Akanthos Chasapis, \"Optimization Techniques for Task-based Parallel Programming Models\" (diploma thesis, NTUA, \
2014), section 2.4 and appendix A";

/// Where the policies were evaluated.
const EVALUATION: &str = "Athanasios-Akanthos Chasapis, \"Optimization Techniques for Task-based Parallel Programming Models\" (diploma thesis, NTUA, \
2014), chapter 4 and appendix B";
