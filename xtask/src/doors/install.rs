//! Installs the library for C and C++ below a prefix.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command;

/// Where, and how it is built.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder that gets `lib`, `include` and `share`.
    #[arg(long, default_value = "/usr/local")]
    pub(crate) prefix: PathBuf,
}

/// The folder of the crate.
pub(super) fn source() -> PathBuf {
    command::root().join("crates/sinew-c")
}

/// Files of the crate, and the folders that they go to.
const FILES: [(&str, &str); 4] = [
    ("include/sinew.h", "include"),
    ("include/sinew.hpp", "include"),
    ("cpp/sinew_parallel_scheduler.cpp", "share/sinew"),
    ("cmake/SinewConfig.cmake", "lib/cmake/Sinew"),
];

/// Files whose `@VERSION@` is replaced.
const VERSIONED: [(&str, &str); 2] = [
    ("cmake/SinewConfigVersion.cmake.in", "lib/cmake/Sinew/SinewConfigVersion.cmake"),
    ("cmake/sinew.pc.in", "lib/pkgconfig/sinew.pc"),
];

/// Builds the library, with link-time optimisation, and installs it.
///
/// # Errors
///
/// A message with the path that could not be written, or the command that failed.
pub(crate) fn install(options: &Options) -> Result<(), String> {
    // Relative to the caller's folder, not to the root.
    let prefix = std::path::absolute(&options.prefix)
        .map_err(|error| format!("{}: {error}", options.prefix.display()))?;
    // Programs in C cannot choose how it is optimised.
    let build = ["build", "--profile", "lto", "--package", "sinew-c", "--features", "coordinate"];
    command::run(&mut command::cargo(&build))?;
    let built = command::output_folder("lto");
    let library = prefix.join("lib/libsinew.so.0");
    copy(&built.join("libsinew_c.so"), &library)?;
    copy(&built.join("libsinew_c.a"), &prefix.join("lib/libsinew.a"))?;
    link(&prefix.join("lib/libsinew.so"))?;
    for (file, folder) in FILES {
        let from = source().join(file);
        let name = from.file_name().ok_or("a file without a name")?;
        copy(&from, &prefix.join(folder).join(name))?;
    }
    for (file, to) in VERSIONED {
        let from = source().join(file);
        let text = fs::read_to_string(&from).map_err(|error| at(&from, &error))?;
        let text = text.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        let to = prefix.join(to);
        make_folder_of(&to)?;
        fs::write(&to, text).map_err(|error| at(&to, &error))?;
    }
    println!("installed {}", library.display());
    Ok(())
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn make_folder_of(file: &Path) -> Result<(), String> {
    let folder = file.parent().ok_or("a file without a folder")?;
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))
}

/// Replaces `to`; a running program keeps the library that it has loaded.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    make_folder_of(to)?;
    let _ = fs::remove_file(to);
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("{} to {}", at(from, &error), to.display()))
}

/// The name by which linkers find the library.
#[cfg(unix)]
fn link(name: &Path) -> Result<(), String> {
    let _ = fs::remove_file(name);
    std::os::unix::fs::symlink("libsinew.so.0", name).map_err(|error| at(name, &error))
}

#[cfg(not(unix))]
fn link(name: &Path) -> Result<(), String> {
    Err(format!("{}: the library is installed on Unix alone", name.display()))
}
