//! Getting Debian's cloud kernel without installing it: the package is downloaded into the target
//! folder and unpacked there.
//!
//! Only with `--fetch-kernel`; every command is shown before it runs.

use crate::command;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package that always depends on the current kernel.
const PACKAGE: &str = "linux-image-cloud-amd64";

fn folder() -> PathBuf {
    super::folder().join("kernel")
}

/// The path of the kernel afterwards.
pub(super) fn boot_folder() -> PathBuf {
    folder().join("boot")
}

/// Downloads and unpacks it.
///
/// # Errors
///
/// This is no Debian, or its package lists are missing or too old; the message is apt's.
pub(super) fn kernel() -> Result<(), String> {
    let folder = folder();
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let depends = command::output(Command::new("apt-cache").args(["depends", PACKAGE]))?;
    let package = dependency(&depends)
        .ok_or_else(|| format!("apt knows no kernel that {PACKAGE} depends on (apt-get update)"))?;
    shown(Command::new("apt-get").args(["download", package]).current_dir(&folder))?;
    let archive = archive(&folder, package)
        .ok_or_else(|| format!("apt-get left no {package}_*.deb in {}", folder.display()))?;
    shown(Command::new("dpkg-deb").arg("--extract").arg(&archive).arg(&folder))
}

fn shown(command: &mut Command) -> Result<(), String> {
    println!("{command:?}");
    command::run(command)
}

/// The kernel's own package, from `  Depends: linux-image-6.1.0-56-cloud-amd64`.
fn dependency(depends: &str) -> Option<&str> {
    let packages = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    packages.map(str::trim).find(|package| package.starts_with("linux-image-"))
}

/// An earlier download of the same kernel may lie there, too.
fn archive(folder: &Path, package: &str) -> Option<PathBuf> {
    let start = format!("{package}_");
    let entries = fs::read_dir(folder).ok()?.flatten();
    let archives = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
    archives
        .map(|entry| entry.path())
        .max_by_key(|file| file.metadata().and_then(|data| data.modified()).ok())
}

#[cfg(test)]
mod tests {
    //! Blind to: everything that needs a network.

    use super::*;

    #[test]
    fn the_kernel_is_what_the_package_depends_on() {
        let depends = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        assert_eq!(dependency(depends), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(dependency("linux-image-cloud-amd64\n"), None);
    }
}
