//! Tells the program which rayon it is built with, as the lock file beside the manifest has it.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let lock = std::fs::read_to_string(Path::new(&folder).join("Cargo.lock"))
        .expect("cargo has written a lock file");
    // Sinew's iterators need no rayon-core.
    let provider = entry(&lock, "rayon-core").or_else(|| entry(&lock, "rayon"));
    println!("cargo::rustc-env=PROVIDER={}", provider.expect("a rayon is locked"));
}

/// Name, version and origin of a package: `rayon-core 1.13.0 registry`, or `rayon 1.12.0 path`.
fn entry(lock: &str, name: &str) -> Option<String> {
    let line = format!("\nname = \"{name}\"\n");
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&line))?;
    let version = entry.lines().find_map(|line| line.strip_prefix("version = "))?.trim_matches('"');
    // Packages from a folder have no source.
    let origin = if entry.contains("\nsource = ") { "registry" } else { "path" };
    Some(format!("{name} {version} {origin}"))
}
