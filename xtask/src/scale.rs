//! One file that measures Sinew on any machine: `bench`, linked statically, with the programs of
//! its rivals inside.

use crate::command;
use std::path::{Path, PathBuf};

/// Where to put it.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Builds the binary, which then builds its parts and writes the file.
///
/// # Errors
///
/// One line: a target without static linking, or a build that fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let target = target()?;
    let mut cargo = command::cargo(&["build", "--release", "--package", "bench", "--target"]);
    cargo.arg(&target).env("RUSTFLAGS", "-C target-feature=+crt-static");
    if command::cpp_compiler().is_some() {
        cargo.args(["--features", "fork-union"]);
    }
    command::run(&mut cargo)?;
    let binary = command::output_folder(&target).join("release").join("bench");
    let out = std::path::absolute(&options.out)
        .map_err(|error| format!("{}: {error}", options.out.display()))?;
    let mut pack = std::process::Command::new(binary);
    pack.current_dir(command::root()).arg("scale-binary").arg("--out").arg(&out);
    command::run(pack.args(["--target", &target]))?;
    println!("{}", usage(&out));
    Ok(())
}

/// The Linux target of this processor whose programs can be linked statically.
fn target() -> Result<String, String> {
    if cfg!(not(target_os = "linux")) {
        return Err("the binary is for Linux, and made there".to_owned());
    }
    Ok(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
}

fn usage(out: &Path) -> String {
    let name = out.file_name().unwrap_or(out.as_os_str()).to_string_lossy();
    format!("copy {} to the machine; there: ./{name} scale --out NAME", out.display())
}

#[cfg(test)]
mod tests {
    //! Blind to: whether the binary runs on another machine.
    use super::*;

    #[test]
    fn the_usage_names_the_copied_file() {
        let text = usage(Path::new("/somewhere/measure"));
        assert!(
            text.contains("/somewhere/measure") && text.ends_with("./measure scale --out NAME")
        );
    }
}
