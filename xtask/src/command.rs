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
    // `cargo run` describes this package in the environment; a build script that looked there would
    // be misled.
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR")
        {
            command.env_remove(name);
        }
    }
    command
}

/// The workspace of the drop-in for rayon-core, apart from the one above it.
pub(crate) const DROP_IN: &str = "compat/rayon-core";

/// Cargo for the workspace in `place`, which shares no build outputs with the one above it.
pub(crate) fn nested(place: &str, arguments: &[&str]) -> Command {
    let mut nested = cargo(arguments);
    nested.current_dir(root().join(place)).env("CARGO_TARGET_DIR", output_folder("compat"));
    nested
}

/// Removes all settings of thread pools from the environment of `command`: a check must not depend
/// on its caller's environment.
pub(crate) fn without_settings(command: &mut Command) {
    remove_settings(command, std::env::vars_os().map(|(name, _)| name));
}

fn remove_settings(command: &mut Command, names: impl Iterator<Item = OsString>) {
    let settings = names.filter(|name| {
        name.to_str()
            .is_some_and(|name| ["SINEW_", "RAYON_"].iter().any(|owner| name.starts_with(owner)))
    });
    settings.for_each(|name| _ = command.env_remove(name));
}

/// Lets a build with another `--cfg` have a target folder of its own, so that neither throws the
/// other's work away.
pub(crate) fn target_dir(suffix: &str) -> OsString {
    let mut folder =
        std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into());
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
    let status =
        command.status().map_err(|error| format!("cannot start {}: {error}", shown(command)))?;
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

#[cfg(test)]
mod tests {
    //! Blind to: a setting by another name.
    use super::*;

    #[test]
    fn a_command_without_settings_inherits_none_and_keeps_what_it_was_given() {
        let names = [
            "SINEW_WAIT",
            "SINEW_THREADS",
            "RAYON_NUM_THREADS",
            "RAYON_RS_NUM_CPUS",
            "PATH",
            "RAYONS",
        ];
        let mut command = Command::new("true");
        remove_settings(&mut command, names.into_iter().map(OsString::from));
        command.env("RAYON_NUM_THREADS", "3");
        let set = command
            .get_envs()
            .map(|(name, value)| (name.to_str(), value.and_then(|value| value.to_str())));
        let expected = [
            ("RAYON_NUM_THREADS", Some("3")),
            ("RAYON_RS_NUM_CPUS", None),
            ("SINEW_THREADS", None),
            ("SINEW_WAIT", None),
        ];
        assert!(set.eq(expected.map(|(name, value)| (Some(name), value))));
    }
}
