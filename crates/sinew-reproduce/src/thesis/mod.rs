//! The thesis on stealing by topology and load in TBB's task scheduler: its profiles, and its policies on its applications.
//!
//! | file | what lives there |
//! |---|---|
//! | `matrix` | every policy on every application it was measured with |

mod matrix;

pub(crate) use matrix::Matrix;

/// Where the policies were evaluated.
const EVALUATION: &str = "Athanasios-Akanthos Chasapis, \"Optimization Techniques for Task-based Parallel Programming Models\" (diploma thesis, NTUA, \
2014), chapter 4 and appendix B";
