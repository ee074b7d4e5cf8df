//! Tells the program which rayon-core it is built with, as the lock file beside the manifest has
//! it.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let lock = std::fs::read_to_string(Path::new(&folder).join("Cargo.lock"))
        .expect("cargo has written a lock file");
    println!("cargo::rustc-env=RAYON_CORE={}", core(&lock).expect("rayon-core is locked"));
}

/// Version and origin of rayon-core: `1.13.0 registry`, or `1.13.100 path`.
fn core(lock: &str) -> Option<String> {
    let entry =
        lock.split("[[package]]").find(|entry| entry.contains("\nname = \"rayon-core\"\n"))?;
    let version = entry.lines().find_map(|line| line.strip_prefix("version = "))?.trim_matches('"');
    // Packages from a folder have no source.
    let origin = if entry.contains("\nsource = ") { "registry" } else { "path" };
    Some(format!("{version} {origin}"))
}
