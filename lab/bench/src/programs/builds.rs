//! The builds of the programs: with upstream's rayon, with a rayon-core from a folder, and with
//! Sinew's iterators in place of rayon.
//!
//! The first is built in place, with its unchanged lock file. For the others cargo must lock
//! another package, and the committed lock file must not change. So each has a manifest and a lock
//! file of its own below the target folder, made from the committed ones. The sources are the same
//! files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "rayon-programs";

/// The way all are compiled. The position of a short loop within a line makes up to a factor of
/// 1.8 (striking out multiples took 2.7 or 4.7 ms). It depends on the amount of code before the
/// loop, which differs between them. So every loop begins at a line.
const ALIGNED_LOOPS: &str = "-C llvm-args=-align-loops=64";

/// Links everything into the program, so that it runs on any machine.
pub(crate) const STATIC: &str = "-C target-feature=+crt-static";

/// The provider of what the programs call rayon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Provider {
    Upstream,
    /// Upstream's rayon on the rayon-core in this folder, whose path is absolute.
    Core(PathBuf),
    /// Sinew's iterators and pools, by rayon's names.
    Chains,
}

/// A package from a folder in place of the registry's.
#[derive(Debug)]
struct Patch {
    package: &'static str,
    folder: PathBuf,
    /// The name of the build, for its folders.
    build: &'static str,
}

impl Provider {
    fn patch(&self) -> Option<Patch> {
        match self {
            Self::Upstream => None,
            Self::Core(folder) => {
                Some(Patch { package: "rayon-core", folder: folder.clone(), build: "sinew" })
            }
            Self::Chains => {
                Some(Patch { package: "rayon", folder: package().join("shim"), build: "chains" })
            }
        }
    }

    /// The package that the program must name when it starts, and the place where cargo found it.
    fn greeting(&self) -> [&'static str; 2] {
        match self {
            Self::Upstream => ["rayon-core", "registry"],
            Self::Core(_) => ["rayon-core", "path"],
            Self::Chains => ["rayon", "path"],
        }
    }

    /// The variable that sets the threads of its global pool.
    fn threads_variable(&self) -> &'static str {
        if *self == Self::Chains { "SINEW_THREADS" } else { "RAYON_NUM_THREADS" }
    }
}

/// A program that has been built.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    pub(crate) program: PathBuf,
    /// Package and origin; the program prints them when it starts.
    pub(crate) greeting: [&'static str; 2],
    /// The variable that sets the threads of its global pool.
    pub(crate) threads_variable: &'static str,
}

impl Build {
    /// Builds the programs with `provider`; cargo's messages go to standard error.
    ///
    /// # Errors
    ///
    /// One line: cargo failed.
    pub(super) fn of(provider: &Provider) -> Result<Self, String> {
        Self::linked(provider, None)
    }

    /// The same, linked statically for `target` if one is given.
    pub(crate) fn linked(provider: &Provider, target_name: Option<&str>) -> Result<Self, String> {
        let (manifest, folder) = match provider.patch() {
            None => (package().join("Cargo.toml"), target()?.join("upstream")),
            Some(patch) => (patched(&package(), &patch)?, target()?.join(patch.build)),
        };
        let mut cargo = cargo();
        cargo
            .args(["build", "--release", "--manifest-path"])
            .arg(&manifest)
            .arg("--target-dir")
            .arg(&folder);
        if *provider == Provider::Upstream {
            cargo.arg("--locked");
        }
        if let Some(name) = target_name {
            cargo.args(["--target", name]).env("RUSTFLAGS", format!("{ALIGNED_LOOPS} {STATIC}"));
        }
        let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            return Err(format!("{} does not build ({status})", manifest.display()));
        }
        let folder = target_name.map_or(folder.clone(), |name| folder.join(name));
        let program =
            folder.join("release").join(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
        Ok(Self {
            program,
            greeting: provider.greeting(),
            threads_variable: provider.threads_variable(),
        })
    }
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rayon")
}

/// The folder of all build outputs.
fn target() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root, PathBuf::from);
    let target =
        std::path::absolute(target).map_err(|error| format!("no target folder: {error}"))?;
    Ok(target.join(PROGRAM))
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} {ALIGNED_LOOPS}").trim_start());
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

/// Writes a manifest with `patch`, and its lock file; returns the manifest's path.
fn patched(package: &Path, patch: &Patch) -> Result<PathBuf, String> {
    let folder = target()?.join("patched").join(patch.build);
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let manifest = patched_manifest(&read(&package.join("Cargo.toml"))?, package, patch)?;
    write_if_new(&folder.join("Cargo.toml"), &manifest)?;
    // Cargo goes on from its own lock file, unless a committed one has changed since.
    let patch_lock = read(&patch.folder.join("Cargo.lock")).unwrap_or_default();
    let lock = seed(&read(&package.join("Cargo.lock"))?, &patch_lock, patch.package);
    let last = folder.join("seed.lock");
    if !(read(&last).is_ok_and(|last| last == lock) && folder.join("Cargo.lock").exists()) {
        write_if_new(&folder.join("Cargo.lock"), &lock)?;
        write_if_new(&last, &lock)?;
    }
    Ok(folder.join("Cargo.toml"))
}

