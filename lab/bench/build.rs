//! Tells the program which compiler built it and in which profile, for its reports.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!(
        "cargo::rustc-env=BENCH_RUSTC={}",
        version.unwrap_or_else(|_| "unknown compiler".to_owned())
    );
    println!(
        "cargo::rustc-env=BENCH_PROFILE={}",
        profile().unwrap_or_else(|| "unknown".to_owned())
    );
}

/// The name of the profile. Cargo's variable `PROFILE` has the name of the profile that this one
/// inherits from; the folder `target/<profile>/build/bench-…/out` has its own.
fn profile() -> Option<String> {
    let folder = std::path::PathBuf::from(std::env::var_os("OUT_DIR")?);
    let profile = folder.ancestors().nth(3)?.file_name()?;
    Some(profile.to_string_lossy().into_owned())
}
