//! Real TBB programs under `sinew exec`: `cargo xtask tbb`.
//!
//! oneTBB comes from Python's package index, in a version that asks for a manager of its workers.
//! Nothing of it is kept in this repository: pip puts it into `target/tbb`. The programs are those
//! of `sinew-exec/tests/tbb_programs.rs`, and `bench -- tbb` measures with the same folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command;

/// The version, of the libraries and of the headers.
const VERSION: &str = "2023.2.0";

/// The variable by which tests and measurements find oneTBB.
const FOLDER: &str = "SINEW_TBB";

/// Runs the programs. Returns the reason if this machine cannot run them.
///
/// # Errors
///
/// A program's output differs, or it does not follow its share.
pub(crate) fn run() -> Result<Option<String>, String> {
    if !has_compiler() {
        return Ok(Some("no C++ compiler (g++)".to_owned()));
    }
    let folder = match fetched() {
        Ok(folder) => folder,
        Err(why) => return Ok(Some(why)),
    };
    println!("{FOLDER}={}", folder.display());
    let mut test = command::cargo(&["test", "-p", "sinew-exec", "--test", "tbb_programs"]);
    command::without_settings(&mut test);
    command::run(test.env(FOLDER, folder)).map(|()| None)
}

fn has_compiler() -> bool {
    let mut compiler = Command::new("g++");
    compiler.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    compiler.status().is_ok_and(|status| status.success())
}

/// The folder with `include` and `lib`: the user's, or one that pip fills.
///
/// # Errors
///
/// pip does not exist, or cannot fetch the packages.
fn fetched() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return Ok(folder.into());
    }
    let folder = command::output_folder("tbb").join(VERSION);
    if let Some(folder) = filled(&folder) {
        return Ok(folder);
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // Without what the packages depend on: another manager is among that.
    pip.args(["--no-deps", "--ignore-installed", "--only-binary", ":all:", "--prefix"]);
    pip.arg(&folder).args(["tbb", "tbb-devel"].map(|name| format!("{name}=={VERSION}")));
    command::run(&mut pip).map_err(|why| format!("pip cannot fetch oneTBB ({why})"))?;
    filled(&folder).ok_or_else(|| format!("pip put nothing into {}", folder.display()))
}

/// Where pip has put the files. Some systems let it add a folder of its own.
fn filled(folder: &Path) -> Option<PathBuf> {
    let places = [folder.to_owned(), folder.join("local")];
    let has_all = |place: &PathBuf| ["lib", "include"].iter().all(|name| place.join(name).exists());
    places.into_iter().find(has_all)
}