/// The committed manifest, with sources named from anywhere and with `patch`.
fn patched_manifest(committed: &str, package: &Path, patch: &Patch) -> Result<String, String> {
    let mut manifest = committed.to_owned();
    for (key, file) in [("build", "build.rs"), ("path", "src/main.rs")] {
        let line = format!("{key} = \"{file}\"");
        if manifest.matches(&line).count() != 1 {
            return Err(format!("the manifest of {PROGRAM} does not say {line} once"));
        }
        manifest = manifest.replace(&line, &format!("{key} = {}", quoted(&package.join(file))));
    }
    let (name, folder) = (patch.package, quoted(&patch.folder));
    Ok(format!("{manifest}\n[patch.crates-io]\n{name} = {{ path = {folder} }}\n"))
}

/// A path as a string of TOML.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// The initial lock file of a patched build. It is the programs' own without the package
/// `patched`, so that cargo resolves it again and finds the patch, with the entries of the patch's
/// lock file for everything else.
fn seed(programs: &str, patch: &str, patched: &str) -> String {
    const ENTRY: &str = "[[package]]\n";
    let mut entries: Vec<&str> =
        programs.split(ENTRY).map(str::trim).filter(|entry| name(entry) != Some(patched)).collect();
    let known: Vec<Option<&str>> = entries.iter().map(|entry| name(entry)).collect();
    // Packages from folders have no source, and are not cargo's to choose.
    let chosen =
        patch.split(ENTRY).skip(1).map(str::trim).filter(|entry| entry.contains("\nsource = "));
    entries.extend(
        chosen.filter(|entry| name(entry) != Some(patched) && !known.contains(&name(entry))),
    );
    entries.join(&format!("\n\n{ENTRY}")) + "\n"
}

/// The package of a lock file's entry.
fn name(entry: &str) -> Option<&str> {
    Some(entry.strip_prefix("name = \"")?.split_once('"')?.0)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Leaves a file alone that says the same already, so that cargo does not build anew.
fn write_if_new(path: &Path, text: &str) -> Result<(), String> {
    if read(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    //! Blind to: a manifest that cargo does not take; `programs --tiny` builds it.
    use super::*;

    fn patch() -> Patch {
        Provider::Core("/there".into()).patch().expect("a core is a patch")
    }

    #[test]
    fn the_patched_manifest_takes_the_core_from_its_folder() {
        let committed = read(&package().join("Cargo.toml")).expect("the package is here");
        let manifest = patched_manifest(&committed, Path::new("/here"), &patch());
        let manifest = manifest.expect("the manifest names its sources");
        assert!(manifest.contains("path = \"/here/src/main.rs\""), "{manifest}");
        assert!(
            manifest.ends_with("[patch.crates-io]\nrayon-core = { path = \"/there\" }\n"),
            "{manifest}"
        );
    }

    #[test]
    fn a_manifest_that_does_not_name_its_sources_is_refused() {
        let why = patched_manifest("[package]\n", Path::new("/here"), &patch()).unwrap_err();
        assert!(why.contains("build = \"build.rs\""), "{why}");
    }

    const LOCK: &str =
        "version = 4\n\n[[package]]\nname = \"rayon\"\n\n[[package]]\nname = \"rayon-core\"\n";

    #[test]
    fn the_seed_of_the_lock_file_lacks_the_patched_package_and_nothing_else() {
        assert_eq!(seed(LOCK, "", "rayon-core"), "version = 4\n\n[[package]]\nname = \"rayon\"\n");
        let committed = read(&package().join("Cargo.lock")).expect("the lock file is committed");
        for patched in ["rayon-core", "rayon"] {
            let seed = seed(&committed, "", patched);
            assert_eq!(
                committed.matches("[[package]]").count(),
                seed.matches("[[package]]").count() + 1
            );
        }
    }

    #[test]
    fn the_seed_adds_what_the_core_alone_needs_and_does_not_overrule_the_programs() {
        let core =
            format!("{LOCK}source = \"r\"\n\n[[package]]\nname = \"libc\"\nsource = \"r\"\n");
        let core = format!("{core}\n[[package]]\nname = \"ours\"\n");
        let expected = "version = 4\n\n[[package]]\nname = \"rayon\"\n\n[[package]]\nname = \
            \"libc\"\nsource = \"r\"\n";
        assert_eq!(seed(LOCK, &core, "rayon-core"), expected);
    }
}
