//! Starting other programs from the root of the workspace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Cargo with `arguments`, to be started in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // `cargo run` describes this package in the environment; a build script that looked there would be misled.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR") {
            command.env_remove(name);
        }
    }
    command
}

/// Lets a build with another `--cfg` have a target folder of its own, so that neither throws the other's work away.
pub(crate) fn target_dir(suffix: &str) -> OsString {
    let mut folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into());
    folder.push("-");
    folder.push(suffix);
    folder
}

/// A folder among the build outputs of the workspace, for outputs of another kind.
pub(crate) fn output_folder(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    // A relative folder starts in the root, as for cargo itself.
    root().join(target).join(name)
}

/// Runs `command` to its end.
///
/// # Errors
///
/// One line with the command: it could not be started, or it failed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs `command` and returns what it printed.
///
/// # Errors
///
/// As for [`run`]; its messages go to standard error as they come.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", shown(command), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The C++ compiler of this machine, if there is one.
pub(crate) fn cpp_compiler() -> Option<&'static str> {
    let answers = |name: &&str| {
        let mut probe = Command::new(name);
        probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    ["c++", "g++", "clang++"].into_iter().find(answers)
}

/// The command line, for messages.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
