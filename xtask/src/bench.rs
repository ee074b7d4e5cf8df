//! The side-by-side benchmarks, with the rivals that this machine can build, and the command.

use crate::{command, doors};

/// Runs the bench program.
///
/// # Errors
///
/// It cannot be built, or fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    // The measurements of `sinew exec` start the command.
    command::run(&mut command::cargo(&["build", "--release", "--package", "sinew-cli"]))?;
    let mut cargo = command::cargo(&["run", "--release", "--package", "bench"]);
    if command::cpp_compiler().is_some() {
        // Sinew in C++ is one of the rivals.
        doors::install(&doors::Options { prefix: command::output_folder("doors") })?;
        cargo.args(["--features", "fork-union"]);
    }
    command::run(cargo.arg("--").args(arguments))
}
