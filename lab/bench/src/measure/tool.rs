//! The `sinew` command, which cargo builds into the folder of this program.

use std::process::Command;

/// `sinew exec OPTIONS`, to which the command to be run is added.
///
/// # Errors
///
/// One line: the command is not built.
pub(super) fn exec(options: &[&str]) -> Result<Command, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("this program cannot be found: {error}"))?;
    let tool = own.with_file_name(format!("sinew{}", std::env::consts::EXE_SUFFIX));
    if !tool.exists() {
        return Err(format!("{} is not built: cargo build --release -p sinew-cli", tool.display()));
    }
    let mut command = Command::new(tool);
    command.arg("exec").args(options).arg("--");
    Ok(command)
}
