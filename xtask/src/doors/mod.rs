//! Sinew for other languages: its installation, and its tests, which need compilers of these
//! languages.
//!
//! | file | contents |
//! |---|---|
//! | `install` | the library, its headers, and files for pkg-config and CMake below a prefix |
//! | `compile` | compilers of this machine; a program from its source to its exit status |
//! | `check` | what CI runs for C and C++ |
//! | `python` | the Python package: what `cargo xtask python` and CI run |
//! | `numba` | numba's tests of parallel functions, with Sinew's layer and its own |

mod check;
mod compile;
mod install;
mod numba;
mod python;

pub(crate) use check::in_ci;
pub(crate) use install::{Options, install};
pub(crate) use python::{PythonOptions, python};
