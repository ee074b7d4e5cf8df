//! The place of the published sources, and the rayon-core to which a build resolved.
//!
//! A scratch package with these dependencies makes cargo fetch them, from the source configured on
//! this machine.

use super::files;
use super::side::{RAYON, RAYON_CORE, Side, cargo_in, drop_in, folder};
use crate::command;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The published sources, unpacked.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) rayon: PathBuf,
    pub(super) rayon_core: PathBuf,
}

/// Fetches the releases of rayon and rayon-core that everything here is about.
///
/// # Errors
///
/// Cargo cannot fetch them.
pub(super) fn sources() -> Result<Sources, String> {
    let dependencies = format!("rayon = \"={RAYON}\"\nrayon-core = \"={RAYON_CORE}\"\n");
    let metadata = scratch("rayon", &dependencies)?;
    let place = |name: &str| {
        let found = packages(&metadata).find(|package| package.name == name);
        found.map(|package| package.folder).ok_or_else(|| format!("cargo did not fetch {name}"))
    };
    Ok(Sources { rayon: place("rayon")?, rayon_core: place("rayon-core")? })
}

/// Fetches a published program.
///
/// # Errors
///
/// Cargo cannot fetch it.
pub(super) fn program(name: &str, version: &str, sources: &Sources) -> Result<PathBuf, String> {
    scratch(name, &format!("{name} = {{ version = \"={version}\", default-features = false }}\n"))?;
    // Cargo fetches a package without a library but does not list it; it lies beside the others.
    let beside = sources.rayon.parent().ok_or("the registry has no folder")?;
    let place = beside.join(format!("{name}-{version}"));
    if place.join("Cargo.toml").is_file() {
        Ok(place)
    } else {
        Err(format!("cargo fetched {name} {version}, but not to {}", place.display()))
    }
}

/// Makes a package with `dependencies` and returns its metadata.
fn scratch(name: &str, dependencies: &str) -> Result<Value, String> {
    let place = folder().join("fetch").join(name);
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[dependencies]\n{dependencies}"
    );
    files::put(&place.join("Cargo.toml"), manifest.as_bytes())?;
    files::put(&place.join("src/lib.rs"), b"//! Nothing: this package only has dependencies.\n")?;
    metadata(&place, true)
}

/// The output of `cargo metadata` for the package or workspace in `place`.
fn metadata(place: &Path, with_dependencies: bool) -> Result<Value, String> {
    let mut cargo = cargo_in(place, &folder().join("fetch/target"));
    cargo.args(["metadata", "--quiet", "--format-version", "1"]);
    if with_dependencies {
        // Packages for other kinds of machine are not fetched.
        cargo.args(["--filter-platform", &host()?]);
    } else {
        cargo.arg("--no-deps");
    }
    let text = command::output(&mut cargo)?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata is not JSON: {error}"))
}

/// The kind of machine that this is.
fn host() -> Result<String, String> {
    let mut rustc =
        std::process::Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let version = command::output(rustc.arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say what machine this is".to_owned())
}

/// A package of a resolved graph.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
    folder: PathBuf,
}

fn packages(metadata: &Value) -> impl Iterator<Item = Package> {
    let all = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some(Package {
            name: package["name"].as_str()?.to_owned(),
            version: package["version"].as_str()?.to_owned(),
            folder: manifest.parent()?.to_path_buf(),
        })
    })
}

/// The version that `side` must resolve to.
///
/// # Errors
///
/// There is no drop-in, or its manifest is broken.
pub(super) fn version(side: Side) -> Result<String, String> {
    if side == Side::Upstream {
        return Ok(RAYON_CORE.to_owned());
    }
    let place = drop_in();
    if !place.join("Cargo.toml").is_file() {
        return Err(format!("there is no package in {} (try --upstream)", place.display()));
    }
    let found = packages(&metadata(&place, false)?).find(|package| package.name == "rayon-core");
    found
        .map(|package| package.version)
        .ok_or_else(|| format!("{} is not rayon-core", place.display()))
}

/// The lines of a manifest that put the drop-in in the place of the published package; none for
/// upstream.
pub(super) fn patch(side: Side) -> String {
    match side {
        Side::Upstream => String::new(),
        // A literal string: on some systems paths have backslashes.
        Side::Ours => {
            format!("\n[patch.crates-io]\nrayon-core = {{ path = '{}' }}\n", drop_in().display())
        }
    }
}

/// Checks that the workspace in `place` is built with the rayon-core of `side`, and with no other.
///
/// # Errors
///
/// It is not: there are several, or the only one comes from another place.
pub(super) fn check_resolved(place: &Path, side: Side, sources: &Sources) -> Result<(), String> {
    let wanted = if side == Side::Ours { drop_in() } else { sources.rayon_core.clone() };
    let metadata = metadata(place, true)?;
    let found: Vec<Package> =
        packages(&metadata).filter(|package| package.name == "rayon-core").collect();
    match found.as_slice() {
        [only] if same_place(&only.folder, &wanted) => Ok(()),
        [] => Err("rayon-core is not in the graph".to_owned()),
        other => {
            let list: Vec<String> = other
                .iter()
                .map(|it| format!("{} in {}", it.version, it.folder.display()))
                .collect();
            Err(format!(
                "rayon-core is {}, not the one in {}",
                list.join(" and "),
                wanted.display()
            ))
        }
    }
}

fn same_place(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a change of cargo's format, which the command itself meets first.
    use super::*;

    #[test]
    fn packages_are_read_with_their_folders() {
        let metadata = serde_json::json!({ "packages": [
            {
                "name": "rayon-core",
                "version": "1.13.0",
                "manifest_path": "/r/rayon-core-1.13.0/Cargo.toml",
            },
            { "name": "half" },
        ]});
        let found: Vec<Package> = packages(&metadata).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].version.as_str()), ("rayon-core", "1.13.0"));
        assert_eq!(found[0].folder, Path::new("/r/rayon-core-1.13.0"));
    }

    #[test]
    fn only_our_side_is_patched() {
        assert_eq!(patch(Side::Upstream), "");
        assert!(patch(Side::Ours).contains("rayon-core = { path = '"));
    }
}
