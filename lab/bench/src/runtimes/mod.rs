//! Starting each runtime, and keeping it quiet while others are measured.
//!
//! Idle threads of one runtime disturb another's measurement, so none is left running. Every sample
//! starts its runtime, runs a short case until its threads have found cores of their own, measures,
//! and stops it.
//!
//! | runtime | started for a sample | stopped after it |
//! |---|---|---|
//! | Sinew, rayon, chili, fork_union | a pool of its own in this process | the pool is dropped |
//! | OpenMP | a team inside a process that is started once | `omp_pause_resource_all` ends the team |
//! | libsinew, in C++ | a pool in such a process | the pool is destroyed |
//! | oneTBB | an arena and a `global_control` in such a process | `tbb::finalize` ends the workers |
//! | Lace | its workers in such a process, one for each compiler | `lace_stop` ends them |
//!
//! `OMP_WAIT_POLICY` and its kind are left as the user set them: the default of the library is what
//! its users get.

pub(crate) mod chili;
#[cfg(feature = "fork-union")]
pub(crate) mod fork_union;
pub(crate) mod lace;
pub(crate) mod lines;
pub(crate) mod process;
pub(crate) mod rayon;
pub(crate) mod sinew;
