//! Fetching and building a program with the rayon-core of one side.
//!
//! A copy of the published package is built with the dependencies that its authors locked, except
//! for rayon and rayon-core, which are the same releases on both sides but for the drop-in. Cargo's
//! graph tells whether a program is built with the drop-in. A graph may hold crates that a program
//! never calls, so the names of its functions in the binary are checked as well.

use super::super::files;
use super::super::side::{RAYON, Side, cargo_in, folder};
use super::super::upstream::{self, Sources};
use super::super::watchdog::{self, Outputs};
use super::table::Program;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A build may take this long.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Part of the name of every function of the runtime below the drop-in.
const MARK: &[u8] = b"sinew_core";

/// The profile of every program, overriding its own: quick to build, and with the names of its
/// functions.
const PROFILE: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];

/// The outcome of a build.
pub(super) enum Built {
    Program(PathBuf),
    /// Why there is none.
    Not(String),
}

/// Builds `program` with the rayon-core of `side`, which has this `version`.
///
/// # Errors
///
/// The program exists, but with another rayon-core.
pub(super) fn program(
    program: &Program,
    side: Side,
    version: &str,
    sources: &Sources,
) -> Result<Built, String> {
    let place = folder().join("programs").join(side.name()).join(program.name);
    if let Err(reason) = prepare(program, side, version, sources, &place) {
        return Ok(Built::Not(reason));
    }
    let name = format!("{} ({})", program.name, side.name());
    upstream::check_resolved(&place, side, sources).map_err(|why| format!("{name}: {why}"))?;
    let made = match build(program, &place) {
        Ok(made) => made,
        Err(reason) => return Ok(Built::Not(reason)),
    };
    check_mark(&made, side).map_err(|why| format!("{name}: {why}"))?;
    // Both sides build a program of this name in the same folder.
    let kept =
        folder().join("programs/bin").join(side.name()).join(made.file_name().unwrap_or_default());
    keep(&made, &kept)?;
    Ok(Built::Program(kept))
}

/// Lays the package out with its locked dependencies.
fn prepare(
    program: &Program,
    side: Side,
    version: &str,
    sources: &Sources,
    place: &Path,
) -> Result<(), String> {
    let published = upstream::program(program.name, program.version, sources)?;
    let mut tree = files::tree(&published)?;
    tree.retain(|name, _| !name.starts_with('.') && name != "Cargo.toml.orig");
    let manifest = tree.get_mut("Cargo.toml").ok_or("the package has no manifest")?;
    // A workspace of its own, so that cargo does not look for one above it.
    manifest.extend_from_slice(format!("\n[workspace]\n{}", upstream::patch(side)).as_bytes());
    files::lay_out(place, &tree)?;
    for (dependency, release) in [("rayon", RAYON), ("rayon-core", version)] {
        if depends(&files::text(&place.join("Cargo.lock"))?, dependency) {
            let log = place.join("log").join("lock.txt");
            let mut cargo = cargo_in(place, &target());
            cargo.args(["update", "--quiet", "--package", dependency, "--precise", release]);
            succeed(&mut cargo, &log)?;
        }
    }
    Ok(())
}

/// Whether a lock file has a package of this name.
fn depends(lock: &str, name: &str) -> bool {
    lock.lines().any(|line| line == format!("name = \"{name}\""))
}

fn build(program: &Program, place: &Path) -> Result<PathBuf, String> {
    let mut cargo = cargo_in(place, &target());
    cargo
        .envs(PROFILE)
        .args(["build", "--release", "--bin", program.binary])
        .args(program.features);
    succeed(&mut cargo, &place.join("log").join("build.txt"))?;
    Ok(target().join("release").join(format!("{}{}", program.binary, std::env::consts::EXE_SUFFIX)))
}

/// The build folder of all programs: what they share is built once.
fn target() -> PathBuf {
    folder().join("programs/target")
}

fn succeed(cargo: &mut std::process::Command, log: &Path) -> Result<(), String> {
    if watchdog::run(cargo, Outputs::together(log)?, LIMIT)?.is_success() {
        return Ok(());
    }
    let text = files::text(log)?;
    let first = text.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed");
    Err(format!("{first} ({})", log.display()))
}

/// Checks that the runtime is in the program on our side, and only there.
fn check_mark(binary: &Path, side: Side) -> Result<(), String> {
    let bytes = std::fs::read(binary)
        .map_err(|error| format!("cannot read {}: {error}", binary.display()))?;
    match (marked(&bytes), side) {
        (false, Side::Ours) => Err("the program does not contain our runtime".to_owned()),
        (true, Side::Upstream) => Err("the program contains our runtime".to_owned()),
        _ => Ok(()),
    }
}

fn marked(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|window| window == MARK)
}

fn keep(made: &Path, kept: &Path) -> Result<(), String> {
    let cannot = |error| format!("cannot copy to {}: {error}", kept.display());
    if let Some(folder) = kept.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    std::fs::copy(made, kept).map(|_| ()).map_err(cannot)
}

#[cfg(test)]
mod tests {
    //! Blind to: a program that is linked with the runtime and never calls it.
    use super::*;

    #[test]
    fn a_lock_file_names_its_packages_exactly() {
        let lock = "[[package]]\nname = \"rayon-core\"\nversion = \"1.13.0\"\n";
        assert!(depends(lock, "rayon-core"));
        assert!(!depends(lock, "rayon"));
    }

    #[test]
    fn the_mark_is_found_anywhere_and_nowhere_else() {
        assert!(marked(b"\0_ZN10sinew_core4join\0"));
        assert!(!marked(b"\0_ZN10rayon_core4join\0") && !marked(b""));
    }
}
